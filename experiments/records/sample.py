"""A drawn sample of rows, made again and compared with the rows of the other seeds.

    make records-sample                                    # what the scheduled workflow runs
    python -m experiments.records --sample 10 --draw 3     # ten rows; the same ones for the same draw

A number agrees if it lies in the range of the seeds that are kept, widened at both ends by the length of the range, or
by 1 % of the largest number where the range is shorter: seeds that all reach the ceiling have no spread.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.records.record import Record, Row
from ngym_cli.config.model import from_dict
from ngym_cli.training import main_loop

#: Least number of seeds that have a spread; rows that took longer (s) are not drawn.
SEEDS, SECONDS = 3, 180.0

#: Share of the largest number by which the range is widened at least.
TOLERANCE = 0.01


class Comparison(NamedTuple):
    """One number of a row that was made again, beside the range in which it agrees with the record."""

    number: str
    value: float
    low: float
    high: float

    @property
    def agrees(self) -> bool:
        """Whether the number lies in the range."""
        return self.low <= self.value <= self.high


def draw(records: Mapping[str, Record], n: int, seed: int) -> list[tuple[str, str, int]]:
    """Return name of the record, item and seed of random rows, as many of one record as of another.

    Args:
        records: the records, by name.
        n: number of rows.
        seed: seed of the draw.
    """
    rng = random.Random(seed)
    candidates = {name: rows for name, record in records.items() if (rows := _quick(record))}
    jobs: list[tuple[str, str, int]] = []
    while candidates and len(jobs) < n:
        for name in rng.sample(sorted(candidates), len(candidates)):
            rows = candidates[name]
            item, number = rows.pop(rng.randrange(len(rows)))
            jobs.append((name, item, number))
            if not rows:
                del candidates[name]
    return jobs[:n]


def _quick(record: Record) -> list[tuple[str, int]]:
    return [
        (item, int(seed))
        for item, seeds in record.rows().items()
        for seed, row in seeds.items()
        if len(seeds) >= SEEDS and record.outcome(row) and _seconds(row) <= SECONDS
    ]


def _seconds(row: Row) -> float:
    return float(next((row[name] for name in ("seconds_to_make", "cpu_seconds", "seconds") if name in row), 0.0))


def again(record: Record, item: str, seed: int) -> list[Comparison]:
    """Make a row again and compare it with the rows that are kept, none of which is changed."""
    if record.run is None:
        row = record.make(item, seed)
    else:
        with tempfile.TemporaryDirectory() as folder:
            outcome = main_loop.train(from_dict({**record.run(item), "seed": seed}), Path(folder))
            row = record.make(item, seed, Path(outcome.run.path))
    return compare(record.outcome(row), [record.outcome(kept) for kept in record.rows()[item].values()])


def compare(numbers: Mapping[str, float], kept: Sequence[Mapping[str, float]]) -> list[Comparison]:
    """Return every number of a row beside the range in which it agrees with the rows that are kept.

    Args:
        numbers: numbers of the row that was made again.
        kept: the same numbers of each seed.
    """
    comparisons = []
    for name, value in numbers.items():
        values = np.array([row[name] for row in kept if row.get(name) is not None], float)
        if value is None or len(values) < SEEDS:
            continue
        margin = max(np.ptp(values), TOLERANCE * np.abs(values).max())
        comparisons.append(Comparison(name, float(value), values.min() - margin, values.max() + margin))
    return comparisons
