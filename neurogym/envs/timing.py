"""Helpers of timing tasks: durations in whole steps, and reward that depends on temporal precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.sampling.distributions import Distribution
from neurogym.trials import Rows, Trials


def possible_durations(spec: object, dt: float) -> Any:
    """Possible durations (ms) of a specification, floored to whole steps.

    Args:
        spec: An entry of ``timing``.
        dt: Time step (ms).

    Returns:
        Sorted array; a distribution if they are too many to list.
    """
    kind, values = Distribution.of(spec)
    if kind in ("choice", "constant"):
        return np.unique(np.floor(np.atleast_1d(values) / dt + 1e-6)) * dt
    low, high = Distribution.of(spec).bounds()
    if not np.isfinite(high):
        return "uniform", (low, high)
    first = np.floor(low / dt + 1e-6)
    return np.arange(first, max(first + 1, np.ceil(high / dt - 1e-6))) * dt


def reward_timing(trials: Trials, period: str, since: np.ndarray, target: np.ndarray, margin: float) -> None:
    """Reward the first response of a period by the produced time, and set the ground truth at the best row.

    With e the distance of the produced from the target time and h = margin * target + 25 ms, a response earns
    ``correct`` * max(0.1, (1 - e/h)^1.5) and performance 1 if e <= h, else ``fail``. The best row, nearest to the
    target, is what a perfect agent can do at this time step, and earns the whole of ``correct``.

    Args:
        trials: The trials; the period must exist.
        period: Where the response is given.
        since: Step from which produced time counts, shape (n,).
        target: Time to produce (ms), shape (n,).
        margin: Tolerance as a fraction of the target.
        action: The response.
    """
    dt = trials.dt
    best = np.clip(np.rint(target / dt) + since, trials.starts[period], trials.ends[period] - 1).astype(int)
    attainable = (best - since) * dt
    allowed = margin * target + 25

    def error(rows: Rows) -> np.ndarray:
        return np.abs((rows.step - since[rows.trial]) * dt - attainable[rows.trial])

    def reward(rows: Rows) -> np.ndarray:
        closeness = 1 - error(rows) / allowed[rows.trial]
        graded = trials.reward("correct")[rows.trial] * np.maximum(0.1, np.maximum(closeness, 0) ** 1.5)
        return np.where(closeness >= 0, graded, trials.reward("fail")[rows.trial])

    trials.set_action_reward(period, 1, reward, lambda rows: (error(rows) <= allowed[rows.trial]).astype(float))
    trials.set_groundtruth(lambda rows: rows.step == best[rows.trial], period)
