"""The live display of a run: how far, how long still, and how well, beside chance, blind score and ceiling."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console, Group
from rich.live import Live

from ngym_cli.terminal import bar_row, left_in_words

#: Seconds between lines where there is no terminal to draw on.
SECONDS_PER_LINE = 10.0


class Display:
    """What a run tells about its progress; each kind shows what it can."""

    def start(self, step: int = 0) -> None:
        """Begin, at a step."""

    def update(self, step: int, numbers: Mapping[str, object]) -> None:
        """Show the state after ``step`` steps; ``numbers`` as in ``ngym_cli.runs.summary.summarise`` and more."""

    def evaluating(self, done: int, total: int) -> None:
        """Show how many trials of an evaluation are done."""

    def evaluated(self, seconds: float) -> None:
        """Show training again; the evaluation took so long."""

    def say(self, text: str) -> None:
        """Say one line without disturbing the rest."""

    def stop(self) -> None:
        """End."""


class Silent(Display):
    """Says nothing."""


class LiveDisplay(Display):
    """A bar and a line of numbers on a terminal; plain lines now and then where there is none.

    What cannot be shown (the terminal was closed, the disk that a log goes to is full) is not shown; the run goes on.

    Args:
        console: where to draw.
        total: steps of the whole run.
        references: performance of random choices, of the best blind and of the best possible agent, by name.
        actions: how the actions of training are chosen, in words.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        references: Mapping[str, float | None],
        actions: str = "sampled actions",
    ):
        self.actions = actions
        self.console = console
        self.total = total
        self.references = dict(references)
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._step = self._first = 0
        self._began = time.monotonic()
        self._evaluations = 0.0
        self._last_line = 0.0
        self._lines: list[str] = []

    def start(self, step: int = 0) -> None:
        """Begin to draw, at a step."""
        self._first = self._step = step
        self._began = time.monotonic()
        with contextlib.suppress(OSError):
            if self._live:
                self._live.start()

    @property
    def speed(self) -> float:
        """Steps per second of training so far, evaluations left out."""
        seconds = time.monotonic() - self._began - self._evaluations
        return (self._step - self._first) / max(seconds, 1e-9)

    def _left(self) -> str:
        return left_in_words((self.total - min(self._step, self.total)) / self.speed) if self.speed else ""

    def update(self, step: int, numbers: Mapping[str, object]) -> None:
        """Draw the state after ``step`` steps."""
        self._step = step
        with contextlib.suppress(OSError):
            self._show(step, {**numbers, "steps_per_second": self.speed})

    def _show(self, step: int, numbers: Mapping[str, object]) -> None:
        if self._live:
            first, *rest = self._numbers(numbers)
            self._lines = [first, "   ".join(rest)]
            self._draw()
        elif not self._last_line:
            self._last_line = time.monotonic()
            self.console.print(f"{self.total:,} steps at {self.speed:,.0f} per second: {self._left()}", soft_wrap=True)
        elif time.monotonic() - self._last_line >= SECONDS_PER_LINE:
            self._last_line = time.monotonic()
            parts = ", ".join(self._numbers(numbers))
            self.console.print(f"{step:,} of {self.total:,} steps, {self._left()}: {parts}", soft_wrap=True)

    def _draw(self, *rows: Any) -> None:
        if self._live:
            steps = f"{min(self._step, self.total):,} of {self.total:,} steps"
            self._live.update(
                Group(bar_row("training", self._step, self.total, steps, self._left()), *self._lines, *rows)
            )

    def evaluating(self, done: int, total: int) -> None:
        """Draw how many trials of an evaluation are done."""
        text = f"{done:,} of {total:,} trials"
        with contextlib.suppress(OSError):
            if self._live:
                self._draw(bar_row("evaluating", done, total, text))
            elif time.monotonic() - self._last_line >= SECONDS_PER_LINE:
                self._last_line = time.monotonic()
                self.console.print(f"evaluating: {text}", soft_wrap=True)

    def evaluated(self, seconds: float) -> None:
        """Draw training again."""
        self._evaluations += seconds
        with contextlib.suppress(OSError):
            self._draw()

    def _numbers(self, numbers: Mapping[str, object]) -> list[str]:
        known = {name: numbers.get(name, value) for name, value in self.references.items()}
        beside = ", ".join(f"{name} {value:.3f}" for name, value in known.items() if value is not None)
        performance = (
            f"performance {numbers['performance']:.3f} over the last {numbers['trials']:,} trials, {self.actions}"
        )
        return [
            (f"{numbers['stage']}, " if "stage" in numbers else "") + performance + (f" ({beside})" if beside else ""),
            f"reward per trial {numbers['reward_per_trial']:.3f}",
            f"fixation breaks {numbers['abort_rate']:.1%}",
            f"{numbers['steps_per_second']:,.0f} steps per second",
        ]

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        with contextlib.suppress(OSError):
            self.console.print(text, soft_wrap=not self.console.is_terminal)  # a terminal would break words

    def stop(self) -> None:
        """Take the bar away."""
        with contextlib.suppress(OSError):
            if self._live:
                self._live.stop()
