"""What a worker does: one job of a sweep, in whatever state it is found, and however often it is called."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path
from typing import Any

from ngym_cli import runs, session, threads, training
from ngym_cli.errors import Taken, one_line
from ngym_cli.sweeps import folder
from ngym_cli.sweeps.folder import Sweep
from ngym_cli.sweeps.plan import Entry

DONE, STOPPED, FAILED = "done", "stopped", "failed"

#: Reason that the record of a run gives when the search has ended it early.
PRUNED = "pruned"

#: Seconds that a worker waits for a run that another process still writes: longer than a machine that is gone is
#: believed to be at work.
WAIT = runs.QUIET + 60.0
SECONDS_BETWEEN_LOOKS = 2.0


def perform(path: str, job: int, trust: bool = False) -> str:
    """Do one job: skip what is finished, resume what is broken, start the rest.

    Args:
        path: the sweep's folder.
        job: its number.
        trust: let the recipe name a user's own code.

    Returns:
        ``done``, ``stopped`` (asked to by a signal; it can be resumed) or ``failed`` (the reason is in the folder).
    """
    sweep = folder.load(Path(path))
    _one_thread()
    try:
        if sweep.recipe.search is None:
            ended = [run_one(sweep, entry, entry.values, trust) for entry in sweep.jobs[job]]
            state = DONE if all(status == "finished" for status, _ in ended) else STOPPED
        else:
            from ngym_cli.sweeps import search

            state = search.perform_trial(sweep, job, trust)
    except Exception as error:
        runs.write_text(sweep.error_path(job), f"{one_line(error)}\n\n{traceback.format_exc()}")
        return FAILED
    sweep.error_path(job).unlink(missing_ok=True)
    return state


def _one_thread() -> None:
    """Let torch and its libraries compute in one thread: there is one worker on each core."""
    threads.one()
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))


def run_one(
    sweep: Sweep, entry: Entry, values: dict[str, Any], trust: bool, watch: session.Watch | None = None
) -> tuple[str, dict[str, Any]]:
    """Bring one run to its end.

    Args:
        sweep: what it belongs to.
        entry: which.
        values: its parameters.
        trust: let its record name a user's own code.
        watch: told of each evaluation; returns why the run should end early, or None.

    Returns:
        ``finished``, ``pruned`` or ``interrupted``, and its manifest.

    Raises:
        UserError: if the run fails.
    """
    path = sweep.run_path(entry, values)
    deadline = time.monotonic() + WAIT
    while True:
        try:
            return _attempt(sweep, path, values, trust, watch)
        except Taken:
            if time.monotonic() > deadline:
                raise
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _attempt(
    sweep: Sweep, path: Path, values: dict[str, Any], trust: bool, watch: session.Watch | None
) -> tuple[str, dict[str, Any]]:
    run = runs.Run(path)
    if (path / runs.MANIFEST).exists():
        manifest = run.manifest()
        if manifest["status"] == "finished":
            return "finished", manifest
        if manifest.get("exit_reason") == PRUNED:
            return "pruned", manifest
        outcome = training.resume(run, trust, watch=watch)
    else:
        outcome = training.train(sweep.config(values), sweep.root, path.name, watch=watch)
    manifest = outcome.run.manifest()
    if outcome.status != "finished" and manifest.get("exit_reason") == PRUNED:
        return "pruned", manifest
    return outcome.status, manifest
