"""What the agent did and earned, appended to the observation."""

from __future__ import annotations

from typing import SupportsFloat

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES, Effect, unknown
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Probability
from neurogym.spaces import Action, append_channels, names_of
from neurogym.trials import Info
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


class LearnTransMatrix(TrialWrapper):
    """Append, for the agent's last choice, the frequency of each next choice: a transition matrix learned online.

    At the end of a trial the entry of the last and the present choice moves towards 1 by ``lr``, then every entry by
    ``decay``, and rows are normalised. Channels ``transition``; uniform before the first choice.

    Args:
        env: A task with discrete actions; its observation must be a one-dimensional Box.
        lr: Learning rate.
        decay: Rate at which all transitions become equal again.

    Raises:
        ValueError: If the actions are not discrete or a rate is not between 0 and 1.
    """

    metadata = WrapperInfo(order="any")
    hooks = Hooks(shows="the transitions of the agent's own choices", own_step=True, history_dependent=True)
    state = ("matrix", "prev")

    def __init__(self, env: gym.Env, lr: Probability = 0.1, decay: Probability = 0.01):
        self._actions = choice_actions(env, "LearnTransMatrix")
        space = append_channels(env.observation_space, "transition", len(self._actions), 0, 1)
        super().__init__(env)
        self.observation_space, self.lr, self.decay = space, lr, decay
        self.start_session()

    def effect_on_ceiling(self) -> Effect:
        """Effect on the ceiling: none for independent trials, else unknown, since choices predict the next trial."""
        return unknown("the agent's earlier choices are shown") if self.has_history_without else LEAVES

    def start_session(self) -> None:
        """Reset the matrix and the last choice."""
        n = len(self._actions)
        self.matrix = np.full((n, n), 1 / n)
        self.prev: int | None = None

    def appended(self, action: Action, reward: Reward, field: Field) -> np.ndarray | float:
        """The row."""
        return self.matrix[self.prev or 0]  # all rows are equal before the first choice

    def step(self, action: int) -> tuple[np.ndarray, SupportsFloat, bool, bool, Info]:
        """Act; the end of a trial with a choice is learned from."""
        ob, reward, terminated, truncated, info = self.env.step(action)
        if info["new_trial"] and action in self._actions:
            choice = self._actions.index(action)
            if self.prev is not None:
                self.matrix[self.prev, choice] += self.lr * (1 - self.matrix[self.prev, choice])
                self.matrix += self.decay * (1 - self.matrix)
                self.matrix /= self.matrix.sum(axis=1, keepdims=True)
            self.prev = choice
        return self.observe(ob, action, reward, self.task.session.field), reward, terminated, truncated, info


def choice_actions(env: gym.Env, wrapper: str) -> list[int]:
    """Return the actions that are choices: the actions named so, else all but the first.

    Raises:
        ValueError: If the actions are not discrete or there is no such action.
    """
    space = env.action_space
    if not isinstance(space, gym.spaces.Discrete):
        raise ValueError(f"{wrapper} needs discrete actions, not {space}")
    named = names_of(space).get("choice")
    actions = list(range(1, int(space.n))) if named is None else [int(a) for a in np.atleast_1d(named)]
    if not actions:
        raise ValueError(f"{wrapper} needs a task with choices, {env} has one action")
    return actions
