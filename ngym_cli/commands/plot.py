"""``ngym plot``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import processes
from ngym_cli.config.fields import Joined, Request, Texts, options_of
from ngym_cli.errors import UserError, option

if TYPE_CHECKING:
    from ngym_cli.figures.files import FigureFiles, FigureRow
    from ngym_cli.figures.view import PlotData
    from ngym_cli.fitting.folder import FitFolder
    from ngym_cli.sweeps.folder import SweepFolder


class PlotRequest(Request):
    """Draw figures of runs and sweeps.

    By default the figures that suit the task; several runs or evaluations are overlaid.

    Examples:
        ngym plot latest
        ngym plot latest psychometric --by context --format pdf
        ngym plot sweeps/cells --by network
        ngym plot --list latest
    """

    common = ("list_figures", "by", "group_by", "evaluation", "format", "style", "out", "overwrite")

    words: list[str] = []
    list_figures: bool = False
    by: Joined = None
    group_by: str | None = None
    evaluation: Joined = None
    pair: Joined = None
    metric: Joined = None
    delays: int | None = None
    rank: int | None = None
    across: str | None = None
    input: Texts = []
    axes: Joined = None
    outside: Texts = []
    format: str = "png"
    style: str = "screen"
    out: Path | None = None
    overwrite: bool = False
    runs_root: Path = Path("runs")
    sweeps_root: Path = Path("sweeps")
    trust: bool = False
    as_json: bool = False


#: Letters of the column with the names of figures.
NAME_WIDTH = 16

#: Options of the figures of runs, sweeps and fits; those that all have are not among them.
OPTIONS = {
    "run": ("by", "group_by", "evaluation", "pair", "metric", "across", "input", "axes", "list_figures", "trust"),
    "sweep": ("by", "outside", "trust"),
    "fit": ("trust",),
}
#: Names of the options in the shell.
SPELLINGS = {each.entry: each.spelling for each in options_of(PlotRequest)}
#: Figures of runs that an option is for.
USED_BY = {
    "pair": ("history",),
    "metric": ("similarity",),
    "across": ("similarity",),
    "input": ("fixed-points", "attractors", "flow", "modes", "bifurcation"),
    "axes": ("fixed-points", "flow"),
}


def check_options(request: PlotRequest, owner: str) -> None:
    """Refuse options that the figures of a run, a sweep or a fit do not have.

    Args:
        request: the request.
        owner: ``run``, ``sweep`` or ``fit``.

    Raises:
        UserError: names the first such option.
    """
    for name in dict.fromkeys(name for options in OPTIONS.values() for name in options):
        if name not in OPTIONS[owner] and _is_given(request, name):
            owners = [f"{each}s" for each, options in OPTIONS.items() if name in options]
            raise UserError(f"{option(SPELLINGS[name])} is for figures of {' and '.join(owners)}, not of a {owner}")


def _is_given(request: PlotRequest, name: str) -> bool:
    return bool(getattr(request, name) != type(request).model_fields[name].default)


def _check_used(request: PlotRequest, view: PlotData, figures: Sequence[str]) -> None:
    """Refuse options that none of the figures uses; figures of a user may use any.

    Raises:
        UserError: names the first such option.
    """
    from ngym_cli.figures import requests
    from ngym_cli.figures.registry import FIGURES, find_figure

    for field, users in USED_BY.items():
        if _is_given(request, field):
            names = [find_figure(name).name for name in figures]
            names = names or [spec.name for spec in requests.natural_figures(view)]
            if not request.list_figures and not any(name in users or name not in FIGURES for name in names):
                raise UserError(f"{option(SPELLINGS[field])} is for {', '.join(users)}; name such a figure")


def execute(request: PlotRequest) -> None:
    """Draw figures and print their files."""
    from ngym_cli import terminal
    from ngym_cli.figures.files import FigureFiles

    files = FigureFiles(request.format, request.style, request.out, request.overwrite)
    files.check()
    tell = terminal.console(stderr=True).print
    if request.list_figures and not _owner(request):
        _print_available(request, tell)
        return
    announce = (lambda name: tell(f"drawing {name}", style="dim")) if sys.stderr.isatty() else (lambda name: None)
    rows = draw(request, files, tell, announce)
    if request.as_json:
        terminal.print_json(rows)
        return
    for row in rows:
        line = row["path"] or f"not drawn: {row['reason']}"
        line += f"\n{'':<{NAME_WIDTH}}{row['caption']}" if "caption" in row else ""
        line += "".join(
            f"\n{'':<{NAME_WIDTH}}without {label}: {reason}" for label, reason in row.get("left_out", {}).items()
        )
        terminal.console().print(f"{row['id']:<{NAME_WIDTH}}{line}", soft_wrap=True)


def _owner(request: PlotRequest) -> SweepFolder | FitFolder | None:
    """Return the sweep or the fit of the first word; None for runs."""
    from ngym_cli.fitting import folder as fits
    from ngym_cli.sweeps import folder

    first = (request.words or ["latest"])[0]
    return folder.named(first, request.sweeps_root) or fits.named(first, request.runs_root)


def draw(
    request: PlotRequest,
    files: FigureFiles,
    tell: Callable[[str], object],
    announce: Callable[[str], object] = lambda name: None,
) -> list[FigureRow]:
    """Draw figures of runs, a sweep or a fit.

    Args:
        request: the request.
        files: files of the figures.
        tell: receives a line about each recording that is made.
        announce: called with the name of each figure of runs before it is drawn.

    Raises:
        UserError: if something does not exist or does not fit, or a figure that is named cannot be drawn.
    """
    processes.limit_libraries()
    from ngym_cli.figures import requests
    from ngym_cli.fitting import figures as of_fit
    from ngym_cli.fitting.folder import FitFolder
    from ngym_cli.sweeps import figures as of_sweep
    from ngym_cli.sweeps.degeneracy import OutsideTraining

    owner = _owner(request)
    if owner is None:
        view, figures = view_of(request, tell)
        return requests.draw(view, figures, files, announce)
    check_options(request, "fit" if isinstance(owner, FitFolder) else "sweep")
    if isinstance(owner, FitFolder):
        return of_fit.draw(owner, request.words[1:], files)
    outside = OutsideTraining(request.outside, request.trust, tell)
    return of_sweep.draw(owner, request.words[1:], request.by, files, outside)


def view_of(request: PlotRequest, tell: Callable[[str], object]) -> tuple[PlotData, list[str]]:
    """Return the data for the figures of runs, and the names of the figures.

    Args:
        request: the request; recordings that figures need are made.
        tell: receives a line about each recording that is made.

    Raises:
        UserError: if something does not exist or does not fit.
    """
    from ngym_cli.evaluation.service import recorder
    from ngym_cli.figures import requests

    check_options(request, "run")
    references, figures = requests.words(request.words, request.runs_root)
    references, comparison = requests.comparison(
        references, request.metric, request.across, request.delays, request.rank
    )
    view = requests.view(
        references,
        request.runs_root,
        request.by,
        request.group_by,
        request.evaluation,
        request.trust,
        request.pair,
        request.input,
        request.axes,
    )
    view.comparison = comparison
    _check_used(request, view, figures)
    view.recorder, view.requested = recorder(request.runs_root, request.trust, tell), bool(figures)
    return view, figures


def _print_available(request: PlotRequest, tell: Callable[[str], object]) -> None:
    """Print which figures can be drawn, and why others cannot."""
    from ngym_cli import terminal
    from ngym_cli.figures import requests

    rows = requests.available(view_of(request, tell)[0])
    if request.as_json:
        terminal.print_json(rows)
        return
    for row in rows:
        mark = "drawn by default" if row["default"] else "available" if row["available"] else row["reason"]
        line = f"{row['description']}  [{mark}]" if row["available"] else f"not available: {mark}"
        terminal.console().print(f"{row['id']:<{NAME_WIDTH}}{line}", soft_wrap=True)
