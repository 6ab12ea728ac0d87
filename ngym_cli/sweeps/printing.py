"""The printed result of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from ngym_cli.sweeps import plan
from ngym_cli.sweeps.folder import Sweep
from ngym_cli.sweeps.live_table import word

#: Settings of a search that are shown, best first, and most settings of a grid.
SHOWN = 10
MOST_SETTINGS = 200

#: Failed runs whose errors are printed.
MOST_ERRORS = 10


def print_settings(out: Console, settings: Sequence[Mapping[str, Any]], search: bool) -> None:
    """Print a line for each setting; of a search, the best."""
    chosen = list(settings)
    if search:
        scored = [setting for setting in settings if setting["mean"] is not None]
        chosen = sorted(scored, key=lambda setting: -setting["mean"])[:SHOWN]
    if not chosen:
        out.print("no run is done yet")
        return
    keys = list(dict.fromkeys(key for setting in chosen for key in setting["values"]))
    shown = Table(box=None, padding=(0, 2, 0, 0))
    for name in plan.short_names(keys).values():
        shown.add_column(name)
    for name in ("runs", "mean", "95 % interval", "IQM", "95 % interval", "failed"):
        shown.add_column(name, justify="right")
    for setting in chosen[:MOST_SETTINGS]:
        shown.add_row(
            *(word(setting["values"].get(key)) for key in keys), f"{setting['n']:,}", _number(setting["mean"]),
            _range(setting["mean_ci"]), _number(setting["iqm"]), _range(setting["iqm_ci"]),
            str(setting["failed"]) if setting["failed"] else "-",
        )  # fmt: skip
    out.print(shown)
    if len(settings) > len(chosen[:MOST_SETTINGS]) and not search:
        out.print(f"and {len(settings) - MOST_SETTINGS:,} more settings", style="dim")
    if any(setting["mean_ci"] for setting in chosen):
        out.print("mean and interquartile mean of performance over seeds; bootstrap intervals", style="dim")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _range(interval: Sequence[float] | None) -> str:
    return "-" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}"


def print_errors(out: Console, rows: Sequence[Mapping[str, object]], sweep: Sweep) -> None:
    """Print why runs failed."""
    failed = [row for row in rows if row["state"] == "failed"]
    for row in failed[:MOST_ERRORS]:
        out.print(f"failed: {row['name']}: {row['error']}", style="red", soft_wrap=True)
    if failed:
        more = f"{len(failed) - MOST_ERRORS:,} more failed; " if len(failed) > MOST_ERRORS else ""
        out.print(f"{more}tracebacks are in {sweep.path / 'errors'}", soft_wrap=True)


def print_importance(out: Console, importance: Mapping[str, float]) -> None:
    """Print how much each parameter of a search decides the result."""
    if importance:
        names = plan.short_names(list(importance))
        said = ", ".join(f"{names[key]} {value:.2f}" for key, value in importance.items())
        out.print(f"importance of parameters: {said}")
