"""Events of a trial, and types of what a reset and a step return."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

NONE, CORRECT, ERROR, ABORT, MISS = range(5)
OUTCOME = 7  #: the part of an event that is its outcome
END = 8  #: added to an event that ends the trial
EVENT_TABLES = ("event", "reward", "performance")  #: fields that a response rule fills: per row, what each action does

#: Report of a step or a trial: name to value.
Info = dict[str, Any]
#: What a reset returns: observation, info.
ResetResult = tuple[np.ndarray, Info]
#: What a step returns: observation, reward, terminated, truncated, info.
StepResult = tuple[np.ndarray, float, bool, bool, Info]

OUTCOMES = np.array(["none", "correct", "error", "abort", "miss"], dtype=object)


class StepInfo(NamedTuple):
    """Results of an overridden step apart from the reward."""

    ob: np.ndarray | None  #: None: the observation of the row that comes next
    terminated: bool
    truncated: bool
    info: Info


def outcome_of(performance: float | np.ndarray) -> int | np.ndarray:
    """Outcome of a trial that has none of its own: correct with a performance of at least 0.5; a number or an array."""
    return ERROR + (CORRECT - ERROR) * (performance >= 0.5)
