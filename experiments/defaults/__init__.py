"""Which tasks the default lines learn: ``ngym run --task TASK`` and nothing else, and the same with other learners.

    python -m experiments.records --make --only defaults/GoNogo-v0
    python -m experiments.records --make --only learners/ctrnn --on slurm --slurm partition=cpu

A row is one run with the default number of steps, and says whether the performance at the end is at least 95 % of the
ceiling. The runs are made by the engine of `ngym sweep`. What a page about the task shows is kept, too: the learning
curve, the command and the machine, and in ``figures/`` the figure of the agent's behaviour.
"""

from __future__ import annotations

from pathlib import Path

from experiments.defaults import lines, tables
from experiments.records.record import Record, Row
from ngym_cli.agents.per_task import LEARNERS

#: Learners beside the default line; items of their record are LEARNER/TASK.
OTHERS = tuple(name for name in LEARNERS if name != "default")


def _row(item: str, seed: int, folder: Path) -> Row:
    return lines.row("default", item, seed, folder)


def _other_row(item: str, seed: int, folder: Path) -> Row:
    learner, task = item.split("/")
    return lines.row(learner, task, seed, folder)


RECORD = Record(
    name="defaults",
    what="which tasks the default line learns, with its own number of steps",
    file=Path(__file__).with_name("results.json"),
    items=lambda: lines.tasks_of("default"),
    make=_row,
    run=lambda item: lines.settings("default", item),
    draw=lines.draw,
    command=lambda item, seed: lines.command("default", item, seed),
    tables={"tasks": tables.tasks, "counts": tables.counts},
    seeds=lines.SEEDS,
)

OTHER = Record(
    name="learners",
    what="which tasks other learners learn, with the default number of steps",
    file=Path(__file__).with_name("learners.json"),
    items=lambda: [f"{learner}/{task}" for learner in OTHERS for task in lines.tasks_of(learner)],
    make=_other_row,
    run=lambda item: lines.settings(*item.split("/")),
    command=lambda item, seed: lines.command(*item.split("/"), seed),
    tables={"tasks": tables.learners, "second": tables.second_ways},
    seeds=lines.OTHER_SEEDS,
)
