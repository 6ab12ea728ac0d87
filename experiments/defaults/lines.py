"""Default lines: which runs the records hold, and the row of a finished run."""

from __future__ import annotations

import io
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import neurogym as ngym
from experiments.records.record import Row
from neurogym.envs.registration import every_task, metadata
from ngym_cli import runs
from ngym_cli.agents.defaults import default_steps
from ngym_cli.agents.per_task import EXCEPTIONS, LEARNERS, OTHER_ALGORITHMS, line
from ngym_cli.config.model import from_dict
from ngym_cli.config.tasks import default_settings, recommended, usual_algorithm
from ngym_cli.runs.trial_table import read_trials

#: Share of the ceiling that a run must reach; of a performance of 1 where the ceiling is not known.
SHARE = 0.95

#: Seeds of the default line and of the other learners. Seeds from 1,000 upwards are kept for tests of the defaults.
SEEDS, OTHER_SEEDS = 10, 3

#: Figures of the agents of seed 0.
FIGURES = Path(__file__).with_name("figures")

#: Points of a learning curve, and number of seeds for which the curve is kept.
POINTS, CURVES = 40, 3


def with_ground_truth() -> list[str]:
    """Ids of the tasks that say what the right action of each step is."""
    return [id_ for id_ in every_task() if "supervised" in metadata(id_)["tags"]]


@cache
def tasks_of(learner: str) -> list[str]:
    """Return the tasks that are measured with a learner.

    Args:
        learner: a key of `LEARNERS`. Other networks are measured with every task, another algorithm where there is a
            ground truth and the default line does not use the same already, and recommended settings where the task
            has some, and a known ceiling or a ground truth.
    """
    if learner == "default":
        return [id_ for id_ in every_task() if id_ != "Null-v0"]
    if learner == "recommended":
        recommended_tasks = {
            id_ for id_ in every_task() if recommended(id_) and ngym.make(id_).unwrapped.ceiling() is not None
        }
        return [
            id_ for id_ in every_task() if id_ in recommended_tasks or (recommended(id_) and id_ in with_ground_truth())
        ]
    alg = LEARNERS[learner].get("alg")
    if alg is None:
        return tasks_of("default")
    return [id_ for id_ in with_ground_truth() if alg != usual_algorithm(id_)]


def settings(learner: str, task: str) -> dict[str, Any]:
    """Return the settings of a line, without the seed."""
    return {"task": task, **LEARNERS[learner]}


def command(learner: str, task: str, seed: int) -> str:
    """Return the line that a user types."""
    return f"{line(learner, task)} --seed {seed}"


def present(learner: str, task: str) -> dict[str, Any]:
    """Return the present defaults of a line that are the task's own: number of steps, hyperparameters, network."""
    exceptions, config = EXCEPTIONS.get(task), from_dict(settings(learner, task))
    recommendations = default_settings(task), default_settings(task, config.alg)
    wrappers = {name: value for table in recommendations if table for name, value in table.settings.items()}
    steps = config.timesteps or default_steps(config, task)
    other = OTHER_ALGORITHMS.get((task, config.alg))
    tables = [defaults.settings for defaults in (exceptions, other) if defaults]
    return {"timesteps": steps, **{name: value for table in tables for name, value in table.items()}, **wrappers}


def row(learner: str, task: str, seed: int, folder: Path) -> Row:
    """Return the row of a finished run: result and curve.

    Args:
        learner: a key of `LEARNERS`.
        task: id.
        seed: seed of the run.
        folder: the run folder.
    """
    manifest = runs.RunFolder(folder).manifest()
    best = manifest["ceiling"]
    target = SHARE * (1.0 if best is None else best)
    entry = {
        "reached": manifest["performance"] >= target,
        "of": "performance" if best is None else "ceiling",
        "target": target,
        **{name: manifest[name] for name in ("performance", "performance_ci", "chance", "ceiling", "trials")},
        "steps": manifest["config"]["timesteps"],
        "defaults": present(learner, task),
        "seconds": round(manifest["cpu_seconds"], 1),
        "machine": {name: manifest["machine"][name] for name in ("processor", "kernels")},
    }
    if learner == "default" and seed < CURVES:
        entry["curve"] = curve_of(folder / "trials")
    return entry


def is_present(learner: str, task: str, seed: int, row: Row) -> bool:
    """Return whether a row is of the present line with the present defaults."""
    return bool(row["made"]["command"] == command(learner, task, seed) and row["defaults"] == present(learner, task))


def curve_of(trials: Path) -> list[list[float]]:
    """Return steps and mean performance of equally many training trials, `POINTS` times."""
    table = read_trials(trials, ["step", "performance"])
    pieces = zip(*(np.array_split(table[name], POINTS) for name in ("step", "performance")), strict=True)
    return [[int(step[-1]), round(float(np.mean(score)), 4)] for step, score in pieces if len(step)]


def draw(task: str, seed: int, run: Path) -> None:
    """Write the figure that says most of how the agent of seed 0 behaves, TASK.FIGURE.svg; none where there is none."""
    from ngym_cli.figures.requests import best_figure

    if seed:
        return
    for path in FIGURES.glob(f"{task}.*.svg"):
        path.unlink()
    figure = best_figure(runs.find(str(run), run.parent), quick=False)
    if figure is not None:
        save(figure[1], FIGURES / f"{task}.{figure[0]}.svg")


def save(figure: Any, path: Path) -> None:
    """Write a figure as a small SVG file: text as text, coordinates in hundredths of a point."""
    import matplotlib

    from ngym_cli.figures.style import styled

    path.parent.mkdir(exist_ok=True)
    text = io.StringIO()
    with styled(), matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ngym"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    path.write_text(re.sub(r"(\.\d\d)\d+", r"\1", text.getvalue()), encoding="utf-8")


def figure_of(task: str) -> Path | None:
    """Return the file of the figure of a task's agent, TASK.FIGURE.svg; None where there is none."""
    return next(FIGURES.glob(f"{task}.*.svg"), None)


@cache
def figures_by_name() -> dict[str, tuple[str, Path]]:
    """Return an example of every figure that an agent has: by name of the figure, the task and the file."""
    found = {}
    for path in sorted(FIGURES.glob("*.svg"), reverse=True):
        task, _, name = path.stem.rpartition(".")
        found[name] = (task, path)
    return found
