"""Runs from a request, followed by a reporter: in the shell, in a program and in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ngym_cli import processes, terminal
from ngym_cli.agents import checkpoints, per_task
from ngym_cli.agents.algorithms import find_algorithm
from ngym_cli.agents.defaults import rounding
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.config.model import ResolvedConfig, RunConfig
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.evaluation import summary_text
from ngym_cli.runs import managing
from ngym_cli.runs.records import Summary
from ngym_cli.runs.summary import performance_of
from ngym_cli.training import timing
from ngym_cli.training.progress import Display, LiveDisplay, advance_notice, advice
from ngym_cli.training.request import RunRequest

if TYPE_CHECKING:
    from stable_baselines3.common.callbacks import BaseCallback

    from ngym_cli.training.main_loop import Hooks, RunResult


#: Exit code of an interrupted run.
INTERRUPTED = 130


class Reporter:
    """Reporter of a run: a live display, and advice at the end.

    Args:
        console: console of the display.
        is_live: whether there is a display.

    Attributes:
        requested: configuration before defaults are spelled out; None for a resumed run.
    """

    def __init__(self, console: Console, is_live: bool = True):
        self.console, self.is_live = console, is_live
        self.requested: RunConfig | None = None
        self._setting: tuple[ResolvedConfig, TaskProperties] | None = None

    def announce(self, resolved: ResolvedConfig, properties: TaskProperties) -> None:
        """Note what is trained, before torch is imported."""
        self._setting = resolved, properties
        processes.limit_torch()

    def display(self, resolved: ResolvedConfig, properties: TaskProperties, path: Path) -> Display:
        """Return the display of the progress."""
        if not self.is_live:
            return Display()
        supervised, seconds = find_algorithm(resolved.alg).supervised, self.seconds(resolved, properties)
        return LiveDisplay(self.console, resolved.timesteps, properties.references, supervised, seconds)

    def seconds(self, resolved: ResolvedConfig, properties: TaskProperties) -> float | None:
        """Return the expected seconds of the run by arithmetic, or as measured for this line; None if unknown."""
        seconds = timing.expected(resolved, properties)
        if seconds is None:
            seconds = per_task.measured_seconds(self.requested or resolved, properties.id, resolved.timesteps)
        return seconds

    def advice(self, outcome: RunResult) -> str | None:
        """Return a line of advice where a finished run has not learned the task well."""
        return advice(*self._setting, outcome.summary) if self._setting and outcome.status == "finished" else None

    def hooks(self, tags: Sequence[str] = (), callbacks: Sequence[BaseCallback] = ()) -> Hooks:
        """Return the hooks through which a run is followed; the run gets the tags."""
        from ngym_cli.training.main_loop import Hooks

        started = lambda run: managing.tag(run, tags) if tags else None  # noqa: E731
        return Hooks(self.announce, self.display, started=started, callbacks=callbacks)


def is_shown_actions(config: ResolvedConfig) -> bool:
    """Return whether the agent is shown the correct actions during training."""
    return bool(config.hyperparameters.get("imitation"))


class Printer(Reporter):
    """Reporter of a run in the shell, with lines about what is trained, where, and with what result.

    Args:
        root: folder of all runs.
        json: print one JSON document on stdout, and no live display.
    """

    def __init__(self, root: Path, json: bool):
        super().__init__(terminal.console(stderr=True), not json)
        self.root, self.json = root, json

    def announce(self, resolved: ResolvedConfig, properties: TaskProperties) -> None:
        """Print what is trained, for how many steps and for how long."""
        stack = "".join(f" + {entry.name}" for entry in resolved.wrappers)
        seconds = self.seconds(resolved, properties) if self.requested is not None else None
        origin = per_task.about_steps(self.requested, properties.id) if self.requested is not None else ""
        about = f"; about {terminal.in_words(seconds)}" if seconds else ""
        run_words = f"{resolved.alg} ({resolved.network}) on {resolved.task}{stack}, seed {resolved.seed}"
        run_words += ", shown the correct actions" if is_shown_actions(resolved) else ""
        self.console.print(f"training {run_words}: {resolved.timesteps:,} steps{origin}{about}", soft_wrap=True)
        if (rounded := rounding(resolved, properties)) is not None:
            self.console.print(rounded, soft_wrap=True)
        if resolved.network not in NETWORKS:
            self.console.print("a cell of your own learns in plain torch, which takes longer than a built-in network")
        super().announce(resolved, properties)

    def display(self, resolved: ResolvedConfig, properties: TaskProperties, path: Path) -> Display:
        """Print the run folder and advice, and return the display of the progress."""
        board = terminal.quoted("tensorboard", "--logdir", self.root)
        self.console.print(f"run folder {path}; {board}", soft_wrap=True)
        if notice := advance_notice(self.requested, properties):
            self.console.print(notice, soft_wrap=True)
        return super().display(resolved, properties, path)

    def finish(self, outcome: RunResult) -> int:
        """Print the results and return the exit code."""
        sentence, path, out = self.advice(outcome), outcome.run.path, terminal.console()
        if self.json:
            terminal.print_json({"id": str(path), "status": outcome.status, "advice": sentence, **outcome.summary})
        else:
            summary_text.print_evaluation(outcome.summary, "evaluation at the end of training")
            for line in filter(None, (sentence, better_checkpoint(path, outcome.summary))):
                out.print(line, soft_wrap=True)
            words = ("run", "--resume") if outcome.status == "interrupted" else ("plot",)
            next_ = terminal.quoted("ngym", *words, path)
            out.print(f"\n{outcome.status}: {path}\nnext: {next_}", soft_wrap=True)
        return INTERRUPTED if outcome.status == "interrupted" else 0


def better_checkpoint(path: Path, final: Summary) -> str | None:
    """Return a line that offers the best checkpoint if its performance lies above the interval of the final agent."""
    best = checkpoints.best_of(path / checkpoints.CHECKPOINTS_FOLDER)
    if best is None or not best["performance"] > performance_of(final).high:
        return None
    result = f"performance {best['performance']:.3f} at {best['step']:,} steps"
    return f"a checkpoint was better: {result}; {terminal.quoted('ngym', 'eval', path, '--checkpoint', 'best')}"


def train(request: RunRequest, reporter: Reporter, callbacks: Sequence[BaseCallback] = ()) -> RunResult:
    """Train as requested.

    Args:
        request: the request.
        reporter: follows the run.
        callbacks: callbacks as objects.
    """
    managing.check_tags(request.tag)
    reporter.requested = request.load()
    processes.set_learning_threads(request.threads)
    processes.limit_libraries()
    from ngym_cli.training import main_loop

    hooks = reporter.hooks(request.tag, callbacks)
    return main_loop.train(reporter.requested, request.runs_root, request.name, request.overwrite, hooks)
