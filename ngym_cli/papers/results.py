"""Results of papers: the record that comes with ngym, and tables of claims and verdicts for the terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ngym_cli import terminal
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_json
from ngym_cli.papers import collection
from ngym_cli.papers.collection import Paper
from ngym_cli.papers.model import PROVENANCE
from ngym_cli.papers.verdicts import IN_PART, NOT_REACHED, VERDICTS, Value, Verdict, judge, published_numbers
from ngym_cli.terminal import Row

#: Sources of numbers that were read by eye, which the verdict mentions.
BY_EYE = ("F", "M")


def print_papers(rows: Sequence[Row]) -> None:
    """Print a line for each paper."""
    out = terminal.console()
    lines = [
        (
            row["id"],
            row["title"],
            str(row["claims"]),
            in_words(row["verdicts"]),
            "-" if row["minutes"] is None else f"{row['minutes']:.0f}",
        )
        for row in rows
    ]
    terminal.print_columns(lines, ("paper", "what", "claims", "our record", "minutes"))
    out.print(
        "minutes: all seeds on two cores; next: ngym reproduce PAPER, ngym info PAPER", style="dim", soft_wrap=True
    )


def in_words(verdicts: Mapping[str, int]) -> str:
    """Return the number of claims per verdict, as in ``3 reached, 1 not reached``."""
    return ", ".join(f"{verdicts[state]} {state}" for state in VERDICTS if verdicts.get(state)) or "none yet"


def print_contents(page: Row) -> None:
    """Print the claims and settings of a paper, as part of ``ngym info``."""
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
    """Return the published value of a claim as a single line."""
    if isinstance(published, Mapping):
        published = ", ".join(f"{name}: {value:g}" for name, value in published.items())
    elif isinstance(published, str):
        return published
    return f"{published} {unit}".strip()


def print_claims(document: Row, page: Path) -> None:
    """Print claim, published value, our value and the verdict."""
    out = terminal.console()
    out.print(f"{document['citation']} https://doi.org/{document['doi']}", soft_wrap=True)
    rows = claim_lines(document["claims"], verdict_words)
    terminal.print_columns(list(rows), ("claim", "published", "here", "controls", "verdict"))
    if document["seeds"]:
        explanation = (
            "mean over seeds with its 95 % interval" if len(document["seeds"]) > 1 else "one seed, no interval"
        )
        out.print(f"here: {explanation}; seeds {', '.join(map(str, document['seeds']))}", style="dim", soft_wrap=True)
    for row in document.get("not_drawn") or ():
        out.print(f"{row['figure']} is not drawn: {row['why']}", style="dim", soft_wrap=True)
    out.print(str(page), soft_wrap=True)


def claim_lines(rows: Iterable[Row], words: Callable[[Row], str]) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield lines of a table of claims: title, published, here, the means of controls, verdict.

    A claim with several numbers has several lines, with title and verdict on the first.

    Args:
        rows: the claims.
        words: returns the verdict of a claim.
    """
    for row in rows:
        title, verdict, challenged = row["title"], words(row), dict(control_cells(row))
        for name, published, result in number_lines(row):
            yield title, f"{name}{published}", result, challenged.get(name.strip(": "), ""), verdict
            title = verdict = ""


def control_cells(row: Row) -> Iterator[tuple[str, str]]:
    """Yield the name of each number of a claim, and the mean of each control for it."""
    for name in row["numbers"]:
        means = ((control.replace("_", " "), each.get(name)) for control, each in row["controls"].items())
        words = [f"{control} {short(mean['value'])}" for control, mean in means if mean and mean["value"] is not None]
        yield name, ", ".join(words)


def verdict_words(row: Row) -> str:
    """Return a verdict with necessary notes.

    Notes are the number of seeds that meet the criterion where not all is well, controls that pass or give no number,
    reasons for missing numbers, whatever was fitted to the same data, and whether the published value was read by eye.
    """
    words = str(row["verdict"])
    notes = [f"{row['held']} of {row['of']} seeds"] if words in (IN_PART, NOT_REACHED) and row.get("of") else []
    passed = [_name_of(control, row["controls"][control]) for control in row.get("passed") or ()]
    notes += [f"not told from control {', '.join(passed)}"] if passed else []
    for control, reason in (row.get("silent") or {}).items():
        notes.append(f"control {control.replace('_', ' ')} gives no number{f': {reason}' if reason else ''}")
    notes += [row["why"]] if row.get("why") else []
    notes += [f"fitted to the same data: {row['fitted']}"] if row.get("fitted") else []
    notes += [f"published value {PROVENANCE[row['provenance']]}"] if row["provenance"] in BY_EYE else []
    return f"{words} ({'; '.join(notes)})" if notes else words


def _name_of(control: str, numbers: Mapping[str, Row]) -> str:
    """Return a control's name, and the difference to the claim where there is a single one."""
    name = control.replace("_", " ")
    if len(numbers) != 1 or not (difference := next(iter(numbers.values())).get("difference")):
        return name
    from neurogym.analysis.results import Estimate

    return f"{name}, difference {short(difference['value'])} {Estimate.from_record(difference).interval(short)}".strip()


def number_lines(row: Row) -> Iterator[tuple[str, str, str]]:
    """Yield each number of a claim: name, published value and result."""
    published, unit = row["published"], f" {row['unit']}" if row.get("unit") else ""
    numbers = row["numbers"]
    if not isinstance(published, Mapping):
        text = published if isinstance(published, str) else f"{published:g}{unit}"
        if set(numbers) <= {""}:
            yield "", text, _result_cell(numbers.get(""), unit)
            return
        yield "", text, ""
        for name, number in numbers.items():
            yield f"  {name}", "", _result_cell(number, unit)
        return
    published_by_name = published_numbers(published)
    for name in dict.fromkeys([*published_by_name, *numbers]):
        value = published_by_name.get(name)
        text = "-" if value is None else f"{value:g}{unit}"
        yield f"{name}: ", text, _result_cell(numbers.get(name), unit)


def _result_cell(number: Row | None, unit: str) -> str:
    from neurogym.analysis.results import Estimate

    if number is None or number["value"] is None:
        return "-"
    interval = Estimate.from_record(number).interval(short)
    seeds = number["seeds"]
    interval = f" {interval}" if interval else ""
    gave = sum(value is not None for value in seeds)
    return f"{short(number['value'])}{unit}{interval}{'' if gave == len(seeds) else f', {gave} of {len(seeds)} seeds'}"


def seed_lines(rows: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a table of the values of each seed: names of the columns, and a line for each number of each claim."""
    seeds = sorted({seed for row in rows for number in row["numbers"].values() for seed in number["seed_numbers"]})
    lines = []
    for row in rows:
        first = str(row["title"])
        for name, number in row["numbers"].items():
            by_seed = dict(zip(number["seed_numbers"], number["seeds"], strict=True))
            values = (by_seed.get(seed) for seed in seeds)
            lines.append((first, name, *("-" if value is None else short(value) for value in values)))
            first = ""
    return ("claim", "number", *(f"seed {seed}" for seed in seeds)), lines


def short(value: float) -> str:
    """Return a number in three or four significant digits, without an exponent where that is readable."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) >= 0.001 and abs(value) < 10 else f"{value:.4g}"


def control_lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return a table of the controls: claim, control, number, value, claim less control, and whether it passes."""
    lines: list[tuple[str, ...]] = []
    for row in rows:
        title = str(row["title"])
        for control, numbers in row["controls"].items():
            silent = control in (row.get("silent") or {})
            passes = "gives no number" if silent else "passes" if control in row["passed"] else "fails"
            cells = (title, control.replace("_", " "))
            for name, number in numbers.items():
                difference = {**number["difference"], "seeds": ()} if number.get("difference") else None
                lines.append((*cells, name, _result_cell(number, ""), _result_cell(difference, ""), passes))
                title, passes, cells = "", "", ("", "")
    return lines


RECORD_FILE = "results.json"
#: Number of cores for which minutes are given.
CORES = 2


def record() -> dict[str, Row]:
    """Return the rows that are kept: paper, then seed."""
    path = collection.library() / RECORD_FILE
    rows_by_paper = read_json(path) if path.is_file() else {}
    return rows_by_paper if isinstance(rows_by_paper, dict) else {}


def verdicts(paper: Paper, seeds: Mapping[str, Row]) -> dict[str, Verdict]:
    """Return the verdict of each claim of a paper from stored rows."""
    verdict_by_claim = {}
    for claim in paper.config.claims:
        rows = {int(seed): row for seed, row in seeds.items() if claim.id in row["claims"]}
        values = {seed: row["claims"][claim.id] for seed, row in rows.items()}
        reasons = [row["why"][claim.id] for row in rows.values() if row.get("why", {}).get(claim.id)]
        controls = {s: row["controls"][claim.id] for s, row in rows.items() if claim.id in row.get("controls", {})}
        refusals = [row.get("refusals", {}).get(claim.id, {}) for row in rows.values()]
        verdict_by_claim[claim.id] = judge(claim, values, reasons, by_control(controls), first_reasons(refusals))
    return verdict_by_claim


def first_reasons(refusals: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the first reason of each control."""
    return {name: reason for each in reversed(list(refusals)) for name, reason in each.items()}


def by_control(by_seed: Mapping[int, Mapping[str, Value]]) -> dict[str, dict[int, Value]]:
    """Return the values of controls by control and seed, from those by seed and control."""
    names = dict.fromkeys(name for each in by_seed.values() for name in each)
    return {name: {seed: each[name] for seed, each in by_seed.items() if name in each} for name in names}


def minutes(paper: Paper, seeds: Mapping[str, Row]) -> float | None:
    """Return the minutes of all seeds on two cores, rounded up: measured for the record, else as the paper says."""
    took = [row["cpu_seconds"] for row in seeds.values() if row.get("cpu_seconds")]
    if not took:
        return paper.config.minutes
    return math.ceil(sum(took) / len(took) * paper.config.seeds / CORES / 60)


def rows() -> list[Row]:
    """Return the papers that come with ngym and the papers in the current folder.

    Returns:
        Rows of ``id``, ``title``, ``description``, ``paper``, ``link``, ``parts``, ``claims`` (how many), ``verdicts``
        (how many of each kind) and ``minutes``.
    """
    recorded = record()
    table = []
    for folder in collection.folders():
        try:
            paper = collection.load(folder)
        except UserError as error:
            table.append(_damaged(folder, str(error)))
            continue
        seeds = {} if paper.is_custom else recorded.get(paper.id, {})
        table.append(
            {
                "id": str(paper.folder) if paper.is_custom else paper.id,
                "title": paper.config.title,
                "description": paper.config.summary,
                "paper": paper.config.citation,
                "link": f"https://doi.org/{paper.config.doi}",
                "parts": list(paper.config.parts),
                "claims": len(paper.config.claims),
                "verdicts": dict(Counter(verdict.state for verdict in verdicts(paper, seeds).values())),
                "minutes": minutes(paper, seeds),
            }
        )
    return table


def _damaged(folder: Path, reason: str) -> Row:
    """Return the row of a damaged folder, so that all other papers are still listed."""
    empty = {"description": "", "paper": "", "link": "", "parts": [], "claims": 0, "verdicts": {}, "minutes": None}
    return {"id": str(folder), "title": f"damaged: {reason}", **empty}
