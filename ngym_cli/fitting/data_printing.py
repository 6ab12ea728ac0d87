"""Tables of behaviour in the terminal: how a table was read, and what it shows."""

from __future__ import annotations

from collections.abc import Sequence

from neurogym.analysis.results import Estimate
from neurogym.behaviour.describe import SubjectDescription
from neurogym.behaviour.table import Behaviour, Reading
from ngym_cli.terminal import console, estimate_cells, print_columns


def table_as_dict(table: Behaviour, found: Sequence[SubjectDescription], figures: Sequence[str]) -> dict[str, object]:
    """Return the document printed by ``ngym data --json``."""
    return {
        "roles": dict(table.roles),
        "unused": list(table.unused),
        "choices": list(table.choices),
        "stimuli": list(table.stimuli),
        **reading_as_dict(table.reading or Reading()),
        "subjects": [each.to_dict() for each in found],
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
        out.print(f"left out: {count:,} {reason}", soft_wrap=True)
    for note in reading.notes:
        out.print(f"note: {note}", soft_wrap=True)


def show_table(table: Behaviour, found: Sequence[SubjectDescription], figures: Sequence[str]) -> None:
    """Print roles of columns and statistics."""
    out = console()
    show_reading(table.reading or Reading())
    for each in found:
        out.print("")
        out.print(
            f"{each.subject}: {each.trials:,} trials in {each.sessions:,} session{'s' * (each.sessions != 1)}, "
            f"{each.misses:,} missed",
            soft_wrap=True,
        )
        rows = [["accuracy", each.accuracy], ["reward per choice", each.rewards]]
        rows += [[f"share of {word}", share] for word, share in each.choices.items()]
        rows += [
            ["bias (logit)", each.bias],
            ["lapses, low end", each.lapse_low],
            ["lapses, high end", each.lapse_high],
        ]
        rows += [[f"weight of {name}", value] for name, value in (each.history or {}).items() if name != "bias"]
        print_columns(
            [[str(name), *estimate_cells(value, ".3f")] for name, value in rows if isinstance(value, Estimate)],
            indent=2,
        )
        if each.separable:
            out.print(
                "  the predictors tell the choices apart without error: their weights are lower bounds of the true ones"
            )
    for path in figures:
        out.print(path, soft_wrap=True)
