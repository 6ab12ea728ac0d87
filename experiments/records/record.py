"""One record: a file of rows, one for each item and seed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from experiments.records import stamp

Row = dict[str, Any]
#: Item to seed (as text, for JSON) to row.
Rows = dict[str, dict[str, Row]]

#: A list of numbers or words in indented JSON; it is written on one line.
LIST = re.compile(r"\[\n *([^\[\]{}]*?)\n *\]")
BREAK = re.compile(r"\n *")


def nothing(item: str) -> Any:
    """Return no settings: what decides an item is its name, and the code of the record."""
    return None


def results(row: Any) -> Any:
    """Return what a row says without when, where and how fast it was made."""
    if isinstance(row, dict):
        kept = {name: results(value) for name, value in row.items() if name not in ("made", "machine")}
        return {name: value for name, value in kept.items() if not name.endswith(("seconds", "seconds_to_make"))}
    return [results(value) for value in row] if isinstance(row, list) else row


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
        tasks: ids of the tasks whose code decides an item.
        settings: what else decides it, as plain data.
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
    tables: Mapping[str, Callable[[Rows], str]] = field(default_factory=dict)
    seeds: int | Callable[[str], int] = 3
    run: Callable[[str], Mapping[str, Any]] | None = None

    def seeds_of(self, item: str) -> int:
        """Return how many seeds an item is measured with."""
        return self.seeds(item) if callable(self.seeds) else self.seeds

    def rows(self) -> Rows:
        """Return what is kept."""
        return json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else {}

    def digest(self, item: str) -> str:
        """Return the digest that a row of an item would have now."""
        code = Path(__file__).parents[1] / self.make.__module__.replace("experiments.", "", 1).replace(".", "/")
        source = code.with_suffix(".py") if code.with_suffix(".py").exists() else code / "__init__.py"
        return stamp.digest(self.tasks(item), [self.name, item, self.settings(item), stamp.plain(source)])

    def missing(self) -> list[tuple[str, int]]:
        """Return the items and seeds that have no row, or one that is out of date."""
        kept, found = self.rows(), []
        for item in self.items():
            now = self.digest(item)
            for seed in range(self.seeds_of(item)):
                made = kept.get(item, {}).get(str(seed), {}).get("made", {})
                if made.get("digest") != now:
                    found.append((item, seed))
        return found

    def keep(self, item: str, seed: int, row: Row, *, decides: bool = False) -> None:
        """Write one row, with what made it; the file is complete at any time.

        Args:
            item: what was measured.
            seed: with which seed.
            row: plain data; may say under ``made`` what made it where that is not the present code.
            decides: where the row comes out as it was, the other rows of the item that the same code had made stand:
                they get the present digest, and the commit at which that was found.
        """
        kept = self.rows()
        seeds = kept.setdefault(item, {})
        before, now = seeds.get(str(seed), {}), row.get("made") or stamp.stamp(self.digest(item))
        if decides and before and results(before) == results(json.loads(json.dumps(row))):
            same = before["made"]["digest"]
            for other in seeds.values():
                if other["made"]["digest"] == same:
                    other["made"] = {**other["made"], "digest": now["digest"], "stands_at": now["commit"]}
        seeds[str(seed)] = {**row, "made": now}
        order = [name for name in self.items() if name in kept]
        text = written({name: dict(sorted(kept[name].items())) for name in order})
        beside = self.file.with_name(f".{self.file.name}.new")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, self.file)
