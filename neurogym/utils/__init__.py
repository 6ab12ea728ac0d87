"""Import paths of scripts for NeuroGym; ``neurogym.compat.changes`` lists the present locations.

Belongs here: helpers that only such scripts use. May use: everything but `envs` and `wrappers`.
"""

from __future__ import annotations

from neurogym.lazy import attach

__getattr__, __all__ = attach(
    __name__,
    {
        "data": ("Dataset",),
        "ngym_random": ("TruncExp",),
        "neurogym.plotting.psychometric": ("plot_psychometric",),
        "neurogym.plotting.runs": ("plot_env",),
        "neurogym.recording.rollout": ("run_env",),
        "neurogym.sampling.scheduler": (
            "RandomBlockSchedule",
            "RandomSchedule",
            "SequentialBlockSchedule",
            "SequentialSchedule",
        ),
    },
)
