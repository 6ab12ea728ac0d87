"""Common interface of agents that act on a batch of environments, in training, in evaluations and in figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np


class Act(NamedTuple):
    """Output of an agent step for a batch of environments.

    Attributes:
        actions: shape (environments, ...), as the environments take them.
        values: state values, shape (environments,), or None where the algorithm has none.
        activity: hidden activity, shape (environments, units), or None for a memoryless policy.
        logits: action preferences (means for continuous actions), shape (environments, actions), or None.
    """

    actions: np.ndarray
    values: np.ndarray | None = None
    activity: np.ndarray | None = None
    logits: np.ndarray | None = None


class Acting(Protocol):
    """Interface of agents that select actions for a batch of environments."""

    def act(self, observations: np.ndarray, starts: np.ndarray) -> Act:
        """Act once.

        Args:
            observations: shape (environments, ...).
            starts: shape (environments,); where true, nothing is remembered from before.
        """


class Step(NamedTuple):
    """Single step of a batch of environments.

    Attributes:
        seen: observations before the step, shape (environments, ...).
        act: output of the agent.
        observations: observations after the step, shape (environments, ...).
        rewards: shape (environments,).
        starts: whether the agent's state is reset before the next step, shape (environments,).
        infos: Stable-Baselines3's info dictionary of each environment.
    """

    seen: np.ndarray
    act: Act
    observations: np.ndarray
    rewards: np.ndarray
    starts: np.ndarray
    infos: list[dict[str, Any]]


def rollout(venv: Any, agent: Acting, seen: Any = None, starts: np.ndarray | None = None) -> Iterator[Step]:
    """Yield the steps of an agent that acts on a ``VecEnv``, endlessly.

    Args:
        venv: the batch; a ``TrialVecEnv`` also says which trials ended with the step and what was right.
        agent: the acting agent.
        seen: the observations to go on from; None: the batch is reset.
        starts: whether the agent's state is reset before the first step, shape (environments,); None: everywhere.
    """
    seen = venv.reset() if seen is None else seen
    starts = np.ones(venv.num_envs, bool) if starts is None else starts
    while True:
        act = agent.act(seen, starts)
        observations, rewards, starts, infos = venv.step(act.actions)
        yield Step(seen, act, observations, rewards, starts, infos)
        seen = observations
