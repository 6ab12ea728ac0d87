"""Each command of the shell is a function with the same options, defaults and refusals."""

from __future__ import annotations

import inspect
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import matplotlib.figure
import pytest

import ngym_cli as nc
from ngym_cli.api.wording import OF_THE_SHELL
from ngym_cli.commands.app import COMMANDS
from ngym_cli.config.fields import options_of
from tests.ngym_cli.api.notebook import html

#: Function of each command that trains, shows or writes results.
FUNCTIONS = {
    "run": nc.train,
    "sweep": nc.sweep,
    "reproduce": nc.reproduce,
    "fit": nc.fit,
    "eval": nc.evaluate,
    "data": nc.data,
    "plot": nc.plot,
    "watch": nc.watch,
    "list": nc.list,
    "info": nc.info,
    "diff": nc.diff,
    "check": nc.check,
    "export": nc.export,
}
#: Commands without a function: pages, templates and bookkeeping of the shell.
OF_THE_SHELL_ONLY = {"bench", "docs", "new", "play", "report", "runs"}
#: Options that a function has in another form.
OTHERWISE = {
    "run": {"resume": "resume(run)"},
    "sweep": {
        "what": "base",
        "sweep": "Sweep(path)",
        "detach": "shell",
        "trials": "search",
        "space": "search",
        "maximize": "search",
        "sampler": "search",
        "pruner": "search",
    },
    "eval": dict.fromkeys(("simulate", "fitted_model", "fitted_subject", "task_stimuli"), "simulate()"),
    "data": {"out": "plot()", "format": "plot()", "subjects_shown": "subjects", "full": "subjects"},
    "fit": {"subjects_shown": "Fit.parameters", "full": "Fit.parameters"},
    "plot": {"list_figures": "Run.figures"},
    "watch": {"steps": "shell", "pause": "shell"},
}


def test_every_command_is_a_function_or_is_listed_as_of_the_shell():
    assert set(COMMANDS) == set(FUNCTIONS) | OF_THE_SHELL_ONLY
    assert {"load", *(function.__name__ for function in FUNCTIONS.values())} <= set(dir(nc))


@pytest.mark.parametrize("command", FUNCTIONS)
def test_options_of_a_command_are_arguments_with_the_same_defaults(command):
    request = get_type_hints(import_module(f"ngym_cli.commands.{command}").execute)["request"]
    function, otherwise = FUNCTIONS[command], OTHERWISE.get(command, {})
    parameters = inspect.signature(function).parameters
    options = {option.name: option for option in options_of(request)}
    missing = {*options} - {*parameters, *function.options, *OF_THE_SHELL, *otherwise}
    assert not missing, missing
    for name in parameters.keys() & options.keys():
        option, visible = options[name], parameters[name].default
        default = option.info.get_default(call_default_factory=True)
        if option.info.is_required() or option.table or visible in (None, inspect.Parameter.empty, ()):
            continue
        if visible in ("latest", False) and not default:  # the request leaves the default open
            continue
        assert str(visible) == str(default), name


def test_lists_pages_and_checks_are_returned(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    tasks = nc.list("tasks", "rdm")
    assert "PerceptualDecisionMaking-v0" in set(tasks["id"])
    with pytest.raises(nc.UserError, match="tag= works with"):
        nc.list("figures", tag="perceptual")
    with pytest.raises(nc.UserError, match="did you mean 'tasks'"):
        nc.list("taks")
    page = nc.info("RDM-v0", dt=20)
    assert "\n" not in repr(page) and "stimulus" in str(page) and "<pre>" in html(page)
    with pytest.raises(nc.UserError, match="did you mean"):
        nc.info("GoNogoo-v0")
    checks = nc.check("GoNogo-v0")
    assert set(checks["part"]) == {"GoNogo-v0"} and "failed" not in set(checks["status"])


def test_the_list_of_tasks_is_a_table_with_and_without_pandas(monkeypatch):
    tasks = nc.list()
    assert len(tasks) > 90 and tasks["id"].is_unique
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert nc.list("tasks").num_rows == len(tasks)


def test_figures_differences_and_files_are_returned(run_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = nc.Run(shutil.copytree(run_folder, "first")), nc.Run(shutil.copytree(run_folder, "second"))
    figures = nc.plot(first, "examples", "learning")
    assert list(figures) == ["examples", "learning"] and not figures.paths
    assert isinstance(figures["learning"], matplotlib.figure.Figure) and "<img" in html(figures)
    written = nc.plot(first, "examples", "learning", out="drawn").paths
    assert written["learning"] == Path("drawn/learning.png") and all(path.is_file() for path in written.values())
    with pytest.raises(nc.UserError, match="overwrite=True"):
        nc.plot(first, "learning", out="drawn")
    with pytest.raises(nc.UserError, match="expected one of: pdf, png, svg"):
        nc.plot(first, "learning", format="jpg")
    assert len(nc.diff(first, second)) == 0
    assert nc.export(first).suffix == ".zip"
    assert isinstance(nc.watch(first, 1), matplotlib.figure.Figure)
    assert nc.watch(first, 1, out="trial.svg") == Path("trial.svg")
    both = nc.evaluate([first, second], 20, seed=3)
    assert [evaluation.summary["trials"] for evaluation in both] == [20, 20]


def test_runs_of_python_are_tagged(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run = nc.train("RDM-v0", timesteps=300, units=4, progress=False, tag=["baseline"], threads=1)
    assert run.name in set(nc.list("runs", tag="baseline")["id"].map(lambda path: Path(path).name))
    with pytest.raises(nc.UserError, match="printable word"):
        nc.train("RDM-v0", timesteps=300, progress=False, tag="a,b")
