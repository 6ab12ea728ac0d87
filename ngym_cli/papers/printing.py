"""The printed tables of papers and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ngym_cli import terminal
from ngym_cli.papers.model import PROVENANCE
from ngym_cli.papers.verdicts import STATES, Row, published_numbers

#: Where a published number is no better known than by eye, the verdict says so.
BY_EYE = ("F", "M")


def print_papers(rows: Sequence[Row]) -> None:
    """Print a line for each paper."""
    out = terminal.console()
    lines = [
        (row["id"], row["title"], str(row["claims"]), in_words(row["verdicts"]),
         "-" if row["minutes"] is None else f"{row['minutes']:.0f}")
        for row in rows
    ]  # fmt: skip
    terminal.print_columns(lines, ("paper", "what", "claims", "our record", "minutes"))
    out.print(
        "minutes: all seeds on two cores; next: ngym reproduce PAPER, ngym info PAPER", style="dim", soft_wrap=True
    )


def in_words(verdicts: Mapping[str, int]) -> str:
    """Return how many claims came out how, as in ``3 reached, 1 not reached``."""
    return ", ".join(f"{verdicts[state]} {state}" for state in STATES if verdicts.get(state)) or "none yet"


def print_contents(page: Row) -> None:
    """Print the claims and settings of a paper, as ``ngym info`` has them."""
    out = terminal.console()
    out.print("\n  claims", style="dim")
    names = ("id", "published", "verdict", "title", "reached", "source")
    header = ("--only", "published", "our record", "what", "counts as reached", "printed")
    terminal.print_columns([tuple(row[name] for name in names) for row in page["claims"]], header, indent=2)
    if page["settings"]:
        out.print("\n  settings", style="dim")
        rows = [(s["what"], str(s["value"]), s["here"] or "the same", s["source"]) for s in page["settings"]]
        terminal.print_columns(rows, ("what", "paper", "here", "source"), indent=2)


def published_words(published: object, unit: str = "") -> str:
    """Return what a paper has in one line."""
    if isinstance(published, Mapping):
        published = ", ".join(f"{name}: {value:g}" for name, value in published.items())
    elif isinstance(published, str):
        return published
    return f"{published} {unit}".strip()


def print_claims(document: Row, page: Path) -> None:
    """Print claim, published value, ours and the verdict."""
    out = terminal.console()
    out.print(f"{document['citation']} https://doi.org/{document['doi']}", soft_wrap=True)
    rows: list[tuple[str, ...]] = []
    for row in document["claims"]:
        first = row["title"], verdict_words(row)
        for name, published, here in number_lines(row):
            rows.append((first[0], f"{name}{published}", here, first[1]))
            first = "", ""
    terminal.print_columns(rows, ("claim", "published", "here", "verdict"))
    if document["seeds"]:
        said = "mean over seeds with its 95 % interval" if len(document["seeds"]) > 1 else "one seed, no interval"
        out.print(f"here: {said}; seeds {', '.join(map(str, document['seeds']))}", style="dim", soft_wrap=True)
    for row in document.get("not_drawn") or ():
        out.print(f"{row['figure']} is not drawn: {row['why']}", style="dim", soft_wrap=True)
    out.print(str(page), soft_wrap=True)


def verdict_words(row: Row) -> str:
    """Return a verdict with what must be known of it: why not, or that the published number was read by eye."""
    words = str(row["verdict"])
    notes = [row["why"]] if row.get("why") else []
    notes += [f"published value {PROVENANCE[row['provenance']]}"] if row["provenance"] in BY_EYE else []
    return f"{words} ({'; '.join(notes)})" if notes else words


def number_lines(row: Row) -> Iterator[tuple[str, str, str]]:
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
        said = "-" if value is None else f"{value:g}{unit}"
        yield (f"{name}: " if name else ""), said, _here(numbers.get(name), unit)


def _here(found: Row | None, unit: str) -> str:
    if found is None or found["value"] is None:
        return "-"
    interval = "" if found["low"] is None else f" [{short(found['low'])}, {short(found['high'])}]"
    return f"{short(found['value'])}{unit}{interval}"


def short(value: float) -> str:
    """Return a number in three or four significant digits, without an exponent where that is readable."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) >= 0.001 and abs(value) < 10 else f"{value:.4g}"
