"""Transition statistics of the agent's own choices as additional input."""

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
        n = len(self._actions)
        return np.full(n, 1 / n) if self.prev is None else self.matrix[self.prev]

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
