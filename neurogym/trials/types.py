"""Interface of tasks as seen by a block of trials, and types of the arguments by which a task describes trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from neurogym.sampling.distributions import PossibleValues

Where = str | int | Sequence[int] | np.ndarray | range | None
#: Values for rows: a number, entries per trial or per row, or a function of the rows (or present observations) to fill.
RowValues = ArrayLike | Callable[..., ArrayLike]


class TaskLike(Protocol):
    """Interface of tasks as seen by a block of trials."""

    rule: ClassVar[Any]
    dt: float
    session: Any
    default_timing: ClassVar[Mapping[str, object]]
    timing: Any
    rewards: Mapping[str, float | np.ndarray]
    conditions: Mapping[str, PossibleValues]
    observation_space: Any
    action_space: Any
    metadata: Any
    np_random: np.random.Generator


class CurrentObservations(np.ndarray):
    """Present observations, shape (rows, channels), with ``index``, ``trial`` and ``step`` of their rows.

    This is what a callable given to :meth:`Trials.add_ob` is called with.
    """

    index: np.ndarray
    trial: np.ndarray
    step: np.ndarray
