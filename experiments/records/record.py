"""One record: a file of rows, one for each item and seed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.records import stamp
from ngym_cli.files.writing import write_text

Row = dict[str, Any]
#: Item to seed (as text, for JSON) to row.
Rows = dict[str, dict[str, Row]]

#: A list of numbers or words in indented JSON; it is written on one line.
LIST = re.compile(r"\[\n *([^\[\]{}]*?)\n *\]")
BREAK = re.compile(r"\n *")


def nothing(item: str) -> Any:
    """Return no settings: what decides an item is its name, and the code of the record."""
    return None


def written(data: Any) -> str:
    """Return data as indented JSON with a line for each list of numbers or words."""
    text = json.dumps(data, indent=1)
    return LIST.sub(lambda found: f"[{BREAK.sub(' ', found[1])}]", text) + "\n"


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
        tasks: ids of the tasks that decide an item.
        settings: what else decides it, as plain data.
        trainings: settings of the runs that decide it; the one of `run` where left out.
        tables: renders the rows as Markdown, by the name under which a text quotes them.
        seeds: how many; a function where items differ in it.
        run: settings of the one run that a row is read from, without the seed; None where `make` does everything.
    """

    name: str
    what: str
    file: Path
    items: Callable[[], Iterable[str]]
    make: Callable[..., Row]
    tasks: Callable[[str], Iterable[str]]
    settings: Callable[[str], Any] = nothing
    trainings: Callable[[str], Iterable[Mapping[str, Any]]] | None = None
    tables: Mapping[str, Callable[[Rows], str]] = field(default_factory=dict)
    seeds: int | Callable[[str], int] = 3
    run: Callable[[str], Mapping[str, Any]] | None = None

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

    def digest(self, item: str) -> str:
        """Return the digest that a row of an item would have now."""
        return stamp.digest(self.tasks(item), self.decisive(item), self._trainings(item))

    def training_digest(self, item: str) -> str:
        """Return the digest of what decides the run of an item, whatever is read from the run."""
        assert self.run is not None
        return stamp.digest(self.tasks(item), [self.name, item, dict(self.run(item))], self._trainings(item))

    def decisive(self, item: str) -> list[Any]:
        """Return what decides an item apart from tasks and trainings: settings, and the source of the record.

        The source does not count where rows are read from runs, which say all that a row keeps.
        """
        if self.run is not None:
            return [self.name, item, self.settings(item)]
        code = Path(__file__).parents[1] / self.make.__module__.replace("experiments.", "", 1).replace(".", "/")
        source = code.with_suffix(".py") if code.with_suffix(".py").exists() else code / "__init__.py"
        return [self.name, item, self.settings(item), stamp.plain(source)]

    def _trainings(self, item: str) -> Iterable[Mapping[str, Any]]:
        if self.trainings is not None:
            return self.trainings(item)
        return [self.run(item)] if self.run is not None else []

    def missing(self, items: Iterable[str] | None = None) -> list[tuple[str, int]]:
        """Return the items and seeds that have no row, or one that is out of date.

        Args:
            items: items to look at; all where left out.
        """
        rows, missing = self.rows(), []
        for item in self.items() if items is None else items:
            seeds = rows.get(item, {})
            now = self.digest(item) if seeds else None
            for seed in range(self.seeds_of(item)):
                if str(seed) not in seeds or seeds[str(seed)].get("made", {}).get("digest") != now:
                    missing.append((item, seed))
        return missing

    def keep(self, item: str, seed: int, row: Row) -> None:
        """Write one row, with what made it; the file is complete at any time.

        Args:
            item: what was measured.
            seed: with which seed.
            row: plain data; may say under ``made`` what made it where that is not the present code.
        """
        rows = self.rows()
        rows.setdefault(item, {})[str(seed)] = {**row, "made": row.get("made") or stamp.stamp(self.digest(item))}
        self.write(rows)

    def write(self, rows: Rows) -> None:
        """Replace all rows, in the order of the items; the file is complete at any time."""
        order = [name for name in self.items() if name in rows]
        text = written({name: dict(sorted(rows[name].items(), key=lambda row: int(row[0]))) for name in order})
        write_text(self.file, text)
