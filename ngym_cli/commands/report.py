"""``ngym report``."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.config.fields import Request, Texts


class ReportRequest(Request):
    """Write an HTML page about a run, a fit or a sweep.

    The page needs no other files: figures, tables, configuration and provenance.

    Examples:
        ngym report latest
        ngym report latest --out page.html
    """

    run: str = "latest"
    out: Path | None = None
    overwrite: bool = False
    figure: Texts = []
    runs_root: Path = Path("runs")
    sweeps_root: Path = Path("sweeps")
    trust: bool = False
    as_json: bool = False


def execute(request: ReportRequest) -> None:
    """Write the page of a run, a fit or a sweep."""
    from ngym_cli import processes, terminal

    processes.limit_libraries()
    from ngym_cli.fitting import folder as fits
    from ngym_cli.sweeps import folder as sweeps

    if (sweep := sweeps.named(request.run, request.sweeps_root)) is not None:
        from ngym_cli.sweeps import report as of_sweep

        path = of_sweep.report(sweep, request.out, request.overwrite)
    elif (fit := fits.named(request.run, request.runs_root)) is not None:
        from ngym_cli.fitting import report as of_fit

        path = of_fit.report(fit, request.out, request.overwrite)
    else:
        from ngym_cli.figures import report

        path = report.report(
            request.run, request.runs_root, request.out, request.trust, request.overwrite, request.figure
        )
    terminal.print_outcome({"id": str(path)}, path, request.as_json)
