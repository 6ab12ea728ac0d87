"""Descriptions of tables of continuous reports: ``ngym data`` of a table with targets and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.analysis.estimation import ContinuousReports
from neurogym.behaviour.reports import EVERY, ReportTable
from ngym_cli.errors import check_known
from ngym_cli.fitting.request import DataRequest
from ngym_cli.terminal import console, estimate_cells, print_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.figures.files import FigureFiles

#: Numbers of reports, in the order of their columns.
NUMBERS = ("bias", "spread", "guess_rate", "precision")


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
        table = []
        for (subject, size), each in self.reports.groups.items():
            row: dict[str, object] = {"subject": subject, "size": size, "trials": len(each.errors)}
            for name in NUMBERS:
                if (value := getattr(each, name)) is not None:
                    row |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
            table.append(row)
        return table

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
        from ngym_cli.fitting.data_figures import write_figures

        return write_figures({"reports": self.plot()}, folder, files)

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
