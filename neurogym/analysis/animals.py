"""Comparison of agents with animal and human data: loading external tables, and the distance per statistic."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from neurogym.analysis import from_trials
from neurogym.analysis.outcomes import rates, reaction_times
from neurogym.analysis.results import Estimate, Result
from neurogym.analysis.trial_tables import (
    MissingColumnsError,
    Table,
    TrialData,
    as_table,
    is_correct,
    n_trials,
    numbers,
    with_previous,
)

logger = logging.getLogger(__name__)

MOST_CHOICE_WORDS = 12  #: words for choices
DEGENERATE = 1e-9  #: relative standard error below which a bootstrap met a bound and did not vary
ColumnRule = str | Mapping[str, Any]  #: column of a file, or its name with scale, offset and values
Statistic = Callable[[Table], dict[str, Estimate]]


@dataclass(frozen=True)
class StatisticComparison(Result):
    """Comparison of a statistic between two trial tables.

    Attributes:
        name: of the statistic.
        a: of the first table.
        b: of the second.
        difference: a - b, with a Gaussian interval from both standard errors.
        distance: the difference in standard errors; ``nan`` if neither is known.
    """

    name: str
    a: Estimate
    b: Estimate
    difference: Estimate
    distance: float


def load_trials(path: str | PathLike[str], columns: Mapping[str, ColumnRule], *, in_order: bool = False) -> Table:
    """Read trials from a CSV file and convert the columns to the names and units of trial tables.

    ``columns`` maps each column of the trial row to one of the file: its name, or a mapping with ``column`` (the name)
    and optionally ``scale`` and ``offset`` (value * scale + offset) and ``values`` (from file values to those of the
    trial row says), or with ``constant`` alone. As TOML::

        coh = { column = "coherence", scale = 100 }     # fraction to percent
        rt = { column = "rt_s", scale = 1000 }          # s to ms
        choice = { column = "side", values = { L = 1, R = 2 } }
        performance = "correct"

    What can be derived is added where it is missing: ``trial``, ``outcome`` from ``performance`` and the reverse, and
    ``ground_truth`` of a two-alternative task from choice and outcome.

    Args:
        path: CSV file with a header.
        columns: the column map.
        in_order: the rows follow each other as they happened: add the previous trial's choice and outcome.

    Raises:
        MissingColumnsError: the file lacks a column, or neither ``outcome`` nor ``performance`` is mapped.
        ValueError: a value that ``values`` does not name, or an unknown key in the map.
    """
    from pyarrow import csv

    source = as_table(csv.read_csv(path))
    n = n_trials(source)
    table = {name: map_column(name, rule, source, n) for name, rule in columns.items()}
    table.setdefault("trial", np.arange(n))
    if "outcome" not in table:
        if "performance" not in table:
            raise MissingColumnsError("the column map names neither outcome nor performance")
        performance = numbers(table["performance"])
        answered = np.where(performance > 0.5, "correct", "error")
        table["outcome"] = np.where(np.isfinite(performance), answered, "miss")
    table.setdefault("performance", is_correct(table).astype(float))
    if "choice" in table and table["choice"].dtype.kind in "OUS":
        words = sorted({str(value) for value in table["choice"].tolist() if value is not None})
        if len(words) > MOST_CHOICE_WORDS or any(word.replace(".", "").isdecimal() for word in words):
            raise ValueError(f"column map of 'choice': found {', '.join(words[:4])}, expected numbers or a few words")
        index = {word: float(k) for k, word in enumerate(words, 1)}
        table["choice"] = np.array([np.nan if v is None else index[str(v)] for v in table["choice"].tolist()])
    if "choice" in table and "ground_truth" not in table:
        choice = numbers(table["choice"])
        values = np.unique(choice[np.isfinite(choice)])
        if len(values) == 2:
            table["ground_truth"] = np.where(is_correct(table), choice, values.sum() - choice)
    return with_previous(table) if in_order else table


def map_column(name: str, rule: ColumnRule, source: Table, n: int) -> np.ndarray:
    """Compute a column of the trial table from the columns of a file by a rule of the column map of `load_trials`."""
    spec: dict[str, Any] = {"column": rule} if isinstance(rule, str) else dict(rule)
    unknown = set(spec) - {"column", "scale", "offset", "values", "constant"}
    if unknown:
        raise ValueError(f"column map of {name!r}: unknown key {', '.join(sorted(unknown))}")
    if "constant" in spec:
        return np.full(n, spec["constant"])
    if spec.get("column") not in source:
        have = ", ".join(source)
        raise MissingColumnsError(f"column map of {name!r}: no column {spec.get('column')!r}; the file has {have}")
    values = source[str(spec["column"])]
    if "values" in spec:
        mapping = {str(key): value for key, value in spec["values"].items()}
        missing = sorted({str(value) for value in values.tolist()} - set(mapping))
        if missing:
            raise ValueError(f"column map of {name!r}: no value for {', '.join(missing[:5])}")
        values = np.array([mapping[str(value)] for value in values.tolist()])
    if "scale" in spec or "offset" in spec:
        return numbers(values) * spec.get("scale", 1) + spec.get("offset", 0)
    return values


def compare(
    table_a: TrialData,
    table_b: TrialData,
    *,
    strength: str | None = "coh",
    statistics: Mapping[str, Statistic] | None = None,
    n_boot: int = 200,
    level: float = 0.95,
) -> tuple[StatisticComparison, ...]:
    """Compare two trial tables, an agent's and an animal's for instance, statistic by statistic.

    By default: accuracy, aborts and misses, reaction times, accuracy and reaction time at each strength, the
    psychometric function, the diffusion model, win-stay and lose-shift. What one of the tables does not allow
    (no reaction times, other strengths, one choice only) is left out.

    Args:
        table_a: trial table.
        table_b: trial table.
        strength: column with the stimulus strength; ``None`` leaves out what depends on it.
        statistics: functions from a table to named estimates, instead of the default ones.
        n_boot: bootstrap draws of the default statistics that need them.
        level: coverage of the intervals.
    """
    chosen = default_statistics(strength, n_boot, level) if statistics is None else statistics
    rows = []
    for name, statistic in chosen.items():
        try:
            a, b = statistic(as_table(table_a)), statistic(as_table(table_b))
        except ValueError as error:
            logger.info("comparison leaves out %s: %s", name, error)
            continue
        rows += [comparison(key, a[key], b[key], level) for key in a if key in b]
    return tuple(rows)


def distance(comparisons: tuple[StatisticComparison, ...]) -> float:
    """Return the root mean square distance over statistics, in standard errors."""
    each = np.array([comparison.distance for comparison in comparisons])
    each = each[np.isfinite(each)]
    return float(np.sqrt(np.mean(each**2))) if each.size else float("nan")


def default_statistics(strength: str | None = "coh", n_boot: int = 200, level: float = 0.95) -> dict[str, Statistic]:
    """Return the statistics that `compare` uses, by name."""

    def outcomes(table: Table) -> dict[str, Estimate]:
        all_trials = rates(table, level=level)[0]
        return {"accuracy": all_trials.accuracy, "abort": all_trials.abort, "miss": all_trials.miss}

    def times(table: Table) -> dict[str, Estimate]:
        times = reaction_times(table, level=level)
        return {"reaction time": times[0].mean} if times else {}

    def sequence(table: Table) -> dict[str, Estimate]:
        if "prev_outcome" not in table:
            raise MissingColumnsError("the trials are not known to be in order: no column prev_outcome")
        result = from_trials.win_stay_lose_shift(table, level=level)
        return {"win-stay": result.win_stay, "lose-shift": result.lose_shift}

    statistics: dict[str, Statistic] = {"outcomes": outcomes, "times": times, "sequence": sequence}
    if strength is not None:
        statistics |= _by_strength(strength, n_boot, level)
    return statistics


def _by_strength(column: str, n_boot: int, level: float) -> dict[str, Statistic]:
    """Return the statistics that depend on the stimulus strength."""

    def accuracy(table: Table) -> dict[str, Estimate]:
        return {f"accuracy at {column} {r.condition[column]:g}": r.accuracy for r in rates(table, column, level=level)}

    def times(table: Table) -> dict[str, Estimate]:
        times = reaction_times(table, column, level=level)
        return {f"reaction time at {column} {r.condition[column]:g}": r.mean for r in times}

    def psychometric(table: Table) -> dict[str, Estimate]:
        fit = from_trials.psychometric(table, column, model="weibull", n_boot=0, level=level)
        return {"81.6 % threshold": fit.threshold, "Weibull slope": fit.slope, "lapses": fit.lapse}

    def bias(table: Table) -> dict[str, Estimate]:
        return {"PSE": from_trials.psychometric(table, column, n_boot=0, level=level).threshold}

    def diffusion(table: Table) -> dict[str, Estimate]:
        fit = from_trials.chronometric(table, column, n_boot=n_boot, level=level)
        by_name = {"sensitivity": fit.sensitivity, "bound": fit.bound, "residual time": fit.residual_time}
        return {f"diffusion {name}": estimate for name, estimate in by_name.items()}

    return {
        "accuracy by strength": accuracy,
        "times by strength": times,
        "psychometric": psychometric,
        "bias": bias,
        "diffusion": diffusion,
    }


def comparison(name: str, a: Estimate, b: Estimate, level: float = 0.95) -> StatisticComparison:
    """Return the comparison of two estimates of a statistic."""
    se = float(np.hypot(a.se, b.se))
    if not np.isfinite(a.value - b.value + se):  # only a bound of one is known
        return StatisticComparison(name, a, b, Estimate(np.nan), np.nan)
    if se <= DEGENERATE * max(abs(a.value), abs(b.value)):
        se = float("nan")
    difference = Estimate.normal(a.value - b.value, se, level)
    return StatisticComparison(name, a, b, difference, difference.value / se)
