"""Score of an agent that draws every action uniformly at every step."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym import rules
from neurogym.ceilings import stored
from neurogym.trials import Trials

TRIALS = 2000


def chance(env: gym.Env) -> dict[str, float]:
    """``performance`` and ``reward`` per trial of the random agent.

    With a declared rule both are expectations over the actions, exact for each trial and averaged over 2,000 trials;
    otherwise the agent is simulated, and the result stored where that takes long. The environment is not disturbed.

    Args:
        env: The task, or the whole stack.
    """
    task: Any = env.unwrapped
    found = stored.stored_chance(task) if stored.is_plain(task) else None
    if found is not None:
        return found
    env = copy.deepcopy(env)
    env.reset(seed=0)
    task = env.unwrapped
    if not task.traits.batched or task.follows_agent or task.stack.follows_agent:
        return _simulated(env)
    done, sums = 0, np.zeros(2)
    while done < TRIALS:
        trials = task.make_trials(min(256, TRIALS - done) if task.stack.ahead else 1)
        sums += _expected(trials)
        done += trials.n
    return {"performance": float(sums[0] / done), "reward": float(sums[1] / done)}


def _expected(trials: Trials) -> np.ndarray:
    """Expected performance and reward, summed over the trials, by following the probability of still going on."""
    fields = trials.fields
    ends = (fields["event"] >= rules.END).mean(axis=1)
    gains = np.stack([fields["performance"].mean(axis=1), fields["reward"].mean(axis=1)])
    going, total = np.ones(trials.n), np.zeros(2)
    for step in range(int(trials.length.max())):
        alive = trials.length > step
        row = trials.offset[alive] + step
        total += gains[:, row] @ going[alive]
        going[alive] *= 1 - ends[row]
    return total


def _simulated(env: gym.Env) -> dict[str, float]:
    env.action_space.seed(0)
    scores: list[tuple[float, float]] = []
    while len(scores) < TRIALS:
        _, _, terminated, truncated, info = env.step(env.action_space.sample())
        if info["new_trial"]:
            scores.append((info["performance"], info["trial_reward"]))
        if terminated or truncated:
            env.reset()
    performance, reward = np.mean(scores, axis=0)
    return {"performance": float(performance), "reward": float(reward)}
