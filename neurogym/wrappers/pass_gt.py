"""The last ground truth as additional input."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import unknown
from neurogym.metadata import WrapperInfo
from neurogym.spaces import append_channels
from neurogym.wrappers.base import Field, TrialWrapper, task_of, trial_of


class PassGT(TrialWrapper):
    """Append the ground truth of the last step to the observation, as channel(s) ``gt`` (0 after a reset).

    Args:
        env: A task with ground truth; its observation must be a one-dimensional Box.
    """

    metadata = WrapperInfo(
        description="appends the ground truth of the last step to the observation",
        order="any",
    )
    ceiling_effect = unknown("the right answer of the last step is shown")

    def __init__(self, env: gym.Env):
        width = 1 if isinstance(env.action_space, gym.spaces.Discrete) else int(np.prod(env.action_space.shape))  # type: ignore[arg-type]
        if not trial_of(task_of(env, "PassGT")).has_gt:
            raise ValueError(f"PassGT needs a task with a ground truth, {env.unwrapped} has none")
        space = append_channels(env.observation_space, "gt", width)
        super().__init__(env)
        self.observation_space = space
        self._axes = len(env.action_space.shape or ())

    def appended(self, action: Any, reward: Any, field: Field) -> Any:
        """The ground truth of the row acted on."""
        last = np.asarray(field("last_gt"))
        return last if self._axes == 0 else last.reshape(*last.shape[: last.ndim - self._axes], -1)
