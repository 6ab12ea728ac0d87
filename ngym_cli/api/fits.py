"""Simulation of fitted models from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ngym_cli import runs
from ngym_cli.api import settings
from ngym_cli.api.trained import Run
from ngym_cli.evaluation import simulation


def simulate(
    fit: str | Path | dict[str, Any],
    task: settings.Part,
    wrappers: settings.Wrappers | None = None,
    *,
    runs_root: str | Path = runs.ROOT,
    **given: Any,
) -> Run:
    """Let a fitted model act in a task, as ``ngym eval FIT --simulate TASK``.

    Args:
        fit: folder or name of a fit, ``latest``, or the result of `ngym_cli.fit`.
        task: name of the task, or a class.
        wrappers: wrapper stack.
        runs_root: folder of all runs.
        **given: fields of `ngym_cli.evaluation.simulation.Request` (``model``, ``subject``, ``stimuli``, ``trials``,
            ``seed``, ``name``, ...) and settings of the task (``task_args``, ``timing``, ...).

    Returns:
        The simulation: a run with one evaluation.

    Raises:
        UserError: if the fit keeps no such model, or the task does not suit the model.
    """
    root = Path(runs_root)
    own = {name: given.pop(name) for name in simulation.Request.__dataclass_fields__ if name in given}
    changes = settings.nested({"task": task, "wrappers": wrappers, **given})
    found = simulation.find(str(fit["path"] if isinstance(fit, dict) else fit), root)
    _, evaluation = simulation.simulate(found, root, simulation.Request(changes, **own))
    return Run(evaluation.parent.parent)
