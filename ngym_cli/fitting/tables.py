"""Tables of behaviour, read and printed by commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neurogym.analysis.results import Estimate
from neurogym.behaviour import reading
from neurogym.behaviour.describe import Description
from neurogym.behaviour.table import Behaviour
from ngym_cli import config as configuration
from ngym_cli.config.values import split_entries
from ngym_cli.errors import UserError
from ngym_cli.terminal import console, print_columns


def read(path: Path, roles: Mapping[str, str | None], columns: Path | None = None) -> Behaviour:
    """Read a table of behaviour.

    Args:
        path: CSV, Parquet or NWB file.
        roles: columns as given with flags; None where none was given, the word ``none`` for no such column.
        columns: TOML file that maps the columns, as for ``ngym eval --compare``.

    Raises:
        UserError: if a file is missing or damaged, or the table is unfit.
    """
    given: dict[str, Any] = {}
    for role, text in roles.items():
        if text is not None:
            entries = [] if text == "none" else split_entries(text)
            given[role] = entries if role == "stimuli" else entries[0] if entries else None
    try:
        return reading.read(path, given, None if columns is None else configuration.read_toml(columns))
    except ValueError as error:
        raise UserError(" ".join(str(error).split())) from None


def roles_in_words(table: Behaviour) -> list[list[str]]:
    """Return rows of role and column."""
    rows = [
        [role, ", ".join(name) if isinstance(name, tuple) else str(name)] for role, name in table.roles.items() if name
    ]
    return rows + ([["unused", ", ".join(table.unused)]] if table.unused else [])


def as_dict(table: Behaviour, found: Sequence[Description], figures: Sequence[str]) -> dict[str, Any]:
    """Return the document printed by ``ngym data --json``."""
    return {
        "roles": dict(table.roles),
        "unused": list(table.unused),
        "choices": list(table.choices),
        "stimuli": list(table.stimuli),
        "subjects": [each.to_dict() for each in found],
        "figures": list(figures),
    }


def show(table: Behaviour, found: Sequence[Description], figures: Sequence[str]) -> None:
    """Print roles of columns and statistics."""
    out = console()
    out.print("columns")
    print_columns(roles_in_words(table), indent=2)
    out.print(f"choices: {', '.join(f'{k} = {word}' for k, word in enumerate(table.choices))}")
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
        print_columns([[str(name), *in_words(value)] for name, value in rows if isinstance(value, Estimate)], indent=2)
    for path in figures:
        out.print(path, soft_wrap=True)


def in_words(value: Estimate) -> list[str]:
    """Return an estimate as cells: value, interval."""
    return [f"{value.value:.3f}", f"[{value.low:.3f}, {value.high:.3f}]"]
