"""Run of a sweep: skip when finished, resume when interrupted, otherwise start."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ngym_cli import runs
from ngym_cli.config.values import Values
from ngym_cli.errors import InUseError
from ngym_cli.sweeps.folder import Sweep
from ngym_cli.sweeps.plan import Entry
from ngym_cli.training import main_loop
from ngym_cli.training.session import Watch

DONE, STOPPED, FAILED = "done", "stopped", "failed"

#: Reason in the record of a run that the search ended early.
PRUNED = "pruned"

#: Seconds that a worker waits for a run that another process still writes: longer than a machine that is gone is
#: believed to be at work.
WAIT = runs.QUIET + 60.0
SECONDS_BETWEEN_LOOKS = 2.0


def run_one(
    sweep: Sweep, entry: Entry, values: Values, trust: bool, watch: Watch | None = None
) -> tuple[str, dict[str, Any]]:
    """Complete a run of a sweep.

    Args:
        sweep: the sweep.
        entry: the run's entry in the plan.
        values: parameters of the run.
        trust: accept user code named in the run's record.
        watch: called after each evaluation; returns a reason to end the run early, or None.

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
        except InUseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _attempt(sweep: Sweep, path: Path, values: Values, trust: bool, watch: Watch | None) -> tuple[str, dict[str, Any]]:
    run, hooks = runs.Run(path), main_loop.Hooks(watch=watch)
    if (path / runs.MANIFEST).exists():
        manifest = run.manifest()
        if manifest["status"] == "finished":
            return "finished", manifest
        if manifest.get("exit_reason") == PRUNED:
            return "pruned", manifest
        outcome = main_loop.resume(run, trust, hooks)
    else:
        outcome = main_loop.train(sweep.config(values), sweep.root, path.name, hooks=hooks)
    manifest = outcome.run.manifest()
    if outcome.status != "finished" and manifest.get("exit_reason") == PRUNED:
        return "pruned", manifest
    return outcome.status, manifest
