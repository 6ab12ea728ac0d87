"""Bandits: the policy with the highest expected reward, by dynamic programming over the counts of each arm."""

from __future__ import annotations

import numpy as np

from experiments.ceilings.result import Ceiling, make, mean_and_error

SESSIONS = 20_000


def bandit() -> Ceiling:
    env = make("Bandit-v0")
    value = float((env.p * env.magnitudes).max())
    return Ceiling(1.0, value, 0.0, "exact: the probabilities are known")


def best_policy(trials: int) -> list[np.ndarray]:
    """For each trial whether to take arm 0, by (pulls of arm 0, rewards of arm 0, rewards of arm 1)."""
    value = np.zeros((trials + 1,) * 3, np.float32)
    policy = []
    for t in range(trials - 1, -1, -1):
        size = t + 1
        pulls = np.arange(size, dtype=np.float32)[:, None, None]
        wins0 = np.arange(size, dtype=np.float32)[None, :, None]
        wins1 = np.arange(size, dtype=np.float32)[None, None, :]
        mean0 = np.clip((wins0 + 1) / (pulls + 2), 0, 1)
        mean1 = np.clip((wins1 + 1) / (t - pulls + 2), 0, 1)
        take0 = mean0 * (1 + value[1 : size + 1, 1 : size + 1, :size])
        take0 += (1 - mean0) * value[1 : size + 1, :size, :size]
        take1 = mean1 * (1 + value[:size, :size, 1 : size + 1]) + (1 - mean1) * value[:size, :size, :size]
        policy.append(take0 >= take1)
        value[:size, :size, :size] = np.maximum(take0, take1)
    return policy[::-1]


def best_choices(p: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Choices (session, trial) of that policy, where the arms pay with probabilities `p` (session, arm)."""
    policy, each = best_policy(trials), np.arange(len(p))
    pulls, wins = np.zeros(len(p), int), np.zeros((len(p), 2), int)
    chosen = np.empty((len(p), trials), int)
    for t in range(trials):
        arm = chosen[:, t] = 1 - policy[t][pulls, wins[:, 0], wins[:, 1]].astype(int)
        wins[each, arm] += rng.random(len(p)) < p[each, arm]
        pulls += arm == 0
    return chosen


def changing_bandit() -> Ceiling:
    env = make("ChangingBandit-v0")
    assert env.arms == "independent" and env.n == 2
    rng = np.random.default_rng(0)
    p = rng.random((SESSIONS, 2))
    chosen = best_choices(p, env.session, rng)
    mean, error = mean_and_error((chosen == p.argmax(axis=1)[:, None]).mean(axis=1))
    method = "dynamic programming (the policy with the highest reward), simulated over whole sessions"
    return Ceiling(mean, float(np.take_along_axis(p, chosen, axis=1).mean()), error, method)
