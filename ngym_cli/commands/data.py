"""``ngym data``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands.options import option, with_roles


@with_roles(at=1)
def command(
    table: Annotated[Path, typer.Argument(help="CSV, Parquet or NWB file with one row per trial.")],
    columns: Annotated[Path | None, option("TOML file that maps the columns, as for ngym eval --compare.")] = None,
    out: Annotated[Path | None, option("Folder for the figures (default: figures/TABLE; 'none' for none).")] = None,
    format: Annotated[str, option("File format: png, svg or pdf.", "--format")] = "png",
    json: Annotated[bool, option("Print the statistics as JSON.", "--json")] = False,
    **roles: str | None,
) -> None:
    """Describe a table of choices: accuracy, bias, lapses, history.

    Roles of columns are guessed from names and values, and shown. Missed trials keep their place.
    """
    from ngym_cli import terminal
    from ngym_cli.errors import UserError
    from ngym_cli.fitting import tables

    if format not in ("png", "svg", "pdf"):
        raise UserError(f"--format must be png, svg or pdf, not '{format}'")
    behaviour = tables.read(table, roles, columns)
    from neurogym.behaviour.describe import describe

    found = describe(behaviour)
    figures: list[str] = []
    if str(out) != "none":
        from ngym_cli.fitting import data_figures

        figures = data_figures.draw(behaviour, found, out or Path("figures") / table.stem, format)
    if json:
        terminal.print_json(tables.as_dict(behaviour, found, figures))
    else:
        tables.show(behaviour, found, figures)
