"""Tables of a sweep in the terminal: the live table of runs, and the printed result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from neurogym.analysis.results import Estimate
from ngym_cli.sweeps import plan, results, status
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.recipe import Recipe
from ngym_cli.sweeps.results import SettingRow, SweepDocument
from ngym_cli.sweeps.status import RunRow, StatusReader
from ngym_cli.sweeps.validation import Forecast
from ngym_cli.terminal import LiveView, estimate_cells, in_words, plain_table, quoted

#: Pause between two readings of all runs, in multiples of the reading time, to leave shared disks to the runs.
PAUSE_PER_READING = 20.0

#: Most rows of the picture; running and failed runs come first.
MAX_PICTURE_ROWS = 20
_ORDER = ("running", "failed", "interrupted", "done", "pruned", "queued")
_STATE_STYLES = {"running": "bold", "failed": "red", "interrupted": "yellow", "queued": "dim"}


class LiveTable:
    """Live table of the progress of a sweep.

    Args:
        observer: looks at it.
        console: console to draw on.
        workers: number of parallel runs, from which the time left is estimated.
    """

    def __init__(self, observer: StatusReader, console: Console, workers: int):
        self.observer, self.workers = observer, workers
        self._view = LiveView(console, transient=False)
        self._shortest_pause = self._view.pause

    def __enter__(self) -> LiveTable:
        """Begin to draw."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the last picture."""
        self.look(force=True)
        self._view.stop()

    def look(self, force: bool = False) -> None:
        """Redraw the table if enough time has passed."""
        if not (force or self._view.is_due()):
            return
        before = time.monotonic()
        rows = self.observer.rows()
        self._view.pause = max(self._shortest_pause, PAUSE_PER_READING * (time.monotonic() - before))
        table = picture(rows, self.observer.sweep.recipe.swept(), self.workers)
        self._view.show(table, headline(rows, self.workers), force=True)


def headline(rows: Sequence[RunRow], workers: int) -> str:
    """Return the state of a sweep as a single line."""
    state_counts = {
        state: count for state, count in status.counts(rows).items() if count or state in ("done", "running")
    }
    text = ", ".join(f"{count:,} {state}" for state, count in state_counts.items()) + f" of {len(rows):,} runs"
    left = status.time_left(rows, workers)
    unfinished = any(row["state"] in ("queued", "running", "interrupted") for row in rows)
    return text + (f", about {in_words(left)} left" if left is not None and unfinished else "")


def picture(rows: Sequence[RunRow], keys: Sequence[str], workers: int = 1) -> Group:
    """Return the headline and the table of the runs that matter most; arguments as of ``table`` and ``headline``."""
    chosen = sorted(rows, key=lambda row: _ORDER.index(row["state"]))[:MAX_PICTURE_ROWS]
    lines: list[RenderableType] = [table(sorted(chosen, key=lambda row: row["name"]), keys)]
    if len(rows) > len(chosen):
        lines.append(Text(f"and {len(rows) - len(chosen):,} more", style="dim"))
    return Group(*lines, Text(headline(rows, workers)))


def table(rows: Sequence[RunRow], keys: Sequence[str]) -> Table:
    """Return a table with a line for each run.

    Args:
        rows: states of the runs.
        keys: parameters that differ between runs; without any, as for the networks of a paper, names tell runs apart.
    """
    numbers = ("performance", "steps", "time left")
    rich_table = plain_table(["run", *plan.short_names(list(keys)).values(), "state", *numbers, ""], numbers)
    for row in rows:
        performance, left, total = row["performance"], row["left"], row["timesteps"]
        rich_table.add_row(
            row["name"].partition("-")[0] if keys else row["name"],
            *(word(row["values"].get(key)) for key in keys),
            row["state"],
            "-" if performance is None else f"{performance:.3f}",
            f"{row['steps']:,}" + (f" of {total:,}" if total and row["state"] == "running" else ""),
            "-" if left is None else in_words(left),
            (row["error"] or "")[:100],
            style=_STATE_STYLES.get(row["state"], ""),
        )
    return rich_table


def word(value: object) -> str:
    """Return the value of a parameter as text."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value) or "none"


#: Runs of a plan that are printed one by one.
MOST_PLANNED = 200


def print_plan(out: Console, recipe: Recipe, forecast: Forecast) -> None:
    """Print the runs of a sweep and the expected duration."""
    for entry in forecast.entries[:MOST_PLANNED]:
        out.print("  " + entry.name, soft_wrap=True)
    if len(forecast.entries) > MOST_PLANNED:
        out.print(f"  and {len(forecast.entries) - MOST_PLANNED:,} more")
    if recipe.search is not None:
        drawn = ", ".join(f"{key} {kind}" for key, kind in recipe.search.space.items())
        out.print(f"drawn for each trial: {drawn}", soft_wrap=True)
    out.print(
        f"{len(forecast.entries):,} runs of {forecast.steps:,.0f} steps on average: "
        f"about {in_words(forecast.core_seconds)} of one core, {in_words(forecast.seconds)} with "
        f"{forecast.workers} at a time (from speeds measured on this machine)",
        soft_wrap=True,
    )


def print_progress(out: Console, sweep: SweepFolder, rows: list[RunRow], settings: Sequence[SettingRow]) -> None:
    """Print the state of all runs, and the results so far."""
    out.print(f"{sweep.path}", soft_wrap=True)
    out.print(picture(rows, sweep.recipe.swept()))
    if any(setting["n"] for setting in settings):
        out.print()
        print_settings(out, settings, sweep.recipe.search is not None)


def print_result(out: Console, sweep: SweepFolder, document: SweepDocument) -> None:
    """Print the results of a sweep: settings, importance of parameters, and errors."""
    print_settings(out, document["settings"], sweep.recipe.search is not None)
    print_importance(out, document["importance"])
    print_best(out, document["best"], len(document["settings"]))
    print_errors(out, document["runs"], sweep)
    out.print(f"{sweep.path / results.SUMMARY_FILE}; next: {quoted('ngym', 'plot', sweep.path)}", soft_wrap=True)


#: Settings of a search that are shown, best first, and most settings of a grid.
MAX_SETTINGS = 10
MOST_SETTINGS = 200

#: Failed runs whose errors are printed.
MOST_ERRORS = 10


def print_settings(out: Console, settings: Sequence[SettingRow], search: bool) -> None:
    """Print a line for each setting; of a search, the best."""
    chosen = list(settings)
    if search:
        scored = [(setting["mean"], setting) for setting in settings if setting["mean"] is not None]
        chosen = [setting for _, setting in sorted(scored, key=lambda pair: -pair[0])][:MAX_SETTINGS]
    if not chosen:
        out.print("no run is done yet")
        return
    keys = list(dict.fromkeys(key for setting in chosen for key in setting["values"]))
    numbers = ("runs", "mean", "95 % interval", "from the best", "95 % interval, paired", "failed")
    rich_table = plain_table([*plan.short_names(keys).values(), *numbers], numbers)
    for setting in chosen[:MOST_SETTINGS]:
        rich_table.add_row(
            *(word(setting["values"].get(key)) for key in keys),
            f"{setting['n']:,}",
            *_cells(setting["mean"], setting["mean_ci"]),
            *(_cells(setting["difference"], setting["difference_ci"]) if setting["difference"] else ("best", "")),
            str(setting["failed"]) if setting["failed"] else "-",
        )
    out.print(rich_table)
    if len(settings) > len(chosen[:MOST_SETTINGS]) and not search:
        out.print(f"and {len(settings) - MOST_SETTINGS:,} more settings", style="dim")
    if any(setting["mean_ci"] for setting in chosen):
        out.print("mean performance over seeds, and difference from the best setting with the same seeds", style="dim")


def _cells(mean: float | None, interval: Sequence[float] | None) -> tuple[str, str]:
    return ("-", "-") if mean is None else estimate_cells(Estimate(mean, *(interval or ())))


def print_errors(out: Console, rows: Sequence[Mapping[str, object]], sweep: SweepFolder) -> None:
    """Print why runs failed."""
    failed = [row for row in rows if row["state"] == "failed"]
    for row in failed[:MOST_ERRORS]:
        out.print(f"failed: {row['name']}: {row['error']}", style="red", soft_wrap=True)
    if failed:
        more = f"{len(failed) - MOST_ERRORS:,} more failed; " if len(failed) > MOST_ERRORS else ""
        out.print(f"{more}tracebacks are in {sweep.path / 'errors'}", soft_wrap=True)


def print_best(out: Console, best: results.BestSetting | None, n_settings: int) -> None:
    """Print the best of several settings with the command that trains with it."""
    if best is None or n_settings < 2:
        return
    names = plan.short_names(list(best["values"]))
    text = ", ".join(f"{names[key]}={word(value)}" for key, value in best["values"].items())
    command = quoted("ngym", "run", "--config", best["config"])
    out.print(f"best setting: {text} ({best['mean']:.4f}; {best['spread']}); {command}", soft_wrap=True)


def print_importance(out: Console, importance: Mapping[str, float]) -> None:
    """Print the importance of each parameter of a search."""
    if importance:
        names = plan.short_names(list(importance))
        text = ", ".join(f"{names[key]} {value:.2f}" for key, value in importance.items())
        out.print(f"importance of parameters: {text}")
