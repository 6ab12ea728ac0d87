"""The command line: which commands there are. Each lives in its own file and imports what it needs when it runs."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from ngym_cli.commands import check, diff, eval, info, list, new, plot, report, run, sweep, watch
from ngym_cli.errors import UserError, one_line

app = typer.Typer(
    name="ngym",
    help="Train, evaluate and analyse recurrent networks on the tasks of systems and cognitive neuroscience.",
    epilog="Example: ngym run --task RDM-v0 --wrappers pass_reward,pass_action --alg recurrent_ppo",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.command)
app.command("list")(list.command)
app.command("info")(info.command)
app.command("eval")(eval.command)
app.command("plot")(plot.command)
app.command("watch")(watch.command)
app.command("report")(report.command)
app.command("sweep")(sweep.command)
app.command("new")(new.command)
app.command("check")(check.command)
app.command("diff")(diff.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from neurogym import __version__, kernels

        typer.echo(f"ngym {__version__}, compiled functions: {kernels.variant()}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
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
