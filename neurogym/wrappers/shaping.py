"""Shape behaviour in six phases."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import unknown
from neurogym.metadata import WrapperInfo
from neurogym.parameters.ranges import Count
from neurogym.sampling.distributions import Distribution
from neurogym.trials import Trials
from neurogym.wrappers.phased import Phased, mean_duration


class Shaping(Phased):
    """Train in six phases, from short noiseless trials in which any answer is rewarded to the unchanged task.

    ===== ============================ ====== ================================================================
    phase periods but the last         noise  what is rewarded
    ===== ============================ ====== ================================================================
    0     short                        none   any answer but one given more than ``max_num_reps`` times in a row
    1     short                        none   errors cost nothing and do not end the trial; the first answer counts
    2     short on average             none   as in the task, negative rewards are 0
    3     short on average             task's as in the task, negative rewards are 0
    4     task's                       task's as in the task, negative rewards are 0
    5     task's                       task's as in the task
    ===== ============================ ====== ================================================================

    The trial's record has the phase as ``shaping_phase``.

    Args:
        env: A task with a declared rule and a period called ``decision``.
        init_ph: First phase.
        max_num_reps: How often the same answer may be given in a row in phase 0.
        short_dur: Length of a short period (steps).
        th: Performance at which a phase ends.
        perf_w: Trials in the window.

    Raises:
        ValueError: If the task does not fit or an argument is out of range.
    """

    metadata = WrapperInfo(
        description="trains in six phases: short and forgiving first, then the task as it is",
        order="any",
    )
    ceiling_effect = unknown("the trials depend on the training phase")

    def __init__(
        self,
        env: gym.Env,
        init_ph: int = 0,
        max_num_reps: Count = 3,
        short_dur: Count = 2,
        th: float = 0.8,
        perf_w: Count = 1000,
    ):
        self.short_dur = short_dur
        super().__init__(env, 5, init_ph, max_num_reps, th, perf_w)

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Set noise and durations."""
        self.silence(self.curr_ph < 3)
        if self.curr_ph > 3:
            return given
        asked = dict(given)
        for period in list(self.task.timing)[:-1]:
            kind, _ = Distribution.of(self.task.timing[period])
            if kind != "until" and mean_duration(self.task.timing[period]) > 0:
                asked[f"period_{period}"] = self._short(period, n)
        return asked

    def _short(self, period: str, n: int) -> np.ndarray:
        """Durations of the early phases (ms)."""
        short, spec = self.short_dur * self.task.dt, self.task.timing[period]
        if self.curr_ph < 2:
            return np.full(n, float(short))
        drawn = Distribution.of(spec).sample(self.task.np_random, n)
        return np.maximum(drawn * short / mean_duration(spec), self.task.dt)

    def revise(self, trials: Trials) -> None:
        """Set the rewards of the present phase."""
        if self.curr_ph == 0:
            self.reward_any(trials)
        elif self.curr_ph == 1:
            self.ignore_errors(trials)
        if self.curr_ph < 5:
            self.spare(trials)
        self.record(trials)
