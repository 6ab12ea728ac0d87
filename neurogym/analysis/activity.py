"""Population activity as ragged arrays, aligned to events and averaged by condition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Condition, Result
from neurogym.analysis.trial_tables import groups, n_trials
from neurogym.array_types import FloatArray, IntArray


@dataclass(frozen=True)
class Activity:
    """Activity of a population in trials of different lengths.

    Attributes:
        values: all steps of all trials, one trial after the other, shape (total_steps, units).
        offsets: where each trial starts in ``values``, and where the last one ends, shape (trials + 1,).
        dt: length of a step, ms.
    """

    values: np.ndarray
    offsets: IntArray
    dt: float = 100.0

    def __post_init__(self) -> None:
        """Check that the offsets divide the values into trials."""
        offsets = np.asarray(self.offsets)
        if self.values.ndim != 2:
            raise ValueError(f"activity has shape (total_steps, units), got {self.values.shape}")
        if offsets[0] != 0 or offsets[-1] != len(self.values) or (np.diff(offsets) < 0).any():
            raise ValueError(f"offsets must rise from 0 to {len(self.values)}, got {offsets[0]} to {offsets[-1]}")

    @property
    def lengths(self) -> IntArray:
        """Steps of each trial."""
        return np.diff(self.offsets)

    @property
    def n_units(self) -> int:
        """Number of units."""
        return int(self.values.shape[1])

    def __len__(self) -> int:
        """Return the number of trials."""
        return len(self.offsets) - 1

    def __getitem__(self, trial: int) -> np.ndarray:
        """Return the activity in a trial, shape (steps, units)."""
        if not -len(self) <= trial < len(self):
            raise IndexError(f"trial {trial} of {len(self)}")
        trial %= len(self)
        return self.values[self.offsets[trial] : self.offsets[trial + 1]]

    def align(self, event: ArrayLike = 0, *, start: int = 0, stop: int | None = None) -> FloatArray:
        """Return the activity around an event of each trial, shape (trials, steps, units).

        Args:
            event: step of the event in each trial, shape (trials,), or one for all; ``nan`` or a negative step where
                there was none.
            start: first step kept, relative to the event.
            stop: step after the last one kept, relative to the event; by default the end of the longest trial.

        Returns:
            Activity, ``nan`` where a trial does not reach and in trials without the event.
        """
        at = np.broadcast_to(np.asarray(event, float), (len(self),))
        happened = np.isfinite(at) & (at >= 0)
        at = np.where(happened, at, 0).astype(np.int64)
        if stop is None:
            stop = int((self.lengths - at)[happened].max(initial=start + 1))
        steps = at[:, None] + np.arange(start, stop)
        inside = happened[:, None] & (steps >= 0) & (steps < self.lengths[:, None])
        aligned = np.full((*steps.shape, self.n_units), np.nan)
        aligned[inside] = self.values[(self.offsets[:-1, None] + steps)[inside]]
        return aligned

    def mean_rate(self, event: ArrayLike = 0, *, start: int = 0, stop: int | None = None) -> FloatArray:
        """Return the mean activity of each trial in a window around an event, shape (trials, units)."""
        aligned = self.align(event, start=start, stop=stop)
        return nan_mean(aligned, axis=1)


@dataclass(frozen=True)
class PSTH(Result):
    """Activity averaged over the trials of each condition.

    Attributes:
        conditions: value of each condition column, one dictionary per condition.
        time: time of each step relative to the event, ms, shape (steps,).
        mean: shape (conditions, steps, units).
        sem: standard error of the mean, same shape.
        n: trials behind each step, shape (conditions, steps).
    """

    conditions: tuple[Condition, ...]
    time: FloatArray
    mean: FloatArray
    sem: FloatArray
    n: IntArray


def psth(
    activity: Activity,
    conditions: Mapping[str, ArrayLike] | None = None,
    event: ArrayLike = 0,
    *,
    start: int = 0,
    stop: int | None = None,
    smooth: float = 0.0,
) -> PSTH:
    """Return peri-event time histograms: mean activity by condition, aligned to an event.

    Args:
        activity: the population.
        conditions: columns of shape (trials,) whose combinations make the conditions; none for all trials together.
        event: step of the event in each trial, see `Activity.align`.
        start: first step, relative to the event.
        stop: step after the last one.
        smooth: standard deviation of a Gaussian filter along time, ms; 0 for none.
    """
    aligned = activity.align(event, start=start, stop=stop)
    table = {name: np.asarray(column) for name, column in (conditions or {}).items()}
    table["_row"] = np.arange(len(activity))
    if n_trials(table) != len(activity):
        raise ValueError(f"conditions have {n_trials(table)} trials, the activity has {len(activity)}")
    labels, means, errors, counts = [], [], [], []
    for condition, trials in groups(table, [name for name in table if name != "_row"]):
        values = aligned[trials["_row"]]
        n = np.isfinite(values[..., 0]).sum(axis=0)
        mean = nan_mean(values)
        squares = np.nansum((values - mean) ** 2, axis=0)
        freedom = (n * (n - 1))[:, None]
        labels.append(condition)
        means.append(_smooth(mean, smooth / activity.dt))
        errors.append(np.sqrt(np.divide(squares, freedom, out=np.full(mean.shape, np.nan), where=freedom > 0)))
        counts.append(n)
    time = activity.dt * np.arange(start, start + aligned.shape[1], dtype=float)
    return PSTH(tuple(labels), time, np.stack(means), np.stack(errors), np.stack(counts))


def nan_mean(values: FloatArray, axis: int = 0) -> FloatArray:
    """Return the mean of what is known along an axis, ``nan`` (without a warning) where nothing is."""
    n = np.isfinite(values).sum(axis=axis)
    total = np.nansum(values, axis=axis)
    return np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)


def _smooth(mean: FloatArray, sigma: float) -> FloatArray:
    """Filter along time, leaving missing steps out of the average."""
    if sigma <= 0:
        return mean
    from scipy.ndimage import gaussian_filter1d

    finite = np.isfinite(mean)
    weight = gaussian_filter1d(finite.astype(float), sigma, axis=0)
    filtered = gaussian_filter1d(np.where(finite, mean, 0.0), sigma, axis=0)
    return np.where(finite, filtered / np.maximum(weight, 1e-12), np.nan)
