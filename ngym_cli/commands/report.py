"""``ngym report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ngym_cli.commands.options import RunName, RunsFolder, TrustRecord, option


def command(
    run: RunName = "latest",
    out: Annotated[Path | None, option("File, or folder for report.html (default: folder of the run).")] = None,
    overwrite: Annotated[bool, option("Replace the file named with --out.", "--overwrite")] = False,
    figure: Annotated[
        list[str] | None, option("Also draw this figure: a name, or your own as file.py:function; repeat for several.")
    ] = None,
    runs: RunsFolder = Path("runs"),
    trust: TrustRecord = False,
    json: Annotated[bool, option("Print the path of the page as JSON.", "--json")] = False,
) -> None:
    """Write an HTML page about a run.

    The page needs no other files: figures, tables, configuration and provenance.
    """
    from ngym_cli.agents import threads

    threads.one()
    from ngym_cli import terminal
    from ngym_cli.fitting import folder as fits

    if (fitted := fits.named(run, runs)) is not None:
        from ngym_cli.fitting import report as of_fit

        path = of_fit.report(fitted, out, overwrite)
    else:
        from ngym_cli.figures import report

        path = report.report(run, runs, out, trust, overwrite, figure or ())
    terminal.print_outcome({"id": str(path)}, path, json)
