"""``ngym export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ngym_cli.commands import completion
from ngym_cli.commands.options import RunName, RunsFolder, TrustRecord, option, single_threaded


@single_threaded
def command(
    run: RunName = "latest",
    to: Annotated[str | None, option(autocompletion=completion.export_formats)] = None,
    out: Path | None = None,
    overwrite: bool = False,
    runs: RunsFolder = Path("runs"),
    trust: TrustRecord = False,
    json: bool = False,
) -> None:
    """Export a trained agent to Stable-Baselines3, ONNX or TorchScript.

    A fit of ngym fit is exported to CSV tables.

    Options:
        to: Format: sb3 (default), onnx or torchscript (one step of the network); of a fit csv.
        out: File to write (default: export/agent.zip, .onnx or .pt of the run).
        overwrite: Replace an existing file.
        json: Print the path of the file as JSON.
    """
    from ngym_cli import runs as room
    from ngym_cli import terminal
    from ngym_cli.agents import formats
    from ngym_cli.fitting import folder as fits

    if (fitted := fits.named(run, runs)) is not None:
        from ngym_cli.fitting import report

        to = to or "csv"
        path = report.export(fitted, to, out, overwrite)
    else:
        to = to or "sb3"
        path = formats.export(room.find(run, runs), to, out, trust, overwrite)
    terminal.print_outcome({"id": str(path), "format": to}, path, json)
