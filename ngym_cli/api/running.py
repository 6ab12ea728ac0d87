"""Training with a display for where the program runs: a terminal, a log, or a notebook."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import processes, runs, terminal
from ngym_cli.agents.algorithms import find_algorithm
from ngym_cli.api.wording import in_python
from ngym_cli.errors import UserError
from ngym_cli.runs import managing
from ngym_cli.training.progress import Display, LiveDisplay, advice

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from stable_baselines3.common.callbacks import BaseCallback

    from ngym_cli.config import ResolvedConfig, RunConfig
    from ngym_cli.environments.properties import TaskProperties
    from ngym_cli.training.main_loop import Hooks, RunResult

    #: Complete configuration of a run and the properties of its task.
    Announced = list[tuple[ResolvedConfig, TaskProperties]]


def start(
    config: RunConfig,
    root: Path,
    name: str | None,
    overwrite: bool,
    progress: bool,
    threads_for_learning: int | None = None,
    tags: Sequence[str] = (),
    callbacks: Sequence[BaseCallback] = (),
) -> Path:
    """Train and return the folder of the run; arguments as of ``ngym_cli.training.main_loop.train``."""
    managing.check_tags(tags)
    _prepare(threads_for_learning)
    from ngym_cli.training import main_loop

    announced: Announced = []
    outcome = main_loop.train(config, root, name, overwrite, hooks(progress, tags, callbacks, announced))
    return _folder(outcome, progress, announced)


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
    _prepare()
    from ngym_cli.training import main_loop

    announced: Announced = []
    return _folder(main_loop.resume(run, trust, hooks(progress, announced=announced)), progress, announced)


def _prepare(threads_for_learning: int | None = None) -> None:
    processes.set_learning_threads(threads_for_learning)
    processes.limit_libraries()


def _folder(outcome: RunResult, progress: bool, announced: Announced) -> Path:
    """Return the folder of a run, after a line on how to go on where the run was interrupted or has not learned."""
    if not progress:
        return outcome.run.path
    line: str | None = "interrupted; run.resume() continues" if outcome.status == "interrupted" else None
    if outcome.status == "finished" and announced:
        line = advice(*announced[0], outcome.summary)
    if line is not None:
        terminal.console(stderr=True).print(in_python(line), soft_wrap=True)
    return outcome.run.path


def hooks(
    progress: bool,
    tags: Sequence[str] = (),
    callbacks: Sequence[BaseCallback] = (),
    announced: Announced | None = None,
) -> Hooks:
    """Return the hooks of a run with a display, or without, and with tags.

    Args:
        progress: show a display.
        tags: tags of the run.
        callbacks: callbacks as objects.
        announced: receives the complete configuration and the properties of the task.
    """
    from ngym_cli.training import timing
    from ngym_cli.training.main_loop import Hooks

    def display(resolved: ResolvedConfig, properties: TaskProperties, path: Path) -> Display:
        total = resolved.timesteps
        if not progress:
            return Display()
        supervised = find_algorithm(resolved.alg).supervised
        seconds = timing.expected(resolved, properties)
        return LiveDisplay(terminal.console(stderr=True), total, properties.references, supervised, seconds)

    def begun(run: runs.RunFolder) -> None:
        if tags:
            managing.tag(run, tags)

    def announce(resolved: ResolvedConfig, properties: TaskProperties) -> None:
        processes.limit_torch()
        if announced is not None:
            announced.append((resolved, properties))

    return Hooks(announce, display, started=begun, callbacks=callbacks)


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
