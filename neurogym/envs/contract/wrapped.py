"""Contract of wrapped tasks, for wrappers of any kind: each check finds a typical mistake of a wrapper."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np

from neurogym.envs.contract.subject import random_steps_of, require

WRAPPED_STEPS = 400

Make = Callable[[], gym.Env]


def rollout(make: Make, seed: int = 0) -> tuple[list[np.ndarray], list[float], int]:
    """Return observations, rewards and the number of ended trials under a fixed sequence of actions."""
    env = make()
    observations, rewards, trials = [np.array(env.reset(seed=seed)[0])], [], 0
    for ob, reward, _, _, info in random_steps_of(env, WRAPPED_STEPS, seed, seed_of_actions=1):
        observations.append(np.array(ob))
        rewards.append(float(reward))
        trials += bool(info.get("new_trial"))
    return observations, rewards, trials


def returned_values(make: Make) -> None:
    """Check the numbers of values that reset and step return, and that rewards are finite."""
    env = make()
    for method, result, size in (("reset", env.reset(seed=0), 2), ("step", env.step(env.action_space.sample()), 5)):
        form = "(observation, info)" if size == 2 else "(observation, reward, terminated, truncated, info)"
        require(isinstance(result, tuple) and len(result) == size, f"{method} must return {form}")
        require(isinstance(result[-1], dict), f"the last value that {method} returns must be the dictionary info")
    require(all(np.isfinite(rollout(make)[1])), "a reward is not a finite number")


def observations(make: Make) -> None:
    """Check shape, type and range of observations against the observation space."""
    space = make().observation_space
    for ob in rollout(make)[0]:
        message = (
            f"observation_space says {space.shape} {space.dtype}; set self.observation_space, or convert with astype"
        )
        require(ob.shape == space.shape, f"an observation has the shape {ob.shape}, but {message}")
        require(ob.dtype == space.dtype, f"an observation has the type {ob.dtype}, but {message}")
        require(space.contains(ob), "an observation lies outside the range of observation_space")


def ends_of_trials(make: Make) -> None:
    """Check that info says where trials end."""
    require(rollout(make)[2] > 0, "no trial ends: return the info of the wrapped environment, with its new_trial")


def repeatable(make: Make) -> None:
    """Check that a seed determines observations and rewards."""
    first, two = rollout(make), rollout(make)
    same = all(np.array_equal(a, b) for a, b in zip(first[0], two[0], strict=True)) and first[1] == two[1]
    require(same, "the same seed gives other observations or rewards; draw from self.np_random, which reset seeds")
