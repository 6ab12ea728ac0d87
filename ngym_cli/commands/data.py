"""``ngym data``."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.fitting.request import DataRequest


def execute(request: DataRequest) -> None:
    """Print statistics of a table and draw figures."""
    from ngym_cli import terminal
    from ngym_cli.figures.files import FigureFiles
    from ngym_cli.fitting import data_printing
    from ngym_cli.fitting.description import description_of

    description = description_of(request)
    figures: list[str] = []
    not_drawn: dict[str, str] = {}
    if str(request.out) != "none":
        not_drawn = description.not_drawn
        files = FigureFiles(request.format, out=request.out, overwrite=request.overwrite)
        figures = description.draw(request.out or Path("figures") / description.name, files)
    if request.as_json:
        terminal.print_json(data_printing.table_as_dict(description.behaviour, description.subjects, figures))
    else:
        data_printing.show_table(description.behaviour, description.subjects, figures, request, not_drawn)
        if request.save_columns is not None:
            terminal.console().print(f"columns: {request.save_columns}", soft_wrap=True)
