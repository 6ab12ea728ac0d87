"""The agent's last reward as additional input."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from neurogym.ceilings.effects import LEAVES
from neurogym.metadata import WrapperInfo
from neurogym.spaces import append_channels
from neurogym.wrappers.base import Field, TrialWrapper


class PassReward(TrialWrapper):
    """Append the reward of the last step to the observation, as channel ``reward`` (0 after a reset).

    Args:
        env: The task, wrapped or not; its observation must be a one-dimensional Box.
    """

    metadata = WrapperInfo(
        description="appends the last reward to the observation",
        paper_name="Prefrontal cortex as a meta-reinforcement learning system",
        doi="10.1038/s41593-018-0147-8",
        order="outside every wrapper that changes rewards",
    )
    ceiling_effect = LEAVES

    def __init__(self, env: gym.Env):
        super().__init__(env)
        self.observation_space = append_channels(env.observation_space, "reward", 1)

    def appended(self, action: Any, reward: Any, field: Field) -> Any:
        """The reward."""
        return reward
