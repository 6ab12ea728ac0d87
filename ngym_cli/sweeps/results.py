"""Results of a sweep: a row per run as Parquet, and a row per setting with intervals over seeds."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

import numpy as np
import tomli_w

from neurogym.analysis.intervals import spread_interval
from neurogym.analysis.results import Estimate, bootstrap, interquartile_mean
from ngym_cli import runs
from ngym_cli.config.model import without_none
from ngym_cli.config.values import Values, plain_text
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_text
from ngym_cli.files.writing import write_text
from ngym_cli.runs.trial_table import write_table
from ngym_cli.sweeps import plan
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.recipe import SearchMetric
from ngym_cli.sweeps.status import RunRow, by_setting
from ngym_cli.terminal import REFERENCES, Row

SUMMARY_FILE = "summary.parquet"
BEST_FILE = "best.toml"
RESAMPLES = 2_000
LEVEL = 0.95
METRIC: SearchMetric = "performance"
#: Smallest and largest possible value of each score.
BOUNDS: dict[SearchMetric, tuple[float, float]] = {"performance": (0.0, 1.0), "reward_per_trial": (-np.inf, np.inf)}

#: Entries copied from the record of each run.
RECORDED = (
    "performance",
    "performance_ci",
    "reward_per_trial",
    *REFERENCES,
    "steps",
    "trials",
    "wall_seconds",
    "cpu_seconds",
    "task",
    "alg",
    "network",
    "seed",
)


class Spread(TypedDict):
    """Mean and interquartile mean of scores, with bootstrap intervals where there are two scores or more."""

    mean: float | None
    mean_ci: list[float] | None
    iqm: float | None
    iqm_ci: list[float] | None


class SettingRow(Spread):
    """Results of a setting over seeds.

    Attributes:
        values: parameter to value, the seed left out.
        n: runs that are done.
        failed: runs that failed.
        missing: runs that are not done.
        pruned: runs that were ended early.
        scores: scores of the runs that are done.
        difference: mean difference from the setting with the highest mean, over the seeds that both have.
        difference_ci: interval of the difference over seeds (paired, Student); None with fewer than two seeds.
    """

    values: Values
    scores: list[float]
    n: int
    failed: int
    missing: int
    pruned: int
    difference: float | None
    difference_ci: list[float] | None


def table(sweep: SweepFolder, rows: Sequence[RunRow]) -> list[Row]:
    """Return a flat row per run: folder, state, parameters under short names, and results."""
    names = plan.short_names(sweep.recipe.swept())
    records = []
    for row in rows:
        record = _record(row)
        low, high = record.pop("performance_ci") or (None, None)
        line: Row = {"run": row["name"], "path": row["id"], "state": row["state"], "error": row["error"]}
        line |= record | {"performance_low": low, "performance_high": high}
        line |= {name: plain_text(row["values"].get(key)) for key, name in names.items()}
        records.append(line)
    return records


def _record(row: RunRow) -> Row:
    manifest: Mapping[str, object] = {}
    if row["id"] is not None and row["state"] != "queued":
        with contextlib.suppress(UserError):
            manifest = runs.RunFolder(Path(row["id"])).manifest()
    return {name: manifest.get(name) for name in RECORDED}


class BestSetting(SettingRow):
    """Setting with the highest mean.

    Attributes:
        config: TOML file with the setting, for ``ngym run --config``.
        spread: interval of the mean, or the scores of few seeds, in words.
    """

    config: str
    spread: str


class SweepDocument(TypedDict):
    """State and result of a sweep.

    Attributes:
        id: folder of the sweep.
        counts: number of runs in each state.
        runs: state of each run.
        settings: results of each setting over seeds.
        importance: importance of each parameter of a search.
        best: setting with the highest mean; None before a run is done.
        notes: what a reader of the results has to know.
    """

    id: str
    counts: dict[str, int]
    runs: list[RunRow]
    settings: list[SettingRow]
    importance: dict[str, float]
    best: BestSetting | None
    notes: list[str]


def write(sweep: SweepFolder, rows: Sequence[RunRow]) -> list[Row]:
    """Write ``summary.parquet`` and return the rows."""
    lines = table(sweep, rows)
    columns = {name: np.array([line[name] for line in lines], object) for name in lines[0]}
    write_table(columns, sweep.path / SUMMARY_FILE)
    return lines


def best(sweep: SweepFolder, rows: Sequence[SettingRow]) -> BestSetting | None:
    """Return the setting with the highest mean of a sweep and write ``best.toml`` for ``ngym run --config``.

    Args:
        sweep: the sweep.
        rows: results of `settings`.

    Returns:
        None before a run is done.
    """
    scored = [(row["mean"], row) for row in rows if row["mean"] is not None]
    if not scored:
        return None
    _, row = max(scored, key=lambda pair: pair[0])
    path = sweep.path / BEST_FILE
    text = tomli_w.dumps(without_none(sweep.settings(row["values"]), free=True))
    if not path.is_file() or read_text(path) != text:
        write_text(path, text)
    return {**row, "config": str(path), "spread": spread_in_words(row)}


#: Seeds from which an interval of their mean says more than the scores themselves.
ENOUGH_SEEDS = 3


def spread_in_words(row: SettingRow) -> str:
    """Return the interval of a setting's mean over seeds, or the scores of fewer than `ENOUGH_SEEDS` seeds.

    >>> spread_in_words({"scores": [0.49, 0.87], "mean_ci": [0.0, 1.0]})
    'the seeds were 0.490 and 0.870'
    """
    scores, interval = row["scores"], row["mean_ci"]
    if len(scores) == 1:
        return "one seed"
    if len(scores) < ENOUGH_SEEDS or interval is None:
        return f"the seeds were {' and '.join(f'{score:.3f}' for score in sorted(scores))}"
    return f"95 % interval [{interval[0]:.3f}, {interval[1]:.3f}], {len(scores)} seeds"


def settings(rows: Sequence[RunRow], metric: SearchMetric = METRIC) -> list[SettingRow]:
    """Return a row per setting with the results over seeds."""
    groups = by_setting(rows)
    scores = [_scores(members, metric) for members in groups]
    best = max((by_seed for by_seed in scores if by_seed), key=lambda by_seed: np.mean([*by_seed.values()]), default={})
    return [_setting(members, by_seed, best, metric) for members, by_seed in zip(groups, scores, strict=True)]


def _scores(members: list[RunRow], metric: SearchMetric) -> dict[object, float]:
    """Return the score of each finished run by its seed."""
    finished = {row["values"].get("seed"): row.get(metric) for row in members if row["state"] == "done"}
    return {seed: score for seed, score in finished.items() if score is not None}


def _setting(
    members: list[RunRow], by_seed: dict[object, float], best: dict[object, float], metric: SearchMetric
) -> SettingRow:
    scores = list(by_seed.values())
    difference = Estimate.mean([score - best[seed] for seed, score in by_seed.items() if seed in best])
    has_interval = by_seed is not best and np.isfinite(difference.se)
    return {
        "values": plan.without_seed(members[0]["values"]),
        "scores": [float(score) for score in scores],
        "n": len(scores),
        "failed": sum(row["state"] == "failed" for row in members),
        "missing": sum(row["state"] in ("queued", "running", "interrupted") for row in members),
        "pruned": sum(row["state"] == "pruned" for row in members),
        "difference": difference.value if np.isfinite(difference.value) else None,
        "difference_ci": [difference.low, difference.high] if has_interval else None,
        **statistics(np.array(scores), BOUNDS[metric]),
    }


def statistics(scores: np.ndarray, bounds: tuple[float, float] = BOUNDS[METRIC]) -> Spread:
    """Return ``mean`` and ``iqm`` of scores, and intervals from bootstrap draws where there are two or more.

    Args:
        scores: of the runs.
        bounds: smallest and largest possible score.
    """
    if not len(scores):
        return {"mean": None, "mean_ci": None, "iqm": None, "iqm_ci": None}
    mean, iqm = float(scores.mean()), float(interquartile_mean(scores))
    if len(scores) < 2:
        return {"mean": mean, "mean_ci": None, "iqm": iqm, "iqm_ci": None}
    drawn, n = scores[resamples(len(scores))], len(scores)
    mean_ci = spread_interval(mean, drawn.mean(axis=1), n, LEVEL, bounds)
    iqm_ci = spread_interval(iqm, interquartile_mean(drawn, axis=1), n, LEVEL, bounds)
    return {"mean": mean, "mean_ci": list(map(float, mean_ci)), "iqm": iqm, "iqm_ci": list(map(float, iqm_ci))}


@lru_cache(maxsize=8)
def resamples(n: int) -> np.ndarray:
    """Return indices of ``n`` observations drawn with replacement, shape (resamples, n); always the same."""
    return bootstrap(lambda index: index, n, RESAMPLES).astype(np.intp)
