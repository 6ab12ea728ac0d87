"""Appending of the last reward, the last action or the last ground truth to the observation."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES, unknown
from neurogym.metadata import WrapperInfo
from neurogym.spaces import Action, append_channels
from neurogym.wrappers.base import Field, Reward, TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.tasks import task_of, trial_of


class PassReward(TrialWrapper):
    """Append the reward of the last step to the observation, as channel ``reward`` (0 after a reset).

    Args:
        env: The task, wrapped or not; its observation must be a one-dimensional Box.
    """

    metadata = WrapperInfo(doi="10.1038/s41593-018-0147-8", order="outside every wrapper that changes rewards")
    hooks = Hooks(shows="the last reward")
    ceiling_effect = LEAVES

    def __init__(self, env: gym.Env):
        super().__init__(env)
        self.observation_space = append_channels(env.observation_space, "reward", 1)

    def appended(self, action: Action, reward: Reward, field: Field) -> Reward:
        """The reward."""
        return reward


class PassAction(TrialWrapper):
    """Append the last action to the observation, as channel(s) ``action`` (0 after a reset).

    Args:
        env: The task, wrapped or not; its observation must be a one-dimensional Box.
        one_hot: For discrete actions: one channel per action instead of the action's number.

    Raises:
        ValueError: If ``one_hot`` is requested for actions that are not discrete.
    """

    metadata = WrapperInfo(doi="10.1038/s41593-018-0147-8", order="any")
    hooks = Hooks(shows="the last action")
    ceiling_effect = LEAVES

    def __init__(self, env: gym.Env, one_hot: bool = False):
        super().__init__(env)
        space = env.action_space
        if one_hot and not isinstance(space, gym.spaces.Discrete):
            raise ValueError(f"one_hot needs discrete actions, not {space}")
        self._codes = np.eye(int(space.n), dtype=np.float32) if one_hot else None  # type: ignore[attr-defined]
        self._axes = len(space.shape or ())
        width = len(self._codes) if self._codes is not None else int(np.prod(space.shape or ()))
        self.observation_space = append_channels(env.observation_space, "action", width)

    def appended(self, action: Action, reward: Reward, field: Field) -> np.ndarray | float:
        """The action, its code, or the flattened action vector."""
        return self._codes[action] if self._codes is not None else _flattened(action, self._axes)


class PassGT(TrialWrapper):
    """Append the ground truth of the last step to the observation, as channel(s) ``gt`` (0 after a reset).

    Args:
        env: A task with ground truth; its observation must be a one-dimensional Box.
    """

    metadata = WrapperInfo(order="any")
    hooks = Hooks(shows="the last ground truth")
    ceiling_effect = unknown("the right answer of the last step is shown")

    def __init__(self, env: gym.Env):
        width = 1 if isinstance(env.action_space, gym.spaces.Discrete) else int(np.prod(env.action_space.shape))  # type: ignore[arg-type]
        if not trial_of(task_of(env, "PassGT")).has_gt:
            raise ValueError(f"PassGT needs a task with a ground truth, {env.unwrapped} has none")
        space = append_channels(env.observation_space, "gt", width)
        super().__init__(env)
        self.observation_space = space
        self._axes = len(env.action_space.shape or ())

    def appended(self, action: Action, reward: Reward, field: Field) -> np.ndarray | float:
        """The ground truth of the row acted on."""
        return _flattened(field("last_gt"), self._axes)


def _flattened(action: Action, axes: int) -> Action:
    """Actions whose last ``axes`` axes are one; unchanged if these are numbers."""
    if axes == 0:
        return action
    action = np.asarray(action)
    return action.reshape(*action.shape[: action.ndim - axes], -1)
