"""Random durations, schedules, data sets, plotting and other helpers; each is imported when first used."""

from __future__ import annotations

import importlib
from typing import Any

_LAZY = {
    "Dataset": "data",
    "RandomBlockSchedule": "scheduler",
    "RandomSchedule": "scheduler",
    "SequentialBlockSchedule": "scheduler",
    "SequentialSchedule": "scheduler",
    "TruncExp": "ngym_random",
    "plot_env": "plotting",
    "plot_psychometric": "plotting",
    "run_env": "running",
}

__all__ = sorted(_LAZY)


def __getattr__(name: str) -> Any:
    """Import a helper or a module of this package when it is first used."""
    if name in _LAZY:
        return getattr(importlib.import_module(f"neurogym.utils.{_LAZY[name]}"), name)
    if name in ("data", "decorators", "functions", "logging", "ngym_random", "plotting", "scheduler", "tasktools"):
        return importlib.import_module(f"neurogym.utils.{name}")
    raise AttributeError(f"module 'neurogym.utils' has no attribute {name!r}")
