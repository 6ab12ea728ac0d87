"""The printed tables of papers and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from ngym_cli import terminal
from ngym_cli.papers.model import PROVENANCE
from ngym_cli.papers.verdicts import IN_PART, NOT_REACHED, REACHED, STATES, published_numbers

_STYLES = {REACHED: "green", IN_PART: "yellow", NOT_REACHED: "red"}
#: Where a published number is no better known than by eye, the verdict says so.
BY_EYE = ("F", "M")


def print_papers(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each paper."""
    out = terminal.console()
    shown = Table(box=None, padding=(0, 2, 0, 0))
    shown.add_column("paper", no_wrap=True)
    shown.add_column("what")
    shown.add_column("claims", justify="right")
    shown.add_column("our record")
    shown.add_column("minutes", justify="right")
    for row in rows:
        minutes = "-" if row["minutes"] is None else f"{row['minutes']:.0f}"
        shown.add_row(row["id"], row["title"], str(row["claims"]), in_words(row["verdicts"]), minutes)
    out.print(shown)
    out.print(
        "minutes: all seeds on two cores; next: ngym reproduce PAPER, ngym info PAPER", style="dim", soft_wrap=True
    )


def in_words(verdicts: Mapping[str, int]) -> str:
    """Return how many claims came out how, as in ``3 reached, 1 not reached``."""
    return ", ".join(f"{verdicts[state]} {state}" for state in STATES if verdicts.get(state)) or "none yet"


def print_claims(document: Mapping[str, Any], page: Path) -> None:
    """Print claim, published value, ours and the verdict."""
    out = terminal.console()
    out.print(f"{document['citation']}, https://doi.org/{document['doi']}", soft_wrap=True)
    shown = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("claim", "published", "here", "verdict"):
        shown.add_column(name)
    for row in document["claims"]:
        words = verdict_words(row)
        lines = list(number_lines(row))
        for place, (name, published, here) in enumerate(lines):
            shown.add_row(
                row["title"] if place == 0 else "", f"{name}{published}", here,
                words if place == 0 else "", style=None,
            )  # fmt: skip
    out.print(shown)
    count = len(document["seeds"])
    said = "mean over seeds with its 95 % interval" if count > 1 else "one seed, no interval"
    out.print(f"here: {said}; seeds {', '.join(map(str, document['seeds']))}", style="dim", soft_wrap=True)
    for row in document.get("not_drawn") or ():
        out.print(f"{row['figure']} is not drawn: {row['why']}", style="dim", soft_wrap=True)
    out.print(str(page), soft_wrap=True)


def verdict_words(row: Mapping[str, Any]) -> str:
    """Return a verdict with what must be known of it: why not, or that the published number was read by eye."""
    words = str(row["verdict"])
    notes = [row["why"]] if row.get("why") else []
    notes += [f"published value {PROVENANCE[row['provenance']]}"] if row["provenance"] in BY_EYE else []
    return f"{words} ({'; '.join(notes)})" if notes else words


def number_lines(row: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield each number of a claim: its name, what the paper has and what came out here."""
    published, unit = row["published"], f" {row['unit']}" if row.get("unit") else ""
    numbers = row["numbers"]
    if isinstance(published, str):
        if set(numbers) <= {""}:
            yield "", published, _here(numbers.get(""), unit)
            return
        yield "", published, ""
        for name, found in numbers.items():
            yield f"  {name}", "", _here(found, unit)
        return
    known = published_numbers(published)
    for name in dict.fromkeys([*known, *numbers]):
        value = known.get(name, known.get(""))
        said = "-" if value is None else f"{short(value)}{unit}"
        yield (f"{name}: " if name else ""), said, _here(numbers.get(name), unit)


def _here(found: Mapping[str, Any] | None, unit: str) -> str:
    if found is None or found["value"] is None:
        return "-"
    interval = "" if found["low"] is None else f" [{short(found['low'])}, {short(found['high'])}]"
    return f"{short(found['value'])}{unit}{interval}"


def short(value: float) -> str:
    """Return a number in three or four significant digits, without an exponent where that is readable."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) >= 0.001 and abs(value) < 10 else f"{value:.4g}"
