"""Results of a sweep: a row per run as Parquet, and a row per setting with intervals over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ngym_cli import runs
from ngym_cli.config import plain_text
from ngym_cli.errors import UserError
from ngym_cli.runs.trial_table import write_table
from ngym_cli.sweeps import plan
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.status import Row
from ngym_cli.terminal import REFERENCES

FILE = "summary.parquet"
RESAMPLES = 2_000
LEVEL = 0.95
METRIC = "performance"

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


def table(sweep: SweepFolder, rows: Sequence[Row]) -> list[Row]:
    """Return a flat row per run: folder, state, parameters under short names, and results."""
    keys = sweep.recipe.swept()
    names = plan.short_names(keys)
    found = []
    for row in rows:
        record = _record(row)
        low, high = record.pop("performance_ci") or (None, None)
        line = {"run": row["name"], "path": row["id"], "state": row["state"], "error": row["error"]}
        line |= record | {"performance_low": low, "performance_high": high}
        line |= {names[key]: plain_text(row["values"].get(key)) for key in keys}
        found.append(line)
    return found


def _record(row: Row) -> Row:
    manifest: Mapping[str, Any] = {}
    if row["id"] is not None and row["state"] != "queued":
        try:
            manifest = runs.RunFolder(row["id"]).manifest()
        except UserError:
            pass
    return {name: manifest.get(name) for name in RECORDED}


def write(sweep: SweepFolder, rows: Sequence[Row]) -> list[Row]:
    """Write ``summary.parquet`` and return the rows."""
    lines = table(sweep, rows)
    write_table({name: np.array([line[name] for line in lines], object) for name in lines[0]}, sweep.path / FILE)
    return lines


def settings(sweep: SweepFolder, rows: Sequence[Row], metric: str = METRIC) -> list[Row]:
    """Return a row per setting with the results over seeds.

    Returns:
        ``values`` (parameter to value, the seed left out), ``n``, ``mean``, ``mean_ci``, ``iqm`` (interquartile mean),
        ``iqm_ci`` (bootstrap over seeds), ``failed`` and ``missing``.
    """
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(plan.setting_of(row["values"]), []).append(row)
    return [_setting(members, metric) for members in groups.values()]


def _setting(members: list[Row], metric: str) -> Row:
    scores = [float(row[metric]) for row in members if row["state"] == "done" and row.get(metric) is not None]
    return {
        "values": {key: value for key, value in members[0]["values"].items() if key != "seed"},
        "n": len(scores),
        "failed": sum(row["state"] == "failed" for row in members),
        "missing": sum(row["state"] in ("queued", "running", "interrupted") for row in members),
        "pruned": sum(row["state"] == "pruned" for row in members),
        **statistics(np.array(scores)),
    }


def statistics(scores: np.ndarray) -> Row:
    """Return ``mean`` and ``iqm`` of scores, and bootstrap intervals where there are two or more."""
    from neurogym.analysis import interquartile_mean

    if not len(scores):
        return dict.fromkeys(("mean", "mean_ci", "iqm", "iqm_ci"))
    found: Row = {"mean": float(scores.mean()), "iqm": float(interquartile_mean(scores))}
    if len(scores) < 2:
        return found | {"mean_ci": None, "iqm_ci": None}
    drawn = scores[resamples(len(scores))]
    tail = 100 * (1 - LEVEL) / 2
    for name, draws in (("mean", drawn.mean(axis=1)), ("iqm", interquartile_mean(drawn, axis=1))):
        found[f"{name}_ci"] = [float(value) for value in np.percentile(draws, [tail, 100 - tail])]
    return found


@lru_cache(maxsize=8)
def resamples(n: int) -> np.ndarray:
    """Return indices of ``n`` observations drawn with replacement, shape (resamples, n); always the same."""
    from neurogym.analysis import bootstrap

    return bootstrap(lambda index: index, n, RESAMPLES).astype(np.intp)
