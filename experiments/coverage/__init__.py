"""Coverage of the intervals that are printed: simulated truth, 200 experiments or more, two sizes.

    make records ONLY=coverage
    python -m experiments.records --make --only coverage/psychometric

An item is a simulated observer (`observers`, `evaluations`) or the subjects of a model (`models`) with a share of the
usual number of trials; its row has, for each estimate, the share of experiments whose interval holds the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from experiments.coverage import evaluations, models, observers
from experiments.coverage.observers import Generator, Truths
from experiments.records.record import Record, Row, Rows

HERE = Path(__file__).parent

SIZES = {"small": 0.25, "large": 1.0}  #: shares of the usual number of trials
#: Coverage outside of which an interval is mended or not printed; a share of 200 that is 0.95 has an error of 0.015.
LOW, HIGH = 0.90, 0.98

SINGLE = {**observers.OBSERVERS, **evaluations.EVALUATIONS}  #: observers, one experiment at a time
NAMES = (*SINGLE, *models.MODELS, "covariate")
#: Experiments of a row, of rows whose experiments take about a tenth of a second, and of those that take a hundredth.
REPEATS, MANY, MOST = 200, 1000, 4000
QUICK = ("probit", "logistic", "weibull", "learners", "context", "kernel", "wager", "decoder")
QUICKEST = (
    "outcomes",
    "stay_shift",
    "weighted_cues",
    "planner",
    "bandit",
    "reversals",
    "performance",
    "linked_performance",
    "held_out_scores",
    "seeds",
)


def items() -> list[str]:
    """Return the observers at each size."""
    return [f"{name}/{size}" for name in NAMES for size in SIZES]


def experiments(name: str, rngs: Sequence[Generator], share: float) -> list[Truths]:
    """Return estimates beside true values, by parameter, of an experiment with each generator.

    Args:
        name: of an observer or a model.
        rngs: a generator for each experiment.
        share: of the usual number of trials.
    """
    if name == "covariate":
        return evaluations.covariate(rngs, share)
    if name in models.MODELS:
        return models.experiments(name, rngs, share)
    draw: Callable[[Generator, float], Truths] = SINGLE[name]
    return [draw(rng, share) for rng in rngs]


def coverage(name: str, repeats: int, seed: int = 0, share: float = 1.0) -> dict[str, np.ndarray]:
    """Return, by parameter, the share of experiments whose interval holds the truth, mean estimate and mean truth.

    Args:
        name: of an observer or a model.
        repeats: number of experiments.
        seed: of the experiments.
        share: of the usual number of trials.
    """
    inside: dict[str, list[tuple[bool, float, float]]] = {}
    for row in experiments(name, np.random.default_rng(seed).spawn(repeats), share):
        for parameter, (estimate, truth) in row.items():
            inside.setdefault(parameter, []).append((truth in estimate, estimate.value, truth))
    return {parameter: np.mean(rows, axis=0) for parameter, rows in inside.items()}


def make(item: str, seed: int) -> Row:
    """Return coverage, mean estimate and truth of each estimate of an observer."""
    name, size = item.split("/")
    shares = coverage(name, repeats_of(name), seed, SIZES[size])
    return {
        estimate: {
            "coverage": round(float(covered), 3),
            "mean": round(float(mean), 4) if np.isfinite(mean) else None,
            "truth": round(float(truth), 4),
        }
        for estimate, (covered, mean, truth) in shares.items()
    }


def repeats_of(name: str) -> int:
    """Return the number of experiments of a row."""
    return MOST if name in QUICKEST else MANY if name in QUICK else REPEATS


def table(rows: Rows) -> str:
    """Return the coverage of each estimate at each size, in percent, with its standard error."""
    lines = ["| observer | estimate | small | large |", "|---|---|---|---|"]
    for name in NAMES:
        by_size = {size: rows.get(f"{name}/{size}", {}).get("0", {}) for size in SIZES}
        estimates = dict.fromkeys(key for row in by_size.values() for key in _covered(row))
        for key in estimates:
            small, large = (_percent(by_size[size], key, repeats_of(name)) for size in SIZES)
            lines.append(f"| {name.replace('_', ' ')} | {key} | {small} | {large} |")
    return "\n".join(lines)


def summary(rows: Rows) -> str:
    """Return the lowest and highest coverage of analyses with an estimate outside `LOW` to `HIGH`, in percent."""
    lines, analyses = ["| analysis | estimates | few trials | many trials |", "|---|---|---|---|"], 0
    for name in NAMES:
        ranges, estimates, outside = [], 0, False
        for size in SIZES:
            row = rows.get(f"{name}/{size}", {}).get("0", {})
            shares = [100 * share for share in _covered(row).values()]
            outside = outside or any(not 100 * LOW <= share <= 100 * HIGH for share in shares)
            estimates = max(estimates, len(shares))
            ends = dict.fromkeys(f"{share:.0f}" for share in (min(shares), max(shares))) if shares else ["-"]
            ranges.append(" to ".join(ends))
        analyses += estimates > 0
        if outside:
            lines.append(f"| {name.replace('_', ' ')} | {estimates} | {' | '.join(ranges)} |")
    reliable = f"{analyses + 2 - len(lines)} of {analyses} analyses lie between {LOW:.0%} and {HIGH:.0%}"
    return f"All estimates of {reliable}. The others:\n\n" + "\n".join(lines)


def _covered(row: Row) -> dict[str, float]:
    """Return the coverage of each estimate of a row."""
    return {key: value["coverage"] for key, value in row.items() if isinstance(value, dict) and "coverage" in value}


def _percent(row: Row, estimate: str, repeats: int) -> str:
    if estimate not in row:
        return "-"
    share = row[estimate]["coverage"]
    return f"{100 * share:.1f} ± {100 * np.sqrt(max(share * (1 - share), 0.25 / repeats) / repeats):.1f}"


RECORD = Record(
    name="coverage",
    what="Coverage of the intervals of analyses and regressions, on simulated truth.",
    file=HERE / "results.json",
    items=items,
    make=make,
    tables={"coverage": table, "summary": summary},
    seeds=1,
)
