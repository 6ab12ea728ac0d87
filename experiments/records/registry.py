"""Which records there are."""

from __future__ import annotations

import time

from experiments import bandit, defaults, main_job, recipes, reproductions, stories, supervised
from experiments.records.record import Record, Row

RECORDS: dict[str, Record] = {
    part.RECORD.name: part.RECORD for part in (main_job, defaults, supervised, recipes, reproductions, bandit, stories)
}


def measure(name: str, item: str, seed: int) -> tuple[Row, float]:
    """Make one row; returns it and the seconds that it took."""
    began = time.perf_counter()
    return RECORDS[name].make(item, seed), time.perf_counter() - began
