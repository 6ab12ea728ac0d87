"""The command ``ngym check``: tasks checked in a separate process, which a crash does not take along."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from ngym_cli import processes
from ngym_cli.catalog import own_tasks
from ngym_cli.errors import UserError
from ngym_cli.terminal import Row

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess


#: Seconds for the process to start, and to stop overlong checks by itself, before the process is killed.
START_SECONDS = 30.0


def check(names: Sequence[str], everything: bool = False) -> Iterator[Row]:
    """Check tasks; printed output of tasks goes to stderr.

    Args:
        names: Tasks to check.
        everything: Check every task of the registry instead.

    Yields:
        For each task what `own_tasks.check` says of it.

    Raises:
        UserError: if a task does not exist, or none is named.
    """
    context = processes.spawn_context()
    ours, child = context.Pipe(duplex=False)
    longest = own_tasks.LONGEST_CHECK
    process = context.Process(target=_work, args=(list(names), everything, longest, child), daemon=True)
    process.start()
    child.close()
    try:
        yield from _listen(ours, process, ", ".join(names), longest)
    finally:
        process.kill()
        process.join()


def _listen(pipe: Connection, process: SpawnProcess, names: str, longest: float) -> Iterator[Row]:
    """Put the outcomes together, of a process that may stop answering at any moment."""
    task, of, began = "", "task", 0.0
    rows: list[Row] = []
    kind: str
    content: Any
    while True:
        try:
            kind, content = json.loads(pipe.recv_bytes()) if pipe.poll(longest + START_SECONDS) else ("endless", "")
        except EOFError:
            process.join()
            kind, content = "ended", f"the task's code ended the program ({_way(process.exitcode)})"
        if kind == "wrong":
            raise UserError(content)
        if kind in ("endless", "ended"):
            problem = content or own_tasks.ENDLESS
            if not task:
                raise UserError(f"{names}: {problem}")
            rows.append({**own_tasks.planned(len(rows), of), "status": "failed", "problem": problem, "place": None})
            yield own_tasks.verdict(task, rows, time.perf_counter() - began)
            return
        if kind == "task":
            (task, of), rows, began = content, [], time.perf_counter()
        elif kind == "check":
            rows.append(content)
        elif kind == "verdict":
            yield content
            task = ""
        else:
            return


def _way(code: int | None) -> str:
    import signal

    if code is None or code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _work(names: list[str], everything: bool, longest: float, pipe: Connection) -> None:
    """Check the tasks and report each result immediately."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent, which ends this process
    os.dup2(2, 1)  # keeps a task's own output out of the results

    def tell(kind: str, content: object = None) -> None:
        pipe.send_bytes(json.dumps([kind, content]).encode())

    try:
        for task in own_tasks.chosen(names, everything, longest):
            tell("task", [task.name, own_tasks.kind_of(task)])
            tell("verdict", own_tasks.check(task, lambda row: tell("check", row), longest))
        tell("done")
    except UserError as error:
        tell("wrong", str(error))
    except BrokenPipeError:  # the parent no longer reads
        os._exit(1)
