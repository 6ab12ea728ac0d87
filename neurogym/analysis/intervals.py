"""Intervals of means and proportions, of trials that are independent and of trials that are linked.

Where an agent learns within a session, or a hidden state lasts for many trials, neighbouring trials tell much the
same. What varies independently is then the session: intervals come from the spread between sessions (Liang & Zeger
1986, 10.1093/biomet/73.1.13), and where there are too few of them, between long blocks of trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Curve, Estimate, IndexStatistic, bootstrap, normal_quantile, student_quantile
from neurogym.analysis.trial_tables import sessions
from neurogym.array_types import BoolArray, FloatArray, IntArray

#: Fewest groups from which the variation between groups is estimated, with Student's quantiles.
FEWEST_GROUPS = 5
#: Fewest sessions from which a spread is estimated, number of blocks to cut otherwise, and shortest block.
FEW, BLOCKS, SHORTEST = 10, 20, 20


def clusters(table: Mapping[str, np.ndarray]) -> IntArray | None:
    """The session, or block of trials, that each trial belongs to; None if trials are independent.

    Trials are linked where the column ``linked`` says so. A session is one environment, and begins anew where
    ``session_trial`` is 0.

    Args:
        table: a trial table.
    """
    linked = table.get("linked")
    if linked is None or not np.any(np.asarray(linked) == True):  # noqa: E712 - the column may hold None
        return None
    labels = sessions(table)
    values = np.unique(labels)
    if len(values) >= FEW or not len(values):
        return labels
    position = np.zeros(len(labels), np.int64)
    order = np.lexsort((table.get("trial", np.arange(len(labels))), labels))
    counts = np.bincount(labels)
    position[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    length = max(SHORTEST, int(np.ceil(len(labels) / BLOCKS)))
    return np.unique(labels * (len(labels) + 1) + position // length, return_inverse=True)[1].astype(np.int64)


def enough_groups(*levels: ArrayLike) -> IntArray | None:
    """Return the groups of trials for intervals, or None for too few groups to estimate the variation between them.

    Args:
        *levels: label of each trial, from coarse to fine, such as subject and session; the first level with at least
            `FEWEST_GROUPS` groups counts. A finer label belongs to a coarser one.
    """
    combined: list[np.ndarray] = []
    for level in levels:
        combined.append(np.unique(np.asarray(level), return_inverse=True)[1])
        labels = np.unique(np.stack(combined), axis=1, return_inverse=True)[1].ravel().astype(np.int64)
        if len(labels) and labels.max() + 1 >= FEWEST_GROUPS:
            return labels
    return None


def count_groups(groups: ArrayLike | None) -> int | None:
    """Return the number of groups; None where trials are independent."""
    return None if groups is None else len(np.unique(np.asarray(groups)))


def rows_of(groups: ArrayLike | None, rows: slice | np.ndarray) -> np.ndarray | None:
    """Return the groups of some trials; None where trials are independent."""
    return None if groups is None else np.asarray(groups)[rows]


def mean_interval(
    values: ArrayLike,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    bounded: bool = True,
    among: BoolArray | None = None,
) -> Estimate:
    """Mean of scores with a confidence interval.

    For scores between 0 and 1 it is Wilson's, with as many independent trials as the variance of the mean amounts to
    and Student's quantile for the number of groups (Korn & Graubard 1998); else Student's.

    Args:
        values: one score for each trial, shape (trials,).
        groups: label of the session or block of each trial, from `clusters`; None: trials are independent.
        level: coverage of the interval.
        bounded: whether scores lie between 0 and 1.
        among: which trials count, shape (trials,); None: all.
    """
    x = np.asarray(values, float)
    finite = np.isfinite(x) if among is None else np.isfinite(x) & among
    x = x[finite]
    n = len(x)
    if not n:
        return Estimate(np.nan, 0.0 if bounded else np.nan, 1.0 if bounded else np.nan, np.nan)
    mean = float(x.mean())
    sums, count = x - mean, n
    if groups is not None:
        labels = np.asarray(groups)[finite]
        if labels.dtype.kind not in "iu" or labels.min() < 0:
            labels = np.unique(labels, return_inverse=True)[1]
        sums, count = np.bincount(labels, weights=sums), int(np.count_nonzero(np.bincount(labels)))
    variance = float(sums @ sums) / n**2 * count / (count - 1) if count > 1 else np.nan
    if not bounded:
        half = quantile(level, count) * np.sqrt(variance)
        return Estimate(mean, mean - half, mean + half, float(np.sqrt(variance)))
    binary = groups is None and bool(np.isin(x, (0.0, 1.0)).all())
    if binary or (variance == 0 and mean in (0.0, 1.0)):
        return Estimate.proportion(float(x.sum()), n, level)
    if not np.isfinite(variance):  # one group: the variation between groups is unknown
        return Estimate(mean, 0.0, 1.0, np.nan)
    if variance == 0:
        return Estimate(mean, mean, mean, 0.0)
    low, high = _score_interval(mean, mean * (1 - mean) / variance, quantile(level, count))
    return Estimate(mean, low, high, float(np.sqrt(variance)))


def proportion_curve(
    x: ArrayLike,
    index: ArrayLike,
    hits: ArrayLike,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    among: BoolArray | slice = slice(None),
) -> Curve:
    """Proportions at several places, with confidence intervals; see `mean_interval`.

    Args:
        x: the places, shape (points,).
        index: place of each trial, shape (trials,).
        hits: whether each trial counts, shape (trials,); fractions are means.
        groups: label of the session or block of each trial; None: trials are independent.
        level: coverage of the intervals.
        among: which trials count, shape (trials,).
    """
    places, at, scores = np.asarray(x), np.asarray(index)[among], np.asarray(hits, float)[among]
    n = np.bincount(at, minlength=len(places))
    if groups is None and bool(np.isin(scores, (0.0, 1.0)).all()):
        return Curve.proportions(places, np.bincount(at, weights=scores, minlength=len(places)), n, level)
    labels = rows_of(groups, among)
    rows = [mean_interval(scores[part], rows_of(labels, part), level) for part in _parts(at, n)]
    return Curve.estimates(places, rows, n)


def _parts(index: IntArray, n: IntArray) -> list[IntArray]:
    """Return the trials at each place, given the place of each trial and the number of trials at each place."""
    return np.split(np.argsort(index, kind="stable"), np.cumsum(n)[:-1])


def mean_curve(
    x: ArrayLike, index: ArrayLike, values: ArrayLike, groups: ArrayLike | None = None, level: float = 0.95
) -> Curve:
    """Means of scores without bounds at several places; arguments as of `proportion_curve`."""
    places, at = np.asarray(x), np.asarray(index)
    scores, n = np.asarray(values, float), np.bincount(at, minlength=len(places))
    rows = [mean_interval(scores[part], rows_of(groups, part), level, bounded=False) for part in _parts(at, n)]
    return Curve.estimates(places, rows, n)


def resampled_sums(
    groups: ArrayLike,
    index: np.ndarray,
    points: int,
    columns: Sequence[ArrayLike],
    n_boot: int,
    rng: np.random.Generator,
) -> Iterator[list[FloatArray]]:
    """Draw groups of trials with replacement, and yield the sum of each column at each place.

    Args:
        groups: label of the session or block of each trial, shape (trials,).
        index: place of each trial, shape (trials,).
        points: number of places.
        columns: what is summed, shape (trials,) each.
        n_boot: number of draws.
        rng: generator.
    """
    label = np.unique(np.asarray(groups), return_inverse=True)[1]
    shape, cell = (int(label.max()) + 1, points), label * points + index
    tables = [
        np.bincount(cell, weights=np.asarray(column, float), minlength=shape[0] * points).reshape(shape)
        for column in columns
    ]
    for _ in range(n_boot):
        drawn = rng.integers(0, shape[0], shape[0])
        yield [table[drawn].sum(axis=0) for table in tables]


def lower_bound(values: ArrayLike, groups: ArrayLike | None, alpha: float) -> float:
    """Lower end of a one-sided interval of mean performance, above the true mean with probability ``alpha``."""
    return mean_interval(values, groups, 1 - 2 * alpha).low


def members_of(groups: ArrayLike) -> list[IntArray]:
    """Indices of the trials of each group, in ascending order of the labels."""
    labels = np.unique(np.asarray(groups), return_inverse=True)[1]
    return _parts(labels, np.bincount(labels))


def resampled(
    statistic: IndexStatistic, n: int, groups: ArrayLike | None = None, n_boot: int = 1000, seed: int | None = 0
) -> FloatArray:
    """Draws of a statistic, computed on resampled trials or, for linked trials, on resampled groups.

    Args:
        statistic: takes indices of trials and returns a number or an array.
        n: number of trials.
        groups: label of the session or block of each trial, shape (trials,); None: trials are independent.
        n_boot: number of resamples.
        seed: seed of the resampling.
    """
    if groups is None:
        return bootstrap(statistic, n, n_boot, seed)
    members = members_of(groups)
    rng = np.random.default_rng(seed)
    return np.array(
        [
            statistic(np.concatenate([members[k] for k in rng.integers(0, len(members), len(members))]))
            for _ in range(n_boot)
        ],
        float,
    )


def spread_interval(
    centre: ArrayLike,
    draws: ArrayLike,
    observations: int,
    level: float = 0.95,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of Student's interval with the spread of bootstrap draws as the standard error.

    Percentiles of draws are too narrow for few observations, such as seeds or sessions: the spread of draws is too
    small by ``sqrt((n - 1) / n)``, and the normal quantile by more (Hesterberg 2015, 10.1080/00031305.2015.1089789).

    Args:
        centre: estimate, any shape.
        draws: of the estimate from resampled observations, shape (draws, ...).
        observations: number of observations, at least 2.
        level: coverage of the interval.
        bounds: smallest and largest possible value, which no end exceeds.
    """
    error = np.std(np.asarray(draws, float), axis=0) * np.sqrt(observations / (observations - 1))
    half = student_quantile(level, observations - 1) * error
    return np.clip(centre - half, *bounds), np.clip(centre + half, *bounds)


def quantile(level: float, groups: int) -> float:
    """Student's quantile for the spread of a number of groups; the normal quantile for many groups."""
    if groups > 1000:
        return normal_quantile(level)
    return student_quantile(level, max(1, groups - 1))


def _score_interval(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval of a proportion among ``n`` trials, which need not be a whole number."""
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return float(np.clip(centre - half, 0, 1)), float(np.clip(centre + half, 0, 1))
