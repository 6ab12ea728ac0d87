"""Command lines in a process of their own, forked from a server that has everything imported: milliseconds each."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import NamedTuple

from ngym_cli import runs
from ngym_cli.commands import app
from ngym_cli.errors import UserError

#: Seconds of the processor after which a command hangs, and on the clock, for one that waits.
PATIENCE, LONG_PATIENCE = 20.0, 120.0

PRELOAD = [
    "matplotlib.pyplot",
    "ngym_cli.agents.algorithms.build",
    "ngym_cli.evaluation.requests",
    "ngym_cli.figures.report",
    "ngym_cli.training.main_loop",
    "ngym_cli.training.sb3_callback",
    "torch.utils.tensorboard",
    "tests.ngym_cli.apart",
]


def server() -> multiprocessing.context.ForkServerContext:
    """Return the context whose processes are forked from a warm server, which never trains itself."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    return context


class Ended(NamedTuple):
    """What is wrong with how a command line ended (None if nothing), and how long it took.

    Attributes:
        wrong: a traceback, ``hangs``, an exit code that does not exist, ...
        seconds: seconds of the processor.
    """

    wrong: str | None
    seconds: float


def call(arguments: list[str], folder: Path, trains: bool = True) -> Ended:
    """Run a command line in a folder, as a shell would.

    Args:
        arguments: what follows ``ngym``.
        folder: where it runs.
        trains: whether ``ngym run`` makes a folder and trains, or ends before that.
    """
    context = server()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(arguments, folder, trains, theirs))
    process.start()
    theirs.close()
    ended = None
    if ours.poll(LONG_PATIENCE):
        with contextlib.suppress(EOFError):
            ended = ours.recv()
    elif process.is_alive():
        process.kill()
        ended = Ended("hangs, and hears no signal", LONG_PATIENCE)
    process.join(LONG_PATIENCE)
    return ended or Ended(f"the process ended with {process.exitcode}", 0.0)


class Ready(UserError):
    """All is well; only the folder and the training are left out."""


class Hangs(BaseException):
    """A command took too long."""


def _call(arguments: list[str], folder: Path, trains: bool, pipe: multiprocessing.connection.Connection) -> None:
    import torch

    torch.set_num_threads(1)
    os.chdir(folder)
    if not trains:
        runs.create = _ready
    began = time.process_time()
    wrong = _wrong(arguments)
    pipe.send(Ended(wrong, time.process_time() - began))
    pipe.close()


def _ready(*_, **__):
    raise Ready("ready to train")


def _wrong(arguments: list[str]) -> str | None:
    clock, processor = time.monotonic(), time.process_time()

    def ring(number, frame):
        if time.process_time() - processor > PATIENCE or time.monotonic() - clock > LONG_PATIENCE - 10:
            raise Hangs

    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["ngym", *arguments]
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            app.main()
        return "came back without an exit code"
    except SystemExit as ended:
        code = ended.code or 0
    except Hangs:
        return "hangs"
    except BaseException as error:
        return "".join(traceback.format_exception(error)[-3:])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return _wrong_end(code, out.getvalue(), err.getvalue())


def _wrong_end(code: object, out: str, err: str) -> str | None:
    if "Hangs" in err:
        return "hangs"
    if code not in (0, 1, 2):
        return f"exit code {code}: {err[-300:]}"
    if "\x1b" in out + err:
        return "an escape character"
    if "Traceback (most recent call last)" in err:
        return err[-600:]
    if code == 2 and not err.strip().splitlines()[-1].startswith("ngym: "):
        return f"no message: {err[-300:]}"
    return None
