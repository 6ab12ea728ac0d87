"""Bandits: the policy with the highest expected reward, by dynamic programming over the counts of each arm."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from experiments.ceilings.result import Ceiling, guessed, make
from neurogym.analysis.learning import best_policy


def bandit() -> Ceiling:
    env = make("Bandit-v0")
    value = float((env.p * env.magnitudes).max())
    return Ceiling(1.0, value, 0.0, "exact: the probabilities are known")


def _first_is_better(trials: int) -> list[np.ndarray]:
    """Probability that the first of two arms is the better one, given the rewards of each.

    Returns:
        By the first arm's failures, arrays over (its wins, wins and failures of the other arm).
    """
    log = gammaln(np.arange(1, 4 * trials + 6))  # of factorials
    tables = []
    for failed in range(trials):
        size = trials - failed
        i, c, d = (axis.astype(int) for axis in np.ogrid[:size, 1 : size + 1, 1 : size + 1])
        b = failed + 1
        terms = log[c + i - 1] + log[d + b - 1] - log[c + i + d + b - 1] - np.log(b + i)
        terms += log[b + i] - log[i] - log[b - 1] - log[c - 1] - log[d - 1] + log[c + d - 1]
        tables.append(np.cumsum(np.exp(terms), axis=0).astype(np.float32))
    return tables


def best_performance(trials: int) -> float:
    """The highest share of choices of the better arm that any policy can have, by backward induction."""
    better = _first_is_better(trials)
    value = np.zeros((trials + 1,) * 3)
    for t in range(trials - 1, -1, -1):
        size = t + 1
        pulls, wins0, wins1 = (axis.astype(int) for axis in np.ogrid[:size, :size, :size])
        first = np.zeros((size,) * 3)
        for failed in range(size):
            w = np.arange(size - failed)
            other_pulls = t - failed - w[:, None]  # pulls of the other arm, (wins of the first, wins of the other)
            lost = other_pulls - np.arange(size)
            most = len(better[failed]) - 1
            cell = w[:, None], np.minimum(np.arange(size), most), np.clip(lost, 0, most)
            row = np.where(lost >= 0, better[failed][cell], 0)
            first[failed + w, w] = row
        mean0 = np.clip((wins0 + 1) / (pulls + 2), 0, 1)
        mean1 = np.clip((wins1 + 1) / (t - pulls + 2), 0, 1)
        take0 = first + mean0 * value[1 : size + 1, 1 : size + 1, :size]
        take0 += (1 - mean0) * value[1 : size + 1, :size, :size]
        take1 = 1 - first + mean1 * value[:size, :size, 1 : size + 1] + (1 - mean1) * value[:size, :size, :size]
        value[:size, :size, :size] = np.maximum(take0, take1)
    return float(value[0, 0, 0]) / trials


def changing_bandit() -> Ceiling:
    """The highest performance and the highest reward; no agent is above either."""
    env = make("ChangingBandit-v0")
    assert env.arms == "independent" and env.n == 2
    trials = env.trials_per_session
    performance, reward = best_performance(trials), best_policy(trials)[1] / trials
    method = "exact: dynamic programming over counts; performance and reward each at its best"
    return Ceiling(performance, reward, 0.0, method, guessed(0.5, 0.5))
