"""``ngym export``."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.config.fields import Request


class ExportRequest(Request):
    """Export a trained agent to Stable-Baselines3, ONNX or TorchScript.

    A fit of ngym fit is exported to CSV tables.

    Examples:
        ngym export latest --to sb3
        ngym export latest --to onnx --out agent.onnx
    """

    run: str = "latest"
    to: str | None = None
    out: Path | None = None
    overwrite: bool = False
    runs_root: Path = Path("runs")
    trust: bool = False
    as_json: bool = False


def execute(request: ExportRequest) -> None:
    """Export a trained agent or a fit, and print the file."""
    from ngym_cli import terminal

    path, to = export(request)
    terminal.print_outcome({"id": str(path), "format": to}, path, request.as_json)


def export(request: ExportRequest) -> tuple[Path, str]:
    """Export a trained agent or a fit; return the file and its format."""
    from ngym_cli import processes, runs

    processes.limit_libraries()
    from ngym_cli.agents import formats
    from ngym_cli.fitting import folder as fits

    if (fit := fits.named(request.run, request.runs_root)) is not None:
        from ngym_cli.fitting import report

        to = request.to or "csv"
        return Path(report.export(fit, to, request.out, request.overwrite)), to
    to, run = request.to or "sb3", runs.find(request.run, request.runs_root)
    return Path(formats.export(run, to, request.out, request.trust, request.overwrite)), to
