"""The wrapper that the lever-press tasks came with."""

from __future__ import annotations

import gymnasium as gym

from neurogym.wrappers.pass_action import PassAction
from neurogym.wrappers.pass_reward import PassReward


class FullInput(PassAction):
    """Append the last reward and the last action to the observation, a channel for each action.

    Args:
        env: A task with discrete actions.
    """

    def __init__(self, env: gym.Env):
        super().__init__(PassReward(env), one_hot=True)
