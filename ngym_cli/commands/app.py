"""Entry point of the command line and table of all commands, each imported from a separate file when called."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from ngym_cli.commands.options import explained, option
from ngym_cli.errors import UserError, one_line

#: Other words for commands, and the command that is suggested.
SYNONYMS = {
    "train": "run", "learn": "run", "start": "run", "evaluate": "eval", "test": "eval", "figure": "plot",
    "figures": "plot", "draw": "plot", "show": "info", "describe": "info", "explain": "info", "ls": "list",
    "tasks": "list", "compare": "diff", "grid": "sweep", "search": "sweep", "hyper": "sweep", "create": "new",
    "html": "report", "validate": "check", "rm": "runs rm", "tag": "runs tag", "note": "runs note",
    "resume": "run --resume", "paper": "reproduce", "papers": "reproduce", "replicate": "reproduce",
    "doc": "docs", "help": "docs", "man": "docs", "benchmark": "bench",
}  # fmt: skip


@dataclass(frozen=True)
class CommandSummary:
    """Entry of a command in the overview; the module of the same name holds the command.

    Attributes:
        group: heading in the overview.
        text: imperative sentence of at most ten words, also the first line of the command's docstring.
        examples: two command lines at the end of the command's help.
    """

    group: str
    text: str
    examples: tuple[str, str]


#: Every command, in the order of the overview.
COMMANDS = {
    "run": CommandSummary(
        "Train",
        "Train an agent and keep everything in a run folder.",
        ("ngym run --task RDM-v0 --wrappers pass_reward,pass_action",
         "ngym run --task GoNogo-v0 --alg supervised --timesteps 1e5 --seed 3"),
    ),
    "sweep": CommandSummary(
        "Train",
        "Train many agents: grids, seeds and searches.",
        ("ngym sweep --alg recurrent_ppo,recurrent_a2c --seed 0:5",
         "ngym sweep --search 100 --space learning_rate=log:1e-4:1e-2"),
    ),
    "reproduce": CommandSummary(
        "Train",
        "Repeat the experiments and test the claims of a paper.",
        ("ngym reproduce", "ngym reproduce roitman2002 --seeds 5"),
    ),
    "bench": CommandSummary(
        "Train",
        "Find the fastest settings for a run on this machine.",
        ("ngym bench --task RDM-v0 --wrappers pass_reward,pass_action",
         "ngym bench --task GoNogo-v0 --units 256 --n-envs 64 --timesteps 1e7"),
    ),
    "eval": CommandSummary(
        "Look",
        "Evaluate trained agents on fresh trials.",
        ("ngym eval latest --record activity", "ngym eval latest --task-arg cohs=1/90 --balanced"),
    ),
    "fit": CommandSummary(
        "Train",
        "Fit models of choice to animals, humans or networks.",
        ("ngym fit rat.csv --model psytrack,glm-hmm,gru --units 1,2,4",
         "ngym fit rat.csv --model logistic,gru --test later.csv --json"),
    ),
    "data": CommandSummary(
        "Look",
        "Describe a table of choices: accuracy, bias, lapses, history.",
        ("ngym data rat.csv", "ngym data rat.csv --choice side --stimuli s1,s2 --json"),
    ),
    "plot": CommandSummary(
        "Look",
        "Draw figures of runs and sweeps.",
        ("ngym plot latest", "ngym plot latest psychometric --format pdf"),
    ),
    "watch": CommandSummary(
        "Look",
        "Watch single trials as a figure, a film or text.",
        ("ngym watch latest --where coh=6.4,outcome=error", "ngym watch latest --out trial.mp4 --trials 1"),
    ),
    "report": CommandSummary(
        "Look",
        "Write an HTML page about a run.",
        ("ngym report latest", "ngym report latest --out page.html"),
    ),
    "list": CommandSummary(
        "Look",
        "List and search tasks, wrappers, algorithms, figures and runs.",
        ("ngym list tasks rdm", "ngym list runs --status finished --sort -performance"),
    ),
    "info": CommandSummary(
        "Look",
        "Explain a task, wrapper, algorithm, network, figure or paper.",
        ("ngym info RDM-v0 --dt 20", "ngym info recurrent_ppo"),
    ),
    "diff": CommandSummary(
        "Look",
        "Compare the settings, versions and results of two runs.",
        ("ngym diff latest first", "ngym diff first second --json"),
    ),
    "docs": CommandSummary(
        "Look",
        "Open the documentation of a name in a browser.",
        ("ngym docs GoNogo-v0", "ngym docs recurrent_ppo"),
    ),
    "new": CommandSummary(
        "Build",
        "Write a commented example of your own part.",
        ("ngym new my_task.py", "ngym new wrapper my_wrapper.py"),
    ),
    "check": CommandSummary(
        "Build",
        "Check that your own tasks, networks and other parts work.",
        ("ngym check my_task.py:MyTask", "ngym check RDM-v0 GoNogo-v0"),
    ),
    "export": CommandSummary(
        "Share",
        "Export a trained agent to Stable-Baselines3, ONNX or TorchScript.",
        ("ngym export latest --to sb3", "ngym export latest --to onnx --out agent.onnx"),
    ),
    "runs": CommandSummary(
        "Share",
        "Tag, annotate and remove runs.",
        ("ngym runs tag latest baseline", "ngym runs rm first --yes"),
    ),
}  # fmt: skip


def _epilog(examples: Iterable[str]) -> str:
    return "\n\n".join(("Examples:", *examples))


#: Types of options in plain words. Flags show no type.
TYPES = {bool: "", int: "INTEGER", float: "NUMBER", Path: "PATH"}


def _readable_types(command: Any) -> None:
    """Replace the types of all options in a command's help by plain words."""
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.metavar is None:
            parameter.metavar = TYPES.get(parameter.type_descriptor.annotation, "TEXT")
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        _readable_types(command.get_command(None, name))


class LazyGroup(typer.core.TyperGroup):
    """Group whose commands are imported on first use, as click's documentation describes.

    The overview and completion of command names use ``COMMANDS`` only.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands."""
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and return a command; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module, summary = import_module(f"ngym_cli.commands.{cmd_name}"), COMMANDS[cmd_name]
        if hasattr(module, "app"):
            command: Any = typer.main.get_command(module.app)
        else:
            alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
            alone.command(cmd_name)(explained(module.command))
            command = typer.main.get_command(alone)
        command.name, command.epilog = cmd_name, _epilog(summary.examples)
        _readable_types(command)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first word.

        Raises:
            UserError: on another word for a command, with the command.
        """
        meant = SYNONYMS.get(args[0].lower()) if args[0] not in COMMANDS else None
        if meant is not None:
            raise UserError(f"no such command '{args[0]}'; did you mean 'ngym {meant}'?")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the overview."""
        self._overview().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the name of a command or an option."""
        return self._overview().shell_complete(ctx, incomplete)

    def _overview(self) -> typer.core.TyperGroup:
        """Return a group of the same commands with summaries only."""
        commands: dict[str, Any] = {
            name: typer.core.TyperCommand(name, help=summary.text, rich_help_panel=summary.group)
            for name, summary in COMMANDS.items()
        }
        return typer.core.TyperGroup(
            name=self.name, commands=commands, params=self.params, help=self.help, epilog=self.epilog,
            rich_markup_mode=self.rich_markup_mode,
        )  # fmt: skip


app = typer.Typer(
    name="ngym",
    cls=LazyGroup,
    help="Train, evaluate and analyse recurrent networks on the tasks of systems and cognitive neuroscience.",
    epilog=_epilog(
        ["ngym run --task RDM-v0 --wrappers pass_reward,pass_action --alg recurrent_ppo", "ngym list tasks"]
    ),
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from neurogym import VERSION, kernels

        typer.echo(f"ngym {VERSION}, compiled functions: {kernels.variant()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; errors of users and of the system are a single line on stderr and exit code 2."""
    os.environ.setdefault("NGYM_STRICT", "1")  # warnings of the toolkit in scripts are errors here
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # terminals without the letters of drawings
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
        if isinstance(error.__context__, BrokenPipeError):  # Rich ends the program when the reader of a table is gone
            sys.exit(1)
        fail(f"a task's code ended the program: {one_line(error)}")
    sys.exit(code if isinstance(code, int) else 0)


def _leave_stdout() -> None:
    """Discard output that could not be written, so that the interpreter does not write again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(message: str, code: int = 2) -> NoReturn:
    """Print a single line on stderr and exit."""
    line = "".join(char if char.isprintable() else "?" for char in " ".join(message.split()))
    with contextlib.suppress(OSError):
        sys.stderr.write(f"ngym: {line}\n")
        sys.stderr.flush()
    sys.exit(code)
