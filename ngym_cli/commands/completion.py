"""Shell completion of names: tasks, wrappers, algorithms, networks and run folders."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path


def _starting_with(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        with contextlib.suppress(Exception):
            return [name for name in names() if name.lower().startswith(incomplete.lower())]
        return []

    return complete


def _tasks() -> list[str]:
    from neurogym.envs.collections import COLLECTIONS
    from ngym_cli.config.tasks import task_names

    return [*task_names(), *COLLECTIONS]


def _wrappers() -> list[str]:
    from ngym_cli.config.wrappers import wrapper_names

    return wrapper_names()


def _algorithms() -> Iterable[str]:
    from ngym_cli.agents.algorithms import ALGORITHMS
    from ngym_cli.config.parts import offered

    return [*ALGORITHMS, *offered("algorithm")]


def _networks() -> Iterable[str]:
    from ngym_cli.agents.networks import NETWORKS
    from ngym_cli.config.parts import offered

    return [*NETWORKS, *offered("network")]


def _learners() -> Iterable[str]:
    from ngym_cli.agents.measured import LEARNERS

    return LEARNERS


def _tags() -> Iterable[str]:
    from ngym_cli.catalog.listing import tags

    return [row["id"] for row in tags()]


def _listings() -> Iterable[str]:
    from ngym_cli.catalog.listing import LISTINGS

    return LISTINGS


def _papers() -> Iterable[str]:
    from ngym_cli.papers.collection import ids

    return ids()


def _runs() -> list[str]:
    from ngym_cli import runs

    return ["latest", *(str(run.path) for run in runs.find_all(Path("runs"), fits=True))]


_task = _starting_with(_tasks)
algorithms = _starting_with(_algorithms)
trackers = _starting_with(lambda: ("wandb", "mlflow"))
export_formats = _starting_with(lambda: ("sb3", "onnx", "torchscript"))
networks = _starting_with(_networks)
learners = _starting_with(_learners)
tags = _starting_with(_tags)
run_folders = _starting_with(_runs)
papers = _starting_with(_papers)
listings = _starting_with(_listings)
schedules = _starting_with(lambda: ("random", "norepeat", "sequential", "block:100", "sequential_block:100"))


def tasks(incomplete: str) -> list[str]:
    """Complete a task, or the last of several joined by a plus sign."""
    before, plus, last = incomplete.rpartition("+")
    return [f"{before}{plus}{name}" for name in _task(last)]


def wrappers(incomplete: str) -> list[str]:
    """Complete the last name of a comma-separated stack."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _starting_with(_wrappers)(last)]


def everything(incomplete: str) -> list[str]:
    """Complete what ``ngym info`` explains."""
    from ngym_cli.catalog.reference import all_names

    return tasks(incomplete) + _starting_with(all_names)(incomplete)


def runs_and_figures(incomplete: str) -> list[str]:
    """Complete what ``ngym plot`` takes."""
    from ngym_cli.figures.registry import FIGURES

    return run_folders(incomplete) + _starting_with(lambda: FIGURES)(incomplete)
