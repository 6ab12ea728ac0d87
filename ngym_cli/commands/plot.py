"""``ngym plot``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ngym_cli.commands.shell import RunsFolder, TrustRecord
from ngym_cli.config.fields import Flag, Request, Texts
from ngym_cli.errors import UserError

if TYPE_CHECKING:
    from ngym_cli.figures.requests import AvailableFigure
    from ngym_cli.figures.view import PlotData


class PlotRequest(Request):
    """Draw figures of runs and sweeps.

    By default the figures that suit the task; several runs or evaluations are overlaid.
    """

    words: Annotated[
        list[str],
        Flag(
            "Runs, a sweep or recordings (default: latest), then figures (default: by task) or file.py:name.",
            positional=True,
            metavar="[RUN]... [FIGURE]...",
            completes="runs_and_figures",
        ),
    ] = []
    list_figures: Annotated[bool, Flag("List available figures and explain unavailable ones.", names=("--list",))] = (
        False
    )
    by: Annotated[str | None, Flag("Columns to split by, as in coh,context; for a sweep its parameters.")] = None
    compare: Annotated[str | None, Flag("Group runs by alg, network, seed, task or run.", names=("--group-by",))] = None
    evaluation: Annotated[
        str | None, Flag("Evaluations to plot.", names=("--eval",), default="the latest and perturbed ones")
    ] = None
    pair: Annotated[str | None, Flag("Two choices for the choice history, as in 1,2.")] = None
    metric: Annotated[
        str | None,
        Flag(
            "Metrics of similarity: dsa, input-dsa, procrustes, cka, rsa, svcca, angles, crossnobis (commas between)."
        ),
    ] = None
    delays: Annotated[int | None, Flag("Delays of dsa and input-dsa in similarity (chosen by the data).")] = None
    rank: Annotated[int | None, Flag("Rank of the operators of dsa and input-dsa (chosen by the data).")] = None
    across: Annotated[str | None, Flag("Compare the parts of each run in similarity: period or layer.")] = None
    input: Annotated[
        Texts,
        Flag("Input held in fixed-points, flow, modes; repeat for bifurcation. As in 0, or 0,0,1, or CHANNEL=1."),
    ] = []
    axes: Annotated[
        str | None,
        Flag("Plane of fixed-points and flow: two of pc1, output0, input0 or a channel (pc1,pc2)."),
    ] = None
    outside: Annotated[
        Texts,
        Flag("Conditions outside of training for degeneracy, as in timing.delay=2000 (the longest period doubled)."),
    ] = []
    format: Annotated[str, Flag("File format: png, svg or pdf.")] = "png"
    style: Annotated[str, Flag("Style of the figures: screen or paper.")] = "screen"
    out: Annotated[Path | None, Flag("Folder for the figures.", default="folder of the first run")] = None
    overwrite: Annotated[bool, Flag("Replace files that are there.")] = False
    runs: RunsFolder = Path("runs")
    sweeps: Annotated[Path, Flag("Folder of all sweeps.")] = Path("sweeps")
    trust: TrustRecord = False
    as_json: Annotated[bool, Flag("Print drawn or available figures as JSON.", names=("--json",))] = False


#: Letters of the column with the names of figures.
NAME_WIDTH = 16

#: Options of the figures of runs, sweeps and fits; those that all have are not among them.
OPTIONS = {
    "run": ("by", "compare", "evaluation", "pair", "metric", "across", "input", "axes", "list_figures", "trust"),
    "sweep": ("by", "outside", "trust"),
    "fit": ("trust",),
}
#: Figures of runs that an option is for.
USED_BY = {
    "pair": ("history",),
    "metric": ("similarity",),
    "across": ("similarity",),
    "input": ("fixed-points", "flow", "modes", "bifurcation"),
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
            raise UserError(f"{_spelling(name)} is for figures of {' and '.join(owners)}, not of a {owner}")


def _is_given(request: PlotRequest, name: str) -> bool:
    return bool(getattr(request, name) != type(request).model_fields[name].default)


def _spelling(name: str) -> str:
    return {"list_figures": "--list", "evaluation": "--eval"}.get(name, f"--{name}")


def _check_used(request: PlotRequest, view: PlotData, figures: Sequence[str]) -> None:
    """Refuse options that none of the figures uses; figures of a user may use any.

    Raises:
        UserError: names the first such option.
    """
    from ngym_cli.figures import requests
    from ngym_cli.figures.registry import FIGURES, find_figure

    for option, users in USED_BY.items():
        if _is_given(request, option):
            names = [find_figure(name).name for name in figures]
            names = names or [spec.name for spec in requests.natural_figures(view)]
            if not request.list_figures and not any(name in users or name not in FIGURES for name in names):
                raise UserError(f"{_spelling(option)} is for {', '.join(users)}; name such a figure")


def execute(request: PlotRequest) -> None:
    """Draw figures and print their files."""
    from ngym_cli import processes, terminal

    processes.limit_libraries()
    from ngym_cli.figures import requests
    from ngym_cli.figures.files import FigureFiles
    from ngym_cli.fitting import folder as fits
    from ngym_cli.sweeps import folder

    files = FigureFiles(request.format, request.style, request.out, request.overwrite)
    files.check()
    tell = terminal.console(stderr=True).print
    first, *further = request.words or ["latest"]
    sweep = folder.named(first, request.sweeps)
    if sweep is not None:
        check_options(request, "sweep")
        from ngym_cli.sweeps import figures as of_sweep
        from ngym_cli.sweeps.degeneracy import OutsideTraining

        rows = of_sweep.draw(sweep, further, request.by, files, OutsideTraining(request.outside, request.trust, tell))
    elif (fit := fits.named(first, request.runs)) is not None:
        check_options(request, "fit")
        from ngym_cli.fitting import figures as of_fit

        rows = of_fit.draw(fit, further, files)
    else:
        view, figures = view_of(request, tell)
        if request.list_figures:
            _print_available(requests.available(view), request.as_json)
            return
        announce = (lambda name: tell(f"drawing {name}", style="dim")) if sys.stderr.isatty() else (lambda name: None)
        rows = requests.draw(view, figures, files, announce)
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
    references, figures = requests.words(request.words, request.runs)
    references, comparison = requests.comparison(
        references, request.metric, request.across, request.delays, request.rank
    )
    view = requests.view(
        references,
        request.runs,
        request.by,
        request.compare,
        request.evaluation,
        request.trust,
        request.pair,
        request.input,
        request.axes,
    )
    view.comparison = comparison
    _check_used(request, view, figures)
    view.recorder, view.requested = recorder(request.runs, request.trust, tell), bool(figures)
    return view, figures


def _print_available(rows: list[AvailableFigure], as_json: bool) -> None:
    """Print which figures can be drawn, and why others cannot."""
    from ngym_cli import terminal

    if as_json:
        terminal.print_json(rows)
        return
    for row in rows:
        mark = "drawn by default" if row["default"] else "available" if row["available"] else row["reason"]
        line = f"{row['description']}  [{mark}]" if row["available"] else f"not available: {mark}"
        terminal.console().print(f"{row['id']:<{NAME_WIDTH}}{line}", soft_wrap=True)
