"""Tables of behaviour in the terminal: how a table was read, and what it shows.

The name of each number is that of its field in `neurogym.behaviour.describe` and in ``--json``, with spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from neurogym.analysis.results import Curve, Estimate
from neurogym.behaviour.describe import ENOUGH, GROUP, SUMMARY_COLUMNS, SubjectDescription
from neurogym.behaviour.table import Behaviour, Reading
from ngym_cli.terminal import console, estimate_cells, print_columns

#: Subjects that are printed by default, and points of a curve.
SUBJECTS, POINTS = 20, 14
#: Numbers in the line of a subject among several.
LINE = ("accuracy", "rewards", "reaction_time", "pse", "threshold", "lapse_low", "lapse_high")
CURVES = {
    "psychometric": "evidence",
    "accuracy_by_level": "size of evidence",
    "chronometric": "size of evidence",
    "learning": "session",
}


def table_as_dict(
    table: Behaviour, statistics: Sequence[SubjectDescription], figures: Sequence[str]
) -> dict[str, object]:
    """Return the document printed by ``ngym data --json``."""
    return {
        "roles": dict(table.roles),
        "unused": list(table.unused),
        "choices": list(table.choices),
        "stimuli": list(table.stimuli),
        **reading_as_dict(table.reading or Reading()),
        "subjects": [each.to_dict() for each in statistics],
        "figures": list(figures),
    }


def reading_as_dict(reading: Reading) -> dict[str, object]:
    """Return the account of how a table was read as plain values."""
    return {
        "form": reading.form,
        "columns": [vars(row) for row in reading.columns],
        "left_out": dict(reading.left_out),
        "notes": list(reading.notes),
        "column_map": dict(reading.column_map),
    }


def show_reading(reading: Reading) -> None:
    """Print what each column was read as, what was left out, and remarks."""
    out = console()
    if reading.form:
        out.print(reading.form, soft_wrap=True)
    rows = [[row.column, row.role or "-", row.values, row.read_as] for row in reading.columns]
    print_columns(rows, header=["column", "role", "values", "read as"])
    for reason, count in reading.left_out.items():
        words = re.sub(r"^(line|row|trial|answer)s\b", r"\1", reason) if count == 1 else reason
        out.print(f"left out: {count:,} {words}", soft_wrap=True)
    for note in reading.notes:
        out.print(f"note: {note}", soft_wrap=True)


def show_table(
    table: Behaviour, statistics: Sequence[SubjectDescription], figures: Sequence[str], subjects: int = SUBJECTS
) -> None:
    """Print how a table was read, the statistics of all subjects, and a line for each of several subjects.

    Args:
        table: the table.
        statistics: of all subjects together, if there are several, and of each.
        figures: paths of the figures.
        subjects: most subjects that get a line.
    """
    out = console()
    show_reading(table.reading or Reading())
    out.print("")
    show_description(statistics[0], table)
    if len(statistics) > 1:
        out.print("\neach subject")
        names = [name for name in LINE if any(getattr(each, name) is not None for each in statistics[1:])]
        rows = [
            [
                each.subject,
                f"{each.sessions:,}",
                f"{each.trials:,}",
                f"{each.misses:,}",
                *("" if (value := getattr(each, name)) is None else estimate_cells(value, ".3f")[0] for name in names),
            ]
            for each in statistics[1 : subjects + 1]
        ]
        header = ["subject", "sessions", "trials", "misses", *(name.replace("_", " ") for name in names)]
        print_columns(rows, header=header, indent=2, right=len(header) - 1)
        if len(statistics) - 1 > subjects:
            out.print(
                f"  and {len(statistics) - 1 - subjects:,} more; --subjects-shown {len(statistics) - 1} lists them"
            )
    for path in figures:
        out.print(path, soft_wrap=True)


def show_description(each: SubjectDescription, table: Behaviour) -> None:
    """Print the statistics of a subject, or of all together."""
    out = console()
    sessions = f"{each.sessions:,} session{'s' * (each.sessions != 1)}"
    out.print(f"{each.subject}: {each.trials:,} trials in {sessions}, {each.misses:,} misses", soft_wrap=True)
    if each.subject == GROUP:
        n = len(table.subjects)
        means = f"numbers are means over {n:,} subjects with intervals over subjects; curves are pooled"
        out.print(f"  {means if n >= ENOUGH else f'pooled over {n} subjects'}")
    print_columns([[name, *estimate_cells(value, ".3f")] for name, value in estimates_of(each)], indent=2)
    if each.separable:
        out.print(
            "  the predictors tell the choices apart without error: their weights are lower bounds of the true ones"
        )
    for name, label in CURVES.items():
        curve = getattr(each, name)
        if curve is not None:
            _show_curve(name, each.evidence if label == "evidence" else label, curve)
    if each.two_step is not None:
        _show_curve("two step, common by session", "session", each.two_step.common_by_session)
    if each.confidence is not None:
        _show_curve("confidence, calibration", "confidence", each.confidence.calibration)


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
    rows = [
        [f"{x:.4g}", *estimate_cells(Estimate(value, low, high, 0.0), ".3f"), f"{n:,}"]
        for x, value, low, high, n in zip(curve.x, curve.value, curve.low, curve.high, curve.n, strict=True)
    ]
    print_columns(rows[:POINTS], header=[axis, name.replace("_", " "), "95 % interval", "trials"], indent=2)
    if len(rows) > POINTS:
        console().print(f"  and {len(rows) - POINTS:,} more points in --json")
