"""Ideal observers of single tasks and stacks, written apart from the package, and what they score."""

import itertools
from collections.abc import Callable

import gymnasium as gym
import numpy as np
from scipy.special import logsumexp

from neurogym.vector import make_vec
from tests.neurogym.ceilings.rules import summed

COHERENCES = np.array([0, 6.4, 12.8, 25.6, 51.2]) / 100


class Beliefs:
    """What is expected of the next direction, for each environment: probability of the first, shape (n,)."""

    def prior(self) -> np.ndarray | float:
        return 0.5

    def told(self, right: np.ndarray, trial: np.ndarray) -> None:
        """The directions (0 or 1) of finished trials, by environment; -1: this one has not finished."""


class Constant(Beliefs):
    def __init__(self, p: float):
        self.p = p

    def prior(self) -> float:
        return self.p


class Alternating(Beliefs):
    """Two kinds of block take turns, each ``length`` trials long; only which came first is unknown.

    Args:
        n: Environments.
        length: Trials of a block.
        first: Probability of the first direction in each kind of block, after each direction, shape (2, 2).
    """

    def __init__(self, n: int, length: int, first: np.ndarray):
        self.length, self.first = length, np.asarray(first)
        self.log, self.done, self.last = np.zeros((n, 2)), np.zeros(n, int), np.full(n, -1)

    def _each(self) -> np.ndarray:
        """Probability of the first direction if block 0, or block 1, came first; shape (n, 2)."""
        block = (np.arange(2) + self.done[:, None] // self.length) % 2
        expected = self.first[block, np.maximum(self.last, 0)[:, None]]
        return np.where(self.last[:, None] < 0, self.first[block].mean(axis=-1), expected)

    def prior(self) -> np.ndarray:
        weight = np.exp(self.log - logsumexp(self.log, axis=1, keepdims=True))
        return (weight * self._each()).sum(axis=1)

    def told(self, right: np.ndarray, trial: np.ndarray) -> None:
        p, at = self._each(), right >= 0
        self.log[at] += np.log(np.where(right[at, None] == 0, p[at], 1 - p[at]))
        self.last[at], self.done[at] = right[at], self.done[at] + 1


def score(
    make: Callable[[], gym.Env], beliefs: Beliefs, trials: int, n: int = 128, variance: float = 0.01, warm: int = 0
) -> tuple[float, float]:
    """Performance of the agent on a stack, and its standard error over environments.

    Args:
        make: Makes the stack around a two-direction task whose first channels are fixation and the two directions.
        beliefs: Of the next direction.
        trials: Of each environment.
        n: Environments.
        variance: Of the noise of a channel at a step, that of wrappers included.
        warm: First trials that are not counted.
    """
    env = make_vec(make, n)
    task = make().unwrapped
    samples = int(task.timing["stimulus"] // task.dt)
    last = sum(int(duration // task.dt) for duration in task.timing.values()) - 1
    begin = int(task.timing["fixation"] // task.dt)
    ob, _ = env.reset(seed=0)
    step, sums, hits, count = np.zeros(n, int), np.zeros(n), np.zeros(n), np.zeros(n, int)
    spread = 2 * samples * variance
    while count.min() < trials:
        seen = (step >= begin) & (step < begin + samples)
        sums += np.where(seen, ob[:, 1] - ob[:, 2], 0.0)
        log = np.log(np.broadcast_to(beliefs.prior(), (n,)) / (1 - np.broadcast_to(beliefs.prior(), (n,))))
        log = log + logsumexp(-((sums[:, None] - samples * COHERENCES) ** 2) / (2 * spread), axis=1)
        log = log - logsumexp(-((sums[:, None] + samples * COHERENCES) ** 2) / (2 * spread), axis=1)
        action = np.where(step >= last, np.where(log >= 0, 1, 2), 0)
        ob = env.step(action)[0]
        step += 1
        right = np.full(n, -1)
        if env.finished is not None:
            finished = env.finished
            right[finished["env"]] = finished["ground_truth"]
            counted = (count[finished["env"]] >= warm) & (count[finished["env"]] < trials)
            hits[finished["env"]] += finished["performance"] * counted
            count[finished["env"]] += 1
            step[finished["env"]], sums[finished["env"]] = 0, 0.0
        beliefs.told(right, count)
    each = hits / (trials - warm)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(n))


# -- sides that follow a chain ----------------------------------------------------------------------------------------


def chain(env, sessions: int, trials: int, told: bool, warm: int = 0) -> tuple[float, float]:
    """Performance of an observer of Priors or RDMHist who follows the blocks, and its standard error over sessions."""
    cohs = np.linspace(0.5, 0, 201)[:-1] + 0.00125 if "coh" not in env.conditions else np.array(env.cohs) / 100
    results = []
    for seed in range(sessions):
        env.reset(seed=seed)
        env.start_session()  # without the trials that reset has made
        made = env.make_trials(warm + trials)
        sums, count = summed(made, "stimulus", (1, 2))
        x, n = sums[:, 0] - sums[:, 1], float(count[0, 0])
        fit = [logsumexp(-((x[:, None] - sign * n * cohs) ** 2) / (4 * n * env.sigma**2), axis=1) for sign in (1, -1)]
        like, truth = np.exp(np.stack(fit, 1) - np.max(fit, axis=0)[:, None]), made.info["ground_truth"] - 1
        belief, hits = np.full((2, 2), 0.25), []  # first kind of block, last side
        for k in range(made.n):
            for first in (0, 1):
                p = env.rep_prob[(first + k // env.block_dur) % 2]
                belief[first] = p * belief[first] + (1 - p) * belief[first][::-1]
            seen = belief * like[k]
            hits.append(seen.sum(axis=0).argmax() == truth[k])
            belief = belief * np.eye(2)[truth[k]] if told else seen
            belief = belief / belief.sum()
        results.append(np.mean(hits[warm:]))
    return float(np.mean(results)), float(np.std(results, ddof=1) / np.sqrt(sessions))


# -- patterns that are recalled ---------------------------------------------------------------------------------------


def recall(env, trials: int) -> tuple[float, float]:
    """Performance of an agent of MemoryRecall who knows that no pattern is asked for twice, and its standard error."""
    size, hits = env.unwrapped.stim_dim, []
    ob, _ = env.reset(seed=0)
    stored: list[np.ndarray] = []
    cues: list[np.ndarray] = []
    while len(hits) < trials:
        task, answer = env.unwrapped, np.zeros(size)
        if task.in_period("recall"):
            cues.append(ob[:size])
            votes = np.zeros(size)
            for guess in itertools.permutations(stored, len(cues)):
                if all(np.all((cue == 0) | (cue == pattern)) for cue, pattern in zip(cues, guess, strict=True)):
                    votes += guess[-1]
            answer = np.where(votes >= 0, 1.0, -1.0)
        elif ob[size] == 1:
            stored.append(ob[:size])
        ob, _, _, _, info = env.step(answer.astype(np.float32))
        if info["new_trial"]:
            hits.append(info["performance"])
            stored, cues = [], []
    return float(np.mean(hits)), float(np.std(hits) / np.sqrt(trials))
