"""``ngym data``."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.fitting.request import DataRequest


def execute(request: DataRequest) -> None:
    """Print statistics of a table and draw figures."""
    from ngym_cli import terminal
    from ngym_cli.errors import check_known
    from ngym_cli.figures.files import FORMATS
    from ngym_cli.fitting import data_printing
    from ngym_cli.fitting.settings import read_table

    check_known("format", request.format, FORMATS)
    behaviour = read_table(request.table, request.roles, request.columns, **request.reading())
    from neurogym.behaviour.describe import describe

    statistics = describe(behaviour)
    figures: list[str] = []
    if str(request.out) != "none":
        from ngym_cli.fitting import data_figures

        folder = request.out or Path("figures") / request.table.stem
        figures = data_figures.draw(behaviour, statistics, folder, request.format)
    if request.as_json:
        terminal.print_json(data_printing.table_as_dict(behaviour, statistics, figures))
    else:
        data_printing.show_table(behaviour, statistics, figures)
