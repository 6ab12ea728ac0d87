"""One record: a file of rows, one for each item and seed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.records import made
from ngym_cli.files.writing import write_text

Row = dict[str, Any]
#: Item to seed (as text, for JSON) to row.
Rows = dict[str, dict[str, Row]]

#: A list of numbers or words in indented JSON; it is written on one line.
LIST = re.compile(r"\[\n *([^\[\]{}]*?)\n *\]")
BREAK = re.compile(r"\n *")


def written(data: Any) -> str:
    """Return data as indented JSON with a line for each list of numbers or words."""
    text = json.dumps(data, indent=1)
    return LIST.sub(lambda found: f"[{BREAK.sub(' ', found[1])}]", text) + "\n"


def performance(row: Row) -> Mapping[str, float]:
    """Return the performance of a row, which most records compare."""
    return {"performance": row["performance"]} if row.get("performance") is not None else {}


@dataclass(frozen=True)
class Record:
    """Numbers that are kept in one file.

    Attributes:
        name: on the command line.
        what: one sentence.
        file: where the rows are.
        items: names of what is measured.
        make: measures one item with one seed; returns a row of plain data. Of a record of runs it has the folder of
            the finished run as third argument, from which it reads the row.
        tables: renders the rows as Markdown, by the name under which a text quotes them.
        seeds: how many; a function where items differ in it.
        run: settings of the one run that a row is read from, without the seed; None where `make` does everything.
        draw: writes the pictures of a finished run, given item, seed and folder of the run.
        command: command line that makes a row; the one of the record where left out.
        outcome: numbers of a row that are compared with those of other seeds if the row is made again.
    """

    name: str
    what: str
    file: Path
    items: Callable[[], Iterable[str]]
    make: Callable[..., Row]
    tables: Mapping[str, Callable[[Rows], str]] = field(default_factory=dict)
    seeds: int | Callable[[str], int] = 3
    run: Callable[[str], Mapping[str, Any]] | None = None
    draw: Callable[[str, int, Path], None] | None = None
    command: Callable[[str, int], str] | None = None
    outcome: Callable[[Row], Mapping[str, float]] = performance

    def seeds_of(self, item: str) -> int:
        """Return how many seeds an item is measured with."""
        return self.seeds(item) if callable(self.seeds) else self.seeds

    def rows(self) -> Rows:
        """Return what is kept, without items and seeds that are not measured any more."""
        rows = json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else {}
        return {
            item: {seed: row for seed, row in rows[item].items() if int(seed) < self.seeds_of(item)}
            for item in self.items()
            if item in rows
        }

    def to_make(self, items: Iterable[str], commit: str) -> list[tuple[str, int]]:
        """Return the items and seeds without a row that a commit made.

        Args:
            items: items to look at.
            commit: the present commit.
        """
        rows = self.rows()
        kept = {
            (item, int(seed))
            for item, seeds in rows.items()
            for seed, row in seeds.items()
            if row["made"]["commit"] == commit
        }
        return [job for item in items for seed in range(self.seeds_of(item)) if (job := (item, seed)) not in kept]

    def command_of(self, item: str, seed: int) -> str:
        """Return the command line that makes a row."""
        if self.command is not None:
            return self.command(item, seed)
        return f"python -m experiments.records --make --only {shlex.quote(f'{self.name}/{item}')}"

    def keep(self, item: str, seed: int, row: Row) -> None:
        """Write one row, with what made it; the file is complete at any time.

        Args:
            item: what was measured.
            seed: with which seed.
            row: plain data.
        """
        rows = self.rows()
        rows.setdefault(item, {})[str(seed)] = {**row, "made": made.origin(self.command_of(item, seed))}
        self.write(rows)

    def write(self, rows: Rows) -> None:
        """Replace all rows, in the order of the items; the file is complete at any time."""
        order = [name for name in self.items() if name in rows]
        text = written({name: dict(sorted(rows[name].items(), key=lambda row: int(row[0]))) for name in order})
        write_text(self.file, text)
