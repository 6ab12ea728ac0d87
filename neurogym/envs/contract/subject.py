"""Subject of checks, and errors of failing checks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.core import TrialEnv
from neurogym.vector import make_vec

LARGE = 1000  #: observations with more entries (images) are stepped less often


class ContractError(AssertionError):
    """Raised if a task breaks the contract."""


class NothingToCheck(Exception):
    """Raised by checks that do not apply to a task, with the reason."""


def require(condition: Any, message: str) -> None:
    """Raise :class:`ContractError` with ``message`` unless the condition holds."""
    if not condition:
        raise ContractError(message)


class Subject:
    """A task to be checked.

    Args:
        name: What messages call it.
        make: Makes the environment; takes the task's keyword arguments.
    """

    def __init__(self, name: str, make: Callable[..., gym.Env]):
        self.name, self.make = name, make

    def task(self, **kwargs: Any) -> TrialEnv:
        """A new environment without wrappers."""
        return self.make(**kwargs).unwrapped  # type: ignore[return-value]

    @functools.cached_property
    def example(self) -> TrialEnv:
        """Shared environment for checks that leave the environment unchanged."""
        return self.task()

    @property
    def large(self) -> bool:
        """Whether observations are images, too many to make by the thousand."""
        return int(np.prod(self.example.observation_space.shape or (1,))) > LARGE

    @property
    def chance_is_simulated(self) -> bool:
        """Whether the task's chance score is only available from simulation."""
        task = self.example
        follows_rule = task.rule is not None and task.traits.batched and not task.is_adaptive and not task.rule.jumps
        return not follows_rule and type(self.example).chance is TrialEnv.chance

    @functools.cached_property
    def chance(self) -> dict[str, float]:
        """Expected score of the random agent, as declared by the task or estimated from trials."""
        if not self.chance_is_simulated:
            return self.example.chance()
        return {key: float(np.mean([trial[key] for trial in self.random_trials])) for key in ("performance", "reward")}

    @functools.cached_property
    def random_trials(self) -> list[dict[str, Any]]:
        """Reports of the random agent's finished trials, each with the environment under ``env``."""
        n = 16
        batch = make_vec(self.make, n)
        batch.reset(seed=1000)
        rng = np.random.default_rng(0)
        batch.single_action_space.seed(0)
        finished: list[dict[str, Any]] = []
        limit = 200 if self.large else 1500
        for _ in range(limit):
            batch.step(random_actions(batch.single_action_space, rng, n))
            if batch.finished is not None:
                columns = {key: batch.finished[key] for key in ("env", "performance", "reward")}
                finished += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            if len(finished) >= 480:
                break
        return finished


def random_actions(space: Any, rng: np.random.Generator, n: int) -> np.ndarray:
    """Any ``n`` actions of a space."""
    if isinstance(space, gym.spaces.Discrete):
        return rng.integers(space.n, size=n)
    return np.stack([space.sample() for _ in range(n)])
