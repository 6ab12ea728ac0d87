"""Training with a display for where the program runs: a terminal, a log, or a notebook."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli import runs, terminal
from ngym_cli.agents import threads
from ngym_cli.training.progress import Display, LiveDisplay

if TYPE_CHECKING:
    from ngym_cli.config import RunConfig
    from ngym_cli.environments.facts import Facts
    from ngym_cli.training.main_loop import Hooks, RunResult

#: Seconds between two states of the progress bar in a notebook.
PACE = 0.5


def start(config: RunConfig, root: Path, name: str | None, overwrite: bool, progress: bool) -> Path:
    """Train and return the folder of the run; arguments as of ``ngym_cli.training.main_loop.train``."""
    _prepare()
    from ngym_cli.training import main_loop

    return _folder(main_loop.train(config, root, name, overwrite, hooks(progress)), progress)


def go_on(run: runs.RunFolder, trust: bool, progress: bool) -> Path:
    """Continue a run and return the run folder; arguments as of ``ngym_cli.training.main_loop.resume``."""
    _prepare()
    from ngym_cli.training import main_loop

    return _folder(main_loop.resume(run, trust, hooks(progress)), progress)


def _prepare() -> None:
    threads.learn_with(None)
    threads.one()


def _folder(outcome: RunResult, progress: bool) -> Path:
    if outcome.status == "interrupted" and progress:
        terminal.console(stderr=True).print("interrupted; run.resume() continues", soft_wrap=True)
    return outcome.run.path


def hooks(progress: bool) -> Hooks:
    """Return the hooks of a run with a display, or without."""
    from ngym_cli.agents.algorithms import find_algorithm
    from ngym_cli.training.main_loop import Hooks

    def display(resolved: RunConfig, facts: Facts, path: Path) -> Display:
        total = int(resolved.timesteps or 0)
        if not progress:
            return Display()
        if in_notebook():
            return NotebookDisplay(total, facts.references)
        taught = find_algorithm(resolved.alg).needs_truth
        return LiveDisplay(terminal.console(stderr=True), total, facts.references, taught)

    return Hooks(lambda resolved, facts: threads.one_in_torch(), display)


def in_notebook() -> bool:
    """Return whether this program is the kernel of a notebook."""
    return "ipykernel" in sys.modules and sys.modules["ipykernel"].__dict__.get("version_info") is not None


def show_figures() -> None:
    """Make the notebook show Matplotlib figures returned by a cell, also without ``%matplotlib inline``."""
    from IPython.core.getipython import get_ipython
    from IPython.core.pylabtools import select_figure_formats

    shell = get_ipython()
    if shell is not None:  # the kernel's library can be loaded in a program that is no notebook
        select_figure_formats(shell, {"png"})


class NotebookDisplay(Display):
    """Progress bar of HTML in the output of a notebook's cell.

    Args:
        total: steps of the whole run.
        references: performance of reference agents by name.
    """

    def __init__(self, total: int, references: Mapping[str, float | None]):
        self.total = total
        self.references = {name: value for name, value in references.items() if value is not None}
        self._pace = terminal.EveryFewSeconds(PACE)
        self._handle: Any = None

    def start(self, step: int = 0) -> None:
        """Show the bar."""
        from IPython.display import HTML, display

        self._handle = display(HTML(self._html(step, "")), display_id=True)

    def update(self, step: int, numbers: Mapping[str, object]) -> None:
        """Show the state after ``step`` steps, about once a second."""
        if not self._pace.due() and step < self.total:
            return
        beside = ", ".join(f"{name} {value:.3f}" for name, value in self.references.items())
        self._show(step, f"performance {numbers['performance']:.3f}{f' ({beside})' if beside else ''}")

    def evaluating(self, done: int, total: int) -> None:
        """Show the number of finished trials of an evaluation."""
        if self._pace.due():
            self._show(self.total, f"evaluating: {done:,} of {total:,} trials")

    def say(self, text: str) -> None:
        """Print a line below the bar."""
        sys.stdout.write(text + "\n")

    def _show(self, step: int, text: str) -> None:
        from IPython.display import HTML

        if self._handle is not None:
            self._handle.update(HTML(self._html(step, text)))

    def _html(self, step: int, text: str) -> str:
        done = min(step, self.total)
        return f"<progress value='{done}' max='{self.total}'></progress> {done:,} of {self.total:,} steps; {text}"
