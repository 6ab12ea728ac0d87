"""Subject of checks, and errors of failing checks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.core import TrialEnv
from neurogym.spaces import names_of
from neurogym.trials import Info
from neurogym.vector import make_vec

LARGE = 1000  #: observations with more entries (images) are stepped less often


class ContractError(AssertionError):
    """Raised if a task breaks the contract."""


class NothingToCheck(Exception):
    """Raised by checks that do not apply to a task, with the reason."""


def require(condition: object, message: str) -> None:
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

    def task(self, **kwargs: object) -> TrialEnv:
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
        follows_rule = (
            task.rule is not None and task.traits.batched and not task.traits.follows_agent and not task.rule.jumps
        )
        return not follows_rule and type(self.example).chance is TrialEnv.chance

    @functools.cached_property
    def chance(self) -> dict[str, float]:
        """Expected score of the random agent, as declared by the task or estimated from trials."""
        if not self.chance_is_simulated:
            return self.example.chance()
        return {key: float(np.mean([trial[key] for trial in self.random_trials])) for key in ("performance", "reward")}

    @functools.cached_property
    def random_trials(self) -> list[Info]:
        """Reports of the random agent's finished trials, each with the environment under ``env``."""
        n = 16
        batch = make_vec(self.make, n)
        batch.reset(seed=1000)
        rng = np.random.default_rng(0)
        batch.single_action_space.seed(0)
        finished: list[Info] = []
        limit = 200 if self.large else 1500
        for _ in range(limit):
            batch.step(random_actions(batch.single_action_space, rng, n))
            if batch.finished is not None:
                columns = {key: batch.finished[key] for key in ("env", "performance", "reward")}
                finished += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            if len(finished) >= 480:
                break
        return finished


def random_steps_of(
    env: gym.Env, steps: int, seed: int, seed_of_actions: int | None = None
) -> Iterator[tuple[Any, ...]]:
    """Results of random steps in a new session; after the end of an episode the next begins.

    Args:
        env: The environment.
        steps: Number of steps.
        seed: Seed of the session.
        seed_of_actions: Seed of the actions; default that of the session.
    """
    env.reset(seed=seed)
    env.action_space.seed(seed if seed_of_actions is None else seed_of_actions)
    for _ in range(steps):
        ob, reward, terminated, truncated, info = env.step(env.action_space.sample())
        yield ob, reward, terminated, truncated, info
        if terminated or truncated:
            env.reset()


def random_actions(space: gym.Space[Any], rng: np.random.Generator, n: int) -> np.ndarray:
    """``n`` random actions of a space, shape (n, ...)."""
    if isinstance(space, gym.spaces.Discrete):
        return rng.integers(space.n, size=n)
    return np.stack([space.sample() for _ in range(n)])


EXAMINED_STEPS = 600  #: that are looked at


def trials_are_described(subject: Subject) -> None:
    """A task that makes single trials returns each trial's description, a dictionary, from ``_new_trial``."""
    env = subject.task()
    name = next((name for name in ("_new_trial", "new_trial") if _overridden(env, name) is not None), None)
    if name is None:
        raise NothingToCheck("the task describes many trials at once")
    returned: list[object] = []
    describe = getattr(env, name)

    def watched(**kwargs: object) -> object:
        returned.append(describe(**kwargs))
        return returned[-1]

    setattr(env, name, watched)
    env.reset(seed=0)
    kinds = sorted({type(trial).__name__ for trial in returned if not isinstance(trial, dict)})
    require(not kinds, f"{name} must return the trial's description, a dict, not {', '.join(kinds)}")


def _overridden(env: object, name: str) -> Callable[..., object] | None:
    """Return a method defined by the task's own class, None for methods inherited from this package."""
    for cls in type(env).__mro__:
        if name in vars(cls):
            return None if cls.__module__.split(".")[0] == "neurogym" else vars(cls)[name]
    return None


def ground_truth_is_an_action(subject: Subject) -> None:
    """Check that the correct action of every step belongs to the action space."""
    env = subject.make()
    space = env.action_space
    seen = False
    n_steps = EXAMINED_STEPS // 10 if subject.large else EXAMINED_STEPS
    for step, (*_, info) in enumerate(random_steps_of(env, n_steps, seed=6)):
        right = info.get("gt")
        if right is not None and isinstance(space, gym.spaces.Discrete):
            seen = True
            first, last = int(space.start), int(space.start + space.n) - 1
            fits = np.ndim(right) == 0 and float(right) == int(right) and first <= int(right) <= last
            outside = f"the ground truth {right} at step {step} is outside the action space ({first} to {last})"
            require(fits, outside)
    if not seen:
        raise NothingToCheck("there is no ground truth, or actions are vectors")


def channels_carry_something(subject: Subject) -> None:
    """A channel without a name is not always 0."""
    space = subject.example.observation_space
    if space.shape is None or len(space.shape) != 1:
        raise NothingToCheck("observations are not vectors")
    named = {int(i) for index in names_of(space).values() for i in np.atleast_1d(index)}
    nameless = [channel for channel in range(space.shape[0]) if channel not in named]
    if not nameless:
        raise NothingToCheck("every channel has a name")
    env = subject.make()
    seen = np.abs(np.asarray(env.reset(seed=8)[0], float))
    for observation, *_ in random_steps_of(env, EXAMINED_STEPS, seed=8):
        seen = np.maximum(seen, np.abs(observation))
    silent = [channel for channel in nameless if seen[channel] == 0]
    require(not silent, f"channel {', '.join(map(str, silent))} has no name and is always 0")
