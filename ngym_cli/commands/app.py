"""The command line: which commands there are. Each lives in its own file and imports what it needs when it runs."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from ngym_cli.commands.options import option
from ngym_cli.errors import UserError, one_line

#: What is typed in place of a command's name.
MEANT = {
    "train": "run", "learn": "run", "fit": "run", "start": "run", "evaluate": "eval", "test": "eval", "figure": "plot",
    "figures": "plot", "draw": "plot", "show": "info", "describe": "info", "explain": "info", "ls": "list",
    "tasks": "list", "compare": "diff", "grid": "sweep", "search": "sweep", "hyper": "sweep", "create": "new",
    "html": "report", "validate": "check", "rm": "runs rm", "tag": "runs tag", "note": "runs note",
    "resume": "run --resume", "paper": "reproduce", "papers": "reproduce", "replicate": "reproduce",
    "doc": "docs", "help": "docs", "man": "docs", "benchmark": "bench",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A command, which is imported when it is called.

    Attributes:
        summary: one sentence, its help.
        examples: two lines that its help ends with.
    """

    summary: str
    examples: tuple[str, str]


#: Every command of one word; each lives in the module of its name.
COMMANDS = {
    "run": Entry(
        "Train an agent; leaves a run folder with its record, trials, model and evaluation.",
        ("ngym run --task RDM-v0 --wrappers pass_reward,pass_action",
         "ngym run --task GoNogo-v0 --alg supervised --timesteps 1e5 --seed 3"),
    ),
    "list": Entry(
        "List what there is and find it by a word: tasks, wrappers, algorithms, figures, runs and more.",
        ("ngym list tasks rdm", "ngym list runs --status finished --sort -performance"),
    ),
    "info": Entry(
        "Explain anything that has a name: what it does, what can be set and to what, and where it is from.",
        ("ngym info RDM-v0 --dt 20", "ngym info recurrent_ppo"),
    ),
    "docs": Entry(
        "Open the page about a name in a browser; where there is none, print its address.",
        ("ngym docs GoNogo-v0", "ngym docs recurrent_ppo"),
    ),
    "eval": Entry(
        "Evaluate trained agents on fresh trials, weights frozen, state reset as in training.",
        ("ngym eval latest --record activity", "ngym eval latest --task-arg cohs=1/90 --balanced"),
    ),
    "plot": Entry(
        "Draw runs: the figures that the task calls for, several runs or evaluations overlaid.",
        ("ngym plot latest", "ngym plot latest psychometric --format pdf"),
    ),
    "watch": Entry(
        "Watch single trials: inputs, units, policy, value, choice and reward, as a figure, a film or step by step.",
        ("ngym watch latest --where coh=6.4,outcome=error", "ngym watch latest --out trial.mp4 --trials 1"),
    ),
    "report": Entry(
        "Write one self-contained HTML page: figures, tables, configuration and provenance of a run.",
        ("ngym report latest", "ngym report latest --out page.html"),
    ),
    "sweep": Entry(
        "Make many runs: grids, seeds and searches, here, on a Ray cluster or on Slurm; repeating it goes on.",
        ("ngym sweep --alg recurrent_ppo,recurrent_a2c --seed 0:5",
         "ngym sweep --search 100 --space learning_rate=log:1e-4:1e-2"),
    ),
    "reproduce": Entry(
        "Train what a paper trained, measure what it measured, draw its figures; repeating it goes on.",
        ("ngym reproduce", "ngym reproduce roitman2002 --seeds 5"),
    ),
    "new": Entry(
        "Write a commented task that works as it stands, as the beginning of your own.",
        ("ngym new my_task.py", "ngym new tasks/grid_cells.py"),
    ),
    "check": Entry(
        "Check that tasks follow the rules that every task follows; exit code 1 if one does not work.",
        ("ngym check my_task.py:MyTask", "ngym check RDM-v0 GoNogo-v0"),
    ),
    "bench": Entry(
        "Find the fastest number of environments and threads for a run, and how long it will take.",
        ("ngym bench --task RDM-v0 --wrappers pass_reward,pass_action",
         "ngym bench --task GoNogo-v0 --units 256 --n-envs 64 --timesteps 1e7"),
    ),
    "diff": Entry(
        "Say where two runs differ: configuration, seeds, versions, results. Exit code 1 if they do, 0 if not.",
        ("ngym diff latest first", "ngym diff first second --json"),
    ),
    "export": Entry(
        "Hand a trained agent to another program: Stable-Baselines3, ONNX or TorchScript.",
        ("ngym export latest --to sb3", "ngym export latest --to onnx --out agent.onnx"),
    ),
    "runs": Entry(
        "Remove runs, tag them and note what they were for; ngym list runs shows them.",
        ("ngym runs tag latest baseline", "ngym runs rm first --yes"),
    ),
}  # fmt: skip


def _ending(examples: Iterable[str]) -> str:
    """Return examples as the end of a help text."""
    return "\n\n".join(("Examples:", *examples))


class _Imported(dict[str, Any]):
    """The commands by name, each imported when it is asked for."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(COMMANDS))

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if found is None:
            module = import_module(f"ngym_cli.commands.{name}")
            entry, alone = COMMANDS[name], typer.Typer(add_completion=False, rich_markup_mode="rich")
            if hasattr(module, "app"):
                found = typer.main.get_command(module.app)
                found.help, found.epilog = entry.summary, _ending(entry.examples)
            else:
                alone.command(name, help=entry.summary, epilog=_ending(entry.examples))(module.command)
                found = typer.main.get_command(alone)
            found.name = name
            self[name] = found
        return found

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def items(self) -> Any:
        return [(name, self[name]) for name in self]

    def values(self) -> Any:
        return [self[name] for name in self]


class _Commands(typer.core.TyperGroup):
    """The commands, with the one that was meant when another word was typed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": _Imported()})
        self._overview = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the overview, without importing the commands."""
        self._overview = True
        super().format_help(ctx, formatter)
        self._overview = False

    def list_commands(self, ctx: Any) -> Any:
        """Return the names of the commands."""
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or for the overview only its name and what it does."""
        if self._overview and cmd_name in COMMANDS:
            return typer.core.TyperCommand(cmd_name, help=COMMANDS[cmd_name].summary)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        """Return the command that the first word names."""
        word = str(args[0])
        if word not in COMMANDS and word.lower() in MEANT:
            raise UserError(f"no such command '{word}'; did you mean 'ngym {MEANT[word.lower()]}'?")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="ngym",
    cls=_Commands,
    help="Train, evaluate and analyse recurrent networks on the tasks of systems and cognitive neuroscience.",
    epilog=_ending(
        ["ngym run --task RDM-v0 --wrappers pass_reward,pass_action --alg recurrent_ppo", "ngym list tasks"]
    ),
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from neurogym import __version__, kernels

        typer.echo(f"ngym {__version__}, compiled functions: {kernels.variant()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, option("Print the version and exit.", "--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; a user's mistake, or what the system refuses, is one line on stderr and exit code 2."""
    os.environ.setdefault("NGYM_STRICT", "1")  # what the toolkit warns of in scripts is an error here
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows fewer letters than a trial is drawn with
    try:
        code = app(prog_name="ngym", standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        message = error.format_message() if hasattr(error, "format_message") else str(error)
        fail(message[:1].lower() + message[1:])
    except UserError as error:
        fail(one_line(error))
    except (KeyboardInterrupt, typer.Abort):
        fail("interrupted", 130)
    except MemoryError as error:
        fail(f"not enough memory: {one_line(error)}")
    except BrokenPipeError:
        _leave_stdout()
        sys.exit(1)
    except OSError as error:
        _leave_stdout()
        place = f"{error.filename}: " if error.filename is not None else ""
        fail(f"{place}{error.strerror or one_line(error)}")
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        if isinstance(error.__context__, BrokenPipeError):  # a table whose reader has left: Rich ends the program
            sys.exit(1)
        fail(f"a task's code ended the program: {one_line(error)}")  # no code of ours ends in this way
    sys.exit(code if isinstance(code, int) else 0)


def _leave_stdout() -> None:
    """Let what could not be written to stdout go nowhere, so that the interpreter does not try again as it ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(message: str, code: int = 2) -> NoReturn:
    """Print one line on stderr and exit."""
    line = "".join(char if char.isprintable() else "?" for char in " ".join(message.split()))
    with contextlib.suppress(OSError):
        sys.stderr.write(f"ngym: {line}\n")
        sys.stderr.flush()
    sys.exit(code)
