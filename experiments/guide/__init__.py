"""Output of the commands with which the pages of the guide begin.

    python -m experiments.records --make --only guide
    make records ONLY=guide/sweeps

An item is a page. Its commands run one after the other in an empty folder; the page shows the last of them, or those
that it lists, with what they print on the terminal.
"""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
import termios
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from experiments.records.record import Record, Row, Rows

#: A short training, for pages about what can be done with a trained agent.
TRAIN = "ngym run --task RDM-v0 --wrappers pass_reward,pass_action --name demo"

#: Width of the terminal, in characters.
COLUMNS = 88

#: Control sequences of terminals.
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

SCRIPT = """\
import gym
import neurogym as ngym
env = gym.make("PerceptualDecisionMaking-v0", dt=20)
obs = env.reset()
obs, reward, done, info = env.step(env.action_space.sample())
"""


@dataclass(frozen=True)
class Opening:
    """Commands at the beginning of a page.

    Attributes:
        shown: commands printed on the page with their output; Python statements where ``python`` is true.
        before: commands that run first and are not shown.
        lines: number of printed lines that are kept; the rest is replaced by an ellipsis.
        files: files that the commands read, by name.
        python: whether the commands are statements of Python.
    """

    shown: tuple[str, ...]
    before: tuple[str, ...] = ()
    lines: int = 14
    files: tuple[tuple[str, str], ...] = ()
    python: bool = False


PAGES: dict[str, Opening] = {
    "readme": Opening(("ngym eval latest",), (f"{TRAIN} --alg recurrent_ppo",), lines=9),
    "running": Opening((TRAIN,), lines=30),
    "stages": Opening(
        ("ngym run --task RDM-v0+GoNogo-v0 --schedule block:100 --timesteps 60000 --name both",), lines=30
    ),
    "sweeps": Opening(("ngym sweep --network lstm,gru --seed 0:2 --timesteps 30000 --name cells",), lines=20),
    "tables": Opening(("ngym data roitman2002",), lines=24),
    "fitting": Opening(("ngym fit akrami2018 --model logistic,psytrack --name rat",), lines=24),
    "networks": Opening(("ngym list networks",), lines=24),
    "papers": Opening(("ngym reproduce",), lines=10),
    "own_parts": Opening(("ngym new task my_task.py", "ngym check my_task.py:MyTask"), lines=20),
    "run_folder": Opening(("ls runs/RDM-v0/recurrent_ppo/demo",), (f"{TRAIN} --timesteps 3000",)),
    "other_tools": Opening(
        (
            "ngym eval demo --record spikes --export npz,nwb --trials 500 --name shared",
            "ls runs/RDM-v0/recurrent_ppo/demo/eval/shared",
        ),
        (f"{TRAIN} --until 0.85",),
        lines=40,
    ),
    "installation": Opening(("ngym --version", "ngym list tasks rdm")),
    "neurogym": Opening(("ngym list differences Bandit",)),
    "old_command_line": Opening(("ngym check script.py --neurogym",), files=(("script.py", SCRIPT),)),
    "python": Opening(
        (
            "import ngym_cli as nc",
            'run = nc.train("RDM-v0", "pass_reward,pass_action", until=0.85, name="demo")',
            "run",
            "run.evaluate(500)",
        ),
        python=True,
    ),
}


def make(item: str, seed: int) -> Row:
    """Return what the commands of a page print."""
    opening = PAGES[item]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in opening.files:
            (Path(folder) / name).write_text(text, encoding="utf-8")
        for command in opening.before:
            _shell(command, folder)
        run = _python if opening.python else _commands
        printed = run(opening.shown, folder)
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    return {"printed": [*lines[: opening.lines], *(["..."] if len(lines) > opening.lines else [])]}


def _commands(commands: tuple[str, ...], folder: str) -> str:
    return "\n".join(f"$ {command}\n{_shell(command, folder).rstrip()}" for command in commands)


def _shell(command: str, folder: str) -> str:
    """Return what a command prints on a terminal; what it writes to the standard error is left out."""
    program, *arguments = shlex.split(command)
    line = [sys.executable, "-m", "ngym_cli", *arguments] if program == "ngym" else [program, *arguments]
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
    reader, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (50, COLUMNS))
    printed = bytearray()
    with subprocess.Popen(line, cwd=folder, env=environment, stdout=terminal, stderr=subprocess.PIPE) as process:
        os.close(terminal)
        with contextlib.suppress(OSError):  # the end of a terminal is an error of input and output
            while data := os.read(reader, 65536):
                printed += data
        os.close(reader)
        _, errors = process.communicate()
    if process.returncode not in (0, 1):  # 1: a check that failed
        raise RuntimeError(f"{command}: {errors.decode()}")
    return ESCAPE.sub("", printed.decode()).replace("\r\n", "\n")


def _python(statements: tuple[str, ...], folder: str) -> str:
    """Return a session of Python as the interpreter shows it."""
    session, names = [], dict[str, object]()
    with contextlib.chdir(folder):
        for statement in statements:
            session.append(f">>> {statement}")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                exec(compile(statement, "<guide>", "single"), names)
            session.append(printed.getvalue().rstrip())
    return "\n".join(line for line in session if line)


def block(page: str, rows: Rows) -> str:
    """Return the opening of a page as a block of its text."""
    printed = rows.get(page, {}).get("0", {}).get("printed", [])
    return "\n".join(f"    {line}".rstrip() for line in printed)


RECORD = Record(
    name="guide",
    what="output of the commands with which the pages of the guide begin",
    file=Path(__file__).with_name("results.json"),
    items=lambda: list(PAGES),
    make=make,
    tables={page: partial(block, page) for page in PAGES},
    seeds=1,
)
