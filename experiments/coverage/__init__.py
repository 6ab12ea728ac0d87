"""Coverage of the intervals that are printed: simulated truth, many experiments, two sizes.

    make records ONLY=coverage
    python -m experiments.records --make --only coverage/psychometric

An item is an observer of `experiments.coverage.observers` with a share of the usual number of trials; its row has, for
each estimate, the share of experiments whose interval holds the truth.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.coverage import observers
from experiments.records import stamp
from experiments.records.record import Record, Row, Rows

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

REPEATS = 200
SIZES = {"small": 0.25, "large": 1.0}  #: shares of the usual number of trials
#: Coverage outside of which an interval is mended or not printed; a share of 200 that is 0.95 has an error of 0.015.
LOW, HIGH = 0.90, 0.98

#: Modules whose results are measured, and further ones of some observers; rows are out of date when one changes.
MODULES = ("neurogym/analysis",)
FURTHER = {
    "strong_weights": ("neurogym/behaviour/models/logistic.py",),
    "weak_weights": ("neurogym/behaviour/models/logistic.py",),
    "drifting_weight": ("neurogym/behaviour/models/logistic.py", "neurogym/behaviour/models/drifting.py"),
    "sessions": ("neurogym/behaviour/models/logistic.py", "neurogym/behaviour/describe.py"),
}


def items() -> list[str]:
    """Return the observers at each size."""
    return [f"{name}/{size}" for name in observers.OBSERVERS for size in SIZES]


def make(item: str, seed: int) -> Row:
    """Return coverage, mean estimate and truth of each estimate of an observer."""
    name, size = item.split("/")
    result = observers.coverage(name, REPEATS, seed, SIZES[size])
    return {
        estimate: {"coverage": round(float(covered), 3), "mean": round(float(mean), 4) if np.isfinite(mean) else None,
                   "truth": round(float(truth), 4)}
        for estimate, (covered, mean, truth) in result.items()
    }  # fmt: skip


def settings(item: str) -> object:
    """Return what decides an item apart from its name: sizes, repeats, and the source of the analyses."""
    name, size = item.split("/")
    paths = [path for module in (*MODULES, *FURTHER.get(name, ())) for path in _sources(ROOT / module)]
    code = [stamp.plain(path) for path in (*paths, HERE / "observers.py")]
    return [REPEATS, SIZES[size], code]


def _sources(path: Path) -> list[Path]:
    return sorted(path.glob("*.py")) if path.is_dir() else [path]


def table(rows: Rows) -> str:
    """Return the coverage of each estimate at each size, in percent, with its standard error."""
    lines = ["| observer | estimate | small | large |", "|---|---|---|---|"]
    for name in observers.OBSERVERS:
        by_size = {size: rows.get(f"{name}/{size}", {}).get("0", {}) for size in SIZES}
        estimates = dict.fromkeys(
            key for row in by_size.values() for key, value in row.items() if "coverage" in str(value)
        )
        for key in estimates:
            small, large = (_percent(by_size[size], key) for size in SIZES)
            lines.append(f"| {name.replace('_', ' ')} | {key} | {small} | {large} |")
    return "\n".join(lines)


def _percent(row: Row, estimate: str) -> str:
    if estimate not in row:
        return "-"
    share = row[estimate]["coverage"]
    return f"{100 * share:.1f} ± {100 * np.sqrt(max(share * (1 - share), 0.25 / REPEATS) / REPEATS):.1f}"


RECORD = Record(
    name="coverage",
    what="Coverage of the intervals of analyses and regressions, on simulated truth.",
    file=HERE / "results.json",
    items=items,
    make=make,
    tasks=lambda item: (),
    settings=settings,
    tables={"coverage": table},
    seeds=1,
)
