"""Reference agents for bandits with new arms in every session: Thompson sampling, the best policy."""

from __future__ import annotations

import numpy as np


def best_policy(trials: int) -> tuple[list[np.ndarray], float]:
    """The policy with the highest expected reward, by backward induction.

    Returns:
        For each trial whether to take arm 0, by (pulls of arm 0, rewards of arm 0, rewards of arm 1), and the expected
        reward of a session.
    """
    value = np.zeros((trials + 1,) * 3)
    policy = []
    for t in range(trials - 1, -1, -1):
        size = t + 1
        pulls = np.arange(size, dtype=float)[:, None, None]
        wins0 = np.arange(size, dtype=float)[None, :, None]
        wins1 = np.arange(size, dtype=float)[None, None, :]
        mean0 = np.clip((wins0 + 1) / (pulls + 2), 0, 1)
        mean1 = np.clip((wins1 + 1) / (t - pulls + 2), 0, 1)
        take0 = mean0 * (1 + value[1 : size + 1, 1 : size + 1, :size])
        take0 += (1 - mean0) * value[1 : size + 1, :size, :size]
        take1 = mean1 * (1 + value[:size, :size, 1 : size + 1]) + (1 - mean1) * value[:size, :size, :size]
        policy.append(take0 >= take1)
        value[:size, :size, :size] = np.maximum(take0, take1)
    return policy[::-1], float(value[0, 0, 0])


def best_choices(p: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Choices of that policy.

    Args:
        p: Probability of reward of each arm, shape (sessions, 2).
        trials: of a session.
        rng: generator.

    Returns:
        Arms, shape (sessions, trials).
    """
    policy, each = best_policy(trials)[0], np.arange(len(p))
    pulls, wins = np.zeros(len(p), int), np.zeros((len(p), 2), int)
    chosen = np.empty((len(p), trials), int)
    for t in range(trials):
        arm = chosen[:, t] = 1 - policy[t][pulls, wins[:, 0], wins[:, 1]].astype(int)
        wins[each, arm] += rng.random(len(p)) < p[each, arm]
        pulls += arm == 0
    return chosen


def thompson(p: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Choices of Thompson sampling with a uniform prior for each arm (Thompson 1933, 10.1093/biomet/25.3-4.285).

    Args:
        p: Probability of reward of each arm, shape (sessions, arms).
        trials: of a session.
        rng: generator.

    Returns:
        Arms, shape (sessions, trials).
    """
    wins, losses, each = np.ones_like(p), np.ones_like(p), np.arange(len(p))
    chosen = np.empty((len(p), trials), int)
    for t in range(trials):
        arm = chosen[:, t] = rng.beta(wins, losses).argmax(1)
        paid = rng.random(len(p)) < p[each, arm]
        wins[each, arm] += paid
        losses[each, arm] += ~paid
    return chosen
