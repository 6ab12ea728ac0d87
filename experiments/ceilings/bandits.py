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


def changing_bandit() -> Ceiling:
    env = make("ChangingBandit-v0")
    assert env.arms == "independent" and env.n == 2
    rng = np.random.default_rng(0)
    policy = best_policy(env.session)
    p = rng.random((SESSIONS, 2))
    pulls, wins = np.zeros(SESSIONS, int), np.zeros((SESSIONS, 2), int)
    best, gained = np.zeros(SESSIONS), np.zeros(SESSIONS)
    for t in range(env.session):
        arm = 1 - policy[t][pulls, wins[:, 0], wins[:, 1]].astype(int)
        chance = p[np.arange(SESSIONS), arm]
        best += arm == p.argmax(axis=1)
        gained += chance
        wins[np.arange(SESSIONS), arm] += rng.random(SESSIONS) < chance
        pulls += arm == 0
    mean, error = mean_and_error(best / env.session)
    method = "dynamic programming (the policy with the highest reward), simulated over whole sessions"
    return Ceiling(mean, float(gained.mean() / env.session), error, method)
