"""Helpers of perceptual tasks: ring stimuli, and the ideal observer of noisy samples."""

from __future__ import annotations

from collections.abc import Sequence
from math import erf, sqrt
from typing import TypeVar

import numpy as np

from neurogym.core import TrialEnv
from neurogym.sampling.distributions import Distribution
from neurogym.scores import Score

#: Coherences of random-dot motion (percent), Britten et al. 1992 and after.
COHERENCES = (0, 6.4, 12.8, 25.6, 51.2)


def coherences(values: Sequence[float] | None = None) -> np.ndarray:
    """Coherences as given, else the usual ones (percent), shape (coherences,)."""
    return np.array(COHERENCES if values is None else values, dtype=float, ndmin=1)


def two_channels(signed: np.ndarray) -> np.ndarray:
    """Strength of two opposed channels, (1 +- coherence) / 2, shape (n, 2).

    Args:
        signed: Coherence (percent), positive where the first channel is the stronger; shape (n,).
    """
    return (1 + np.column_stack([signed, -signed]) / 100) / 2


def ring(n: int) -> np.ndarray:
    """Preferred angles (rad) of a ring of ``n`` units, shape (n,)."""
    return 2 * np.pi * np.arange(n) / n


FloatOrArray = TypeVar("FloatOrArray", float, np.ndarray)


def signed_angle(angle: FloatOrArray) -> FloatOrArray:
    """The same angle (rad) between -pi and pi."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


def step_noise(sigma: float, dt: float) -> float:
    """S.d. of the noise per step: sigma / sqrt(dt), so that the noise of a time average is independent of dt."""
    return float(sigma / np.sqrt(dt))


def ring_stimulus(theta: np.ndarray, direction: np.ndarray, coh: float | np.ndarray) -> np.ndarray:
    """Response of a ring to motion: 0.5 + coh/200 * cos(theta - direction).

    Args:
        theta: Preferred angles (rad), shape (units,).
        direction: Direction of each trial (rad), shape (n,).
        coh: Coherence (percent), a number or shape (n,).

    Returns:
        Shape (n, units).
    """
    return 0.5 + (np.asarray(coh) / 200)[..., None] * np.cos(theta - direction[:, None])


def bump(theta: np.ndarray, angle: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """Activity of a ring: 0.8 * strength * exp(-(8 d / pi)^2 / 2), d the distance to ``angle`` (rad).

    Args:
        theta: Preferred angles (rad), shape (units,).
        angle: Shape (n,).
        strength: Shape (n,).

    Returns:
        Shape (n, units).
    """
    directions, index = np.unique(angle, return_inverse=True)  # there are few
    away = np.abs(theta - directions[:, None]) % (2 * np.pi)
    distance = np.minimum(away, 2 * np.pi - away)
    return 0.8 * np.asarray(strength)[:, None] * np.exp(-0.5 * (8 * distance / np.pi) ** 2)[index]


def exact_ceiling(env: TrialEnv, performance: float, method: str) -> Score:
    """Ceiling of a task with rewards ``correct`` and ``fail``, from the probability of a correct response.

    Args:
        env: The task; gives the rewards.
        performance: Probability that the ideal observer is correct.
        method: How it was calculated.
    """
    reward = performance * env.rewards["correct"] + (1 - performance) * env.rewards.get("fail", 0.0)
    return {"performance": performance, "reward": reward, "error": 0.0, "method": f"exact: {method}"}


def choice_ceiling(env: TrialEnv, cohs: Sequence[float] | np.ndarray, sigma: float, period: str = "stimulus") -> Score:
    """Ideal performance of a two-direction task with independent noise in each sample.

    The difference of the two channels has mean coh/100 and s.d. sqrt(2)*sigma per sample; the mean of n samples is a
    sufficient statistic; accuracy is Phi(mean * sqrt(n) / s.d.), averaged over coherences and stimulus durations.

    Args:
        env: The task; gives durations and rewards.
        cohs: Coherences (percent), equally likely.
        sigma: Noise s.d. per step.
        period: Name of the stimulus period.
    """
    durations = Distribution.of(env.timing[period]).sample(np.random.default_rng(0), 4096)
    samples, weight = np.unique(np.floor(durations / env.dt + 1e-6), return_counts=True)
    d_prime = (
        np.asarray(cohs, float)[:, None] / 100 * np.sqrt(samples) / (sqrt(2) * sigma)
        if sigma > 0
        else np.where(np.asarray(cohs, float)[:, None] > 0, np.inf, 0.0) * np.ones(len(samples))
    )
    accuracy = np.vectorize(lambda z: 0.5 * (1 + erf(z / sqrt(2))))(d_prime)
    return exact_ceiling(env, float(np.average(accuracy.mean(axis=0), weights=weight)), "sum of Gaussian samples")
