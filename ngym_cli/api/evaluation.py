"""Evaluations and comparisons of runs as objects, and the figures and tables that runs and evaluations share."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli import runs
from ngym_cli.api import running, settings
from ngym_cli.api.wording import in_python_words
from ngym_cli.errors import UserError, check_known
from ngym_cli.runs import ROOT
from ngym_cli.runs.trial_table import Table, read_trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.figures.registry import FigureChoice, FigureSpec
    from ngym_cli.figures.view import View
    from ngym_cli.runs.records import Summary

logger = logging.getLogger(__name__)


class WithFigures:
    """Figures of a run or an evaluation."""

    _evaluation: str | None = None
    folder: Path
    _trust: bool

    @in_python_words
    def plot(self, figure: FigureChoice, *, by: str | None = None, style: str = "screen", **options: object) -> Figure:
        """Draw a figure.

        Args:
            figure: name of a figure (``ngym list figures``), a reference to one of your own, or the function itself.
            by: columns to split by, separated by commas.
            style: ``screen`` or ``paper``.
            **options: ``input`` and ``axes`` of figures of dynamics, as in ``ngym plot``; ``input`` may be a list.

        Returns:
            A ``matplotlib.figure.Figure``, which a notebook shows.

        Raises:
            UserError: if the figure does not exist or cannot be drawn, with the reason.
        """
        drawn, _ = self._draw(figure, by, style, options)
        if running.in_notebook():
            running.show_figures()
        return drawn

    @in_python_words
    def table(self, figure: FigureChoice, *, by: str | None = None, **options: object) -> settings.DataTable:
        """Return the numbers behind a figure, such as ``fixed-points``, as a pandas.DataFrame (else a pyarrow.Table).

        Args:
            figure: name of a figure that ``ngym plot`` writes together with a Parquet file.
            by: columns to split by, separated by commas.
            **options: see `plot`.

        Raises:
            UserError: if the figure does not exist, cannot be drawn, or has no table.
        """
        _, found = self._draw(figure, by, "screen", options)
        if not found:
            raise UserError(f"figure {figure} has no table; the trials are in .trials")
        return settings.frame_of_trials(found)

    def _draw(self, figure: FigureChoice, by: str | None, style: str, options: dict[str, Any]) -> tuple[Figure, Table]:
        """Return a figure and its table."""
        from ngym_cli.evaluation.service import recorder
        from ngym_cli.figures import requests
        from ngym_cli.figures.registry import find_figure

        for name in options:
            check_known("option of a figure", name, ["input", "axes"])
        spec = find_figure(figure)
        run = self.folder if self._evaluation is None else self.folder.parent.parent
        given = options.get("input", ())
        held = [str(each) for each in (given if isinstance(given, list | tuple) else [given])]
        seen = requests.view(
            [str(run)], runs.ROOT, by, None, self._evaluation, self._trust, held=held, axes=options.get("axes")
        )
        seen.recorder = recorder(runs.ROOT, self._trust, logger.info)
        return _figure(seen, spec, style), seen.table


def _figure(view: View, spec: FigureSpec, style: str) -> Figure:
    """Draw a figure of runs.

    Raises:
        UserError: if the figure cannot be drawn, with the reason.
    """
    from ngym_cli.figures import requests

    drawn = requests.drawn(view, spec, style)
    if drawn.figure is None:
        raise UserError(f"{spec.name}: {drawn.reason}")
    return drawn.figure


class Evaluation(WithFigures):
    """An evaluation of a run on fresh trials with frozen weights.

    Args:
        folder: folder of the evaluation.
        trust: accept user code named in the run's record.

    Attributes:
        folder: folder of the evaluation.
    """

    def __init__(self, folder: Path, trust: bool = False):
        self.folder, self._trust, self._evaluation = Path(folder), trust, Path(folder).name

    @property
    def name(self) -> str:
        """Name of the evaluation."""
        return self.folder.name

    @cached_property
    def summary(self) -> Summary:
        """Performance with interval, rewards, results by condition, and comparisons, as ``ngym eval --json`` prints."""
        from ngym_cli.files.reading import read_json

        found: Summary = read_json(self.folder / "summary.json")
        if (path := self.folder / "comparison.json").is_file():
            found["comparison"] = read_json(path)
        if (path := self.folder / "activity_comparison.json").is_file():
            found["activity"] = read_json(path)
        return found

    @property
    def performance(self) -> float | None:
        """Fraction of correct trials."""
        found = self.summary.get("performance")
        return None if found is None else float(found)

    @cached_property
    def trials(self) -> settings.DataTable:
        """Trials as a pandas.DataFrame, or a pyarrow.Table where pandas is not installed."""
        return settings.frame_of_trials(read_trials(self.folder / "trials.parquet"))

    def __repr__(self) -> str:
        """Return a short description."""
        performance = "" if self.performance is None else f", performance {self.performance:.3f}"
        return f"<Evaluation {self.name}: {self.summary.get('trials', 0):,} trials{performance}>"

    def _repr_html_(self) -> str:
        shown = ("trials", "performance", "performance_ci", "reward_per_trial", "chance", "blind", "ceiling")
        return settings.html(f"Evaluation {self.name}", {k: self.summary.get(k) for k in shown if k in self.summary})


@in_python_words
def compare(
    runs: Sequence[WithFigures | str | Path] | WithFigures | str | Path,
    metric: str | Sequence[str] = (),
    *,
    across: str | None = None,
    by: str | None = None,
    runs_root: str | Path = ROOT,
    trust: bool = False,
) -> Comparison:
    """Compare the dynamics and the geometry of activity, as ``ngym plot RUN RUN similarity``.

    Runs without recorded activity are recorded first.

    Args:
        runs: runs (objects, folders, names or ``latest``) and recordings in files (NWB, HDF5, npz).
        metric: names in ``neurogym.dynamics.METRICS``, as a list or separated by commas; by default four of them.
        across: ``period`` or ``layer`` to compare the parts of each run.
        by: columns that define conditions, separated by commas.
        runs_root: folder of all runs, where a run is given by name.
        trust: accept user code named in the runs' records.

    Raises:
        UserError: if a run, file, metric or column does not exist, or there is nothing to compare, with the reason.

    Example:
        >>> found = compare(["first", "second", "rat.nwb"], metric="dsa,cka", by="coh")  # doctest: +SKIP
        >>> found.table, found.plot()  # doctest: +SKIP
    """
    from ngym_cli.evaluation.service import recorder
    from ngym_cli.figures import requests

    several = runs if isinstance(runs, list | tuple) else [runs]
    words = [str(getattr(each, "path", each)) for each in several]
    names = metric if isinstance(metric, str) else ",".join(metric)
    references, asked = requests.comparison(words, names, across)
    seen = requests.view(references, Path(runs_root), by, trust=trust)
    seen.comparison, seen.recorder = asked, recorder(Path(runs_root), trust, logger.info)
    return Comparison(seen)


class Comparison:
    """Distances between runs, layers, periods and animals.

    Args:
        view: the runs with the request for a comparison.

    Raises:
        UserError: if there is nothing to compare, with the reason.
    """

    def __init__(self, view: View):
        self._view = view
        self._drawn = self._draw("screen")

    @cached_property
    def table(self) -> settings.DataTable:
        """A row for each metric and pair, as a pandas.DataFrame, or a pyarrow.Table where pandas is not installed."""
        return settings.frame_of_trials(self._view.table)

    @property
    def left_out(self) -> dict[str, str]:
        """Metrics that could not be computed, with the reason."""
        return dict(self._view.left_out)

    def plot(self, *, style: str = "screen") -> Figure:
        """Draw matrix, tree and map of each metric.

        Args:
            style: ``screen`` or ``paper``.
        """
        figure = self._drawn if style == "screen" else self._draw(style)
        if running.in_notebook():
            running.show_figures()
        return figure

    def _draw(self, style: str) -> Figure:
        from ngym_cli.figures.registry import find_figure

        return _figure(self._view, find_figure("similarity"), style)

    def __repr__(self) -> str:
        """Return a short description."""
        found = self._view.table
        names = dict.fromkeys([*found["first"], *found["second"]])
        return f"<Comparison of {', '.join(names)} by {', '.join(dict.fromkeys(found['metric']))}>"
