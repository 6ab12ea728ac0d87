"""``ngym data``."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.fitting.request import DataRequest


def execute(request: DataRequest) -> None:
    """Print statistics of a table and draw figures."""
    from ngym_cli import terminal
    from ngym_cli.figures.files import FigureFiles
    from ngym_cli.fitting.description import description_of

    description = description_of(request)
    figures: list[str] = []
    if str(request.out) != "none":
        files = FigureFiles(request.format, out=request.out, overwrite=request.overwrite)
        figures = description.draw(request.out or Path("figures") / description.name, files)
    if request.as_json:
        terminal.print_json({**description.to_dict(), "figures": figures})
    else:
        description.show(figures, request)
        if request.save_columns is not None:
            terminal.console().print(f"columns: {request.save_columns}", soft_wrap=True)
