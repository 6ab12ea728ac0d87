"""What users do, as scripts; the numbers that they report next to NeuroGym's.

python -m experiments.records --make --only stories/story05_supervised
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from experiments.records.record import Record, Row, Rows

HERE = Path(__file__).parent
REPORTED = re.compile(r"^(.+): (-?\d+\.\d+) \(reference (.+)\)$", re.MULTILINE)


def scripts() -> list[str]:
    """Return the stories that report a number."""
    return sorted(path.stem for path in HERE.glob("story*.py") if "report(" in path.read_text(encoding="utf-8"))


def make(item: str, seed: int) -> Row:
    """Run a story with its whole budget."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, str(HERE / f"{item}.py"), "--seed", str(seed), "--out", folder]
        environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
        process = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True, env=environment)
    return {
        "reported": {
            measure: [float(value), reference] for measure, value, reference in REPORTED.findall(process.stdout)
        }
    }


def table(rows: Rows) -> str:
    """Every number that a story reports: mean and range over seeds."""
    lines = ["| story | what | here | reference |", "|---|---|---|---|"]
    for item, seeds in rows.items():
        for quantity, (_, reference) in next(iter(seeds.values()))["reported"].items():
            values = [row["reported"][quantity][0] for row in seeds.values()]
            summary = f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"
            lines.append(f"| `{item}` | {quantity} | {summary} | {reference} |")
    return "\n".join(lines)


RECORD = Record(
    name="stories",
    what="what NeuroGym's tutorials do, next to their numbers",
    file=HERE / "results.json",
    items=scripts,
    make=make,
    tables={"results": table},
    outcome=lambda row: {quantity: value for quantity, (value, _) in row["reported"].items()},
)
