"""``ngym data``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ngym_cli.commands.options import with_roles


@with_roles(at=1)
def command(
    table: Annotated[Path, typer.Argument()],
    columns: Path | None = None,
    out: Path | None = None,
    format: str = "png",
    json: bool = False,
    **roles: str | None,
) -> None:
    """Describe a table of choices: accuracy, bias, lapses, history.

    Roles of columns are guessed from names and values, and shown. Missed trials keep their place.

    Options:
        table: CSV, Parquet or NWB file with one row per trial.
        columns: TOML file that maps the columns, as for ngym eval --compare.
        out: Folder for the figures (default: figures/TABLE; 'none' for none).
        format: File format: png, svg or pdf.
        json: Print the statistics as JSON.
    """
    from ngym_cli import terminal
    from ngym_cli.errors import check_known
    from ngym_cli.figures.files import FORMATS
    from ngym_cli.fitting import data_printing
    from ngym_cli.fitting.settings import read_table

    check_known("format", format, FORMATS)
    behaviour = read_table(table, roles, columns)
    from neurogym.behaviour.describe import describe

    found = describe(behaviour)
    figures: list[str] = []
    if str(out) != "none":
        from ngym_cli.fitting import data_figures

        figures = data_figures.draw(behaviour, found, out or Path("figures") / table.stem, format)
    if json:
        terminal.print_json(data_printing.table_as_dict(behaviour, found, figures))
    else:
        data_printing.show_table(behaviour, found, figures)
