"""Evaluations and comparisons of runs as objects, and the figures and tables that runs and evaluations share."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurogym.analysis.trial_tables import Table
from ngym_cli import runs
from ngym_cli.api import running, settings
from ngym_cli.api.keywords import takes
from ngym_cli.api.results import Activity, DataComparison, as_image, scores_in_words
from ngym_cli.api.settings import Columns
from ngym_cli.api.wording import NearestAttribute
from ngym_cli.errors import UserError, check_known
from ngym_cli.files.reading import read_json
from ngym_cli.runs import RUNS_ROOT
from ngym_cli.runs.summary import changed_in_words
from ngym_cli.runs.trial_table import read_trials
from ngym_cli.terminal import REFERENCES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.figures.registry import FigureChoice, FigureSpec
    from ngym_cli.figures.view import PlotData
    from ngym_cli.runs.records import Summary

logger = logging.getLogger(__name__)


class WithFigures(NearestAttribute):
    """Figures of a run or an evaluation."""

    _evaluation: str | None = None
    folder: Path
    _trust: bool

    @takes()
    def plot(
        self,
        figure: FigureChoice | None = None,
        *,
        by: Columns | None = None,
        style: str = "screen",
        **options: Any,
    ) -> Figure:
        """Draw a figure.

        Args:
            figure: name of a figure (see ``figures``), a reference to one of your own, or the function itself; by
                default the comparison with a table of trials where there is one, else the most informative figure for
                the task.
            by: columns to split by, as a list or separated by commas.
            style: ``screen`` or ``paper``.
            **options: ``input`` and ``axes`` of figures of dynamics, as in ``ngym plot``; ``input`` may be a list.

        Returns:
            A ``matplotlib.figure.Figure``, which a notebook shows.

        Raises:
            UserError: if the figure does not exist or cannot be drawn, with the reason.
        """
        if figure is None:
            return self._default_plot(by, style, options)
        return running.shown(self._draw(figure, by, style, options)[0])

    def _default_plot(self, by: Columns | None, style: str, options: dict[str, Any]) -> Figure:
        """Draw the most informative figure."""
        return running.shown(self._draw(self._best_figure(), by, style, options)[0])

    @property
    def figures(self) -> settings.DataTable:
        """Every figure with a description, whether it can be drawn, and why not."""
        from ngym_cli.figures import requests

        return settings.frame_of_rows([{**row} for row in requests.available(self._view())])

    def _best_figure(self) -> str:
        """Return the name of the most informative figure."""
        from ngym_cli.figures import requests
        from ngym_cli.figures.registry import find_figure

        view = self._view(quick=True)
        names = [spec.name for spec in requests.ranked_figures(view)]
        return next((name for name in names if requests.drawn(view, find_figure(name)).figure), "learning")

    @takes()
    def table(self, figure: FigureChoice, *, by: Columns | None = None, **options: object) -> settings.DataTable:
        """Return the numbers behind a figure, such as ``fixed-points``, as a pandas.DataFrame (else a pyarrow.Table).

        Args:
            figure: name of a figure that ``ngym plot`` writes together with a Parquet file.
            by: columns to split by, as a list or separated by commas.
            **options: see `plot`.

        Raises:
            UserError: if the figure does not exist, cannot be drawn, or has no table.
        """
        _, numbers = self._draw(figure, by, "screen", options)
        if not numbers:
            raise UserError(f"figure {figure} has no table; the trials are in .trials")
        return settings.frame_of_trials(numbers)

    def _draw(
        self, figure: FigureChoice, by: Columns | None, style: str, options: dict[str, Any]
    ) -> tuple[Figure, Table]:
        """Return a figure and its table."""
        from ngym_cli.figures.registry import find_figure

        for name in options:
            check_known("option of a figure", name, ["input", "axes"])
        spec = find_figure(figure)
        view = self._view(by, **options)
        return _figure(view, spec, style), view.table

    def _view(
        self,
        by: Columns | None = None,
        quick: bool = False,
        input: Any = (),
        axes: Columns | None = None,
    ) -> PlotData:
        """Return the data for figures."""
        from ngym_cli.evaluation.service import recorder
        from ngym_cli.figures import requests

        run = self.folder if self._evaluation is None else self.folder.parent.parent
        inputs = [str(each) for each in (input if isinstance(input, list | tuple) else [input])]
        view = requests.view(
            [str(run)], runs.RUNS_ROOT, by, None, self._evaluation, self._trust, held=inputs, axes=axes
        )
        view.recorder, view.quick = recorder(runs.RUNS_ROOT, self._trust, logger.info), quick
        view.requested = True
        return view


def _figure(view: PlotData, spec: FigureSpec, style: str) -> Figure:
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
        summary_record: Summary = read_json(self.folder / "summary.json")
        if (path := self.folder / "comparison.json").is_file():
            summary_record["comparison"] = read_json(path)
        if (path := self.folder / "activity_comparison.json").is_file():
            summary_record["activity"] = read_json(path)
        return summary_record

    @property
    def performance(self) -> float | None:
        """Fraction of correct trials."""
        value = self.summary.get("performance")
        return None if value is None else float(value)

    @cached_property
    def trials(self) -> settings.DataTable:
        """Trials as a pandas.DataFrame, or a pyarrow.Table where pandas is not installed."""
        return settings.frame_of_trials(read_trials(self.folder / "trials.parquet"))

    @property
    def conditions(self) -> settings.DataTable:
        """Performance with interval, and references where known, a row for each value of each condition."""
        rows = []
        for condition in self.summary.get("conditions", ()):
            row: dict[str, Any] = dict(condition)
            row["performance_low"], row["performance_high"] = row.pop("performance_ci", None) or (None, None)
            rows.append(row)
        return settings.frame_of_rows(rows)

    @cached_property
    def activity(self) -> Activity:
        """Recorded activity as an array with the axes time, trials and units.

        Raises:
            UserError: if none was recorded (``record="activity"``).
        """
        return Activity.read(self.folder)

    @takes()
    def recording(self, name: str) -> Activity:
        """Return a recorded quantity as an array with named axes.

        Args:
            name: activity, spikes, values, logits, observations, actions or rewards.

        Raises:
            UserError: if the quantity was not recorded.
        """
        return Activity.read(self.folder, name)

    @property
    def comparison(self) -> DataComparison | None:
        """Comparison with a table of trials (``compare=...``), or None."""
        record = self.summary.get("comparison")
        return None if record is None else DataComparison(record, self.folder)

    def _default_plot(self, by: Columns | None, style: str, options: dict[str, Any]) -> Figure:
        """Draw the comparison with a table of trials, where there is one."""
        comparison = self.comparison
        return super()._default_plot(by, style, options) if comparison is None else comparison.plot(style=style)

    def __repr__(self) -> str:
        """Return trials, scores with references, and the distance from data in one line."""
        words = [changed_in_words(self.summary), f"{self.summary.get('trials', 0):,} trials"]
        words.append(scores_in_words(self.summary))
        if (comparison := self.comparison) is not None:
            distance = "unknown" if comparison.distance is None else f"{comparison.distance:.2f} standard errors"
            words.append(f"distance from {Path(comparison.record['data']).name} {distance}")
        return f"<Evaluation {self.name}: {', '.join(filter(None, words))}>"

    def _repr_html_(self) -> str:
        entries = (
            "trials",
            "performance",
            "performance_ci",
            "reward_per_trial",
            *REFERENCES,
            "fixation_break_rate",
            "early_action_rate",
        )
        page = settings.html(f"Evaluation {self.name}", {name: self.summary.get(name) for name in entries})
        comparison = self.comparison
        return page if comparison is None else page + comparison._repr_html_() + as_image(comparison.plot())


@takes()
def compare(
    runs: Sequence[WithFigures | str | Path] | WithFigures | str | Path,
    metric: str | Sequence[str] = (),
    *,
    across: str | None = None,
    delays: int | None = None,
    rank: int | None = None,
    by: Columns | None = None,
    runs_root: str | Path = RUNS_ROOT,
    trust: bool = False,
) -> Comparison:
    """Compare the dynamics and the geometry of activity, as ``ngym plot RUN RUN similarity``.

    Runs without recorded activity are recorded first.

    Args:
        runs: runs (objects, folders, names or ``latest``) and recordings in files (NWB, HDF5, npz).
        metric: names in ``neurogym.dynamics.METRICS``, as a list or separated by commas; by default four of them.
        across: ``period`` or ``layer`` to compare the parts of each run.
        delays: delays of the operators of dsa and input-dsa; by default chosen by the data.
        rank: rank of these operators; by default chosen by the data.
        by: columns that define conditions, as a list or separated by commas.
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
    references, request = requests.comparison(words, metric, across, delays, rank)
    seen = requests.view(references, Path(runs_root), by, trust=trust)
    seen.comparison, seen.recorder = request, recorder(Path(runs_root), trust, logger.info)
    return Comparison(seen)


class Comparison:
    """Distances between runs, layers, periods and animals.

    Args:
        view: the runs with the request for a comparison.

    Raises:
        UserError: if there is nothing to compare, with the reason.
    """

    def __init__(self, view: PlotData):
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
        return running.shown(figure)

    def _draw(self, style: str) -> Figure:
        from ngym_cli.figures.registry import find_figure

        return _figure(self._view, find_figure("similarity"), style)

    def __repr__(self) -> str:
        """Return a short description."""
        distances = self._view.table
        names = dict.fromkeys([*distances["first"], *distances["second"]])
        return f"<Comparison of {', '.join(names)} by {', '.join(dict.fromkeys(distances['metric']))}>"
