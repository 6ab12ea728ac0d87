"""Definition of a task, and construction of its trials; :class:`neurogym.core.TrialEnv` steps them.

Belongs here: what every task does before its trials are stepped. May use: `trials`, `rules`, `parameters`, the base of
`wrappers`, `compat`.
"""

from __future__ import annotations

from neurogym.cycle.definition import TaskDefinition
from neurogym.cycle.description import env_string
from neurogym.cycle.making import (
    can_make_together,
    conditions_of_wrappers,
    make_checked,
    make_together,
    make_trials,
    sample,
    trial_lengths,
)

__all__ = [
    "TaskDefinition",
    "can_make_together",
    "conditions_of_wrappers",
    "env_string",
    "make_checked",
    "make_together",
    "make_trials",
    "sample",
    "trial_lengths",
]
