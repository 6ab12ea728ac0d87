"""Catalogue of solutions: networks of four kinds, trained in ten classic tasks, and what each found.

    python -m experiments.records --make --only solutions
    python -m experiments.records --make --only solutions/GoNogo-v0 --seeds 30 --on slurm --slurm partition=cpu

A row has the performance of one network, the name of its attractors and the geometry of its activity; the package
keeps them in ``ngym_cli/figures/solutions.json``, in which ``ngym plot RUN solutions`` places another network.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

from experiments.records.record import Record, Row, Rows
from neurogym.dynamics.catalogue import NOT_JUDGED, Solution, clusters
from ngym_cli.figures.solutions import has_learned

#: Classic tasks with further settings of the run.
TASKS: dict[str, dict[str, Any]] = {
    "PerceptualDecisionMaking-v0": {},
    "DelayComparison-v0": {},
    "ContextDecisionMaking-v0": {},
    "DelayMatchSample-v0": {},
    "FlipFlop-v0": {},
    "ReadySetGo-v0": {},
    "TwoStep-v0": {"until": 0.95},
    "DriftingBandit-v0": {"until": 0.95},
    "GoNogo-v0": {},
    "yang19.dlygo-v0": {},
}

#: Kinds of networks, and seeds of each.
NETWORKS, SEEDS = ("lstm", "gru", "ctrnn", "rnn"), 30


def settings(item: str) -> dict[str, Any]:
    """Return the settings of a run, without the seed.

    Args:
        item: TASK/NETWORK.
    """
    task, network = item.split("/")
    return {"task": task, "network": network, **TASKS[task]}


def row(item: str, seed: int, folder: Path) -> Row:
    """Return the solution that a network found.

    Args:
        item: TASK/NETWORK.
        seed: seed of the run.
        folder: the run folder.
    """
    from neurogym.ceilings.stack import needs_reward
    from ngym_cli import runs
    from ngym_cli.evaluation.service import recorder
    from ngym_cli.figures import requests
    from ngym_cli.figures.solutions import conditions_of, describe
    from ngym_cli.runs.recordings import NETWORK_QUANTITIES

    view = requests.view([str(folder)], folder.parent)
    view.recorder = recorder(folder.parent, False, lambda line: None)
    view.record(NETWORK_QUANTITIES)
    properties = view.properties
    column, conditions = conditions_of(view.recorded.table, needs_reward(properties.env), properties.conditions)
    solution = describe(view, column, conditions, item.split("/")[1], seed)
    manifest = runs.RunFolder(folder).manifest()
    return {
        **dataclasses.asdict(solution),
        "column": column,
        "conditions": list(conditions),
        "ceiling": manifest["ceiling"],
        "performance": round(manifest["performance"], 4),
    }


def solutions_of(rows: Rows, task: str) -> list[Solution]:
    """Return the solutions of a task in the record; those with other conditions than the first are left out."""
    names = [each.name for each in dataclasses.fields(Solution)]
    return [
        Solution(**{**{name: row[name] for name in names}, "geometry": tuple(row["geometry"])})
        for row in learned(rows_of(rows, task))
    ]


def rows_of(rows: Rows, task: str) -> list[Row]:
    """Return all rows of a task."""
    return [row for item, seeds in rows.items() if item.split("/")[0] == task for row in seeds.values()]


def learned(rows: list[Row]) -> list[Row]:
    """Return the rows of networks that learned, under the conditions that most of these have."""
    learners = [row for row in rows if has_learned(row["performance"], row["ceiling"])]
    conditions = Counter((row["column"], *row["conditions"]) for row in learners).most_common(1)
    return [row for row in learners if (row["column"], *row["conditions"]) == conditions[0][0]]


def package_data(rows: Rows) -> str:
    """Return the text of ``ngym_cli/figures/solutions.json``: one line for each network, geometry in hundredths."""
    entries = []
    for task in TASKS:
        measured = rows_of(rows, task)
        learners = learned(measured)
        if not learners:
            continue
        head = {name: learners[0][name] for name in ("column", "conditions", "ceiling")}
        lines = [
            [
                *(row[name] for name in ("network", "seed", "performance", "topology")),
                [round(100 * d) for d in row["geometry"]],
            ]
            for row in learners
        ]
        networks = ",\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
        text = json.dumps({**head, "left_out": len(measured) - len(learners)})[:-1]
        entries.append(f' {json.dumps(task)}: {text}, "networks": [\n{networks}\n ]}}')
    return "{\n" + ",\n".join(entries) + "\n}\n"


def table(rows: Rows) -> str:
    """Return clusters, topologies and performance of the networks of each task."""
    lines = ["| task | networks | performance | clusters (networks of each) | attractors |", "|---" * 5 + "|"]
    for task in TASKS:
        found = solutions_of(rows, task)
        if not found:
            continue
        failed = len(rows_of(rows, task)) - len(found)
        kinds = Counter(each.network for each in found)
        sizes = Counter(clusters(found).tolist())
        shapes = Counter(each.topology for each in found)
        again = len(found) - shapes.pop(NOT_JUDGED, 0)
        scores = sorted(each.performance for each in found)
        cells = [
            task,
            ", ".join(f"{n} {kind}" for kind, n in kinds.items()),
            f"{scores[0]:.2f} to {scores[-1]:.2f}" + (f"; {failed} more left out" if failed else ""),
            ", ".join(str(n) for _, n in sorted(sizes.items())),
            f"of {again}: " + ", ".join(f"{shape} {n}" for shape, n in shapes.most_common()) if shapes else NOT_JUDGED,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    n, total = sum(map(len, rows.values())), len(TASKS) * len(NETWORKS) * SEEDS
    absent = [task for task in TASKS if not rows_of(rows, task)]
    none = f"; none yet in {', '.join(absent)}" if absent else ""
    missing = (
        f"{n:,} of {total:,} networks are measured{none}. Attractors found under the older definition are not repeated."
    )
    return "\n".join([*lines, "", missing] if len(lines) > 2 else [missing])


RECORD = Record(
    name="solutions",
    what="what networks of four kinds find in ten classic tasks",
    file=Path(__file__).with_name("results.json"),
    items=lambda: [f"{task}/{network}" for task in TASKS for network in NETWORKS],
    make=row,
    run=settings,
    tables={"table": table},
    seeds=SEEDS,
)
