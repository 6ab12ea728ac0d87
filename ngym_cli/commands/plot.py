"""``ngym plot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ngym_cli.commands import completion
from ngym_cli.commands.options import RunsFolder, TrustRecord, option, single_threaded

if TYPE_CHECKING:
    from ngym_cli.figures.requests import AvailableFigure


@single_threaded
def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]... [FIGURE]...", autocompletion=completion.runs_and_figures),
    ] = None,
    list_: bool = False,
    by: str | None = None,
    compare: str | None = None,
    evaluation: Annotated[str | None, option("--eval")] = None,
    pair: str | None = None,
    metric: str | None = None,
    across: str | None = None,
    input_: list[str] | None = None,
    axes: str | None = None,
    outside: list[str] | None = None,
    format: str = "png",
    style: str = "screen",
    out: Path | None = None,
    overwrite: bool = False,
    runs: RunsFolder = Path("runs"),
    sweeps: Path = Path("sweeps"),
    trust: TrustRecord = False,
    json: bool = False,
) -> None:
    """Draw figures of runs and sweeps.

    By default the figures that suit the task; several runs or evaluations are overlaid.

    Options:
        words: Runs, a sweep or recordings (default: latest), then figures (default: by task) or file.py:name.
        list_: List available figures and explain unavailable ones.
        by: Columns to split by, as in coh,context; for a sweep its parameters.
        compare: Group runs by alg, network, seed, task or run.
        evaluation: Evaluations to draw (default: the latest and perturbed ones).
        pair: Two choices for the choice history, as in 1,2.
        metric: Metrics of similarity: dsa, input-dsa, procrustes, cka, rsa, svcca, angles (commas between).
        across: Compare the parts of each run in similarity: period or layer.
        input_: Input held in fixed-points, flow, modes; repeat for bifurcation. As in 0, or 0,0,1, or CHANNEL=1.
        axes: Plane of fixed-points and flow: two of pc1, output0, input0 or a channel (pc1,pc2).
        outside: Conditions outside of training for degeneracy, as in timing.delay=2000 (the longest period
            doubled).
        format: File format: png, svg or pdf.
        style: Style of the figures: screen or paper.
        out: Folder for the figures (default: that of the first run).
        overwrite: Replace figures in the folder of --out.
        sweeps: Folder of all sweeps.
        json: Print drawn or available figures as JSON.
    """
    from ngym_cli import terminal
    from ngym_cli.evaluation.requests import recorder
    from ngym_cli.figures import requests
    from ngym_cli.figures.files import FigureFiles
    from ngym_cli.fitting import folder as fits
    from ngym_cli.sweeps import folder

    files = FigureFiles(format, style, out, overwrite)
    first, *further = words or ["latest"]
    sweep = folder.named(first, sweeps)
    if sweep is not None:
        from ngym_cli.sweeps import figures as of_sweep
        from ngym_cli.sweeps.degeneracy import OutsideTraining

        elsewhere = OutsideTraining(outside or (), trust, terminal.console(stderr=True).print)
        rows = of_sweep.draw(sweep, further, by, files, elsewhere)
    elif (fitted := fits.named(first, runs)) is not None:
        from ngym_cli.fitting import figures as of_fit

        rows = of_fit.draw(fitted, further, files)
    else:
        references, figures = requests.words(words or [], runs)
        references, seen_as = requests.comparison(references, metric, across)
        seen = requests.view(references, runs, by, compare, evaluation, trust, pair, input_ or (), axes)
        seen.comparison = seen_as
        if figures or list_:
            seen.recorder = recorder(runs, trust, terminal.console(stderr=True).print)
        if list_:
            _print_available(requests.available(seen), json)
            return
        rows = requests.draw(seen, figures, files)
    if json:
        terminal.print_json(rows)
        return
    for row in rows:
        where = row["path"] or f"not drawn: {row['reason']}"
        where += "".join(f"\n{'':<14}without {label}: {why}" for label, why in row.get("left_out", {}).items())
        terminal.console().print(f"{row['id']:<14}{where}", soft_wrap=True)


def _print_available(rows: list[AvailableFigure], json: bool) -> None:
    """Print which figures can be drawn, and why others cannot."""
    from ngym_cli import terminal

    if json:
        terminal.print_json(rows)
        return
    for row in rows:
        mark = "drawn by default" if row["default"] else "available" if row["available"] else row["reason"]
        where = f"{row['description']}  [{mark}]" if row["available"] else f"not available: {mark}"
        terminal.console().print(f"{row['id']:<14}{where}", soft_wrap=True)
