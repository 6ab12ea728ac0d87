"""Show accumulated evidence in place of momentary evidence."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES, Effect, unknown
from neurogym.metadata import WrapperInfo
from neurogym.spaces import unbounded
from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.noise import Noise


class StimAccSignal(TrialWrapper):
    """Replace the task's observation by the running sum within the trial.

    Args:
        env: The task, wrapped or not; its observation must be floating-point. Channels that wrappers append are shown
            as they are.

    Raises:
        TypeError: If the observation is not floating-point.
    """

    metadata = WrapperInfo(order="any; outside noise it does not sum the noise")

    def __init__(self, env: gym.Env):
        space = env.unwrapped.observation_space
        if not isinstance(space, gym.spaces.Box) or not np.issubdtype(space.dtype, np.floating):
            raise TypeError(f"StimAccSignal needs an observation of floating-point numbers, not {space}")
        super().__init__(env)
        self.observation_space = unbounded(env.observation_space)

    def effect_on_ceiling(self) -> Effect:
        """Effect on the ceiling: none for sums alone, which can be inverted; unknown for noise on the sums."""
        noisy = any(isinstance(wrapper, Noise) for wrapper in self.task.wrappers)
        return unknown("no exact observer is known for noise on sums") if noisy else LEAVES

    def revise(self, trials: Trials) -> None:
        """Sum the rows of each trial."""
        total = np.cumsum(trials.ob, axis=0, dtype=np.float64)
        before = np.concatenate([np.zeros_like(total[:1]), total])[trials.offset]
        rows = trials.rows()
        trials.ob[rows.index] = total[rows.index] - before[rows.trial]
