"""Performance of trainings: recipes of papers, classic results of supervised learning, short runs with the defaults.

    python -m experiments.records --make --only trainings
    python -m experiments.records --make --only trainings/short_runs --jobs 2

An item is a run's settings; a row is the performance of one seed on fresh trials.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from experiments.records.record import Record, Row, Rows
from ngym_cli import runs
from ngym_cli.config.trust import read_toml

HERE = Path(__file__).parent

#: Recipes of papers by name; what a paper is reproduced with is a recipe, too.
RECIPES = {
    **{path.stem: path for path in (HERE.parent / "recipes").glob("*.toml")},
    "mante2013": HERE.parent / "papers" / "mante2013" / "context.toml",
}

YANG = {"task": "yang19", "task_args": {"dim_ring": 2}, "timesteps": 1000 * 32 * 100}
BATCHES = {"batch_size": 32, "seq_len": 100}

#: Classic results of supervised learning, with the settings of NeuroGym's and PsychRNN's examples.
CLASSIC: dict[str, dict[str, Any]] = {
    "rdm-lstm-64": {
        "task": "PerceptualDecisionMaking-v0",
        "units": 64,
        "timesteps": 2000 * 16 * 100,
        "hyperparameters": {"batch_size": 16, "seq_len": 100},
    },
    "context-lstm-128": {
        "task": "ContextDecisionMaking-v0",
        "task_args": {"use_expl_context": True},
        "timing": {"delay": 0},
        "units": 128,
        "timesteps": 1000 * 32 * 22,
        "hyperparameters": {"batch_size": 32, "seq_len": 22},
    },
    "yang19-lstm-128": {**YANG, "units": 128, "hyperparameters": BATCHES},
    "yang19-ctrnn-256": {**YANG, "network": "ctrnn", "units": 256, "hyperparameters": BATCHES},
}

#: Tasks and numbers of steps of the short runs.
TASKS = ("RDM-v0", "GoNogo-v0", "DelayMatchSample-v0", "DelayComparison-v0")
LENGTHS = (3_000, 8_000, 22_000, 60_000, 150_000, 400_000)

#: Fresh trials: of short runs; of all others, for each task of a collection.
SHORT_TRIALS, TRIALS, COLLECTION_TRIALS = 1_000, 10_000, 200_000


def items() -> list[str]:
    """Return the names of the trainings, GROUP/NAME."""
    short = [f"short_runs/{task}/{steps}" for task in TASKS for steps in LENGTHS]
    return [*(f"recipes/{name}" for name in sorted(RECIPES)), *(f"supervised/{name}" for name in CLASSIC), *short]


def settings(item: str) -> dict[str, Any]:
    """Return the settings of a run, without the seed."""
    group, _, name = item.partition("/")
    if group == "short_runs":
        task, steps = name.split("/")
        return {"task": task, "timesteps": int(steps), "evaluation": {"trials": SHORT_TRIALS, "every": 0}}
    training = {"alg": "supervised", **(read_toml(RECIPES[name]) if group == "recipes" else CLASSIC[name])}
    trials = COLLECTION_TRIALS if training["task"] == "yang19" else TRIALS
    return {**training, "evaluation": {"trials": trials, "every": 0}}


def row(item: str, seed: int, folder: Path) -> Row:
    """Return the performance of a finished run, and of its tasks if it has several."""
    manifest = runs.RunFolder(folder).manifest()
    tasks = manifest["evaluations"][-1].get("tasks") or {}
    return {
        **{name: manifest[name] for name in ("performance", "performance_ci", "ceiling")},
        **({"tasks": {task: round(score[0], 4) for task, score in tasks.items()}} if tasks else {}),
        "cpu_seconds": round(manifest["cpu_seconds"], 1),
    }


def performances(rows: Rows, item: str) -> np.ndarray:
    """Return the performance of each seed, shape (seeds,)."""
    return np.array([row["performance"] for row in rows.get(item, {}).values()])


def clearly_worse(rows: Rows) -> Iterator[tuple[str, int, int]]:
    """Yield task, shorter and longer length where longer runs are clearly worse (Welch's test, one-sided 2.5 %)."""
    for task in TASKS:
        for shorter, longer in itertools.combinations(LENGTHS, 2):
            first, second = (performances(rows, f"short_runs/{task}/{steps}") for steps in (shorter, longer))
            if min(len(first), len(second)) < 2 or np.mean(second) >= np.mean(first):
                continue
            same = max(np.ptp(first), np.ptp(second)) == 0
            if same or stats.ttest_ind(first, second, equal_var=False, alternative="greater").pvalue < 0.025:
                yield task, shorter, longer


def table(rows: Rows) -> str:
    """Return performance and ceiling of recipes and classic results, and the lowest task of any seed."""
    lines = ["| training | performance of the seeds | ceiling | lowest task | CPU seconds |", "|---" * 5 + "|"]
    for item, seeds in rows.items():
        if item.startswith("short_runs"):
            continue
        scores = ", ".join(f"{score:.3f}" for score in performances(rows, item))
        tasks = [(score, task) for row in seeds.values() for task, score in row.get("tasks", {}).items()]
        lowest = "{1} {0:.3f}".format(*min(tasks)) if tasks else "-"
        ceiling = next(iter(seeds.values()))["ceiling"]
        seconds = np.mean([row["cpu_seconds"] for row in seeds.values()])
        reference = "-" if ceiling is None else f"{ceiling:.3f}"
        lines.append(f"| `{item}` | {scores} | {reference} | {lowest} | {seconds:.0f} |")
    return "\n".join(lines)


def short_runs(rows: Rows) -> str:
    """Return median and range of the performance over seeds, a row for each task and a column for each length."""
    heads = " | ".join(f"{steps:,}" for steps in LENGTHS)
    lines = [f"| task | {heads} |", f"|---|{'---|' * len(LENGTHS)}"]
    for task in TASKS:
        cells = [performances(rows, f"short_runs/{task}/{steps}") for steps in LENGTHS]
        words = [f"{np.median(cell):.2f} ({cell.min():.2f} to {cell.max():.2f})" if len(cell) else "" for cell in cells]
        lines.append(f"| {task} | {' | '.join(words)} |")
    return "\n".join(lines)


RECORD = Record(
    name="trainings",
    what="performance of recipes, of classic supervised learning, and of short runs",
    file=HERE / "results.json",
    items=items,
    make=row,
    run=settings,
    tables={"results": table, "short_runs": short_runs},
    seeds=lambda item: 3 if item.startswith("supervised") else 5,
)
