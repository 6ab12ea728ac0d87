"""``ngym report``."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.commands.options import RunName, RunsFolder, TrustRecord, single_threaded


@single_threaded
def command(
    run: RunName = "latest",
    out: Path | None = None,
    overwrite: bool = False,
    figure: list[str] | None = None,
    runs: RunsFolder = Path("runs"),
    trust: TrustRecord = False,
    json: bool = False,
) -> None:
    """Write an HTML page about a run.

    The page needs no other files: figures, tables, configuration and provenance.

    Options:
        out: File, or folder for report.html (default: folder of the run).
        overwrite: Replace the file named with --out.
        figure: Also draw this figure: a name, or your own as file.py:function; repeat for several.
        json: Print the path of the page as JSON.
    """
    from ngym_cli import terminal
    from ngym_cli.fitting import folder as fits

    if (fitted := fits.named(run, runs)) is not None:
        from ngym_cli.fitting import report as of_fit

        path = of_fit.report(fitted, out, overwrite)
    else:
        from ngym_cli.figures import report

        path = report.report(run, runs, out, trust, overwrite, figure or ())
    terminal.print_outcome({"id": str(path)}, path, json)
