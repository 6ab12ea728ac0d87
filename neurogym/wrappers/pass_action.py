"""Show the agent its last action."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES
from neurogym.core import TrialWrapper
from neurogym.spaces import append_channels
from neurogym.wrappers.pass_reward import appended


class PassAction(TrialWrapper):
    """Append the last action to the observation, as channel(s) ``action`` (0 after a reset).

    Args:
        env: The task, wrapped or not; its observation must be a one-dimensional Box.
        one_hot: For discrete actions: one channel per action instead of the action's number.

    Raises:
        ValueError: If ``one_hot`` is asked for actions that are not discrete.
    """

    metadata = {
        "description": "appends the last action to the observation",
        "paper_name": "Prefrontal cortex as a meta-reinforcement learning system",
        "paper_link": "https://doi.org/10.1038/s41593-018-0147-8",
        "order": "any",
    }
    ceiling_effect = LEAVES

    def __init__(self, env: gym.Env, one_hot: bool = False):
        super().__init__(env)
        space = env.action_space
        discrete = isinstance(space, gym.spaces.Discrete)
        if one_hot and not discrete:
            raise ValueError(f"one_hot needs discrete actions, not {space}")
        self._codes = np.eye(int(space.n), dtype=np.float32) if one_hot else None  # type: ignore[attr-defined]
        self._flat: tuple[int, ...] = () if discrete else (int(np.prod(space.shape or ())),)
        width = len(self._codes) if self._codes is not None else int(np.prod(self._flat))
        self.observation_space = append_channels(env.observation_space, "action", width)

    def observe(self, ob: Any, action: Any, reward: Any, field: Callable[[str], np.ndarray]) -> Any:
        """The observation with the action appended."""
        if self._codes is not None:
            return appended(ob, self._codes[action])
        return appended(ob, np.reshape(action, (*ob.shape[:-1], *self._flat)))
