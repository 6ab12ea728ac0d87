"""Whatever is typed: one line and exit code 2, or it works. Never a traceback, never a leftover folder."""

from __future__ import annotations

import contextlib
import io
import os
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ngym_cli import runs
from ngym_cli.commands import app
from ngym_cli.errors import UserError

VALID = [
    "run --task RDM-v0 --wrappers pass_reward,pass_action --alg recurrent_ppo --n-envs 2 --units 8 --seed 3",
    "run --task GoNogo-v0 --dt 20 --timing stimulus=uniform:200:600 --timing delay=300 --reward fail=-0.1 --n-envs 2",
    "run --task Bandit-v0 --alg ppo --network mlp --set n_steps=8 --set batch_size=16 --n-envs 2 --timesteps 100",
    "run --task RDM-v0 --task-arg sigma=0.5 --task-arg cohs=0/12.8/51.2 --network ctrnn --network-arg tau=100",
    "run --task ReachingDelayResponse-v0 --alg recurrent_a2c --reset-state trial --eval-every 100 --n-envs 2",
    "run --task RDM-v0 --wrappers reaction_time,side_bias:probs=0.2/0.8//0.8/0.2:block_dur=10 --n-envs 2 --name x",
    "run --config good.toml --n-envs 2 --checkpoint-every 100 --overwrite",
    "run --resume runs/nothing",
    "list tasks --tag timing --json",
    "list wrappers",
    "list runs",
    "info RDM-v0 --dt 50",
    "eval latest --trials 10 --stochastic",
    "plot latest learning --format svg",
    "diff one other --json",
]
WORDS = ["", " ", *"- -- = : , / // a=b x:y=z nan -inf 1e999 true none [red] é ☃".split()]
NUMBERS = "-1 0 1 2 3 0.5 -0.0 1e-300 100000000000000000000000 99999999999 0x10 1_0 ٣".split()
NAMES = "RDM-v9 pass_rewrad recurrent lstn uniform:1 choice: until:-5 a.py:B os:system .. / ~".split()
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
PIECES = st.one_of(st.sampled_from(WORDS), st.sampled_from(NUMBERS), st.sampled_from(NAMES), texts)
QUIET = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


@st.composite
def command_lines(draw, lines=VALID, more=()):
    """A valid command line with a few tokens dropped, doubled, exchanged, replaced or changed inside."""
    pieces = st.one_of(PIECES, st.sampled_from(more)) if more else PIECES
    tokens = draw(st.sampled_from(lines)).split()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(tokens) - 1)) if tokens else 0
        kind = draw(st.sampled_from(["drop", "double", "swap", "replace", "insert", "inside"]))
        if kind == "insert" or not tokens:
            tokens.insert(at, draw(pieces))
        elif kind == "drop":
            tokens.pop(at)
        elif kind == "double":
            tokens.insert(at, tokens[at])
        elif kind == "swap":
            second = draw(st.integers(0, len(tokens) - 1))
            tokens[at], tokens[second] = tokens[second], tokens[at]
        elif kind == "replace":
            tokens[at] = draw(pieces)
        else:
            tokens[at] = _inside(draw, tokens[at], draw(pieces))
    return [token for token in tokens if token not in ("--install-completion", "--show-completion")]


def _inside(draw, text, piece):
    begin = draw(st.integers(0, len(text)))
    end = min(len(text), begin + draw(st.integers(0, 3)))
    return text[:begin] + piece + text[end:]


@st.composite
def files(draw, text):
    """A configuration file with lines dropped, doubled or replaced, or changed inside, or with other bytes."""
    lines = text.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        kind = draw(st.sampled_from(["drop", "double", "replace", "inside", "value"]))
        if kind == "drop" and len(lines) > 1:
            lines.pop(at)
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "replace":
            lines[at] = draw(PIECES)
        elif kind == "value":
            values = st.sampled_from(["1", "-1", "1.5", "nan", "'x'", "[]", "{}", "true", "[[1]]", "{a = 1}", "1e400"])
            lines[at] = lines[at].partition("=")[0] + "= " + draw(values)
        else:
            lines[at] = _inside(draw, lines[at], draw(PIECES))
    data = "\n".join(lines).encode()
    return data + (draw(st.binary(max_size=4)) if draw(st.booleans()) else b"")


class Ready(UserError):
    """All is well; only the folder and the training are left out."""


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """An empty folder in which command lines are tried; training stops where its folder would be made."""

    def ready(*_, **__):
        raise Ready("ready to train")

    monkeypatch.setattr(runs, "create", ready)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.toml").write_text('task = "RDM-v0"\nunits = 8\n[timing]\nstimulus = 300\n')
    return tmp_path


def run(arguments, folder):
    """Run a command line; hold what is promised of every one of them."""
    before = sorted(folder.rglob("*"))
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["ngym", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app.main()
        except SystemExit as ended:
            code = ended.code or 0
    assert code in (0, 2) or (arguments[0] == "diff" and code == 1), (code, err.getvalue())
    if code == 2:
        lines = err.getvalue().strip().splitlines()
        assert lines and lines[-1].startswith("ngym: "), err.getvalue()
        assert all(line.startswith("training ") for line in lines[:-1]), err.getvalue()
    if code == 2 or arguments[0] not in ("info", "plot"):
        assert sorted(folder.rglob("*")) == before
    return code


def fuzzing(examples):
    """Settings of a number of examples, the same in every run unless there are many."""
    return settings(
        max_examples=examples, deadline=None, suppress_health_check=QUIET, database=None, derandomize=examples < 500
    )


def test_the_valid_lines_are_valid(ngym, bench):
    for line in VALID[:7]:
        result = ngym(*line.split())
        assert result.err.endswith("ngym: ready to train\n"), (line, result)


def test_mutated_command_lines(bench):
    """`test_thousands` has more."""

    @fuzzing(100)
    @given(command_lines())
    def check(arguments):
        run(arguments or ["--help"], bench)

    check()


@pytest.mark.parametrize(
    "examples", [60, pytest.param(int(os.environ.get("NGYM_FUZZ", "1000")), marks=pytest.mark.long)]
)
def test_mutated_configuration_files(bench, tmp_path_factory, examples):
    from ngym_cli.agents.defaults import prepare
    from ngym_cli.config.model import from_dict

    settings = {"n_envs": 2, "units": 8, "wrappers": "pass_reward,side_bias:probs=0.2/0.8//0.8/0.2"}
    file = tmp_path_factory.mktemp("files") / "run.toml"

    @fuzzing(examples)
    @given(files(prepare(from_dict(settings))[0].to_toml()))
    def check(data):
        file.write_bytes(data)
        run(["run", "--config", str(file), "--n-envs", "2"], bench)

    check()
