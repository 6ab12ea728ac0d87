"""Results of analyses: estimates with intervals, curves, and shared rules for intervals."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtrit

from neurogym.array_types import FloatArray, IntArray
from neurogym.messages.plain_data import plain

Condition = dict[str, float | str | None]  #: column to the value that some trials have in common
IndexStatistic = Callable[[np.ndarray], ArrayLike]  #: of some observations, given their indices


class UndeterminedError(ValueError):
    """Refusal of an analysis: the trials, states or recordings do not determine the number, for a reason it names."""


@dataclass(frozen=True)
class Result:
    """Base of all results: a frozen dataclass that can be written down."""

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain Python values; bootstrap draws are left out."""
        fields = [field for field in dataclasses.fields(self) if not field.metadata.get("draws")]
        return {field.name: plain(vars(self)[field.name]) for field in fields}


@dataclass(frozen=True)
class Estimate(Result):
    """Number with uncertainty.

    Formatted with a format of numbers, an estimate is a text with the interval.

    Example:
        >>> f"{Estimate(0.853, 0.8, 0.9):.2f}"
        '0.85 [0.80, 0.90]'

    Attributes:
        value: the estimate; ``nan`` if not determined, infinite if only a bound is known.
        low: lower end of the interval; ``nan`` if there is no interval, infinite if it is open on that side.
        high: upper end of the interval.
        se: standard error, in the unit of ``value``; 0 for a parameter that was fixed.
    """

    value: float
    low: float = np.nan
    high: float = np.nan
    se: float = np.nan

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Estimate:
        """Return an estimate that was written with `to_dict`; other keys of the record are ignored."""
        numbers = (record.get(name) for name in ("value", "low", "high", "se"))
        return cls(*(np.nan if number is None else float(number) for number in numbers))

    @classmethod
    def fixed(cls, value: float) -> Estimate:
        """Return a parameter that was set and not estimated."""
        return cls(float(value), float(value), float(value), 0.0)

    @classmethod
    def normal(cls, value: float, se: float, level: float = 0.95) -> Estimate:
        """Return an estimate whose sampling distribution is taken as Gaussian."""
        half = normal_quantile(level) * float(se)
        return cls(float(value), float(value) - half, float(value) + half, float(se))

    @classmethod
    def percentile(
        cls, value: float, draws: ArrayLike, level: float = 0.95, observations: int | None = None
    ) -> Estimate:
        """Return an estimate with the bias-corrected percentile interval of bootstrap draws.

        The percentiles are moved by twice the median bias of the draws (Efron 1987, 10.1080/01621459.1987.10478410).
        For few observations they are moved outwards to those of Student's distribution (Hesterberg 2015,
        10.1080/00031305.2015.1089789).

        Args:
            value: the estimate.
            draws: bootstrap draws of the estimate, shape (draws,).
            level: coverage of the interval.
            observations: number of resampled trials, sessions or conditions, at least 2; None for many.
        """
        reach = normal_quantile(level)
        if observations is not None and observations > 1:
            reach = student_quantile(level, observations - 1) * math.sqrt(observations / (observations - 1))
        finite = np.asarray(draws, float)
        finite = finite[np.isfinite(finite)]
        if finite.size < 2:
            return cls(float(value), np.nan, np.nan, np.nan)
        below = np.mean(finite < value) + 0.5 * np.mean(finite == value)
        shift = 2 * ndtri(np.clip(below, 0.05, 0.95))
        low, high = np.quantile(finite, ndtr(shift + reach * np.array([-1, 1])))
        # A correction by more than the spread of the draws would leave the estimate outside its own interval.
        return cls(float(value), float(min(low, value)), float(max(high, value)), float(finite.std(ddof=1)))

    @classmethod
    def proportion(cls, successes: float, trials: float, level: float = 0.95) -> Estimate:
        """Return a proportion with the Wilson interval; ``nan`` without trials."""
        low, high = wilson(successes, trials, level)
        value = float(successes) / float(trials) if trials else np.nan
        return cls(value, float(low), float(high), float(high - low) / (2 * normal_quantile(level)))

    @classmethod
    def mean(cls, values: ArrayLike, level: float = 0.95) -> Estimate:
        """Return the mean of the finite values with a t interval."""
        finite = np.asarray(values, float)
        finite = finite[np.isfinite(finite)]
        if finite.size < 2:
            return cls(float(finite[0]) if finite.size else np.nan, np.nan, np.nan, np.nan)
        se = float(finite.std(ddof=1) / np.sqrt(finite.size))
        half = student_quantile(level, finite.size - 1) * se
        return cls(float(finite.mean()), float(finite.mean()) - half, float(finite.mean()) + half, se)

    def transformed(self, function: Callable[[float], float], level: float = 0.95) -> Estimate:
        """Return an increasing function of the estimate, whose interval ends transform with it."""
        value, low, high = (float(function(each)) for each in (self.value, self.low, self.high))
        return Estimate(value, low, high, (high - low) / (2 * normal_quantile(level)))

    def __contains__(self, value: float) -> bool:
        """Return whether ``value`` lies inside the interval."""
        return self.low <= value <= self.high

    def interval(self, form: str | Callable[[float], str] = ".4g") -> str:
        """Return the interval as text, as in ``[0.80, 0.90]`` or ``[0.80, inf]``; empty if there is none.

        Args:
            form: format of the numbers, or a function that writes a number.
        """
        if not (math.isfinite(self.low) or math.isfinite(self.high)) or math.isnan(self.low + self.high):
            return ""
        low, high = (form(end) if callable(form) else format(end, form) for end in (self.low, self.high))
        return f"[{low}, {high}]"

    def __format__(self, form: str) -> str:
        """Return the estimate as text, as in ``0.85 [0.80, 0.90]``, ``> 0.80`` or ``not determined``."""
        form = form or ".4g"
        if math.isnan(self.value):
            return "not determined"
        if math.isinf(self.value):
            return f"> {self.low:{form}}" if self.value > 0 else f"< {self.high:{form}}"
        return f"{self.value:{form}} {self.interval(form)}".rstrip()


def contrast(estimates: Sequence[Estimate], weights: Sequence[float], level: float = 0.95) -> Estimate:
    """Return a weighted sum of independent proportions with the hybrid score interval.

    The distances of the proportions to the ends of their intervals add in squares (Newcombe 1998, Stat. Med. 17:873).

    Args:
        estimates: proportions with intervals.
        weights: weight of each, such as (1, -1) for a difference.
        level: coverage of the intervals.
    """
    value = low2 = high2 = 0.0
    for estimate, weight in zip(estimates, weights, strict=True):
        down, up = weight * (estimate.value - estimate.low), weight * (estimate.high - estimate.value)
        value += weight * estimate.value
        low2 += (down if weight > 0 else up) ** 2
        high2 += (up if weight > 0 else down) ** 2
    low, high = value - math.sqrt(low2), value + math.sqrt(high2)
    return Estimate(value, low, high, (high - low) / (2 * normal_quantile(level)))


@dataclass(frozen=True)
class Curve(Result):
    """A statistic along an axis, for instance accuracy against coherence.

    Attributes:
        x: positions, shape (points,).
        value: the statistic, shape (points,).
        low: lower ends of the intervals, shape (points,).
        high: upper ends of the intervals, shape (points,).
        n: observations behind each point, shape (points,).
    """

    x: np.ndarray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    n: IntArray

    @classmethod
    def proportions(cls, x: ArrayLike, successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Curve:
        """Return proportions with Wilson intervals; ``nan`` where there are no trials."""
        k, n = np.asarray(successes, float), np.asarray(trials, float)
        low, high = wilson(k, n, level)
        value = np.divide(k, n, out=np.full(n.shape, np.nan), where=n > 0)
        return cls(np.asarray(x), value, np.asarray(low), np.asarray(high), n.astype(np.int64))

    @classmethod
    def estimates(cls, x: ArrayLike, estimates: list[Estimate], n: ArrayLike) -> Curve:
        """Return a curve from an estimate per point."""
        value, low = np.array([e.value for e in estimates], float), np.array([e.low for e in estimates], float)
        high = np.array([e.high for e in estimates], float)
        return cls(np.asarray(x), value, low, high, np.broadcast_to(n, value.shape).astype(np.int64))


def normal_quantile(level: float) -> float:
    """Return how many standard errors a two-sided interval of this level reaches; 1.96 for 0.95."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    return float(ndtri((1 + level) / 2))


def student_quantile(level: float, freedom: int) -> float:
    """Return how many standard errors a two-sided interval of this level reaches with so many degrees of freedom.

    The same as by ``scipy.stats.t``, which takes longer to import than all else that an interval needs.
    """
    return float(stdtrit(freedom, (1 + level) / 2))


def wilson(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return the Wilson score interval of a proportion (Wilson 1927, 10.1080/01621459.1927.10502953).

    Args:
        successes: number of successes, any shape.
        trials: number of trials, broadcast against ``successes``; 0 gives (0, 1).
        level: coverage of the interval.
    """
    k, n = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    z2 = normal_quantile(level) ** 2
    centre = (k + z2 / 2) / (n + z2)
    half = np.sqrt(z2 * (np.divide(k * (n - k), n, out=np.zeros(n.shape), where=n > 0) + z2 / 4)) / (n + z2)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def interquartile_mean(values: ArrayLike, axis: int = 0) -> FloatArray:
    """Return the mean of the middle half along ``axis`` (Agarwal et al. 2021, arXiv 2108.13264)."""
    from scipy.stats import trim_mean

    return np.asarray(trim_mean(np.asarray(values, float), 0.25, axis=axis))


def bootstrap(statistic: IndexStatistic, n: int, n_boot: int = 1000, seed: int | None = 0) -> FloatArray:
    """Return ``n_boot`` draws of a statistic, computed on resampled row indices.

    Args:
        statistic: takes indices of shape (n,) into the observations and returns a number or an array.
        n: number of observations (trials, seeds, sessions) to resample with replacement.
        n_boot: number of resamples.
        seed: seed of the resampling.
    """
    rng = np.random.default_rng(seed)
    return np.array([statistic(rng.integers(0, n, n)) for _ in range(n_boot)], float)
