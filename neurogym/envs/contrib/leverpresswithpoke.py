"""Press a lever a number of times, then poke for the reward."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.envs.task import Count, StepResult, TaskInfo, TrialEnv, Trials, rules, spaces, usual_arguments

POKE, PRESS = 0, 1


class LeverPressWithPoke(TrialEnv):
    """Press a lever ``n_press`` times, then poke. The remaining presses are not shown and must be counted.

    A trial ends with the rewarded poke, or when its time is over. A poke that comes too early is a step wasted, and so
    is a press too many. Performance is the smallest number of steps, n_press + 1, over the number taken.

    Args:
        timing: Replaces entries of ``default_timing`` (ms); ``trial`` is the longest time to earn a reward.
        n_press: Presses needed.
        show_count: Show the number of presses left in place of a constant.

    Raises:
        ValueError: If ``n_press`` is less than 1.
    """

    metadata = TaskInfo(
        tags=["motor", "working memory"],
        description="press a lever a number of times, then poke for the reward",
        differences=["a trial lasts until the reward, or until its time is over"],
        necessary=(),
    )
    default_timing = {"trial": 3000}
    default_rewards = {"correct": 1.0}

    @usual_arguments(abort=False)
    def __init__(self, n_press: Count = 4, show_count: bool = False):
        self.n_press, self.show_count, self._left = n_press, show_count, n_press
        self.observation_space = spaces.Box(0, max(1, n_press), shape=(1,), dtype=np.float32, name={"count": 0})
        self.action_space = spaces.Discrete(2, name={"poke": POKE, "press": PRESS})

    @property
    def left(self) -> int:
        """Presses still needed."""
        return self.n_press if self.t_ind == 0 else self._left

    @property
    def optimal_reward(self) -> float:
        """Average reward per step of the best policy."""
        return self.rewards["correct"] / (self.n_press + 1)

    @property
    def optimal_random_reward(self) -> float:
        """Average reward per step of the best policy that presses with constant probability."""
        p = np.sqrt(self.n_press) / (1 + np.sqrt(self.n_press))
        return self.rewards["correct"] * p * (1 - p) / (self.n_press * (1 - p) + p)

    def _new_trials(self, trials: Trials) -> None:
        trials.add_period("trial", min_steps=self.n_press + 1)
        trials.add_ob(self.n_press if self.show_count else 1, "trial")

    def _step(self, action: Any) -> StepResult:
        left, earned = self.left, 0.0
        rewarded = action == POKE and left == 0
        if rewarded:
            earned = self.rewards["correct"]
            self.performance = (self.n_press + 1) / (self.t_ind + 1)
            self.report(rules.CORRECT)
        self._left = max(0, left - (action == PRESS))
        if self.show_count:
            self.ob[self.t_ind + 1 :] = self._left
        return self.ob_now, earned, False, False, {"new_trial": bool(rewarded)}

    def oracle(self) -> int:
        """Press as often as needed, then poke."""
        return PRESS if self.left else POKE
