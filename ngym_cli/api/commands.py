"""Commands of the shell as functions with the same names, options, defaults and refusals."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from ngym_cli import processes, runs, terminal
from ngym_cli.api import running, settings
from ngym_cli.api.evaluation import Evaluation
from ngym_cli.api.references import reference_of
from ngym_cli.api.results import Figures
from ngym_cli.api.settings import DataTable
from ngym_cli.api.sweeps import Sweep
from ngym_cli.api.tables import Fit
from ngym_cli.api.trained import EVAL_COMMAND_OPTIONS, Run
from ngym_cli.api.wording import in_python_words
from ngym_cli.commands.check import CheckRequest
from ngym_cli.commands.diff import DiffRequest
from ngym_cli.commands.export import ExportRequest
from ngym_cli.commands.info import InfoRequest
from ngym_cli.commands.list import ListRequest
from ngym_cli.commands.plot import PlotRequest, check_options, view_of
from ngym_cli.commands.watch import WatchRequest
from ngym_cli.config.fields import Option
from ngym_cli.config.keywords import read_keywords, with_keywords
from ngym_cli.errors import UserError
from ngym_cli.evaluation.request import EvalRequest
from ngym_cli.fitting import folder as fits
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
    from ngym_cli.figures.files import FigureFiles

#: A run, a sweep or a fit: an object, a folder, a name or ``latest``.
Result = str | Path | Run | Sweep | Fit | Evaluation


def reference(result: Result) -> str:
    """Return the folder or the name of a run, sweep or fit."""
    return str(result.folder.parent.parent if isinstance(result, Evaluation) else getattr(result, "path", result))


def _written(option: Option, value: Any) -> Any:
    """Return a value in the form of a request: parts as references, sequences as texts with commas."""
    if option.table:
        return settings.plain(option, value)
    if option.entry == "where" and isinstance(value, Mapping):
        value = [f"{column}={settings.simple(entry)}" for column, entry in value.items()]
    if option.kind == "word" and isinstance(value, builtins.list | tuple):
        return ",".join(map(str, value))
    return value


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


@in_python_words
@with_keywords(EvalRequest, ("run", *EVAL_COMMAND_OPTIONS))
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
    references: Any = run if isinstance(run, builtins.list | tuple) else [run]
    results: Any = [
        Run(runs.find(str(reference(each)), Path(runs_root)).path, trust).evaluate(
            trials, checkpoints=checkpoints, **request
        )
        for each in references
    ]
    return results if references is run else results[0]


@in_python_words
@with_keywords(PlotRequest, ("words", "list_figures", "as_json"))
def plot(*words: Result, overwrite: bool = False, **request: Unpack[PlotOptions]) -> Figures:
    """Draw figures of runs, a sweep or a fit, as ``ngym plot``; files are written with ``out`` only.

    Args:
        *words: runs, a sweep, a fit or recordings in files (default: ``latest``), then names of figures (default:
            those that suit).
        overwrite: replace figures in the folder ``out``.
        **request: options of ``ngym plot``.

    Returns:
        Figures by name; a notebook shows them.

    Raises:
        UserError: if a run or a figure does not exist, or nothing can be drawn, with the reasons.

    Example:
        >>> plot("latest", "psychometric", by="context")["psychometric"]  # doctest: +SKIP
    """
    from ngym_cli.figures.files import FigureFiles
    from ngym_cli.sweeps import folder

    processes.limit_libraries()
    references = [reference(word) for word in words] or [runs.LATEST]
    read = read_keywords(PlotRequest, {"words": references, "overwrite": overwrite, **request}, convert=_written)
    files = FigureFiles(read.format, read.style, read.out, read.overwrite)
    first, *names = references
    if (sweep := folder.named(first, read.sweeps)) is not None:
        check_options(read, "sweep")
        from ngym_cli.sweeps.figures import FIGURE_NAMES

        sweep_result = Sweep(sweep.path)
        drawers = {
            name: lambda name=name: sweep_result.plot(name, by=read.by, style=read.style, outside=read.outside)
            for name in names or FIGURE_NAMES
        }
        return _collected(drawers, sweep.path, files, required=bool(names))
    if (fit := fits.named(first, read.runs)) is not None:
        check_options(read, "fit")
        from ngym_cli.fitting.figures import FIT_FIGURES

        fit_result = Fit(fit.path)
        drawers = {name: lambda name=name: fit_result.plot(name) for name in names or FIT_FIGURES}
        return _collected(drawers, fit.path, files, required=bool(names))
    return _figures_of_runs(read, files)


def _collected(drawers: Mapping[str, Any], owner: Path, files: FigureFiles, required: bool) -> Figures:
    """Draw figures; those that cannot be drawn are left out with the reason, unless they were named."""
    places = _places(files, owner, builtins.list(drawers))
    drawn: dict[str, Figure] = {}
    reasons: dict[str, str] = {}
    for name, drawer in drawers.items():
        try:
            drawn[name] = drawer()
        except UserError as error:
            if required:
                raise
            reasons[name] = str(error).removeprefix(f"{name}: ")
    return _saved(Figures(drawn, reasons), places, {}, files)


def _figures_of_runs(request: PlotRequest, files: FigureFiles) -> Figures:
    """Draw figures of runs."""
    from ngym_cli.figures import requests
    from ngym_cli.figures.registry import find_figure

    view, names = view_of(request, lambda text: None)
    specs = [find_figure(name) for name in names] or requests.natural_figures(view)
    names_of_files = {f"{spec.name}{requests.suffix(view)}": spec.name for spec in specs}
    places = _places(files, view.first.run.path, builtins.list(names_of_files))
    drawn: dict[str, Figure] = {}
    reasons: dict[str, str] = {}
    tables: dict[str, Any] = {}
    for spec in specs:
        result = requests.drawn(view, spec, files.style)
        if result.figure is None:
            reasons[spec.name] = str(result.reason)
        else:
            drawn[spec.name], tables[spec.name] = result.figure, view.table
    if not drawn and reasons:
        raise UserError("; ".join(f"{name}: {reason}" for name, reason in reasons.items()))
    paths = {names_of_files[name]: path for name, path in places.items()}
    return _saved(Figures(drawn, reasons), paths, tables, files)


def _places(files: FigureFiles, owner: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return the files of figures by name; none if the user names no folder, for then no file is written."""
    files.check()
    return dict(zip(names, files.places(owner, names), strict=True)) if files.out is not None else {}


def _saved(figures: Figures, paths: Mapping[str, Path], tables: Mapping[str, Any], files: FigureFiles) -> Figures:
    """Write figures if the user names a folder, and return them."""
    from ngym_cli.figures.files import save_with_table

    if running.in_notebook():
        running.show_figures()
    if files.out is None:
        return figures
    for name, figure in figures.items():
        save_with_table(figure, tables.get(name, {}), files, paths[name])
    return Figures(figures.drawn, figures.reasons, {name: paths[name] for name in figures})


class Page(Mapping[str, Any]):
    """Description of a task, wrapper, algorithm, network, figure or paper; ``print`` shows all of it.

    Args:
        page: the description.
    """

    def __init__(self, page: dict[str, Any]):
        from ngym_cli.catalog import pages

        self._page, self._data = page, pages.as_json(page)

    def __getitem__(self, key: str) -> Any:
        """Return an entry of the description, as ``ngym info --json`` prints."""
        return self._data[key]

    def __iter__(self) -> Any:
        """Iterate over the names of the entries."""
        return iter(self._data)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self._data)

    def __str__(self) -> str:
        """Return the page as text."""
        from ngym_cli.catalog import terminal_pages

        with terminal.printed_text() as text:
            terminal_pages.print_page(self._page)
        return text.getvalue().rstrip()

    def __repr__(self) -> str:
        """Return kind and name in one line."""
        return f"<Page of {self._data.get('kind', 'task')} {self._data.get('id')}>"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


@in_python_words
@with_keywords(InfoRequest)
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

    part = reference_of("task", name)
    read = read_keywords(InfoRequest, {"name": part, "seed": seed, **request}, convert=_written)
    return Page(pages.describe(read.name, read.settings, read.seed, read.figure, read.overwrite))


@in_python_words
@with_keywords(CheckRequest)
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
    from ngym_cli.catalog import checking

    names = [reference_of("task", task) for task in tasks]
    read = read_keywords(CheckRequest, {"tasks": names, **request})
    if read.neurogym:
        return settings.frame_of_rows(checking.read_all(read.tasks))
    rows = []
    for verdict in checking.check(read.tasks, read.all):
        rows += [{"part": verdict["id"], **row} for row in verdict["checks"]]
    return settings.frame_of_rows(rows)


@in_python_words
@with_keywords(ExportRequest)
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
    processes.limit_libraries()
    from ngym_cli.agents import formats

    read = read_keywords(ExportRequest, {"run": reference(run), "to": to, **request})
    if (fit := fits.named(read.run, read.runs)) is not None:
        from ngym_cli.fitting import report

        return Path(report.export(fit, read.to or "csv", read.out, read.overwrite))
    result = runs.find(read.run, read.runs)
    return Path(formats.export(result, read.to or "sb3", read.out, read.trust, read.overwrite))


@in_python_words
@with_keywords(DiffRequest)
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
    read = read_keywords(DiffRequest, {"one": reference(one), "other": reference(other), **request})
    rows = managing.between(read.one, read.other, read.runs)
    words = [{key: None if value is None else str(value) for key, value in row.items()} for row in rows]
    return settings.frame_of_rows(words)


@in_python_words
@with_keywords(WatchRequest, ("steps", "pause"))
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
    from ngym_cli.figures import watch as drawing
    from ngym_cli.figures.source import Source
    from ngym_cli.figures.style import styled
    from ngym_cli.figures.trial import conditions_wanted, record
    from ngym_cli.figures.trial_drawing import trials_figure

    arguments = {"run": reference(run), "trials": trials, "out": out, **request}
    read = read_keywords(WatchRequest, arguments, convert=_written)
    source = Source(runs.find(read.run, read.runs), read.trust)
    views = record(source, read.trials, read.seed, conditions_wanted(read.where), read.stochastic)
    if read.out is not None:
        return drawing.save(source, views, read.out, read.speed, read.overwrite)
    with styled():
        return running.shown(trials_figure(views))


@in_python_words
@with_keywords(ListRequest)
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

    read = read_keywords(ListRequest, {"what": what, "search": [*search], **request})
    filters = read.model_dump(exclude={"what", "search", "runs", "as_json"})
    _, rows = listing.rows(read.what, read.search, filters, read.runs)
    return settings.frame_of_rows(rows)
