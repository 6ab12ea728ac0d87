"""Scores of agents without senses: one draws every action uniformly at every step, the best one goes by time."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym import rules
from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.ceilings import stored
from neurogym.ceilings.effects import LEAVES, effect_of
from neurogym.core import TrialEnv, TrialWrapper
from neurogym.recording.rollout import ModelAgent, rollout
from neurogym.scores import Score
from neurogym.trials import Trials
from neurogym.wrappers.forwarding import layers
from neurogym.wrappers.stack import PASSIVE

MIN_TRIALS = 2000  #: minimum, and default number for a simulated agent
MOST = 400_000  #: of trials with a declared rule that can be made ahead
ERROR = 0.002  #: of the mean performance that is small enough
AT_ONCE, MOST_STEPS_AT_ONCE = 256, 1_280_000  #: trials that are made at a time, and steps of all of them
FEWEST_LONG, MOST_STEPS = 50, 10_000_000  #: trials of many steps, where fewer are enough, and steps of all of them


def chance(env: gym.Env, error: float = ERROR, simulated: int = MIN_TRIALS) -> dict[str, float]:
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
    top: gym.Env = task.session.top
    env = top if env is task else env
    passes = _passes_actions(env)
    result = stored.stored("chance", task) if passes and stored.is_plain(task) else None
    if result is not None:
        return result
    env = copy.deepcopy(env)
    seen, _ = env.reset(seed=0)
    task = env.unwrapped
    is_exact = passes and task.traits.batched and not any(wrapper.hooks.own_step for wrapper in task.session.wrappers)
    if not is_exact or task.traits.follows_agent or task.session.stack.follows_agent or task.rule.jumps:
        return _simulated(env, seen, simulated)
    size, most = (AT_ONCE, MOST) if task.session.stack.ahead else (1, MIN_TRIALS)
    steps = int(copy.deepcopy(task).make_trials(1).length[0])
    size, least = min(size, max(1, MOST_STEPS_AT_ONCE // steps)), MIN_TRIALS
    if MIN_TRIALS * steps > MOST_STEPS:
        least = most = max(FEWEST_LONG, MOST_STEPS // steps)
    count, total, squares, reached = 0, np.zeros(2), 0.0, np.inf
    while count < least or (reached > error and count < most):
        scores = _expected(task.make_trials(size))
        count, total, squares = count + scores.shape[1], total + scores.sum(axis=1), squares + scores[0] @ scores[0]
        performance, reward = total / count
        reached = float(np.sqrt(max(squares / count - performance**2, 0.0) / count))
    return {"performance": float(performance), "reward": float(reward), "error": reached}


def _passes_actions(env: gym.Env) -> bool:
    """Whether no wrapper of another library, or of a user, may change actions."""
    harmless = (TrialWrapper, *PASSIVE, gym.ObservationWrapper)
    return all(isinstance(layer, harmless) or effect_of(layer) == LEAVES for layer in layers(env))


def _expected(trials: Trials) -> np.ndarray:
    """Expected performance and reward of each trial, by following the probability of still going on; (2, trials)."""
    fields = trials.fields
    ends = (fields["event"] >= rules.END).mean(axis=1)
    gains = np.stack([fields["performance"].mean(axis=1), fields["reward"].mean(axis=1)])
    alive_share, result = np.ones(trials.n), np.zeros((2, trials.n))
    for step in _steps_that_count(trials, ends, *gains):
        alive = trials.length > step
        row = trials.offset[alive] + step
        result[:, alive] += gains[:, row] * alive_share[alive]
        alive_share[alive] *= 1 - ends[row]
    return result


def _steps_that_count(trials: Trials, *fields: np.ndarray) -> IntArray:
    """Return the steps at which a number by row, or by row and action, is not 0 in one of the trials."""
    rows = np.flatnonzero(np.any([field.reshape(len(field), -1).any(axis=1) for field in fields], axis=0))
    trial = np.searchsorted(trials.offset, rows, side="right") - 1
    steps = rows - trials.offset[trial]
    return np.unique(steps[steps < trials.length[trial]])


def _simulated(env: gym.Env, seen: np.ndarray, trials: int) -> dict[str, float]:
    env.action_space.seed(0)
    ended = (step.info for step in rollout(env, ModelAgent(env), seen=seen) if step.over)
    scores = [(info["performance"], info["trial_reward"]) for info in itertools.islice(ended, trials)]
    performance, reward = np.mean(scores, axis=0)
    error = np.std(scores, axis=0)[0] / np.sqrt(trials)
    return {"performance": float(performance), "reward": float(reward), "error": float(error)}


CELLS = 4_000_000  #: numbers that are held at a time
FEWEST, SEARCHED, SCORED = 200, 2_000, 20_000  #: trials
SESSION = 50  #: trials of a session if trials are linked
BATCHES = 25  #: parts of a session whose means give the error if trials are linked
ALWAYS, BY_TIME = "always the same action", "actions that depend on the time in the trial alone"
STATES = 400  #: sets of trials that may still go on at a step


def blind(env: gym.Env) -> Score | None:
    """Score of the best blind agent of a task with all wrappers.

    Args:
        env: The whole stack; it is not disturbed.

    Returns:
        ``performance``, ``error`` (Monte-Carlo standard error) and ``method``; None where it is not known.
    """
    task = env.unwrapped
    if not isinstance(task, TrialEnv) or not _passes_actions(env):
        return None
    score = stored.stored("blind", task)
    if score is not None and stored.is_plain(task):
        return score
    if not task.traits.batched or not task.session.stack.ahead or any(w.hooks.own_step for w in task.session.wrappers):
        return None
    if task.rule is None or task.rule.jumps:  # what is reached at a time depends on the actions before
        return None
    return declared_blind(task)


def declared_blind(env: TrialEnv, searched: int = SEARCHED, scored: int = SCORED, cells: int = CELLS) -> Score:
    """The best blind score of a task with a declared rule.

    Args:
        env: The task, with its wrappers; it is not disturbed.
        searched: Trials by which the best sequence of actions is found, at most.
        scored: Trials by which it is scored, at most.
        cells: Numbers (rows, and actions or channels) that are held at a time, about.
    """
    env = copy.deepcopy(env)
    env.reset(seed=0)
    first = env.make_trials(1)
    width = max(int(env.action_space.n), int(np.prod(env.observation_space.shape)))
    size = int(np.clip(cells // max(1, int(first.length[0]) * width), 1, scored))
    policy = best_sequence(env.make_trials(min(size, searched)))
    total, n = int(np.clip(10 * size, min(FEWEST, scored), scored)), 0
    pieces: list[FloatArray] = []
    linked = env.traits.history_dependent or any(wrapper.hooks.history_dependent for wrapper in env.wrappers)
    while n < total:
        if linked:  # what is more frequent in one session is not in another
            env.reset(seed=len(pieces) + 1)
        pieces.append(_score(env.make_trials(min(total - n, SESSION if linked else size)), policy))
        n += len(pieces[-1])
    values = np.concatenate(pieces)
    error = values.std() / np.sqrt(n)
    if n >= 2 * BATCHES:
        means = [piece.mean() for piece in np.array_split(values, BATCHES)]
        error = max(error, np.std(means, ddof=1) / np.sqrt(BATCHES))
    return {
        "performance": float(values.mean()),
        "error": float(error),
        "method": f"{ALWAYS if len(set(policy)) == 1 else BY_TIME}, simulated",
    }


def best_sequence(trials: Trials) -> list[int]:
    """The sequence of actions with the highest mean performance over some trials."""
    ends, gains = trials.fields["event"] >= rules.END, trials.fields["performance"]
    everyone = np.ones(trials.n, bool)
    best: dict[bytes, tuple[float, BoolArray, list[int]]] = {b"": (0.0, everyone, [])}
    for step in _steps_that_count(trials, ends, gains):
        following: dict[bytes, tuple[float, BoolArray, list[int]]] = {}
        for score, before, policy in best.values():
            alive = before & (trials.length > step)
            at = np.flatnonzero(alive)
            row = trials.offset[at] + step
            sums, over = gains[row].sum(axis=0), ends[row] | (trials.length[at] == step + 1)[:, None]
            for action in _leading(sums, over):
                goes_on = alive.copy()
                goes_on[at[over[:, action]]] = False
                key, reached = np.packbits(goes_on).tobytes(), score + float(sums[action])
                if key not in following or reached > following[key][0] + 1e-9:
                    following[key] = (reached, goes_on, [*policy, *[0] * (step - len(policy)), action])
        most_promising = sorted(following.items(), key=lambda item: -(item[1][0] + item[1][1].sum()))
        best = dict(most_promising[:STATES])
    policy = max(best.values(), key=lambda result: result[0])[2]
    return [*policy, *[0] * (int(trials.length.max()) - len(policy))]


def _leading(sums: FloatArray, over: BoolArray) -> list[int]:
    """Return the highest-scoring action for each set of trials that actions end."""
    leading: dict[bytes, int] = {}
    for action in range(len(sums)):
        key = np.packbits(over[:, action]).tobytes()
        if key not in leading or sums[action] > sums[leading[key]]:
            leading[key] = action
    return list(leading.values())


def _score(trials: Trials, policy: Sequence[int]) -> FloatArray:
    """Performance of each trial under a sequence of actions; longer trials repeat the last action."""
    ends, gains = trials.fields["event"] >= rules.END, trials.fields["performance"]
    alive, total = np.ones(trials.n, bool), np.zeros(trials.n)
    for step in _steps_that_count(trials, ends, gains):
        at = np.flatnonzero(alive & (trials.length > step))
        action = policy[min(step, len(policy) - 1)]
        row = trials.offset[at] + step
        total[at] += gains[row, action]
        alive[at] = ~ends[row, action]
    return total
