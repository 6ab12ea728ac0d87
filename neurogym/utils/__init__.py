"""Import paths of scripts for NeuroGym; ``NAMES`` and ``neurogym.compat.table`` list the present locations.

Belongs here: helpers that only such scripts use. May use: everything but `envs` and `wrappers`.
"""

from __future__ import annotations

import pkgutil
from typing import Any

NAMES = {
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

__all__ = sorted(NAMES)


def __getattr__(name: str) -> Any:
    """Import a helper on first use."""
    if name in NAMES:
        return pkgutil.resolve_name(f"{NAMES[name]}:{name}")
    raise AttributeError(f"module 'neurogym.utils' has no attribute {name!r}")
