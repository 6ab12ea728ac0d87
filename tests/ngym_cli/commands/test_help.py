"""What ``--help`` says: every option explained and every default named, examples that work, plain sentences."""

from __future__ import annotations

import re
import shlex

import pytest
import typer

from ngym_cli.commands import app

#: A word of each command's help without which it would not be found, and choices that it must name.
CONTENT = {
    "run": ("--task", "--wrappers", "recurrent_ppo", "lstm", "auto, trial, session, block", "--timesteps"),
    "list": ("tasks", "wrappers", "recipes", "sweeps", "--sort"),
    "info": ("algorithm", "figure"),
    "eval": ("--record", "activity", "--lesion", "csv", "2,000"),
    "plot": ("png", "svg", "pdf", "screen", "paper", "sweep"),
    "report": ("HTML",),
    "sweep": ("--zip", "local", "slurm", "tpe", "median"),
    "new": ("my_task.py",),
    "check": ("--all",),
    "diff": ("configuration",),
    "export": ("sb3", "onnx", "torchscript"),
    "runs": ("rm", "tag", "note"),
}


def commands(group=None, path=()):
    """Return every command of the command line as the words that call it, with the command."""
    group = group or typer.main.get_command(app.app)
    result = [(path, group)]
    for name in group.list_commands(None) if hasattr(group, "list_commands") else ():
        result += commands(group.get_command(None, name), (*path, name))
    return result


def ids(case):
    return "-".join(case[0]) or "ngym"


@pytest.fixture
def help_of(ngym, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("TERM", "dumb")

    def call(*path, flag="--help"):
        result = ngym(*path, flag)
        assert result.code == 0
        lines = [re.sub(r"[─-╿]+", " ", line).split() for line in result.out.splitlines()]
        return "\n".join(" ".join(line) for line in lines if line)

    return call


def all_of(command):
    """Return the flag that explains all options of a command."""
    return "--help-all" if any("--help-all" in each.opts for each in command.params) else "--help"


@pytest.mark.parametrize("name", ["run", "fit", "sweep", "bench", "eval", "data", "plot"])
def test_help_begins_with_eight_options_and_names_all_others(help_of, name):
    command = typer.main.get_command(app.app).get_command(None, name)
    text = help_of(name)
    explained, _, rest = text.partition("Examples:")
    flags = {each.opts[0]: each.hidden for each in command.params if each.opts[0].startswith("--")}
    first_words = {line.split()[0].partition(",")[0] for line in explained.splitlines()}
    assert len(first_words & {*flags} - {"--help", "--help-all"}) == 8
    assert len(flags) > 15 and all(flag in text for flag, hidden in flags.items() if not hidden)
    assert rest.count("ngym ") >= 2 and "--help-all explains them" in rest


@pytest.mark.parametrize("case", commands(), ids=ids)
def test_every_option_is_explained_and_printed(help_of, case):
    path, command = case
    text = help_of(*path, flag=all_of(command))
    for parameter in [each for each in command.params if not getattr(each, "hidden", False)]:
        assert getattr(parameter, "help", None), f"ngym {' '.join(path)}: {parameter.name}"
        assert parameter.help.split()[0] in text
        if getattr(parameter, "opts", [""])[0].startswith("--"):
            assert parameter.opts[0] in text


@pytest.mark.parametrize("name", CONTENT)
def test_help_names_what_a_user_looks_for(help_of, name):
    text = help_of(name, flag=all_of(typer.main.get_command(app.app).get_command(None, name)))
    for word in CONTENT[name]:
        assert word in text, word


def test_every_command_is_in_the_overview(help_of):
    text = help_of()
    for path, command in commands():
        if len(path) == 1:
            assert path[0] in text
            assert (command.help or "").partition(".")[0][:40] in text


@pytest.mark.parametrize("name", app.COMMANDS)
def test_the_first_line_of_a_commands_help_is_its_line_in_the_overview(name, help_of):
    command = typer.main.get_command(app.app).get_command(None, name)
    summary = command.help.partition("\n")[0]
    assert summary.endswith(".") and summary in " ".join(help_of().split())
    assert command.rich_help_panel in app.GROUPS


@pytest.mark.parametrize("width", [45, 80])
@pytest.mark.parametrize("path", [path for path, _ in commands()], ids=lambda path: "-".join(path) or "ngym")
def test_help_fits_narrow_terminals(ngym, monkeypatch, path, width):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "dumb")
    text = ngym(*path, "--help").out
    assert max(map(len, text.splitlines())) <= width
    if width == 80:
        assert "…" not in text and "range>" not in text and "WHOLE" not in text


@pytest.mark.parametrize("case", [case for case in commands() if case[0]], ids=ids)
def test_every_command_has_two_examples_that_are_understood(case):
    path, command = case
    examples = [line for line in (command.epilog or "").splitlines() if line.startswith("ngym ")]
    assert len(examples) >= 2, path
    top = typer.main.get_command(app.app)
    for example in examples:
        words = shlex.split(example)[1:]
        group = top
        while hasattr(group, "list_commands"):
            assert words[0] in group.list_commands(None), example
            group = group.get_command(None, words.pop(0))
        group.make_context(example, words, resilient_parsing=False).close()


@pytest.mark.parametrize("path", [(), ("run",), ("runs",)], ids=lambda path: "-".join(path) or "ngym")
def test_a_command_that_cannot_do_anything_alone_shows_its_help(ngym, path):
    result = ngym(*path)
    assert "Usage: ngym" in result.out + result.err


@pytest.mark.parametrize(
    ("typed", "meant"), [("train", "run"), ("evaluate", "eval"), ("rnu", "run"), ("lists", "list")]
)
def test_the_command_that_was_meant_is_named(ngym, typed, meant):
    result = ngym(typed, "--task", "RDM-v0")
    assert result.code == 2
    assert f"did you mean 'ngym {meant}'?" in result.err
