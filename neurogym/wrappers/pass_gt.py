"""Show the agent what would have been right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import unknown
from neurogym.core import TrialWrapper
from neurogym.spaces import append_channels
from neurogym.wrappers.pass_reward import appended


class PassGT(TrialWrapper):
    """Append the ground truth of the last step to the observation, as channel(s) ``gt`` (0 after a reset).

    Args:
        env: A task with ground truth; its observation must be a one-dimensional Box.
    """

    metadata = {
        "description": "appends the ground truth of the last step to the observation",
        "paper_name": None,
        "paper_link": None,
        "order": "any",
    }
    ceiling_effect = unknown("the right answer of the last step is shown")
    remembers = True  # observe() keeps what it saw last

    def __init__(self, env: gym.Env):
        width = 1 if isinstance(env.action_space, gym.spaces.Discrete) else int(np.prod(env.action_space.shape))  # type: ignore[arg-type]
        space = append_channels(env.observation_space, "gt", width)
        super().__init__(env)
        self.observation_space = space
        self._shown: np.ndarray | None = None  # ground truth of the row(s) that the agent acts on now

    def start_session(self) -> None:
        """Forget the last step."""
        self._shown = None

    def observe(self, ob: Any, action: Any, reward: Any, field: Callable[[str], np.ndarray]) -> Any:
        """The observation with the last ground truth appended."""
        now = np.asarray(field("gt"))
        last = self._shown if self._shown is not None and self._shown.shape == now.shape else np.zeros_like(now)
        self._shown = now.copy()
        return appended(ob, last.reshape(*ob.shape[:-1], -1))
