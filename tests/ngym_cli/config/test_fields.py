"""Fields of requests: declared once, and found in the shell, in Python, in TOML and in the help."""

from __future__ import annotations

import tomllib
from importlib import import_module
from typing import Annotated, get_type_hints

import pytest
import typer
from pydantic import Field, create_model
from typer.testing import CliRunner

from ngym_cli.api.keywords import request_of, takes
from ngym_cli.commands.app import COMMANDS
from ngym_cli.commands.runs import SUBCOMMANDS
from ngym_cli.commands.shell import command
from ngym_cli.config.fields import Flag, Request, Section, checked, options_of, rows_of
from ngym_cli.errors import UserError
from ngym_cli.evaluation.request import EvalRequest


class LongerRequest(EvalRequest):
    """Evaluate with a pause between sessions."""

    rest: Annotated[float, Flag("Seconds between sessions.", "Trials"), Field(ge=0, le=60)] = 0.0


def test_every_description_is_of_a_model():
    for model in (*Section.__subclasses__(), *Request.__subclasses__()):
        module = import_module(model.__module__)
        assert rows_of(str(module.__file__)).keys() <= vars(module).keys(), module


def typed(*words):
    """Return the request of words typed in a shell, and what is printed."""
    requests = []
    app = typer.Typer()
    app.command()(command(LongerRequest, requests.append))
    result = CliRunner().invoke(app, words)
    if isinstance(result.exception, UserError):
        raise result.exception
    return requests, result.output


#: Words that commands need besides the new option, and what Python and TOML need.
NEEDED = {
    "run": (("--name", "first"), {}),
    "fit": (("rat.csv",), {"table": "rat.csv"}),
    "data": (("rat.csv",), {"table": ["rat.csv"]}),
    "info": (("RDM-v0",), {"name": "RDM-v0"}),
    "play": (("RDM-v0",), {"task": "RDM-v0"}),
    "diff": (("first", "second"), {"one": "first", "other": "second"}),
    "export": (("first",), {}),
    "new": (("task", "mine.py"), {"kind": "task"}),
    "docs": (("RDM-v0",), {}),
    "rm": (("first",), {"run": ["first"]}),
    "tag": (("first", "kept"), {"run": "first", "tags": ["kept"]}),
    "note": (("first", "good"), {"run": "first", "text": "good"}),
}
#: Requests of all commands.
REQUESTS = {
    **{
        name: get_type_hints(import_module(f"ngym_cli.commands.{name}").execute)["request"]
        for name in COMMANDS
        if name != "runs"
    },
    **{name: request for name, (request, _) in SUBCOMMANDS.items()},
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_new_option_of_every_command_is_one_field(name):
    request, (words, required) = REQUESTS[name], NEEDED.get(name, ((), {}))
    rest = Annotated[float, Flag("Seconds between sessions.", "Trials"), Field(ge=0, le=60)]
    longer = create_model("Longer", __base__=request, __doc__="Rest.", rest=(rest, 0.0))
    requests = []
    app = typer.Typer()
    app.command()(command(longer, requests.append))
    result = CliRunner().invoke(app, [*words, "--rest", "2.5"])
    assert result.exception is None, result.exception
    assert [read.rest for read in requests] == [2.5]
    help_text = " ".join(CliRunner().invoke(app, ["--help-all" if longer.common else "--help"]).output.split())
    assert all(part in help_text for part in ("--rest", "Seconds between", "[default: 0.0]"))
    assert checked(longer, {**tomllib.loads("rest = 2.5"), **required}).rest == 2.5

    @takes(longer, tuple(required))
    def function(**request):
        """Do it."""
        return request_of(longer, {**request, **required})

    assert function(rest=2.5).rest == 2.5 and "rest: Seconds between sessions." in function.__doc__


def test_refusals_are_in_the_words_of_the_shell_of_python_or_of_a_file():
    refused = "must be 0 to 60, not 90"
    for attempt, name in (
        (lambda: typed("--rest", "90"), "--rest"),
        (lambda: request_of(LongerRequest, {"rest": 90}), "rest"),
        (lambda: checked(LongerRequest, {"rest": 90}, "eval.toml"), "eval.toml: rest"),
    ):
        with pytest.raises(UserError) as error:
            attempt()
        assert str(error.value) == f"{name} {refused}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--trials", "many"), "--trials: 'many' is not a whole number"),
        (("--rest", "long"), "--rest: 'long' is not a number"),
        (("--seed", "-1"), "--seed must be at least 0, not -1"),
        (("--lesion", "0.2", "--silence", "0.1", "period=delay"), "'period=delay' is not a run"),
        (("--record", "spkes"), "did you mean 'spikes'?"),
        (("--recording-by", "coh"), "--recording-by names conditions of the recording of --compare-activity"),
    ],
)
def test_what_does_not_fit_is_refused(words, message):
    with pytest.raises(UserError) as error:
        typed(*words)
    assert message in str(error.value)


def test_a_flag_has_one_meaning_in_all_commands():
    """Each of these once meant several things; a command that takes one gives it the meaning of the others."""
    expected = {
        "--compare": {"eval"},
        "--where": {"fit", "data"},
        "--by": {"plot", "data"},
        "--stimuli": {"fit", "data"},
        "--model": {"fit"},
        "--subject": {"fit", "data"},
        "--subjects": {"fit"},
    }
    options = [(each.spelling, name) for name, request in REQUESTS.items() for each in options_of(request)]
    assert {flag: {name for spelling, name in options if spelling == flag} for flag in expected} == expected


@pytest.mark.parametrize(
    ("older", "newer", "value"),
    [
        ("by", "recording_by", "coh"),
        ("model", "fitted_model", "gru"),
        ("subject", "fitted_subject", "ann"),
        ("stimuli", "task_stimuli", "s1=v1*0.1"),
    ],
)
def test_older_spellings_are_read_and_not_shown(older, newer, value):
    needed = ("--compare-activity", "a.npz") if older == "by" else ("--simulate", "RDM-v0")
    (request,), _ = typed(*needed, f"--{older}", value)
    assert request == typed(*needed, f"--{newer.replace('_', '-')}", value)[0][0]
    assert getattr(request, newer) in (value, (value,))
    keywords = {needed[0].strip("-").replace("-", "_"): needed[1]}
    assert request_of(LongerRequest, {**keywords, older: value}) == request
    assert f"--{older} " not in typed("--help-all")[1]


def test_an_unknown_argument_names_the_nearest():
    with pytest.raises(UserError, match="unknown argument 'trails'; did you mean 'trials'"):
        request_of(LongerRequest, {"trails": 3})
    with pytest.raises(UserError, match="unknown key 'trails'; did you mean 'trials'"):
        checked(LongerRequest, {"trails": 3})


def test_words_of_a_perturbation_need_no_quotes():
    (request,), _ = typed("first", "--silence", "units=3,7", "period=delay")
    assert request.run == ["first"] and [each.label for each in request.perturbed] == ["silence-units3+7-delay"]
