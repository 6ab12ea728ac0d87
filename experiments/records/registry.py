"""Which records there are."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from experiments import (
    coverage,
    defaults,
    dynamics,
    fitting,
    guide,
    recordings,
    reproductions,
    solutions,
    trainings,
)
from experiments.records.record import Record, Row
from ngym_cli.agents import per_task
from ngym_cli.figures import solutions as figure

RECORDS: dict[str, Record] = {
    record.name: record
    for record in (
        defaults.RECORD,
        defaults.OTHER,
        trainings.RECORD,
        reproductions.RECORD,
        dynamics.RECORD,
        fitting.RECORD,
        coverage.RECORD,
        guide.RECORD,
        recordings.RECORD,
        solutions.RECORD,
    )
}

#: Files that are written from records, beside the tables in texts: path to the function that makes the content.
DATA: dict[Path, Callable[[], str]] = {
    figure.CATALOGUE: lambda: solutions.package_data(solutions.RECORD.rows()),
    per_task.MEASURED: lambda: defaults.tables.package_data(defaults.RECORD.rows(), defaults.OTHER.rows()),
}


def measure(name: str, item: str, seed: int) -> tuple[Row, float]:
    """Make one row; returns it and the seconds that it took."""
    began = time.perf_counter()
    return RECORDS[name].make(item, seed), time.perf_counter() - began
