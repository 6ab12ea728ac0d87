"""Score of an agent that draws every action uniformly at every step."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym import rules
from neurogym.ceilings import stored
from neurogym.recording.rollout import Agent, rollout
from neurogym.trials import Trials

TRIALS = 2000  #: minimum, and default number for a simulated agent
MOST = 400_000  #: of trials with a declared rule that can be made ahead
ERROR = 0.002  #: of the mean performance that is small enough


def chance(env: gym.Env, error: float = ERROR, simulated: int = TRIALS) -> dict[str, float]:
    """``performance`` and ``reward`` per trial of the random agent, and the standard ``error`` of the performance.

    With a declared rule the score of each trial is an expectation over the actions, which is exact, and as many trials
    are drawn as the mean needs; otherwise the agent is simulated. Of tasks with usual parameters, whose wrappers change
    nothing of it, the result is stored. The environment is not disturbed.

    Args:
        env: The task, or the whole stack.
        error: Standard error of the performance that is small enough, of tasks with a declared rule.
        simulated: Trials of other tasks.
    """
    task: Any = env.unwrapped
    found = stored.stored_chance(task) if stored.is_plain(task) else None
    if found is not None:
        return found
    env = copy.deepcopy(env)
    seen, _ = env.reset(seed=0)
    task = env.unwrapped
    if not task.traits.batched or task.is_adaptive or task.stack.is_adaptive or task.rule.jumps:
        return _simulated(env, seen, simulated)
    size, most = (256, MOST) if task.stack.ahead else (1, TRIALS)
    count, total, squares, reached = 0, np.zeros(2), 0.0, np.inf
    while count < TRIALS or (reached > error and count < most):
        scores = _expected(task.make_trials(size))
        count, total, squares = count + scores.shape[1], total + scores.sum(axis=1), squares + scores[0] @ scores[0]
        performance, reward = total / count
        reached = float(np.sqrt(max(squares / count - performance**2, 0.0) / count))
    return {"performance": float(performance), "reward": float(reward), "error": reached}


def _expected(trials: Trials) -> np.ndarray:
    """Expected performance and reward of each trial, by following the probability of still going on; (2, trials)."""
    fields = trials.fields
    ends = (fields["event"] >= rules.END).mean(axis=1)
    gains = np.stack([fields["performance"].mean(axis=1), fields["reward"].mean(axis=1)])
    going, found = np.ones(trials.n), np.zeros((2, trials.n))
    for step in range(int(trials.length.max())):
        alive = trials.length > step
        row = trials.offset[alive] + step
        found[:, alive] += gains[:, row] * going[alive]
        going[alive] *= 1 - ends[row]
    return found


def _simulated(env: gym.Env, seen: Any, trials: int) -> dict[str, float]:
    env.action_space.seed(0)
    ended = (step.info for step in rollout(env, Agent(env), seen=seen) if step.over)
    scores = [(info["performance"], info["trial_reward"]) for info in itertools.islice(ended, trials)]
    performance, reward = np.mean(scores, axis=0)
    error = np.std(scores, axis=0)[0] / np.sqrt(trials)
    return {"performance": float(performance), "reward": float(reward), "error": float(error)}
