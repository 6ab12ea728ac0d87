"""Performance after short runs with the default settings: more steps must not be clearly worse.

python -m experiments.records --make --only short_runs
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from experiments.records.record import Record, Row, Rows
from ngym_cli.config import from_dict

TASKS = ("RDM-v0", "GoNogo-v0", "DelayMatchSample-v0", "DelayComparison-v0")
LENGTHS = (3_000, 8_000, 22_000, 60_000, 150_000, 400_000)
#: Seeds of each length, and trials of the evaluation at the end.
SEEDS, TRIALS = 5, 1_000


def settings(item: str) -> dict[str, Any]:
    """Return the settings of the runs of an item, TASK/STEPS."""
    task, steps = item.split("/")
    return {"task": task, "timesteps": int(steps), "evaluation": {"trials": TRIALS, "every": 0}}


def make(item: str, seed: int) -> Row:
    """Train one agent and return the performance on fresh trials."""
    from ngym_cli.training import main_loop

    began = os.times()
    with tempfile.TemporaryDirectory() as folder:
        outcome = main_loop.train(from_dict({**settings(item), "seed": seed}), Path(folder))
        config = outcome.run.config()
    ended = os.times()
    numbers = {name: outcome.summary[name] for name in ("performance", "performance_ci")}
    sizes = {"n_envs": config.n_envs, **{name: config.hyperparameters[name] for name in ("n_steps", "batch_size")}}
    return {**numbers, **sizes, "cpu_seconds": round(ended.user - began.user + ended.system - began.system, 1)}


def performances(rows: Rows, task: str, steps: int) -> np.ndarray:
    """Return the performance of each seed, shape (seeds,)."""
    return np.array([row["performance"] for row in rows.get(f"{task}/{steps}", {}).values()])


def clearly_worse(rows: Rows) -> Iterator[tuple[str, int, int]]:
    """Yield task, shorter and longer length where longer runs are clearly worse (Welch's test, one-sided 2.5 %)."""
    for task in TASKS:
        for shorter, longer in itertools.combinations(LENGTHS, 2):
            first, second = performances(rows, task, shorter), performances(rows, task, longer)
            if min(len(first), len(second)) < 2 or np.mean(second) >= np.mean(first):
                continue
            same = max(np.ptp(first), np.ptp(second)) == 0
            if same or stats.ttest_ind(first, second, equal_var=False, alternative="greater").pvalue < 0.025:
                yield task, shorter, longer


def table(rows: Rows) -> str:
    """Return median and range of the performance over seeds, a row for each task and a column for each length."""
    heads = " | ".join(f"{steps:,}" for steps in LENGTHS)
    lines = [f"| task | {heads} |", f"|---|{'---|' * len(LENGTHS)}"]
    for task in TASKS:
        cells = [performances(rows, task, steps) for steps in LENGTHS]
        words = [f"{np.median(cell):.2f} ({cell.min():.2f} to {cell.max():.2f})" if len(cell) else "" for cell in cells]
        lines.append(f"| {task} | {' | '.join(words)} |")
    return "\n".join(lines)


RECORD = Record(
    name="short_runs",
    what="performance after short runs with the default settings",
    file=Path(__file__).with_name("results.json"),
    items=lambda: [f"{task}/{steps}" for task in TASKS for steps in LENGTHS],
    make=make,
    tasks=lambda item: [settings(item)["task"]],
    settings=settings,
    trainings=lambda item: [settings(item)],
    tables={"results": table},
    seeds=SEEDS,
)
