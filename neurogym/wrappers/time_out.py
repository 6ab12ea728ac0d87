"""A longer wait after an error."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES, TELLS_OUTCOME, Effect, unknown
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import NonNegative
from neurogym.sampling.distributions import Distribution
from neurogym.trials import Info, Trials
from neurogym.wrappers.base import TrialWrapper, periods_of, task_of


class TimeOut(TrialWrapper):
    """Change the fixation duration of the trial after an error or miss.

    The trial's record marks such trials as ``time_out_on``.

    Args:
        env: A task with a period called ``fixation``.
        time_out: Its duration after an error (ms).

    Raises:
        ValueError: If the duration is negative or the task has no fixation period.
    """

    metadata = WrapperInfo(order="any")
    decides = ("period_fixation",)

    def __init__(self, env: gym.Env, time_out: NonNegative = 0):
        periods = periods_of(task_of(env, "TimeOut"))
        if "fixation" not in periods:
            raise ValueError(f"TimeOut needs a period called fixation, not only {', '.join(sorted(periods))}")
        super().__init__(env)
        self.time_out = time_out
        self.start_session()

    def effect_on_ceiling(self) -> Effect:
        """Return the effect on the ceiling: a fixation of another length shows the agent that the last trial failed."""
        timing = self.task.timing
        usual = Distribution.of(timing["fixation"]) if "fixation" in timing else None
        if usual is None or usual.kind != "constant":
            others = [wrapper for wrapper in self.task.wrappers if wrapper is not self]
            linked = self.task.traits.memory or any(wrapper.links_trials() for wrapper in others)
            return unknown("fixation hints at whether the last answer was correct") if linked else LEAVES
        steps = [int(duration / self.task.dt + 1e-6) for duration in (usual.arguments, self.time_out)]
        return LEAVES if steps[0] == steps[1] else TELLS_OUTCOME

    def start_session(self) -> None:
        """There was no error yet."""
        self._on = False

    def trial_ended(self, info: Info) -> None:
        """Note whether the trial was correct."""
        self._on = info["performance"] < 1

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Set the fixation duration after an error or miss."""
        return {**given, "period_fixation": np.full(n, float(self.time_out))} if self._on else given

    def revise(self, trials: Trials) -> None:
        """Record whether the fixation period was changed."""
        trials.info["time_out_on"] = np.full(trials.n, self._on)
