"""Small helpers for tasks and analyses, under the names used in NeuroGym."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.sampling.distributions import Distribution

logger = logging.getLogger(__name__)


def to_map(*labels: object) -> dict[object, int]:
    """Map labels, given individually or as a list, to positions.

    Example:
        >>> to_map("fixation", "left", "right")
        {'fixation': 0, 'left': 1, 'right': 2}
    """
    listed = labels[0] if len(labels) == 1 and isinstance(labels[0], (list, tuple)) else labels
    return {label: i for i, label in enumerate(listed)}


def get_idx(t: Sequence[float] | np.ndarray, start_end: tuple[float, float]) -> np.ndarray:
    """Positions at which start <= t < end."""
    times = np.asarray(t)
    return np.flatnonzero((start_end[0] <= times) & (times < start_end[1]))


def get_periods_idx(dt: float, periods: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Time axis (ms) of a trial and the positions of each period.

    Args:
        dt: Time step (ms).
        periods: Period to (start, end) in ms, and ``tmax``, the end of the trial.

    Raises:
        ValueError: If ``tmax`` is missing.
    """
    if "tmax" not in periods:
        raise ValueError("periods needs an entry 'tmax', the end of the trial in ms")
    t = np.arange(0, periods["tmax"], dt)
    return t, {name: get_idx(t, limits) for name, limits in periods.items() if name != "tmax"}


def minmax_number(dist: str, args: object) -> tuple[float, float]:
    """Smallest and largest value of a distribution; see :mod:`neurogym.utils.ngym_random`."""
    return Distribution.of((dist, args)).bounds()


def circular_dist(d: float | np.ndarray) -> float | np.ndarray:
    """Distance on a circle of a difference ``d`` of angles (rad), at most pi."""
    folded = np.mod(np.abs(d), 2 * np.pi)
    return np.minimum(folded, 2 * np.pi - folded)


def divide(x: float, y: float) -> float:
    """Quotient x / y, or 0 if not finite."""
    if y == 0:
        return 0.0
    quotient = x / y
    return float(quotient) if np.isfinite(quotient) else 0.0


def correct_2AFC(perf: Sequence[float]) -> tuple[float, float]:  # noqa: N802 - NeuroGym's name
    """Fraction of trials with a decision, and fraction correct among decided trials.

    Args:
        perf: Performance of each trial; negative: no decision.
    """
    scores = np.asarray(perf, dtype=float)
    decided = scores >= 0
    return divide(float(decided.sum()), len(scores)), divide(float((scores[decided] > 0).sum()), float(decided.sum()))


def compute_perf(perf: float, reward: float, num_tr_perf: int, tr_perf: float) -> tuple[float, int]:
    """One step of a running mean of performance.

    Args:
        perf: Mean so far.
        reward: Reward of the trial that ended; trials without any are not counted.
        num_tr_perf: Trials counted so far.
        tr_perf: Performance of the trial.

    Returns:
        The new mean and the number of trials counted.
    """
    if reward == 0:
        return perf, num_tr_perf
    return perf + (tr_perf - perf) / (num_tr_perf + 1), num_tr_perf + 1


def suppress_during_pytest(*exceptions: type[BaseException], message: str | None = None) -> Callable[..., Any]:
    """Log and swallow the given exceptions during a test under pytest; raise otherwise.

    Kept for scripts that use it; nothing in this package does.

    Args:
        *exceptions: Types to swallow.
        message: Message to log with the exception.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: object, **kwargs: object) -> object:
            try:
                return function(*args, **kwargs)
            except exceptions as error:
                if "PYTEST_CURRENT_TEST" not in os.environ:
                    raise
                logger.warning("%s: %s", message or f"{function.__name__} failed", error)
                return None

        return call

    return decorate
