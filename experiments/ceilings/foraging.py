"""Bandits whose arms change with time: observers with the exact belief, and the best of simple policies upon it."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from experiments.ceilings.result import Ceiling, make, mean_and_error

SESSIONS, TRIALS, WARM_UP = 1000, 500, 100
BONUSES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.75)  #: standard deviations of the belief added to its mean


class _Foraging:
    """Sessions of baited, coupled blocks of one pair of probabilities, and the belief of an observer.

    Belief, shape (sessions, richer side, trials left, left side holds a reward, right side does).
    """

    def __init__(self, rng: np.random.Generator):
        env = make("DynamicForaging-v0")
        assert env.blocks == "coupled" and env.baiting and len(env.pairs) == 1
        self.rng, (self.low, self.high) = rng, env.block_dur
        rich, poor = env.pairs[0]
        self.p = np.array([[rich, poor], [poor, rich]])  # richer side, side
        n = SESSIONS
        self.richer = rng.integers(2, size=n)
        self.left = rng.integers(self.low, self.high + 1, size=n)
        self.holds, self.empty = np.zeros((n, 2), bool), np.ones((n, 2))
        self.belief = np.zeros((n, 2, self.high + 1, 2, 2))
        self.belief[:, :, self.low :, 0, 0] = 0.5 / (self.high + 1 - self.low)

    def refill(self) -> None:
        """Draw new rewards."""
        p = self.p[self.richer]
        self.holds |= self.rng.random(p.shape) < p
        self.empty *= 1 - p

    def expect(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability of each richer side, and of a reward at each side given it, after new rewards."""
        for state in (0, 1):
            present = self.belief[:, state]
            for axis, chance in ((2, self.p[state, 0]), (3, self.p[state, 1])):
                without, has = np.moveaxis(present, axis, 0)
                has += chance * without
                without *= 1 - chance
        joint = self.belief.sum(axis=2)  # sessions, richer side, left, right
        side = joint.sum(axis=(2, 3))
        return side, np.stack([joint[:, :, 1].sum(axis=2), joint[:, :, :, 1].sum(axis=2)], axis=2) / side[:, :, None]

    def choose(self, side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Visit a side; returns whether the choice was right, and what it paid."""
        at = np.arange(SESSIONS)
        value = 1 - self.empty
        right = value[at, side] >= value[at, 1 - side]
        paid = self.holds[at, side].copy()
        self.holds[at, side], self.empty[at, side] = False, 1.0
        self.left -= 1
        ended = self.left == 0
        self.richer = np.where(ended, 1 - self.richer, self.richer)
        self.left = np.where(ended, self.rng.integers(self.low, self.high + 1, size=SESSIONS), self.left)
        return right, paid

    def learn(self, side: np.ndarray, paid: np.ndarray) -> None:
        """Update the belief by what a visit paid."""
        at = np.arange(SESSIONS)
        seen = np.zeros((SESSIONS, 2, 2), bool)  # what the two sides may have held
        seen[at[side == 0], paid[side == 0].astype(int)] = True
        seen[at[side == 1], :, paid[side == 1].astype(int)] = True
        self.belief *= seen[:, None, None]
        cleared = self.belief
        cleared[side == 0] = np.stack([cleared.sum(axis=3), np.zeros_like(cleared[:, :, :, 0])], axis=3)[side == 0]
        cleared[side == 1] = np.stack([cleared.sum(axis=4), np.zeros_like(cleared[..., 0])], axis=4)[side == 1]
        self.belief /= self.belief.sum(axis=(1, 2, 3, 4), keepdims=True)
        over = self.belief[:, ::-1, 1].copy()
        self.belief[:, :, :-1] = self.belief[:, :, 1:]
        self.belief[:, :, -1] = self.belief[:, :, 0] = 0
        self.belief[:, :, self.low :] += over[:, :, None] / (self.high + 1 - self.low)


def dynamic_foraging() -> Ceiling:
    """The side that is more often the right one, for performance, and the one more likely to pay, for reward."""
    estimates = []
    for aim in ("right", "paid"):
        sessions = _Foraging(np.random.default_rng(0))
        hits, paid = np.zeros((2, TRIALS, SESSIONS))
        for t in range(TRIALS):
            sessions.refill()
            side, value = sessions.expect()
            better = value[:, :, 1] > value[:, :, 0]
            second = (side * (better if aim == "right" else value[:, :, 1] - value[:, :, 0])).sum(axis=1)
            choice = (second > (0.5 if aim == "right" else 0)).astype(int)
            hits[t], paid[t] = sessions.choose(choice)
            sessions.learn(choice, paid[t])
        estimates.append([mean_and_error(column[WARM_UP:].mean(axis=0)) for column in (hits, paid)])
    mean, error = max(each[0] for each in estimates)
    reward = max(each[1][0] for each in estimates)
    method = "exact belief over blocks and waiting rewards, best answer of each trial, simulated in the long run"
    return Ceiling(mean, reward, error, method, _blind_forager())


def _blind_forager(longest: int = 16) -> Ceiling:
    """Some visits to each side in turn, the best number for each aim: what was not visited lately may hold a reward."""
    hits, paid = [], []
    for visits in range(1, longest + 1):
        sessions = _Foraging(np.random.default_rng(visits))
        outcomes = np.zeros((2, TRIALS, SESSIONS))
        for t in range(TRIALS):
            sessions.refill()
            outcomes[:, t] = sessions.choose(np.full(SESSIONS, t // visits % 2))
        for results, column in zip((hits, paid), outcomes, strict=True):
            results.append(mean_and_error(column[WARM_UP:].mean(axis=0)))
    performance, error = max(hits)
    return Ceiling(
        performance, max(paid)[0], error, f"{hits.index(max(hits)) + 1} visits to each side in turn, simulated"
    )


def guessed_arm(levels: int = 2001) -> float:
    """Performance of any choice between two arms without feedback: both are right if both are at the same end.

    The share of trials in which an arm is at an end is that of the walk in the long run.
    """
    env = make("DriftingBandit-v0")
    assert env.walk == "bounded" and env.n == 2
    step, share = _steps(np.linspace(0, 1, levels), env.drift), np.full(levels, 1 / levels)
    for _ in range(2000):
        share = share @ step
    inside = share[1:3].mean() / 2  # the last cells are half as wide as the others, and hold the end itself
    return float(0.5 + 0.5 * np.sum((share[[0, -1]] - inside) ** 2))


def _steps(grid: np.ndarray, drift: float) -> np.ndarray:
    """Probability of each level after each; what a step takes beyond an end stays there."""
    below = ndtr(((grid[:-1] + grid[1:]) / 2 - grid[:, None]) / drift)
    return np.diff(below, prepend=0.0, append=1.0, axis=1)


def drifting_bandit(levels: int = 101) -> Ceiling:
    """Exact belief over the probability of each arm, on a grid, and the best of upper-confidence policies."""
    env = make("DriftingBandit-v0")
    assert env.walk == "bounded"
    n, grid = SESSIONS, np.linspace(0, 1, levels)
    step = _steps(grid, env.drift)
    estimates = []
    for bonus in BONUSES:
        rng = np.random.default_rng(0)
        p, belief = rng.random((n, env.n)), np.full((n, env.n, levels), 1 / levels)
        hits, paid = np.zeros((2, TRIALS, n))
        for t in range(TRIALS):
            mean = belief @ grid
            spread = np.sqrt(np.maximum(belief @ grid**2 - mean**2, 0))
            arm = (mean + bonus * spread + 1e-9 * rng.random(mean.shape)).argmax(axis=1)
            at = np.arange(n), arm
            hits[t] = p[at] == p.max(axis=1)
            pays = paid[t] = rng.random(n) < p[at]
            belief[at] *= np.where(pays[:, None] == 1, grid, 1 - grid)
            belief /= belief.sum(axis=2, keepdims=True)
            belief = belief @ step
            p = env._next_mean(p, rng.standard_normal(p.shape))
        estimates.append([mean_and_error(column[WARM_UP:].mean(axis=0)) for column in (hits, paid)])
    performance, error = max(each[0] for each in estimates)
    reward = max(each[1][0] for each in estimates)
    method = "exact belief with the best bonus for uncertainty, performance and reward each at its best, simulated"
    without = Ceiling(guessed_arm(), 0.5, 0.0, "exact: nothing reveals the better arm, and ties count as right")
    return Ceiling(performance, reward, error, method, without)
