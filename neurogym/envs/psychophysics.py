"""Helpers of perceptual tasks: ring stimuli, and the ideal observer of noisy samples."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from math import erf, sqrt
from typing import TypeVar

import numpy as np

from neurogym.core import TrialEnv
from neurogym.engine.making import length_is_fixed
from neurogym.sampling.distributions import is_number
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


def exact_ceiling(env: TrialEnv, performance: float, method: str, error: float = 0.0) -> Score:
    """Ceiling of a task with rewards ``correct`` and ``fail``, from the probability of a correct response.

    Args:
        env: The task; gives the rewards.
        performance: Probability that the ideal observer is correct.
        method: How it was calculated.
        error: Standard error of the performance, from durations that were drawn.
    """
    reward = performance * env.rewards["correct"] + (1 - performance) * env.rewards.get("fail", 0.0)
    method = f"{method}, over durations that were drawn" if error else f"exact: {method}"
    return {"performance": performance, "reward": reward, "error": error, "method": method}


def steps_of(env: TrialEnv, period: str) -> np.ndarray:
    """Number of steps of a period: of one trial if durations are constant, else of 4,096, shape (n,)."""
    env = copy.deepcopy(env)
    env.reset(seed=0)
    env.stack.keep([])
    trials = env.make_trials(1 if length_is_fixed(env) else 4096)
    return trials.ends[period] - trials.starts[period]


def choice_ceiling(
    env: TrialEnv, cohs: Sequence[float] | np.ndarray, sigma: float, period: str = "stimulus"
) -> Score | None:
    """Ideal performance of a two-direction task with independent noise in each sample.

    The difference of the two channels has mean coh/100 and s.d. sqrt(2)*sigma per sample; the mean of n samples is a
    sufficient statistic; accuracy is Phi(mean * sqrt(n) / s.d.), averaged over coherences and stimulus durations.

    Args:
        env: The task; gives durations and rewards.
        cohs: Coherences (percent), equally likely.
        sigma: Noise s.d. per step.
        period: Name of the stimulus period.

    Returns:
        None if a coherence is negative, so that the weaker direction is the correct one, or they are not listed, or
        the two directions are not equally likely.
    """
    directions = env.conditions.get("ground_truth", (0, 1))
    if not all(is_number(coh) for coh in cohs) or len(directions) != 2 or len(set(directions)) != 2:
        return None
    coherence, steps = np.asarray(cohs, float)[:, None] / 100, steps_of(env, period)
    if coherence.min() < 0:
        return None
    with np.errstate(divide="ignore"):
        d_prime = np.where(coherence * steps > 0, coherence * np.sqrt(steps) / (sqrt(2) * np.float64(sigma)), 0.0)
    accuracy = np.vectorize(lambda z: 0.5 * (1 + erf(z / sqrt(2))))(d_prime).mean(axis=0)
    error = float(accuracy.std() / np.sqrt(len(accuracy)))
    return exact_ceiling(env, float(accuracy.mean()), "sum of Gaussian samples", error)
