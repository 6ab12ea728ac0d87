"""Commands of the shell as functions with the same names, options, defaults and refusals."""

from __future__ import annotations

import builtins
import logging
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from ngym_cli import processes, runs, terminal
from ngym_cli.api import running, settings
from ngym_cli.api.evaluation import Evaluation
from ngym_cli.api.keywords import request_of, takes
from ngym_cli.api.references import reference_of
from ngym_cli.api.results import Figures
from ngym_cli.api.settings import DataTable
from ngym_cli.api.sweeps import Sweep
from ngym_cli.api.tables import Fit
from ngym_cli.api.trained import EVAL_COMMAND_OPTIONS, Run
from ngym_cli.commands import export as exporting
from ngym_cli.commands import plot as drawing
from ngym_cli.commands.check import CheckRequest
from ngym_cli.commands.diff import DiffRequest
from ngym_cli.commands.info import InfoRequest
from ngym_cli.commands.list import ListRequest
from ngym_cli.commands.watch import WatchRequest
from ngym_cli.errors import UserError
from ngym_cli.evaluation.request import EvalRequest
from ngym_cli.runs import managing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ngym_cli.api.options import (
        CheckOptions,
        DiffOptions,
        EvaluateOptions,
        ExportOptions,
        InfoOptions,
        ListOptions,
        PlotOptions,
        WatchOptions,
    )

logger = logging.getLogger(__name__)

#: A run, a sweep or a fit: an object, a folder, a name or ``latest``.
Result = str | Path | Run | Sweep | Fit | Evaluation


def reference(result: Result) -> str:
    """Return the folder or the name of a run, sweep or fit."""
    return str(result.folder.parent.parent if isinstance(result, Evaluation) else getattr(result, "path", result))


@overload
def evaluate(
    run: Result = "latest",
    trials: float | None = None,
    *,
    checkpoints: None = None,
    runs_root: str | Path = runs.RUNS_ROOT,
    trust: bool = False,
    **request: Unpack[EvaluateOptions],
) -> Evaluation: ...


@overload
def evaluate(
    run: Result | Sequence[Result] = "latest",
    trials: float | None = None,
    *,
    checkpoints: str | None = None,
    runs_root: str | Path = runs.RUNS_ROOT,
    trust: bool = False,
    **request: Unpack[EvaluateOptions],
) -> builtins.list[Any]: ...


@takes(EvalRequest, ("run", *EVAL_COMMAND_OPTIONS))
def evaluate(
    run: Result | Sequence[Result] = "latest",
    trials: float | None = None,
    *,
    checkpoints: str | None = None,
    runs_root: str | Path = runs.RUNS_ROOT,
    trust: bool = False,
    **request: Unpack[EvaluateOptions],
) -> Any:
    """Evaluate trained agents on fresh trials, as ``ngym eval``.

    Args:
        run: run, or several: objects, folders, names or ``latest``.
        trials: number of trials (2,000; for images 200).
        checkpoints: evaluate checkpoints: ``all``, ``best``, or numbers of steps separated by commas.
        runs_root: folder of all runs, where a run is given by name.
        trust: accept user code named in a run's record.
        **request: options of ``ngym eval``; see `Run.evaluate`.

    Returns:
        An `Evaluation`, or a list for several runs or ``checkpoints``.

    Raises:
        UserError: if something does not exist or does not fit.
    """
    read = request_of(EvalRequest, {"runs_root": runs_root, "trust": trust})
    references: Any = run if isinstance(run, builtins.list | tuple) else [run]
    results: Any = [
        Run(runs.find(str(reference(each)), read.runs_root).path, read.trust).evaluate(
            trials, checkpoints=checkpoints, **request
        )
        for each in references
    ]
    return results if references is run else results[0]


@takes(drawing.PlotRequest, ("list_figures",))
def plot(*words: Result, **request: Unpack[PlotOptions]) -> Figures:
    """Draw figures of runs, a sweep or a fit, as ``ngym plot``; files are written with ``out`` only.

    Args:
        *words: runs, a sweep, a fit or recordings in files (default: ``latest``), then names of figures (default:
            those that suit).
        **request: options of ``ngym plot``.

    Returns:
        Figures by name; a notebook shows them.

    Raises:
        UserError: if a run or a figure does not exist, or nothing can be drawn, with the reasons.

    Example:
        >>> plot("latest", "psychometric", by="context")["psychometric"]  # doctest: +SKIP
    """
    from ngym_cli.figures.files import FigureFiles

    trust = request.get("trust") or any(isinstance(word, Sweep) for word in words)
    read = request_of(drawing.PlotRequest, {**request, "words": [reference(word) for word in words], "trust": trust})
    files = FigureFiles(read.format, read.style, read.out, read.overwrite, {})
    files.check()
    rows = drawing.draw(read, files, logger.info)
    reasons = {row["id"]: str(row["reason"]) for row in rows if row["path"] is None}
    if len(reasons) == len(rows):
        raise UserError("; ".join(f"{name}: {reason}" for name, reason in reasons.items()))
    paths = {row["id"]: Path(row["path"]) for row in rows if row["path"] is not None}
    if running.in_notebook():
        running.show_figures()
    drawn = {name: (files.kept or {})[str(path)] for name, path in paths.items()}
    return Figures(drawn, reasons, paths if files.writes else {})


class Page(dict[str, Any]):
    """Description of a task, wrapper, algorithm, network, figure or paper; ``print`` shows all of it.

    The entries are those that ``ngym info --json`` prints.

    Args:
        page: the description.
    """

    def __init__(self, page: dict[str, Any]):
        from ngym_cli.catalog import pages

        super().__init__(pages.as_json(page))
        self._page = page

    def __str__(self) -> str:
        """Return the page as text."""
        from ngym_cli.catalog import terminal_pages

        with terminal.printed_text() as text:
            terminal_pages.print_page(self._page)
        return text.getvalue().rstrip()

    def __repr__(self) -> str:
        """Return kind and name in one line."""
        return f"<Page of {self.get('kind', 'task')} {self.get('id')}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


@takes(InfoRequest)
def info(name: str | type, *, seed: int = 0, **request: Unpack[InfoOptions]) -> Page:
    """Explain a task, wrapper, algorithm, network, figure or paper, as ``ngym info``.

    Args:
        name: its name, or a class of your own.
        seed: random seed of the trial shown.
        **request: options of ``ngym info``, and settings of the task.

    Raises:
        UserError: if there is nothing of that name, with the nearest.
    """
    from ngym_cli.catalog import pages

    read = request_of(InfoRequest, {"name": reference_of("task", name), "seed": seed, **request})
    return Page(pages.describe(read.name, read.settings, read.seed, read.figure, read.overwrite))


@takes(CheckRequest)
def check(*tasks: str | type, **request: Unpack[CheckOptions]) -> DataTable:
    """Check tasks, networks and other parts of your own, as ``ngym check``.

    Args:
        *tasks: names, references or classes; with ``neurogym=True`` scripts.
        **request: options of ``ngym check``.

    Returns:
        A row for each check, with ``status`` and ``problem``.

    Raises:
        UserError: if a part does not exist, or none is named.
    """
    from ngym_cli.catalog import checking, old_scripts

    names = [reference_of("task", task) for task in tasks]
    read = request_of(CheckRequest, {"tasks": names, **request})
    if read.neurogym:
        return settings.frame_of_rows(old_scripts.read_all(read.tasks))
    rows = []
    for verdict in checking.check(read.tasks, read.all):
        rows += [{"part": verdict["id"], **row} for row in verdict["checks"]]
    return settings.frame_of_rows(rows)


@takes(exporting.ExportRequest)
def export(run: Result = "latest", to: str | None = None, **request: Unpack[ExportOptions]) -> Path:
    """Export a trained agent, or a fit, to a file, as ``ngym export``.

    Args:
        run: run or fit: object, folder, name or ``latest``.
        to: sb3 (default), onnx or torchscript; of a fit csv.
        **request: options of ``ngym export``.

    Returns:
        The file.

    Raises:
        UserError: if the run or the format does not exist, or the file exists.
    """
    return exporting.export(request_of(exporting.ExportRequest, {"run": reference(run), "to": to, **request}))[0]


@takes(DiffRequest)
def diff(one: Result, other: Result, **request: Unpack[DiffOptions]) -> DataTable:
    """Return the differences in settings, versions and results of two runs, as ``ngym diff``.

    Args:
        one: run: object, folder, name or ``latest``.
        other: the other run.
        **request: options of ``ngym diff``.

    Returns:
        A row for each difference; none if the runs do not differ.

    Raises:
        UserError: if a run does not exist or is damaged.
    """
    read = request_of(DiffRequest, {"one": reference(one), "other": reference(other), **request})
    rows = managing.between(read.one, read.other, read.runs_root)
    words = [{key: None if value is None else str(value) for key, value in row.items()} for row in rows]
    return settings.frame_of_rows(words)


@takes(WatchRequest, ("steps", "pause"))
def watch(
    run: Result = "latest", trials: int = 3, *, out: str | Path | None = None, **request: Unpack[WatchOptions]
) -> Figure | Path:
    """Draw single trials of a run, as ``ngym watch``: inputs, units, policy, value, choice and reward.

    Args:
        run: run: object, folder, name or ``latest``.
        trials: number of trials.
        out: file to write: png, svg, pdf, mp4 or gif; by default none.
        **request: options of ``ngym watch``.

    Returns:
        The figure, or the file if ``out`` names one.

    Raises:
        UserError: if the run does not exist, no trial fits, or the file exists.
    """
    processes.limit_libraries()
    from ngym_cli.figures import watch as films
    from ngym_cli.figures.source import Source
    from ngym_cli.figures.style import styled
    from ngym_cli.figures.trial import conditions_wanted, record
    from ngym_cli.figures.trial_drawing import trials_figure

    arguments = {"run": reference(run), "trials": trials, "out": out, **request}
    read = request_of(WatchRequest, arguments)
    source = Source(runs.find(read.run, read.runs_root), read.trust)
    views = record(source, read.trials, read.seed, conditions_wanted(read.only), read.stochastic)
    if read.out is not None:
        return films.save(source, views, read.out, read.speed, read.overwrite)
    with styled():
        return running.shown(trials_figure(views))


@takes(ListRequest)
def list(what: str = "tasks", *search: str, **request: Unpack[ListOptions]) -> DataTable:
    """List and search tasks, wrappers, algorithms, figures and runs, as ``ngym list``.

    Args:
        what: tasks, wrappers, algs, networks, models, figures, analyses, launchers, recipes, papers, tags, runs, sweeps
            or differences (from NeuroGym's tasks).
        *search: only rows with these words.
        **request: options of ``ngym list``.

    Returns:
        A row for each entry.

    Raises:
        UserError: if there is no such listing, or it has no such filter.
    """
    from ngym_cli.catalog import listing

    read = request_of(ListRequest, {"what": what, "search": [*search], **request})
    filters = read.model_dump(exclude={"what", "search", "runs_root", "as_json"})
    _, rows = listing.rows(read.what, read.search, filters, read.runs_root)
    return settings.frame_of_rows(rows)
