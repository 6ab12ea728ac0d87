"""Live display of a run: progress, time left, and performance next to chance, blind score and ceiling."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rich.console import Console, Group

from ngym_cli.terminal import LiveView, left_in_words, progress_bars

#: Seconds of training before which the speed says little about the time left: the first steps include preparations.
WARM_UP = 2.0


def actions_in_words(deterministic: bool) -> str:
    """Return how an agent selects actions, in words."""
    return "most probable actions" if deterministic else "sampled actions"


class Display:
    """Interface of the displays of a run's progress; this one shows nothing."""

    def start(self, step: int = 0) -> None:
        """Begin, at a step."""

    def update(self, step: int, numbers: Mapping[str, object]) -> None:
        """Show the state after ``step`` steps; ``numbers`` as in ``ngym_cli.runs.summary.summarise`` and more."""

    def evaluating(self, finished: int, total: int) -> None:
        """Show the number of finished trials of an evaluation."""

    def evaluated(self, seconds: float) -> None:
        """Show training again after an evaluation of the given duration."""

    def say(self, text: str) -> None:
        """Show a line of text above the live display."""

    def stop(self) -> None:
        """End."""


class LiveDisplay(Display):
    """A bar and a line of numbers in a terminal or a notebook; plain lines now and then elsewhere.

    Args:
        console: console to draw on.
        total: steps of the whole run.
        references: performance of random choices, of the best blind and of the best possible agent, by name.
        deterministic: whether the agent takes the most probable actions in training.
    """

    def __init__(
        self, console: Console, total: int, references: Mapping[str, float | None], deterministic: bool = False
    ):
        self.actions = actions_in_words(deterministic)
        self.total = total
        self.references = dict(references)
        self._view = LiveView(console)
        self._bars = progress_bars(console)
        self._training = self._bars.add_task("training", total=total, text="")
        self._evaluation = self._bars.add_task("evaluating", visible=False, text="")
        self._picture = Group(self._bars)
        self._step = self._first = 0
        self._began = time.monotonic()
        self._evaluations = 0.0

    def start(self, step: int = 0) -> None:
        """Begin to draw, at a step."""
        self._first = self._step = step
        self._began = time.monotonic()

    def _trained(self) -> float:
        return max(time.monotonic() - self._began - self._evaluations, 1e-9)

    @property
    def speed(self) -> float:
        """Steps per second of training so far, evaluations left out."""
        return (self._step - self._first) / self._trained()

    def _left(self) -> str:
        """Return the time left in words, evaluations included; empty before an estimate is possible."""
        steps = self._step - self._first
        if not steps or self._trained() < WARM_UP:
            return ""
        return left_in_words(max(self.total - self._step, 0) * (time.monotonic() - self._began) / steps)

    def update(self, step: int, numbers: Mapping[str, object]) -> None:
        """Draw the state after ``step`` steps."""
        self._step = step
        first, *rest = self._numbers({**numbers, "steps_per_second": self.speed})
        steps, left = f"{min(step, self.total):,} of {self.total:,} steps", self._left()
        self._bars.update(self._training, completed=min(step, self.total), text=f"{steps} {left}".rstrip())
        line = f"{steps}, {left}: {', '.join([first, *rest])}" if left else ""
        self._picture = Group(self._bars, first, "   ".join(rest))
        self._view.show(self._picture, line)

    def evaluating(self, finished: int, total: int) -> None:
        """Draw the number of finished trials of an evaluation."""
        text = f"{finished:,} of {total:,} trials"
        self._bars.update(self._evaluation, completed=finished, total=total, text=text, visible=True)
        self._view.show(self._bars, f"evaluating: {text}" if self._trained() >= WARM_UP else "")

    def evaluated(self, seconds: float) -> None:
        """Draw training again."""
        self._evaluations += seconds
        self._bars.update(self._evaluation, visible=False)
        self._view.show(self._picture, force=True)

    def _numbers(self, numbers: Mapping[str, object]) -> list[str]:
        scores = {name: numbers.get(name, value) for name, value in self.references.items()}
        references = ", ".join(f"{name} {value:.3f}" for name, value in scores.items() if value is not None)
        trials = f"the last {numbers['trials']:,} trials, {self.actions}"
        stage = f"{numbers['stage']}, " if "stage" in numbers else ""
        return [
            f"{stage}performance {numbers['performance']:.3f} over {trials}"
            + (f" ({references})" if references else ""),
            f"reward per trial {numbers['reward_per_trial']:.3f}",
            f"fixation breaks {numbers['abort_rate']:.1%}",
            f"{numbers['steps_per_second']:,.0f} steps per second",
        ]

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._view.say(text)

    def stop(self) -> None:
        """Remove the bar."""
        self._view.stop()
