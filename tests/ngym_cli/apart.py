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
from ngym_cli.sweeps import folder as folder_of_sweeps

#: Seconds of the processor after which a command hangs, and on the clock, for one that waits (machines are shared).
PATIENCE, LONG_PATIENCE = 20.0, 400.0

PRELOAD = [
    "matplotlib.pyplot",
    "ngym_cli.agents.networks.policy",
    "ngym_cli.evaluation.service",
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
    """What is wrong with how a command line ended (None if nothing), how long it took, and what it said.

    Attributes:
        wrong: a traceback, ``hangs``, an exit code that does not exist, ...
        seconds: seconds of the processor.
        code: the exit code.
        out: what it printed.
        err: what it printed on stderr.
    """

    wrong: str | None
    seconds: float
    code: int = -1
    out: str = ""
    err: str = ""


def call(arguments: list[str], folder: Path, trains: bool = True, user: int | None = None) -> Ended:
    """Run a command line in a folder, as a shell would.

    Args:
        arguments: what follows ``ngym``.
        folder: where it runs.
        trains: whether ``ngym run`` and ``ngym sweep`` make a folder and train, or end before that.
        user: number of the user who runs it, if this process may choose.
    """
    context = server()
    ours, reference = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(arguments, folder, trains, user, reference))
    process.start()
    reference.close()
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


def _call(
    arguments: list[str], folder: Path, trains: bool, user: int | None, pipe: multiprocessing.connection.Connection
) -> None:
    import torch

    if user is not None:
        _become(user)
    torch.set_num_threads(1)
    os.chdir(folder)
    if not trains:
        runs.create = folder_of_sweeps.make = _ready
    began = time.process_time()
    wrong, *rest = _run(arguments)
    pipe.send(Ended(wrong, time.process_time() - began, *rest))
    pipe.close()


def _become(user: int) -> None:
    """Go on as another user, who may still read everything: this Python may lie in a folder of root's."""
    import ctypes

    libc, keep_capabilities, version, read_search = ctypes.CDLL(None), 8, 0x20080522, 1 << 2
    libc.prctl(keep_capabilities, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    header, sets = (ctypes.c_uint32 * 2)(version, 0), (ctypes.c_uint32 * 6)(read_search, read_search, 0, 0, 0, 0)
    if libc.capset(header, sets):
        raise OSError("the capability to read could not be kept")


def _ready(*_, **__):
    raise Ready("ready to train")


def _run(arguments: list[str]) -> tuple[str | None, int, str, str]:
    """Return what is wrong, the exit code and both outputs."""
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
        code, wrong = -1, "came back without an exit code"
    except SystemExit as ended:
        code, wrong = ended.code or 0, ""
    except Hangs:
        code, wrong = -1, "hangs"
    except BaseException as error:
        code, wrong = -1, "".join(traceback.format_exception(error)[-3:])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    message = out.getvalue(), err.getvalue()
    return (wrong or _wrong_end(code, *message), code, *message)


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
