"""How far an evaluation is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time

from rich.console import Console
from rich.live import Live

from ngym_cli.terminal import bar_row, left_in_words

#: Seconds between lines where there is no terminal to draw on.
SECONDS_PER_LINE = 10.0


class EvaluationBar:
    """Shows how many trials are done and how long the rest takes; says nothing of evaluations that are soon over.

    Args:
        console: where to draw.
    """

    def __init__(self, console: Console):
        self.console = console
        self._live: Live | None = None
        self._began = self._said = 0.0
        self._done = 0

    def show(self, done: int, total: int) -> None:
        """Draw how far it is.

        Args:
            done: trials that are done.
            total: trials in all.
        """
        now = time.monotonic()
        if not self._began or done < self._done:
            self._began, self._said = now - 0.5, 0.0
        self._done = done
        seconds = (now - self._began) * (total / max(done, 1) - 1)
        text = f"{done:,} of {total:,} trials", left_in_words(seconds) if done else ""
        if self.console.is_terminal:
            if self._live is None:
                self._live = Live(console=self.console, transient=True, refresh_per_second=4)
                self._live.start()
            self._live.update(bar_row("evaluating", done, total, *text))
        elif done and now - self._said >= SECONDS_PER_LINE:
            self._said = now
            self.console.print(f"evaluating: {', '.join(text)}", soft_wrap=True)

    def stop(self) -> None:
        """Take the bar away."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._began = 0.0
