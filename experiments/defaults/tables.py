"""Tables and package data made from the rows of default lines."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

import numpy as np

from experiments.defaults import lines
from experiments.records.record import Row, Rows
from neurogym.analysis.intervals import mean_interval
from ngym_cli.agents.per_task import LEARNERS, LineResult


def measured(learner: str, task: str, seeds: Mapping[str, Row]) -> LineResult | None:
    """Return the result of a line over the seeds with a row of the present line, or None without any.

    Args:
        learner: a key of `LEARNERS`.
        task: id.
        seeds: rows by seed.
    """
    rows = [row for seed, row in seeds.items() if lines.is_present(learner, task, int(seed), row)]
    if not rows:
        return None
    middle = {name: float(np.median([row[name] for row in rows])) for name in ("seconds", "performance")}
    return LineResult(
        steps=rows[0]["steps"],
        seconds=round(middle["seconds"], 1),
        seeds=len(rows),
        reached=sum(row["reached"] for row in rows),
        performance=round(middle["performance"], 4),
        target=round(rows[0]["target"], 4),
    )


def all_measured(default: Rows, learner_rows: Rows) -> dict[str, dict[str, LineResult]]:
    """Return the results of every learner by task.

    Args:
        default: rows of the default line by task.
        others: rows of other learners by LEARNER/TASK.
    """
    results: dict[str, dict[str, LineResult]] = {learner: {} for learner in LEARNERS}
    keyed = {("default", task): seeds for task, seeds in default.items()}
    for (learner, task), seeds in {
        **keyed,
        **{tuple(item.split("/")): seeds for item, seeds in learner_rows.items()},
    }.items():
        result = measured(learner, task, seeds) if task in lines.tasks_of(learner) else None
        if result is not None:
            results[learner][task] = result
    return results


def package_data(default: Rows, learner_rows: Rows) -> str:
    """Return the text of ``ngym_cli/agents/measured.json``: one line for each learner and task."""
    entries = []
    for learner, rows in all_measured(default, learner_rows).items():
        inner = ",\n".join(f"  {json.dumps(task)}: {json.dumps(dataclasses.asdict(row))}" for task, row in rows.items())
        entries.append(f' "{learner}": {{\n{inner}\n }}' if inner else f' "{learner}": {{}}')
    return "{\n" + ",\n".join(entries) + "\n}\n"


def counts(rows: Rows) -> str:
    """Return how many tasks the default line learns, in sentences."""
    results = {task: result for task, seeds in rows.items() if (result := measured("default", task, seeds))}
    learned = sum(result.learned for result in results.values())
    seeds = [result.seeds for result in results.values()]
    spread = {f"{lines.SEEDS} seeds": sum(n >= lines.SEEDS for n in seeds)}
    spread["three to nine"] = sum(3 <= n < lines.SEEDS for n in seeds)
    spread["one or two"] = sum(n < 3 for n in seeds)
    reached = sum(result.reached for result in results.values())
    total = len(lines.tasks_of("default"))
    with_seeds = ", ".join(f"{number} with {name}" for name, number in spread.items() if number)
    text = (
        f"{len(results)} of {total} tasks are measured with their present defaults ({with_seeds}). In {learned} of "
        "them at least nine tenths of these seeds learn the task to 95 % of the ceiling. Of all "
        f"runs {reached:,} of {sum(seeds):,} end at 95 % of the ceiling."
    )
    missing = total - len(results)
    return text + (f" {missing} tasks are not measured yet with their present defaults." if missing else "")


def tasks(rows: Rows) -> str:
    """Return every task that is measured with the default line, by seeds and time."""
    head = "| task | seeds that reach it | 95 % interval | performance | asked for | steps | seconds |"
    lines = [head, "|---" * 7 + "|"]
    results = {task: result for task, seeds in rows.items() if (result := measured("default", task, seeds))}

    def order(item: tuple[str, LineResult]) -> tuple[float, float]:
        return -item[1].reached / item[1].seeds, item[1].seconds

    for task, row in sorted(results.items(), key=order):
        share = mean_interval([1.0] * row.reached + [0.0] * (row.seeds - row.reached))
        lines.append(
            f"| {task} | {row.share} | {share.low:.2f} to {share.high:.2f} | {row.performance:.3f} | "
            f"{row.target:.3f} | {row.steps:,} | {row.seconds:.0f} |"
        )
    return "\n".join(lines)


def second_ways(rows: Rows) -> str:
    """Return how many tasks another learner than the default line learns, and which are missing, in sentences."""
    results = {name: row for name, row in all_measured({}, rows).items() if name != "default"}
    learned = {name: {task for task, result in row.items() if result.learned} for name, row in results.items()}
    by_algorithm = set().union(*(tasks for name, tasks in learned.items() if "alg" in LEARNERS[name]))
    by_any = set().union(*learned.values())
    every = lines.tasks_of("default")
    missing = ", ".join(task.removesuffix("-v0") for task in every if task not in by_any)
    text = (
        f"{len(by_any)} of {len(every)} tasks are learned in a second way, {len(by_algorithm)} of them by another "
        "algorithm and the others by another cell or with recommended settings."
    )
    return text + (f" Without a second way: {missing}." if missing else "")


def learners(rows: Rows) -> str:
    """Return the tasks that were measured with other learners, a column for each learner."""
    further = [name for name in LEARNERS if name != "default"]
    results = all_measured({}, rows)
    names = sorted({task for table in results.values() for task in table}, key=str.lower)
    lines = [f"| task | {' | '.join(further)} |", "|---" * (len(further) + 1) + "|"]
    for task in names:
        cells = [results[learner][task].share if task in results[learner] else "" for learner in further]
        lines.append(f"| {task} | {' | '.join(cells)} |")
    return "\n".join(lines) if names else "Nothing is measured yet."
