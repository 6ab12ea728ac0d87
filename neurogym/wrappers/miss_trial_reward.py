"""Another reward for trials that time out."""

from __future__ import annotations

import gymnasium as gym

from neurogym.ceilings.effects import LEAVES, LEAVES_PERFORMANCE, Effect
from neurogym.metadata import WrapperInfo
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper


class MissTrialReward(TrialWrapper):
    """Add to the reward of the last step of a trial that runs out although an answer was needed.

    Args:
        env: The task, wrapped or not.
        r_miss: What is added.
    """

    metadata = WrapperInfo(order="any")

    def __init__(self, env: gym.Env, r_miss: float = 0.0):
        super().__init__(env)
        self.r_miss = r_miss
        if not self.task.traits.batched:
            self.task.r_tmax += r_miss

    def effect_on_ceiling(self) -> Effect:
        """Return the effect on the ceiling; the best reward is unknown if missing trials may pay more."""
        return LEAVES if self.r_miss <= 0 else LEAVES_PERFORMANCE

    def revise(self, trials: Trials) -> None:
        """Change the reward of a miss."""
        trials.rewards["miss"] = trials.reward("miss") + self.r_miss
