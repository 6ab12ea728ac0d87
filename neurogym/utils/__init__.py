"""Import paths of scripts for NeuroGym; ``_NAMES`` and ``neurogym.compat.table`` list the present locations.

Belongs here: helpers that only such scripts use. May use: everything but `envs` and `wrappers`.
"""

from __future__ import annotations

import pkgutil
from typing import Any

_NAMES = {
    "Dataset": "neurogym.utils.data",
    "RandomBlockSchedule": "neurogym.sampling.scheduler",
    "RandomSchedule": "neurogym.sampling.scheduler",
    "SequentialBlockSchedule": "neurogym.sampling.scheduler",
    "SequentialSchedule": "neurogym.sampling.scheduler",
    "TruncExp": "neurogym.utils.ngym_random",
    "plot_env": "neurogym.plotting.runs",
    "plot_psychometric": "neurogym.plotting.psychometric",
    "run_env": "neurogym.recording.rollout",
}

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    """Import a helper on first use."""
    if name in _NAMES:
        return pkgutil.resolve_name(f"{_NAMES[name]}:{name}")
    raise AttributeError(f"module 'neurogym.utils' has no attribute {name!r}")
