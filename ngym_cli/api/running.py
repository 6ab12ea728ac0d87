"""Training with a display for where the program runs: a terminal, a log, or a notebook."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import processes, runs, terminal
from ngym_cli.errors import UserError
from ngym_cli.training.reporting import Reporter, train

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from stable_baselines3.common.callbacks import BaseCallback

    from ngym_cli.training.main_loop import RunResult
    from ngym_cli.training.request import RunRequest


def start(request: RunRequest, progress: bool, callbacks: Sequence[BaseCallback] = ()) -> Path:
    """Train and return the folder of the run.

    Args:
        request: the request.
        progress: show a display.
        callbacks: callbacks as objects.
    """
    reporter = Reporter(terminal.console(stderr=True), progress)
    return _folder(train(request, reporter, callbacks), reporter)


def callbacks_of(objects: Sequence[object]) -> list[BaseCallback]:
    """Return callbacks that are objects; functions of (locals, globals) become callbacks, as in Stable-Baselines3.

    Warns that a resumed run does not have callbacks that are objects.

    Raises:
        UserError: names the first object that is not a callback.
    """
    if not objects:
        return []
    from stable_baselines3.common.callbacks import BaseCallback, ConvertCallback

    callbacks = []
    for each in objects:
        callback = ConvertCallback(each) if inspect.isfunction(each) else each
        if not isinstance(callback, BaseCallback):
            raise UserError(f"callbacks: expected Stable-Baselines3 callbacks, not {each!r}")
        callbacks.append(callback)
    names = ", ".join(getattr(each, "__name__", type(each).__name__) for each in objects)
    text = f"callbacks that are objects ({names}) are not in the record of the run: run.resume() continues without them"
    warnings.warn(text, UserWarning, stacklevel=5)
    return callbacks


def go_on(run: runs.RunFolder, trust: bool, progress: bool) -> Path:
    """Continue a run and return the run folder; arguments as of ``ngym_cli.training.main_loop.resume``."""
    processes.set_learning_threads(None)
    processes.limit_libraries()
    from ngym_cli.training import main_loop

    reporter = Reporter(terminal.console(stderr=True), progress)
    return _folder(main_loop.resume(run, trust, reporter.hooks()), reporter)


def _folder(outcome: RunResult, reporter: Reporter) -> Path:
    """Return the folder of a run, after a line on how to go on where the run was interrupted or has not learned."""
    line = "interrupted; run.resume() continues" if outcome.status == "interrupted" else reporter.advice(outcome)
    if reporter.is_live and line is not None:
        reporter.console.print(line, soft_wrap=True)
    return outcome.run.path


def in_notebook() -> bool:
    """Return whether this program is the kernel of a notebook."""
    return "ipykernel" in sys.modules and sys.modules["ipykernel"].__dict__.get("version_info") is not None


def shown(figure: Figure) -> Figure:
    """Return a figure, which a notebook shows."""
    if in_notebook():
        show_figures()
    return figure


def show_figures() -> None:
    """Make the notebook show Matplotlib figures returned by a cell, also without ``%matplotlib inline``."""
    from IPython.core.getipython import get_ipython
    from IPython.core.pylabtools import select_figure_formats

    shell = get_ipython()
    if shell is not None:  # the kernel's library can be loaded in a program that is no notebook
        select_figure_formats(shell, {"png"})
