"""Helpers of tasks that are learned across trials: blocks, drawn outcomes, and sessions that follow each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from neurogym.core import TrialEnv
from neurogym.trials import Trials

State = TypeVar("State")


def in_blocks(
    n: int, state: State, left: int, begin: Callable[[State], tuple[State, int]]
) -> tuple[np.ndarray, State, int]:
    """Hidden state of each of the next ``n`` trials, where the state holds for a block of trials.

    Args:
        n: Number of trials.
        state: State of the present block.
        left: Trials left of the present block.
        begin: Draws the next block from the present state: its state and its number of trials.

    Returns:
        The states, shape (n, ...), and ``state`` and ``left`` after these trials.
    """
    states = []
    for _ in range(n):
        if left == 0:
            state, left = begin(state)
        states.append(state)
        left -= 1
    return np.array(states), state, left


def paid(trials: Trials, good: np.ndarray) -> np.ndarray:
    """Reward of drawn outcomes: ``correct`` where good, else ``fail``; shape as ``good``, (n,) or (n, actions)."""
    correct, fail = trials.reward("correct"), trials.reward("fail")
    return np.where(good, correct[:, None], fail[:, None]) if good.ndim > 1 else np.where(good, correct, fail)


class SessionsInSequence(TrialEnv):
    """Base of tasks in which sessions follow each other; the channel ``start`` marks the first trial of each.

    Attributes:
        trials_per_session: Trials of a session, the argument ``session``.
    """

    trials_per_session: int
    _done = 0  # trials since the reset

    def session_trials(self, trials: Trials) -> np.ndarray:
        """Place of each trial in its session, from 0; shape (n,)."""
        position = (self._done + np.arange(trials.n)) % self.trials_per_session
        self._done += trials.n
        return position
