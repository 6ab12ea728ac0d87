"""Which tasks the default settings learn: every task until 95 % of its ceiling, or for five minutes (a few for ten).

    python -m experiments.records --make --only defaults/GoNogo-v0

Each task is one `ngym run --task TASK --until 0.95`; tasks whose trials depend on each other get the wrappers
`pass_reward,pass_action`, without which they cannot be learned. What a page about the task shows is kept, too: the
learning curve, the figure of its behaviour as numbers, the command and the machine.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import neurogym as ngym
from experiments.records.drawing import Drawing, as_numbers
from experiments.records.record import Record, Row, Rows
from neurogym.envs.registration import every_task, metadata
from ngym_cli import runs
from ngym_cli.runs.trial_table import read_trials

#: Most steps of a run; the learning rate falls over them. More than five minutes suffice for with most tasks.
TIMESTEPS = 3_000_000

#: Seconds that a run is given.
LIMIT = 300.0

#: Tasks that are given other steps and seconds: one that is still getting better after `TIMESTEPS`, and two whose
#: images take so long that steps, not seconds, shall end a run: it then comes out the same another time.
BUDGETS = {
    "Sternberg-v0": (10_000_000, 600.0),
    "RandomDotMotion-v0": (40_000, 600.0),
    "VisualSearch-v0": (600_000, 600.0),
}

#: Points of a learning curve.
POINTS = 40


def with_ground_truth() -> list[str]:
    """Ids of the tasks that say what the right action of each step is."""
    return [id_ for id_ in every_task() if "supervised" in metadata(id_)["tags"]]


def wrappers_of(id_: str) -> str:
    """What a task needs around it."""
    return "pass_reward,pass_action" if metadata(id_).get("carries") else ""


def goal(id_: str) -> list[str]:
    """Return when to stop: at 95 % of the ceiling, or of a performance of 1 where the ceiling is not known."""
    known = ngym.make(id_).unwrapped.ceiling() is not None
    return ["--until", "0.95"] if known else ["--until-performance", "0.95"]


def budget(id_: str) -> tuple[int, float]:
    """Return the most steps and seconds that a run of a task is given."""
    return BUDGETS.get(id_, (TIMESTEPS, LIMIT))


def make(id_: str, seed: int) -> Row:
    """Train on a task; returns what its record says."""
    wrappers, (timesteps, limit) = wrappers_of(id_), budget(id_)
    with tempfile.TemporaryDirectory() as folder:
        asked = ["run", "--task", id_, *goal(id_), "--seed", str(seed), "--timesteps", str(timesteps)]
        asked += ["--wrappers", wrappers] if wrappers else []
        name = f"seed-{seed}"
        line = [sys.executable, "-m", "ngym_cli", *asked, "--runs", folder, "--name", name, "--json"]
        began = time.perf_counter()
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            _, complaint = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            _, complaint = process.communicate()
        seconds = time.perf_counter() - began
        found = list(Path(folder).glob(f"*/*/{name}/manifest.json"))
        if not found:
            return {"error": complaint.strip()}
        manifest = json.loads(found[0].read_text())
        curve = curve_of(found[0].parent / "trials")
        figure = figure_of(found[0].parent) if seed == 0 else None
    until = manifest.get("until") or {}
    return {
        "wrappers": wrappers,
        "reached": bool(until.get("reached")),
        "of": until.get("of"),
        "target": until.get("target"),
        **{name: manifest.get(name) for name in ("performance", "chance", "ceiling", "steps", "trials")},
        "seconds": round(until.get("seconds") or seconds, 1),
        "command": shlex.join(["ngym", *asked]),
        "machine": {name: manifest["machine"][name] for name in ("processor", "kernels")},
        "curve": curve,
        "figure": figure,
    }


def curve_of(trials: Path) -> list[list[float]]:
    """Return steps and mean performance of equally many training trials, `POINTS` times."""
    table = read_trials(trials, ["step", "performance"])
    parts = zip(*(np.array_split(table[name], POINTS) for name in ("step", "performance")), strict=True)
    return [[int(step[-1]), round(float(np.mean(score)), 4)] for step, score in parts if len(step)]


def figure_of(run: Path) -> Drawing | None:
    """Return the figure that says most of how the agent behaves, as numbers; None where there is none."""
    from ngym_cli.figures.requests import best_figure

    found = best_figure(runs.find(str(run), run.parent), quick=False)
    if found is None:
        return None
    return {"name": found[0], **as_numbers(found[1])}


def table(rows: Rows) -> str:
    """Every task with the seeds that reached the criterion, slowest last."""
    lines = ["| task | seeds that reach it | performance | asked for | steps | seconds |", "|---|---|---|---|---|---|"]
    for id_, seeds in sorted(rows.items(), key=lambda part: _order(part[1])):
        known = [row for row in seeds.values() if "error" not in row]
        if not known:
            lines.append(f"| {id_} | 0 of {len(seeds)} | - | - | - | - |")
            continue
        reached = sum(row["reached"] for row in known)
        middle = {name: np.median([row[name] or 0 for row in known]) for name in ("performance", "steps", "seconds")}
        target = known[0]["target"]
        asked = "-" if target is None else f"{target:.3f}"
        lines.append(
            f"| {id_} | {reached} of {len(seeds)} | {middle['performance']:.3f} | {asked} | {middle['steps']:,.0f} | "
            f"{middle['seconds']:.0f} |"
        )
    return "\n".join(lines)


def _order(seeds: dict[str, Row]) -> tuple[int, float]:
    missed = sum(not row.get("reached") for row in seeds.values())
    return missed, float(np.median([row.get("seconds") or LIMIT for row in seeds.values()]))


def counts(rows: Rows) -> str:
    """How many tasks are learned, in one sentence."""
    learned = [list(seeds.values()) for seeds in rows.values() if all(row.get("reached") for row in seeds.values())]
    soon = sum(all(row["seconds"] <= LIMIT for row in seeds) for seeds in learned)
    seeds = max((len(part) for part in rows.values()), default=0)
    return (
        f"{len(learned)} of {len(with_ground_truth())} tasks reach the criterion with every seed (of {seeds}), "
        f"{soon} of them within five minutes."
    )


RECORD = Record(
    name="defaults",
    what="which tasks the default settings learn within five minutes, or ten",
    file=Path(__file__).with_name("results.json"),
    items=with_ground_truth,
    make=make,
    tasks=lambda id_: [id_],
    settings=lambda id_: [wrappers_of(id_), *budget(id_)],
    tables={"tasks": table, "counts": counts},
)
