"""A longer wait after an error."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES
from neurogym.metadata import WrapperInfo
from neurogym.trials import Info, Trials
from neurogym.wrappers.base import TrialWrapper, task_of


class TimeOut(TrialWrapper):
    """Give the trial after one that was not correct another fixation period.

    The trial's record says so, as ``time_out_on``.

    Args:
        env: A task with a period called ``fixation``.
        time_out: Its duration after an error (ms).

    Raises:
        ValueError: If the duration is negative or the task has no fixation period.
    """

    metadata = WrapperInfo(
        description="makes the fixation period longer after an error",
        paper_name=None,
        paper_link=None,
        order="any",
    )
    ceiling_effect = LEAVES
    decides = ("period_fixation",)

    def __init__(self, env: gym.Env, time_out: float = 0):
        timing = task_of(env, "TimeOut").timing
        if time_out < 0:
            raise ValueError(f"time_out must not be negative, got {time_out!r} ms")
        if timing and "fixation" not in timing:
            raise ValueError(f"TimeOut needs a period called fixation; {env.unwrapped} has {', '.join(timing)}")
        super().__init__(env)
        self.time_out = time_out
        self.start_session()

    def start_session(self) -> None:
        """There was no error yet."""
        self._on = False

    def trial_ended(self, info: Info) -> None:
        """Note whether the trial was correct."""
        self._on = info["performance"] < 1

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Ask for another fixation period after an error."""
        return {**given, "period_fixation": np.full(n, float(self.time_out))} if self._on else given

    def revise(self, trials: Trials) -> None:
        """Record whether the fixation period was changed."""
        trials.info["time_out_on"] = np.full(trials.n, self._on)
