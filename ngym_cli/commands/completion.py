"""Shell completion of names: tasks, wrappers, algorithms, networks and run folders."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pkgutil import resolve_name

from ngym_cli import runs

Complete = Callable[[str], list[str]]


def _starting_with(names: Callable[[], Iterable[str]]) -> Complete:
    def complete(incomplete: str) -> list[str]:
        with contextlib.suppress(Exception):
            return [name for name in names() if name.lower().startswith(incomplete.lower())]
        return []

    return complete


def _of(*places: str, offered: str = "") -> Complete:
    """Return a completion of names that are looked up when needed.

    Args:
        *places: tables, or functions that return names, as ``module:attribute``.
        offered: kind of parts that installed packages may offer, too.
    """

    def names() -> Iterable[str]:
        for address in places:
            entry = resolve_name(address)
            yield from entry() if callable(entry) else entry
        if offered:
            yield from resolve_name("ngym_cli.config.extensions:offered")(offered)

    return _starting_with(names)


def _words(*words: str) -> Complete:
    return _starting_with(lambda: words)


def _runs() -> list[str]:
    every = runs.find_all(runs.RUNS_ROOT, fits=True)
    return list(dict.fromkeys(["latest", *(run.name for run in every), *(str(run.path) for run in every)]))


_task = _of("ngym_cli.config.tasks:task_names", "neurogym.envs.collections:COLLECTIONS")
_wrapper = _of("ngym_cli.environments.stack:wrapper_names")
_named = _of("ngym_cli.catalog.reference:all_names")
_figure = _of("ngym_cli.figures.registry:FIGURES")
algorithms = _of("ngym_cli.agents.algorithms:ALGORITHMS", offered="algorithm")
networks = _of("ngym_cli.agents.networks:NETWORKS", offered="network")
learners = _of("ngym_cli.agents.per_task:LEARNERS")
tags = _of("ngym_cli.catalog.listing:tag_counts")
listings = _of("ngym_cli.catalog.listing:LISTINGS")
papers = _of("ngym_cli.papers.collection:ids")
run_folders = _starting_with(_runs)
trackers = _words("wandb", "mlflow")
export_formats = _words("sb3", "onnx", "torchscript")
schedules = _words("random", "norepeat", "sequential", "block:100", "sequential_block:100")


def tasks(incomplete: str) -> list[str]:
    """Complete a task, or the last of several joined by a plus sign."""
    before, plus, last = incomplete.rpartition("+")
    return [f"{before}{plus}{name}" for name in _task(last)]


def wrappers(incomplete: str) -> list[str]:
    """Complete the last name of a comma-separated stack."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _wrapper(last)]


def everything(incomplete: str) -> list[str]:
    """Complete what ``ngym info`` explains."""
    return tasks(incomplete) + _named(incomplete)


def runs_and_figures(incomplete: str) -> list[str]:
    """Complete what ``ngym plot`` takes."""
    return run_folders(incomplete) + _figure(incomplete)
