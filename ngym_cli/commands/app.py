"""Entry point of the command line: table of all commands, each made from a request with one option per field.

The module of a command is imported when the command is called or listed.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
import warnings
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any, NoReturn, get_type_hints

import typer
from typer.exceptions import TyperException

from ngym_cli.commands.shell import command
from ngym_cli.errors import Question, UserError, one_line, printable

#: Other words for commands, and the command that is suggested.
SYNONYMS = {
    "train": "run", "learn": "run", "start": "run", "evaluate": "eval", "test": "eval", "figure": "plot",
    "figures": "plot", "draw": "plot", "show": "info", "describe": "info", "explain": "info", "ls": "list",
    "tasks": "list", "compare": "diff", "grid": "sweep", "search": "sweep", "hyper": "sweep", "create": "new",
    "html": "report", "validate": "check", "rm": "runs rm", "tag": "runs tag", "note": "runs note",
    "resume": "run --resume", "paper": "reproduce", "papers": "reproduce", "replicate": "reproduce",
    "doc": "docs", "help": "docs", "man": "docs", "benchmark": "bench",
}  # fmt: skip

#: Groups of the overview, with the commands and examples of each.
GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "Train": {
        "run": (
            "ngym run --task RDM-v0 --wrappers pass_reward,pass_action",
            "ngym run --task DelayComparison-v0 --timing delay=500 --reward fail=-0.1 --until 0.95",
            "ngym run --task GoNogo-v0 --alg supervised --timesteps 1e5 --seed 3",
            "ngym run --resume latest",
        ),
        "sweep": (
            "ngym sweep --alg recurrent_ppo,recurrent_a2c --seed 0:5",
            "ngym sweep --network lstm,gru --units 32,64 --seed 0:5 --on slurm --slurm partition=cpu",
            "ngym sweep --search 100 --space learning_rate=log:1e-4:1e-2",
            "ngym sweep status latest",
        ),
        "reproduce": ("ngym reproduce", "ngym reproduce roitman2002 --seeds 5"),
        "bench": (
            "ngym bench --task RDM-v0 --wrappers pass_reward,pass_action",
            "ngym bench --task GoNogo-v0 --units 256 --n-envs 64 --timesteps 1e7",
        ),
    },
    "Look": {
        "eval": (
            "ngym eval latest --task-arg cohs=1/90 --balanced",
            "ngym eval latest --lesion 0.2",
            "ngym eval latest --record activity --export npz",
            "ngym eval latest --compare roitman2002",
        ),
        "plot": (
            "ngym plot latest",
            "ngym plot latest psychometric --by context --format pdf",
            "ngym plot sweeps/cells --by network",
            "ngym plot --list latest",
        ),
        "watch": ("ngym watch latest --where coh=6.4,outcome=error", "ngym watch latest --out trial.mp4 --trials 1"),
        "report": ("ngym report latest", "ngym report latest --out page.html"),
        "list": (
            "ngym list tasks rdm",
            "ngym list tasks --learned-by ctrnn",
            "ngym list runs --status finished --sort -performance",
            "ngym list models",
        ),
        "info": ("ngym info RDM-v0 --dt 20", "ngym info recurrent_ppo", "ngym info ceiling"),
        "diff": ("ngym diff latest first", "ngym diff first second --json"),
        "docs": ("ngym docs GoNogo-v0", "ngym docs recurrent_ppo"),
    },
    "Behaviour": {
        "data": (
            "ngym data rat.csv",
            "ngym data rat.csv --choice side --stimuli s1,s2 --json",
            "ngym data rat.csv --by block --where 'phase == test'",
        ),
        "fit": (
            "ngym fit rat.csv",
            "ngym fit rat.csv --model psytrack,glm-hmm,gru --units 1,2,4",
            "ngym fit dots.csv --model ddm",
            "ngym fit people.csv --model q-learning --subjects hierarchical",
        ),
    },
    "Build": {
        "new": ("ngym new my_task.py", "ngym new wrapper my_wrapper.py"),
        "check": (
            "ngym check my_task.py:MyTask",
            "ngym check RDM-v0 GoNogo-v0",
            "ngym check old_script.py --neurogym",
        ),
    },
    "Share": {
        "export": ("ngym export latest --to sb3", "ngym export latest --to onnx --out agent.onnx"),
        "runs": ("ngym runs tag latest baseline", "ngym runs rm first --yes"),
    },
}
COMMANDS = {name: examples for commands in GROUPS.values() for name, examples in commands.items()}


def _epilog(examples: Iterable[str]) -> str:
    return "\n\n".join(("Examples:", *examples))


@functools.cache
def _command(name: str, group: str) -> Any:
    """Return the command of a name, whose module is imported now."""
    holder = typer.Typer(add_completion=False, rich_markup_mode="rich")
    holder.callback()(lambda: None)
    module, epilog = import_module(f"ngym_cli.commands.{name}"), _epilog(COMMANDS[name])
    if hasattr(module, "app"):
        holder.add_typer(module.app, name=name, epilog=epilog, rich_help_panel=group)
    else:
        function = command(get_type_hints(module.execute)["request"], module.execute)
        holder.command(name, epilog=epilog, rich_help_panel=group)(function)
    commands: Any = typer.main.get_command(holder)
    return commands.commands[name]


class CommandGroup(typer.core.TyperGroup):
    """Group of commands that are imported when they are needed, and that names the command for another word."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name, or None."""
        group = next((title for title, commands in GROUPS.items() if cmd_name in commands), None)
        return None if group is None else _command(cmd_name, group)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first word.

        Raises:
            UserError: on another word for a command, with the command.
        """
        meant = SYNONYMS.get(args[0].lower()) if args[0] not in COMMANDS else None
        if meant is not None:
            raise UserError(f"no such command '{args[0]}'; did you mean 'ngym {meant}'?")
        return super().resolve_command(ctx, args)


#: Variable with which a shell asks for completion.
COMPLETION = "_NGYM_COMPLETE"

app = typer.Typer(
    name="ngym",
    cls=CommandGroup,
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
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
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
    _print_warnings_safely()
    try:
        code = app(prog_name="ngym", standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        message = _with_whole_word(_message(error), getattr(error, "option_name", ""))
        fail(message[:1].lower() + message[1:])
    except Question as question:
        _show_candidates(question)
        fail(one_line(question))
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
        file_part = f"{error.filename}: " if error.filename is not None else ""
        fail(f"{file_part}{error.strerror or one_line(error)}")
    except BaseException as error:
        if isinstance(error, Exception) or (isinstance(error, SystemExit) and _is_asked_by_a_shell()):
            raise
        if isinstance(error.__context__, BrokenPipeError):  # Rich ends the program when the reader of a table is gone
            sys.exit(1)
        fail(f"a task's code ended the program: {one_line(error)}")
    sys.exit(code if isinstance(code, int) else 0)


def _show_candidates(question: Question) -> None:
    """Print the columns in question with their entries, and the complete command of each answer, on stderr."""
    from ngym_cli.terminal import quoted

    lines = [f"  {name}: {entries}" for name, entries in question.columns]
    lines += [f"  {quoted('ngym', *sys.argv[1:], *options)}   # {meaning}" for options, meaning in question.answers]
    with contextlib.suppress(OSError):
        sys.stderr.write("\n".join(map(printable, lines)) + "\n")


def _with_whole_word(message: str, option: str | None) -> str:
    """Return a message about an unknown option, such as -i, with the whole word that was typed, such as -inf."""
    option = option or ""
    typed = [word for word in sys.argv[1:] if word.startswith(option) and word[:1] == "-" and word[:2] != "--"]
    return message.replace(option, typed[0]) if len(option) == 2 and typed else message


def _print_warnings_safely() -> None:
    """Print warnings, which may quote names in files of others, with control characters as escapes."""
    usual = warnings.formatwarning

    def format_warning(*warning: Any) -> str:
        return "".join(f"{printable(line)}\n" for line in usual(*warning).split("\n") if line)

    if usual.__name__ != format_warning.__name__:
        warnings.formatwarning = format_warning  # type: ignore[assignment]


def _is_asked_by_a_shell() -> bool:
    """Return whether a shell asks for names or for the script of its completion, after which Typer ends the program."""
    return COMPLETION in os.environ or any(word.endswith("-completion") for word in sys.argv[1:2])


def _message(error: TyperException) -> str:
    """Return the message of an error of the command line; an unknown option is named with the one that was meant."""
    unknown, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if isinstance(unknown, str) and context is not None:
        from ngym_cli.commands import suggestions

        options = [name for parameter in context.command.params for name in parameter.opts]
        meant = suggestions.meant(unknown, options)
        if meant is not None:
            return f"no such option: {unknown}; did you mean {meant}?"
    return error.format_message() if hasattr(error, "format_message") else str(error)


def _leave_stdout() -> None:
    """Discard output that could not be written, so that the interpreter does not write again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(message: str, code: int = 2) -> NoReturn:
    """Print a single line on stderr and exit."""
    line = printable(" ".join(message.split()))
    with contextlib.suppress(OSError):
        sys.stderr.write(f"ngym: {line}\n")
        sys.stderr.flush()
    sys.exit(code)
