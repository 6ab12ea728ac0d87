"""Recipes: configurations of papers, trained over seeds and measured on fresh trials.

python -m experiments.records --make --only recipes/mante2013
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments import supervised
from experiments.records.record import Record, Row, Rows
from ngym_cli.config import read_toml

HERE = Path(__file__).parent
PAPERS = HERE.parent / "papers"

#: Files by the name of the recipe; what a paper is reproduced with is a recipe, too.
FILES = {
    **{path.stem: path for path in HERE.glob("*.toml")},
    "mante2013": PAPERS / "mante2013" / "context.toml",
}


def settings(item: str) -> dict[str, Any]:
    """Return what a recipe says."""
    return read_toml(FILES[item])


def make(item: str, seed: int) -> Row:
    """Train one recipe."""
    torch.set_num_threads(1)
    return supervised.run({**settings(item), "seed": seed}, supervised.TRIALS)


def table(rows: Rows) -> str:
    """Performance of each recipe and seed."""
    lines = ["| recipe | performance of each seed | lowest task of any seed | CPU seconds |", "|---|---|---|---|"]
    for item, seeds in rows.items():
        scores = ", ".join(f"{row['performance']:.3f}" for row in seeds.values())
        tasks = [(score, task) for row in seeds.values() for task, score in row.get("tasks", {}).items()]
        lowest = "{1} {0:.3f}".format(*min(tasks)) if tasks else "-"
        seconds = np.mean([row["cpu_seconds"] for row in seeds.values()])
        lines.append(f"| `{item}.toml` | {scores} | {lowest} | {seconds:.0f} |")
    return "\n".join(lines)


RECORD = Record(
    name="recipes",
    what="the recipes of papers",
    file=HERE / "results.json",
    items=lambda: sorted(FILES),
    make=make,
    tasks=lambda item: [settings(item)["task"]],
    settings=settings,
    trainings=lambda item: [{"alg": "supervised", **settings(item)}],
    tables={"results": table},
    seeds=5,
)
