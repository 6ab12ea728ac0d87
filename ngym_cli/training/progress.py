"""The live display of a run: how far, how long still, and how well, beside chance, blind score and ceiling."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

#: Seconds between lines where there is no terminal to draw on.
SECONDS_PER_LINE = 10.0


class Display(Protocol):
    """What a run tells about its progress."""

    def start(self) -> None:
        """Begin."""

    def update(self, step: int, numbers: Mapping[str, Any]) -> None:
        """Show the state after ``step`` steps; ``numbers`` as in ``ngym_cli.runs.summary.summarise`` and more."""

    def say(self, text: str) -> None:
        """Say one line without disturbing the rest."""

    def stop(self) -> None:
        """End."""


class Silent:
    """Says nothing."""

    def start(self) -> None:
        """Say nothing."""

    def update(self, step: int, numbers: Mapping[str, Any]) -> None:
        """Say nothing."""

    def say(self, text: str) -> None:
        """Say nothing."""

    def stop(self) -> None:
        """Say nothing."""


class LiveDisplay:
    """A bar and a line of numbers on a terminal; plain lines now and then where there is none.

    What cannot be shown (the terminal was closed, the disk that a log goes to is full) is not shown; the run goes on.

    Args:
        console: where to draw.
        total: steps of the whole run.
        references: performance of random choices, of the best blind and of the best possible agent, by name.
    """

    def __init__(self, console: Console, total: int, references: Mapping[str, float | None]):
        self.console = console
        self.total = total
        self.references = dict(references)
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("steps"),
            TimeRemainingColumn(),
            console=console,
            expand=True,
        )
        self._task = self._bar.add_task("training", total=total)
        self._live = Live(self._bar, console=console, refresh_per_second=4) if console.is_terminal else None
        self._last_line = 0.0
        self._began = time.monotonic()

    def start(self) -> None:
        """Begin to draw."""
        self._began = self._last_line = time.monotonic()
        with contextlib.suppress(OSError):
            if self._live:
                self._live.start()

    def update(self, step: int, numbers: Mapping[str, Any]) -> None:
        """Draw the state after ``step`` steps."""
        with contextlib.suppress(OSError):
            self._show(step, numbers)

    def _show(self, step: int, numbers: Mapping[str, Any]) -> None:
        self._bar.update(self._task, completed=min(step, self.total))
        if self._live:
            self._live.update(self._picture(numbers))
        elif time.monotonic() - self._last_line >= SECONDS_PER_LINE:
            self._last_line = time.monotonic()
            left = (self._last_line - self._began) * (self.total / max(step, 1) - 1)
            parts = ", ".join(self._numbers(numbers))
            self.console.print(f"{step:,} of {self.total:,} steps, {left:.0f} s left: {parts}", soft_wrap=True)

    def _picture(self, numbers: Mapping[str, Any]) -> Table:
        first, *rest = self._numbers(numbers)
        grid = Table.grid(expand=True)
        for row in (self._bar, first, "   ".join(rest)):
            grid.add_row(row)
        return grid

    def _numbers(self, numbers: Mapping[str, Any]) -> list[str]:
        known = {name: numbers.get(name, value) for name, value in self.references.items()}
        beside = ", ".join(f"{name} {value:.3f}" for name, value in known.items() if value is not None)
        performance = f"performance {numbers['performance']:.3f} over the last {numbers['trials']:,} trials"
        return [
            (f"{numbers['stage']}, " if "stage" in numbers else "") + performance + (f" ({beside})" if beside else ""),
            f"reward per trial {numbers['reward_per_trial']:.3f}",
            f"aborts {numbers['abort_rate']:.1%}",
            f"{numbers['steps_per_second']:,.0f} steps per second",
        ]

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        with contextlib.suppress(OSError):
            self.console.print(text, soft_wrap=True)

    def stop(self) -> None:
        """Leave the last picture on the screen."""
        with contextlib.suppress(OSError):
            if self._live:
                self._live.stop()
