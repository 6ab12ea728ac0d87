"""Wrappers that leave the task as it is: pulses that mark periods, like the TTL signals of hardware, or nothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES
from neurogym.messages.names import unknown
from neurogym.metadata import WrapperInfo
from neurogym.spaces import Action
from neurogym.trials import StepResult, Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.tasks import task_of

logger = logging.getLogger(__name__)


class TTLPulse(TrialWrapper):
    """Report in ``info`` whether the step taken lies in certain periods.

    The signals are ``info["signal_0"]``, ``info["signal_1"]``, ...

    Args:
        env: A task with periods.
        periods: One list of periods per signal; a name in place of a list stands for itself.

    Raises:
        ValueError: If the task has no such period.
    """

    metadata = WrapperInfo(order="any")
    hooks = Hooks(changes=("record",), own_step=True)
    ceiling_effect = LEAVES

    def __init__(self, env: gym.Env, periods: Sequence[Sequence[str] | str] = ()):
        named = [[each] if isinstance(each, str) else list(each) for each in periods]
        timing = task_of(env, "TTLPulse").timing
        for period in [name for each in named for name in each]:
            if timing and period not in timing:
                raise ValueError(unknown("period", period, timing))
        super().__init__(env)
        self.periods = named
        self._signals = f"signals{len(self.task.session.wrappers)}"

    def revise(self, trials: Trials) -> None:
        """Mark the rows of each signal."""
        marks = np.zeros((trials.total, len(self.periods)), np.int8)
        for i, names in enumerate(self.periods):
            for name in names:
                if name in trials.starts:
                    marks[trials.rows(name).index, i] = 1
        trials.fields[self._signals] = marks

    def step(self, action: Action) -> StepResult:
        """Act; the signals belong to the row acted on."""
        try:
            marks = self.task.session.field(self._signals)
        except AttributeError:  # before the first trial, which the step below refuses
            marks = ()
        ob, reward, terminated, truncated, info = super().step(action)
        info.update({f"signal_{i}": int(mark) for i, mark in enumerate(marks)})
        return ob, reward, terminated, truncated, info


class Identity(TrialWrapper):
    """Change nothing, and log a debug message when trials are made; for testing stacks.

    Args:
        env: The task, wrapped or not.
        id_: Name in the messages.
    """

    metadata = WrapperInfo(order="any")
    hooks = Hooks(changes=("record",))
    ceiling_effect = LEAVES

    def __init__(self, env: gym.Env, id_: str = "0"):
        super().__init__(env)
        self.id_ = id_

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Pass on what is given."""
        logger.debug("identity %s: %d trials, conditions %s", self.id_, n, sorted(conditions))
        return conditions
