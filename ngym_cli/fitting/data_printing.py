"""Tables of behaviour in the terminal: how a table was read, and what it shows.

The name of each number is that of its field in `neurogym.behaviour.describe` and in ``--json``, with spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.analysis.results import Curve, Estimate
from neurogym.behaviour.describe import ENOUGH, GROUP, SUMMARY_COLUMNS, SubjectDescription
from neurogym.behaviour.table import Behaviour, Reading
from ngym_cli.fitting.request import DataRequest
from ngym_cli.terminal import console, estimate_cells, print_columns

#: Points of a curve that are printed.
POINTS = 14
#: Lines and columns of a screen, most lines of numbers in pairs, and of remarks.
SCREEN, COLUMNS, MOST_NUMBERS, MOST_REMARKS = 24, 80, 5, 5
LONGEST_NAME = 24  #: letters of the name of the evidence in the header of a table
#: Numbers in the line of a subject among several.
LINE = ("accuracy", "rewards", "reaction_time", "pse", "threshold", "lapse_low", "lapse_high")
CURVES = {
    "psychometric": "evidence",
    "accuracy_by_level": "size of evidence",
    "chronometric": "size of evidence",
    "learning": "session",
    "kernel": "time of a pulse (ms)",
}


def show_reading(reading: Reading) -> None:
    """Print what each column was read as and why, what was left out, and remarks."""
    out = console()
    if reading.form:
        out.print(reading.form, soft_wrap=True)
    rows = [[row.column, row.role or "-", row.reason, row.values, row.read_as] for row in reading.columns]
    print_columns(rows, header=["column", "role", "by", "values", "read as"])
    for reason, count in reading.left_out.items():
        out.print(f"left out: {_left_out(reason, count)}", soft_wrap=True)
    for note in reading.notes:
        out.print(f"note: {note}", soft_wrap=True)


def _left_out(reason: str, count: int) -> str:
    words = re.sub(r"^(line|row|trial|answer)s\b", r"\1", reason) if count == 1 else reason
    return f"{count:,} {words}"


def show_table(
    table: Behaviour,
    statistics: Sequence[SubjectDescription],
    figures: Sequence[str],
    request: DataRequest,
    not_drawn: Mapping[str, str],
) -> None:
    """Print the statistics of all subjects, how the table was read, and a line for each of several subjects.

    Args:
        table: the table.
        statistics: of all subjects together, if there are several, and of each.
        figures: paths of the figures.
        request: says how many subjects get a line, and whether all is printed instead of what fits on a screen.
        not_drawn: why figures are not drawn, by name.
    """
    out, reading = console(), table.reading or Reading()
    if request.full:
        show_description(statistics[0], table)
        out.print("")
        show_reading(reading)
    else:
        _show_screen(statistics[0], table, reading, figures, len(not_drawn))
    if len(statistics) > 1:
        _show_subjects(statistics[1:], request.subjects_shown)
    if request.full:
        for path in figures:
            out.print(path, soft_wrap=True)
        if not_drawn:
            out.print(f"not drawn: {', '.join(f'{name} ({why})' for name, why in not_drawn.items())}", soft_wrap=True)


def _show_subjects(statistics: Sequence[SubjectDescription], subjects: int) -> None:
    out = console()
    out.print("\neach subject")
    names = [name for name in LINE if any(getattr(each, name) is not None for each in statistics)]
    rows = [
        [
            each.subject,
            f"{each.sessions:,}",
            f"{each.trials:,}",
            f"{each.misses:,}",
            *("" if (value := getattr(each, name)) is None else estimate_cells(value, ".3f")[0] for name in names),
        ]
        for each in statistics[:subjects]
    ]
    header = ["subject", "sessions", "trials", "misses", *(name.replace("_", " ") for name in names)]
    print_columns(rows, header=header, indent=2, right=len(header) - 1)
    if len(statistics) > subjects:
        out.print(f"  and {len(statistics) - subjects:,} more; --subjects-shown {len(statistics)} lists them")


def _show_screen(
    each: SubjectDescription, table: Behaviour, reading: Reading, figures: Sequence[str], not_drawn: int
) -> None:
    """Print the numbers of a table, its levels of evidence, and how it was read, on a screen of a terminal."""
    out, lines = console(), [*_title(each, table)]
    numbers = list(_first_numbers(each))
    shown = numbers[: 2 * MOST_NUMBERS]
    roles = [row for row in reading.columns if row.role and row.role != "condition"]
    remarks = [f"left out: {'; '.join(_left_out(*each) for each in reading.left_out.items())}"] * bool(reading.left_out)
    remarks += [f"note: {note}" for note in [reading.form] * (";" in reading.form) + [*reading.notes]]
    fitting, height = _fitting(remarks, MOST_REMARKS)
    header, levels = _levels(each, table)
    room = max(3, SCREEN - len(lines) - -(-len(shown) // 2) - len(roles) - height - 4 - bool(figures))
    picked = levels if len(levels) <= room else [levels[k] for k in np.linspace(0, len(levels) - 1, room).astype(int)]
    for line in lines:
        out.print(line, soft_wrap=True)
    cells = [[name, *estimate_cells(value, ".3f")] for name, value in shown]
    pairs = [first + second for first, second in zip(cells[::2], [*cells[1::2], ["", "", ""]], strict=False)]
    print_columns(pairs, indent=2)
    if picked:
        print_columns(picked, header=header, indent=2, right=len(header) - 1)
    rows = [[row.column, row.role, row.reason, row.read_as] for row in roles]
    print_columns(_narrow(rows), header=["column", "role", "by", "read as"])
    for remark in remarks[:fitting]:
        out.print(remark, soft_wrap=True)
    rest = [
        (len(each.history or {}), "history weights"),
        (len(levels) - len(picked), "levels"),
        (len(numbers) - len(shown), "numbers"),
        (len(reading.columns) - len(roles), "columns"),
        (len(remarks) - fitting, "remarks"),
        (not_drawn, "figures not drawn"),
    ]
    more = ", ".join(f"{n:,} {words.removesuffix('s') if n == 1 else words}" for n, words in rest if n > 0)
    if figures:
        out.print(f"figures: {Path(figures[0]).parent}", soft_wrap=True)
    out.print(f"more with --full: {more or 'curves'}", soft_wrap=True)


def _title(each: SubjectDescription, table: Behaviour) -> Iterator[str]:
    """Yield the lines of a subject, or of all together."""
    sessions = f"{each.sessions:,} session{'s' * (each.sessions != 1)}"
    yield f"{each.subject}: {each.trials:,} trials in {sessions}, {each.misses:,} misses"
    if each.subject == GROUP:
        n = len(table.subjects)
        means = f"numbers are means over {n:,} subjects with intervals over subjects; curves are pooled"
        yield f"  {means if n >= ENOUGH else f'pooled over {n} subjects'}"
    if len(each.evidence) > LONGEST_NAME:
        yield f"  evidence is {each.evidence}"
    if each.stay is not None:
        yield f"  a win is {each.stay.win}"


def _first_numbers(each: SubjectDescription) -> Iterator[tuple[str, Estimate]]:
    """Yield the numbers of the first screen: without history weights, and without shares of choices beside a curve."""
    for name, value in estimates_of(each):
        if name.startswith(("history, ", *(f"{row.condition} {row.value}, " for row in each.conditions))) or (
            each.psychometric is not None and name.startswith("choices, ")
        ):
            continue
        yield name.removeprefix("confidence, "), value


def _levels(each: SubjectDescription, table: Behaviour) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a table by strength: choices, correctness and times at each level of the evidence."""
    curve = each.psychometric
    if curve is None:
        return [], []
    if each.conditions:
        return _conditions(each)
    header = [
        each.evidence if len(each.evidence) <= LONGEST_NAME else "evidence",
        f"P({table.choices[1]})",
        "95 % interval",
    ]
    rows = _points(curve)
    for name, words in (("accuracy_by_level", "accuracy"), ("chronometric", "time (s)")):
        by_size: Curve | None = getattr(each, name)
        if by_size is not None and np.isin(np.round(np.abs(curve.x), 9), np.round(by_size.x, 9)).all():
            header.append(words)
            at = np.searchsorted(np.round(by_size.x, 9), np.round(np.abs(curve.x), 9))
            for row, value in zip(rows, by_size.value[at], strict=True):
                row.append(f"{value:.3f}")
    for row, n in zip(rows, curve.n, strict=True):
        row.append(f"{n:,}")
    return [*header, "trials"], rows


def _points(curve: Curve) -> list[list[str]]:
    """Return the cells of each point of a curve: position, value and interval."""
    return [
        [f"{x:.4g}", *estimate_cells(Estimate(value, low, high, 0.0), ".3f")]
        for x, value, low, high in zip(curve.x, curve.value, curve.low, curve.high, strict=True)
    ]


def _conditions(each: SubjectDescription) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a table by condition: PSE, and how far it is shifted from that of the first."""
    rows = []
    for row in each.conditions:
        cells = [cell for value in (row.numbers.pse, row.shift) for cell in _cells(value)]
        rows.append([row.value, *cells, f"{row.numbers.trials:,}"])
    return [each.conditions[0].condition, "pse", "95 % interval", "shift", "95 % interval", "trials"], rows


def _cells(value: Estimate | None) -> tuple[str, str]:
    return ("-", "") if value is None else estimate_cells(value, ".3f")


def _fitting(remarks: Sequence[str], most: int) -> tuple[int, int]:
    """Return how many remarks fit into some lines, at least one, and the lines that these take."""
    heights = np.cumsum([-(-len(remark) // COLUMNS) for remark in remarks])
    n = max(int((heights <= most).sum()), min(len(remarks), 1))
    return n, int(heights[n - 1]) if n else 0


def _narrow(rows: list[list[str]]) -> list[list[str]]:
    """Return rows whose last cell is cut so that a row fits into a line."""
    if not rows:
        return rows
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = max(20, COLUMNS - sum(widths[:-1]) - 2 * len(widths))
    return [[*row[:-1], row[-1] if len(row[-1]) <= room else row[-1][: room - 3] + "..."] for row in rows]


def show_description(each: SubjectDescription, table: Behaviour) -> None:
    """Print the statistics of a subject, or of all together, history weights last."""
    out = console()
    for line in _title(each, table):
        out.print(line, soft_wrap=True)
    numbers = [[name, *estimate_cells(value, ".3f")] for name, value in estimates_of(each)]
    print_columns([row for row in numbers if not row[0].startswith("history, ")], indent=2)
    for name, label in CURVES.items():
        curve = getattr(each, name)
        if curve is not None:
            _show_curve(name, each.evidence if label == "evidence" else label, curve)
    if each.two_step is not None:
        _show_curve("two step, common by session", "session", each.two_step.common_by_session)
    if each.confidence is not None:
        _show_curve("confidence, calibration", "confidence", each.confidence.calibration)
    if each.history_trials is not None:
        out.print(f"  history weights come from a sample of sessions with {each.history_trials:,} trials")
    print_columns([row for row in numbers if row[0].startswith("history, ")], indent=2)
    if each.separable:
        out.print(
            "  the predictors tell the choices apart without error: their weights are lower bounds of the true ones"
        )


def estimates_of(each: SubjectDescription) -> Iterator[tuple[str, Estimate]]:
    """Yield name and value of each number of a description."""
    for name in SUMMARY_COLUMNS:
        if (value := getattr(each, name)) is not None:
            yield name.replace("_", " "), value
    for word, share in each.choices.items():
        yield f"choices, {word}", share
    for group in ("stay", "two_step", "confidence"):
        if (numbers := getattr(each, group)) is not None:
            yield from _nested(group.replace("_", " "), vars(numbers))
    for condition in each.conditions:
        named = f"{condition.condition} {condition.value}"
        yield from _nested(named, {**vars(condition.numbers), "shift": condition.shift})
    for name, value in (each.history or {}).items():
        yield f"history, {name}", value


def _nested(prefix: str, values: dict[str, Any]) -> Iterator[tuple[str, Estimate]]:
    for name, value in values.items():
        label = f"{prefix}, {name.replace('_', ' ')}"
        if isinstance(value, Estimate):
            yield label, value
        elif isinstance(value, dict):
            yield from _nested(label, value)


def _show_curve(name: str, axis: str, curve: Curve) -> None:
    """Print the points of a curve."""
    rows = [[*cells, f"{n:,}"] for cells, n in zip(_points(curve), curve.n, strict=True)]
    print_columns(rows[:POINTS], header=[axis, name.replace("_", " "), "95 % interval", "trials"], indent=2)
    if len(rows) > POINTS:
        console().print(f"  and {len(rows) - POINTS:,} more points in --json")
