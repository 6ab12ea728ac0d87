"""Tables in texts that come from records.

Between ``<!-- record NAME TABLE -->`` and ``<!-- end -->`` stands what the record's table gives, and nothing else. It
is never written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from experiments.records.registry import DATA, RECORDS

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"(<!-- record (\S+) (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def texts() -> Iterator[Path]:
    """Yield the texts of the repository that may quote a record."""
    yield from sorted(ROOT.glob("*.md"))
    for folder in ("docs", "experiments"):
        yield from sorted((ROOT / folder).rglob("*.md"))


def renewed(path: Path) -> str:
    """Return a text with its tables as the records have them now.

    Raises:
        KeyError: If it quotes a record or a table that does not exist.
    """

    def quoted(match: re.Match[str]) -> str:
        record = RECORDS[match[2]]
        table = record.tables[match[3]](record.rows()).strip("\n")
        return f"{match[1]}\n{table}\n\n{match[5]}"

    return BLOCK.sub(quoted, path.read_text(encoding="utf-8"))


def renew() -> list[Path]:
    """Write all tables and data files anew; return the files that changed."""
    changed = []
    for path, text in [*((path, renewed(path)) for path in texts()), *((path, make()) for path, make in DATA.items())]:
        if text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed
