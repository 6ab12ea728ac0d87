"""Comparison of runs and recordings as an object: the distances as a table, and the figure."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli.api import running, settings
from ngym_cli.errors import UserError
from ngym_cli.runs import ROOT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.api.trained import Run
    from ngym_cli.figures.view import View

logger = logging.getLogger(__name__)


def compare(
    runs: Sequence[Run | str | Path] | Run | str | Path,
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
    from ngym_cli.evaluation.requests import recorder
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
    def table(self) -> Any:
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
        from ngym_cli.figures import requests
        from ngym_cli.figures.registry import find_figure

        drawn = requests.drawn(self._view, find_figure("similarity"), style)
        if drawn.figure is None:
            raise UserError(f"similarity: {drawn.reason}")
        return drawn.figure

    def __repr__(self) -> str:
        """Return a short description."""
        found = self._view.table
        names = dict.fromkeys([*found["first"], *found["second"]])
        return f"<Comparison of {', '.join(names)} by {', '.join(dict.fromkeys(found['metric']))}>"
