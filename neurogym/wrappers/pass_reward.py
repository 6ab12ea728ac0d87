"""Show the agent its last reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES
from neurogym.core import TrialWrapper
from neurogym.spaces import append_channels


def appended(ob: np.ndarray, extra: Any) -> np.ndarray:
    """Observations with more channels: ``extra`` has shape (..., k), or (...) for one channel."""
    extra = np.asarray(extra)
    if extra.ndim < ob.ndim:
        extra = extra[..., None]
    wide = np.empty((*ob.shape[:-1], ob.shape[-1] + extra.shape[-1]), ob.dtype)
    wide[..., : ob.shape[-1]] = ob
    wide[..., ob.shape[-1] :] = extra
    return wide


class PassReward(TrialWrapper):
    """Append the reward of the last step to the observation, as channel ``reward`` (0 after a reset).

    Args:
        env: The task, wrapped or not; its observation must be a one-dimensional Box.
    """

    metadata = {
        "description": "appends the last reward to the observation",
        "paper_name": "Prefrontal cortex as a meta-reinforcement learning system",
        "paper_link": "https://doi.org/10.1038/s41593-018-0147-8",
        "order": "outside every wrapper that changes rewards",
    }
    ceiling_effect = LEAVES

    def __init__(self, env: gym.Env):
        super().__init__(env)
        self.observation_space = append_channels(env.observation_space, "reward", 1)

    def observe(self, ob: Any, action: Any, reward: Any, field: Callable[[str], np.ndarray]) -> Any:
        """The observation with the reward appended."""
        return appended(ob, reward)
