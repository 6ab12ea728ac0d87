"""Descriptions of tables of behaviour: implementation of ``ngym data`` and `ngym_cli.data`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.analysis.estimation import ContinuousReports
from neurogym.behaviour.describe import SUMMARY_COLUMNS, SubjectDescription, describe
from neurogym.behaviour.reading import NoChoiceError, TableSource
from neurogym.behaviour.reports import EVERY, ReportTable, reports_of
from neurogym.behaviour.table import Behaviour, Reading
from ngym_cli.config.trust import read_toml
from ngym_cli.errors import UserError, check_known, message_of, option
from ngym_cli.files.outputs import may_write
from ngym_cli.files.writing import write_text
from ngym_cli.fitting import data_printing, data_sets
from ngym_cli.fitting.request import DataRequest
from ngym_cli.fitting.settings import read_table
from ngym_cli.terminal import console, estimate_cells, print_columns

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from ngym_cli.figures.files import FigureFiles
    from ngym_cli.fitting.data_figures import DataFigure

#: Numbers of reports, in the order of their columns.
NUMBERS = ("bias", "spread", "guess_rate", "precision")


@dataclass(frozen=True, repr=False)
class Description:
    """Description of a table of behaviour.

    Attributes:
        name: of the table.
        behaviour: the table as it was read, see `neurogym.behaviour.table.Behaviour`.
        subjects: statistics, see `neurogym.behaviour.describe.SubjectDescription`; of several subjects all together
            first.
    """

    name: str
    behaviour: Behaviour
    subjects: list[SubjectDescription]

    @property
    def reading(self) -> Reading:
        """What each column was read as, what was left out, remarks, and the column file."""
        return self.behaviour.reading or Reading()

    @property
    def table(self) -> pd.DataFrame:
        """The same as `rows`, as a pandas.DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    @property
    def rows(self) -> list[dict[str, object]]:
        """A row for each subject: number of sessions, trials and misses, and each number with its interval."""
        counts = ("subject", "sessions", "trials", "misses")
        return [
            {name: getattr(each, name) for name in counts} | _with_intervals(each, SUMMARY_COLUMNS)
            for each in self.subjects
        ]

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain values, as ``ngym data --json`` prints it."""
        table, reading = self.behaviour, self.reading
        return {
            "roles": dict(table.roles),
            **{name: list(getattr(table, name)) for name in ("unused", "choices", "stimuli")},
            "form": reading.form,
            "columns": [vars(row) for row in reading.columns],
            "left_out": dict(reading.left_out),
            "notes": list(reading.notes),
            "column_map": dict(reading.column_map),
            "subjects": [each.to_dict() for each in self.subjects],
            "figures": [],
        }

    def draw(self, folder: Path, files: FigureFiles) -> list[str]:
        """Write all figures that the table allows and return their paths.

        Args:
            folder: receives the figures.
            files: format of the files, and what they may replace.

        Raises:
            UserError: if the format does not exist, or a file of the user would be replaced.
        """
        from ngym_cli.fitting import data_figures

        drawn = {name: each.drawn() for name, each in self._figures.items() if each.content}
        return data_figures.write_figures(drawn, folder, files)

    def show(self, figures: Sequence[str], request: DataRequest) -> None:
        """Print the statistics of all subjects, and how the table was read."""
        not_drawn = {} if str(request.out) == "none" else self.not_drawn
        data_printing.show_table(self.behaviour, self.subjects, figures, request, not_drawn)

    @property
    def _figures(self) -> dict[str, DataFigure]:
        from ngym_cli.fitting import data_figures

        return data_figures.data_figures(self.behaviour, self.subjects)

    @property
    def not_drawn(self) -> dict[str, str]:
        """Why each figure that the table does not allow is not drawn, by name."""
        return {name: each.missing for name, each in self._figures.items() if not each.content}

    def plot(self, figure: str | None = None) -> Figure:
        """Return a figure of the table.

        Args:
            figure: psychometric, chronometric, conditions, history, stay, choices, learning, confidence or kernel;
                None for the first that the table allows.

        Raises:
            UserError: if the figure does not exist, or the table does not allow it.
        """
        figures = self._figures
        allowed = [name for name, each in figures.items() if each.content]
        if figure is not None:
            check_known("figure of a table", figure, figures)
            if figure not in allowed:
                reason = figures[figure].missing
                raise UserError(f"no figure {figure}: {reason}; the table allows {', '.join(allowed) or 'none'}")
        elif not allowed:
            raise UserError("the table allows no figure: it has too few trials or a single choice")
        return figures[figure or allowed[0]].drawn()

    def save_columns(self, path: str | Path, overwrite: bool = False) -> None:
        """Write a column file that reads the table in the same way without a guess.

        Args:
            path: the file.
            overwrite: replace a file that is there.

        Raises:
            UserError: if the file exists, unless ``overwrite``.
        """
        import tomli_w

        may_write(Path(path), True, overwrite)
        write_text(Path(path), tomli_w.dumps(dict(self.reading.column_map)))

    def __repr__(self) -> str:
        """Return the number of trials and the roles in one line."""
        roles = ", ".join(
            f"{role}={'+'.join(value) if isinstance(value, tuple) else value}"
            for role, value in self.behaviour.roles.items()
            if value
        )
        table = self.behaviour
        subjects, sessions = (
            f"{n:,} {word}{'s' * (n != 1)}"
            for n, word in ((len(table.subjects), "subject"), (len(table.sessions), "session"))
        )
        return f"<Description {self.name}: {table.n_trials:,} trials, {subjects}, {sessions}; {roles}>"

    def _repr_html_(self) -> str:
        reading = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in vars(row).values())}</tr>"
            for row in self.reading.columns
        )
        numbers = "".join(
            f"<tr><td>{escape(name)}</td><td>{value:.3f}</td></tr>"
            for name, value in data_printing.estimates_of(self.subjects[0])
            if not name.startswith("history")
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.reading.notes)
        return (
            f"<p><b>{escape(repr(self)[1:-1])}</b></p><table><tr><th>column<th>role<th>values<th>read as<th>by</tr>"
            f"{reading}</table>{notes}<table>{numbers}</table>"
        )


@dataclass(frozen=True)
class ReportsDescription:
    """Description of a table of continuous reports.

    Attributes:
        name: of the table.
        reports: the columns, what reports lie on, and statistics by subject and set size.
    """

    name: str
    reports: ReportTable

    @property
    def rows(self) -> list[dict[str, object]]:
        """A row for each subject and set size, with each number and its interval."""
        return [
            {"subject": subject, "size": size, "trials": len(each.errors)} | _with_intervals(each, NUMBERS)
            for (subject, size), each in self.reports.groups.items()
        ]

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain values, as ``ngym data --json`` prints it."""
        return {"columns": self.reports.columns, "ring": self.reports.ring, "groups": self.rows}

    def plot(self, figure: str | None = None) -> Figure:
        """Return the distributions of errors, by set size."""
        from ngym_cli.figures.style import COLOURS, GREY, legend_below, new_figure, styled

        check_known("figure of continuous reports", figure or "reports", ["reports"])
        parts = self.reports.by_size
        sizes = [size for size in parts if size != EVERY] or [EVERY]
        with styled():
            drawn, axes = new_figure(width=4.6)
            half = (self.reports.ring or 2 * max(abs(parts[size].errors).max() for size in sizes)) / 2
            for size, colour in zip(sizes, COLOURS, strict=False):
                label = (
                    f"{self.reports.columns['size']} {size}" if size != EVERY else f"n = {len(parts[size].errors):,}"
                )
                bins: Any = np.linspace(-half, half, 37)
                axes.hist(parts[size].errors, bins, density=True, histtype="step", color=colour, label=label)
            axes.axvline(0, color=GREY, linestyle="--", linewidth=1)
            target, report = self.reports.columns["target"], self.reports.columns["report"]
            axes.set(xlabel=f"{report} - {target}", ylabel="density", title=f"{self.name}: errors, {self.reports.on}")
            legend_below(axes)
        return drawn

    def draw(self, folder: Path, files: FigureFiles) -> list[str]:
        """Write the figure and return its path in a list."""
        from ngym_cli.fitting import data_figures

        return data_figures.write_figures({"reports": self.plot()}, folder, files)

    def show(self, figures: Sequence[str], request: DataRequest) -> None:
        """Print the numbers of all subjects by set size, and of each of several subjects."""
        out, columns = console(), self.reports.columns
        out.print(
            f"continuous reports on {self.reports.on}: {columns['report']} of {columns['target']}", soft_wrap=True
        )
        self._print(columns["size"] or "", self.reports.by_size)
        subjects = self.reports.by_subject
        if len(subjects) > 1:
            out.print("\neach subject")
            self._print("subject", dict(list(subjects.items())[: request.subjects_shown]))
        for path in figures:
            out.print(path, soft_wrap=True)

    def _print(self, of_what: str, groups: Mapping[str, ContinuousReports]) -> None:
        known = [name for name in NUMBERS if getattr(next(iter(groups.values())), name) is not None]
        digits = ".1f" if (self.reports.ring or 0) > 7 else ".3f"
        rows = []
        for name, each in groups.items():
            cells = [estimate_cells(getattr(each, n), ".3f" if n == "guess_rate" else digits) for n in known]
            rows.append([name, f"{len(each.errors):,}", *(" ".join(cell) for cell in cells)])
        print_columns(rows, header=[of_what, "trials", *(name.replace("_", " ") for name in known)], indent=2)


def _with_intervals(numbers: object, names: Iterable[str]) -> dict[str, object]:
    """Return the numbers that are known, each with the ends of its interval."""
    row: dict[str, object] = {}
    for name in names:
        if (value := getattr(numbers, name)) is not None:
            row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
    return row


def description_of(request: DataRequest, table: TableSource | None = None) -> Description | ReportsDescription:
    """Return the description of a table of choices, or of continuous reports, and write the column file.

    Args:
        request: what is described, and how it is read.
        table: in memory; None for the table that the request names.

    Raises:
        UserError: if the table is unfit, ``by`` cannot split it, or a file of columns exists or cannot be.
    """
    several = table is not None or len(request.table) > 1
    columns: Mapping[str, Any] | None = None if request.columns is None else read_toml(request.columns)
    name, public = request.table[0].stem or request.table[0].resolve().name, None
    source: TableSource = request.table if table is None else table
    if not several:
        source, public = request.table[0], data_sets.named_by(request.table[0])
    if public is None and request.download:
        raise UserError(f"{option('--download')} fetches a public data set; 'ngym list data' names them")
    if request.save_columns is not None:
        may_write(request.save_columns, True, request.overwrite)
    if public is not None:
        name, source = public.name, public.find(request.data_dir, request.download)
        columns = columns or public.columns
    description = _description(name, source, columns, request)
    if request.save_columns is not None:
        if isinstance(description, ReportsDescription):
            raise UserError(f"{option('--save-columns')}: a table of continuous reports has no column file")
        description.save_columns(request.save_columns, request.overwrite)
    return description


def _description(
    name: str, source: TableSource, columns: Mapping[str, Any] | None, request: DataRequest
) -> Description | ReportsDescription:
    keep = () if request.by is None else (request.by,)
    try:
        behaviour = read_table(source, request.roles, columns, keep=keep, **request.reading())
        return Description(name, behaviour, describe(behaviour, request.by))
    except UserError as error:
        if isinstance(error.__cause__, NoChoiceError) and (found := _reports(error.__cause__, request.by)) is not None:
            return ReportsDescription(name, found)
        raise
    except ValueError as error:
        raise UserError(message_of(error)) from None


def _reports(found: NoChoiceError, by: str | None) -> ReportTable | None:
    """Return the continuous reports of a table without choices, or None if it has none."""
    try:
        return reports_of(found.table, by)
    except ValueError as error:
        raise UserError(message_of(error)) from None
