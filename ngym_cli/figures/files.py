"""Files of figures of runs, sweeps and fits, with the numbers behind each figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

from ngym_cli.errors import UserError, check_known, one_line, os_errors, printable
from ngym_cli.files.outputs import may_write, wrote
from ngym_cli.files.writing import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from neurogym.analysis.trial_tables import Table

FIGURE_FORMATS = ("png", "svg", "pdf")
STYLE_NAMES = ("screen", "paper")


@dataclass(frozen=True)
class FigureFiles:
    """Files that figures are written to.

    Attributes:
        file_format: png, svg or pdf.
        style: screen or paper.
        out: folder that the user names; None for the folder ``figures`` of the run, the sweep or the fit.
        overwrite: replace files of the user.
        kept: receives figures by path, for a program; these are written only if the user names a folder.
    """

    file_format: str = "png"
    style: str = "screen"
    out: Path | None = None
    overwrite: bool = False
    kept: dict[str, Figure] | None = None

    @property
    def writes(self) -> bool:
        """Whether figures are written."""
        return self.kept is None or self.out is not None

    def places(self, owner: Path, names: Sequence[str]) -> list[Path]:
        """Return the file of each figure.

        Args:
            owner: folder of the run, the sweep or the fit.
            names: names of the files, without suffix.

        Raises:
            UserError: on an unknown format or style, or if a file of the user would be replaced.
        """
        self.check()
        rows = [(self.out or owner / "figures") / f"{name}.{self.file_format}" for name in names]
        for position in rows if self.writes else ():
            for path in (position, position.with_suffix(".parquet")):
                may_write(path, not self.is_default, self.overwrite)
        return rows

    def check(self) -> None:
        """Refuse an unknown format or style."""
        check_known("format", self.file_format, FIGURE_FORMATS)
        check_known("style", self.style, STYLE_NAMES)

    @property
    def is_default(self) -> bool:
        """Whether the files are in the folder that ngym chooses."""
        return self.out is None


class FigureRow(TypedDict):
    """Result of drawing a figure.

    Attributes:
        id: name of the figure.
        path: file of the figure; None if the figure could not be drawn.
        reason: why the figure could not be drawn.
        left_out: why a run, an evaluation or a condition is missing in the figure, by its label.
        caption: result of the figure in a sentence.
    """

    id: str
    path: str | None
    reason: str | None
    left_out: NotRequired[dict[str, str]]
    caption: NotRequired[str]


def draw_each(
    drawers: Mapping[str, Callable[[], tuple[Figure, Table]]],
    places: Sequence[Path],
    files: FigureFiles,
    required: bool,
) -> list[FigureRow]:
    """Draw figures one after the other.

    Args:
        drawers: functions by the names of the figures; each returns a figure and the numbers behind the figure.
        places: file of each figure.
        files: settings of the files.
        required: whether a figure that cannot be drawn is an error.

    Raises:
        UserError: if a required figure cannot be drawn, or a file cannot be written.
    """
    from ngym_cli.figures.style import FigureUnavailableError, styled

    rows: list[FigureRow] = []
    for (name, drawer), position in zip(drawers.items(), places, strict=True):
        row: FigureRow = {"id": name, "path": None, "reason": None}
        try:
            with styled(files.style):
                figure, table = drawer()
            save_with_table(figure, table, files, position)
            row["path"] = str(position)
        except (FigureUnavailableError, KeyError, IndexError, ValueError, TypeError) as error:
            reason = drawing_failed(error)
            if required:
                raise UserError(f"figure {name}: {reason}") from None
            row["reason"] = reason
        rows.append(row)
    return rows


def drawing_failed(error: Exception) -> str:
    """Return why a figure could not be drawn, in words."""
    from ngym_cli.figures.style import FigureUnavailableError

    if isinstance(error, FigureUnavailableError):
        return str(error)
    return f"the drawing failed: {f'there is no {error}' if isinstance(error, KeyError) else one_line(error)}"


def save_with_table(figure: Figure, table: Table, files: FigureFiles, path: Path) -> None:
    """Keep a figure, or write it with the numbers behind the figure."""
    from ngym_cli.figures.style import styled

    if files.kept is not None:
        files.kept[str(path)] = figure
    if not files.writes:
        return
    with styled(files.style):
        save_figure(figure, path, files.is_default)
    if table:
        from ngym_cli.runs.trial_table import write_table

        write_table(table, path.with_suffix(".parquet"))
        if files.is_default:
            wrote(path.with_suffix(".parquet"))


def save_figure(figure: Figure, path: Path, is_default: bool = False) -> None:
    """Write a figure, as a whole or not at all, the same bytes for the same figure.

    Args:
        figure: the figure.
        path: the file.
        is_default: whether the file is in a folder that ngym chose.

    Raises:
        UserError: if the file cannot be written.
    """
    dates: dict[str, dict[str, None]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        words = text.get_text().replace("\u00a0", " ")  # a space that does not break is not "printable"
        if not words.isprintable():
            text.set_text("\n".join(map(printable, words.split("\n"))))
    with os_errors(f"cannot write {path}"), atomic_path(path) as temporary:
        figure.savefig(temporary, metadata=dates.get(path.suffix))
    if is_default:
        wrote(path)
