"""Dynamics of trained and built networks: whether known points are found, and whether kinds are told apart.

    python -m experiments.records --make --only dynamics

| item | measured |
|---|---|
| `built` | points of a built network in 20 random rotations: found, invented, largest errors |
| `gru`, `ctrnn` | networks that hold three bits: stable points, saddles, pairs of neighbouring patterns with a saddle |
| `similarity` | DSA between built line attractors and point attractors against that between two of a kind |
| `similarity-trained` | the same of trained networks: path integration on a track, memory of one bit |
"""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.records.record import Record, Row, Rows
from neurogym.dynamics import System, compare_populations, connections, find_between, find_fixed_points, known
from neurogym.dynamics.comparison import PopulationTrials
from ngym_cli import Run, train
from ngym_cli.agents.dynamics import search_points
from ngym_cli.figures.source import Source

#: Training of the networks that hold three bits.
SETTINGS: dict[str, Any] = {"task": "FlipFlop-v0", "alg": "supervised"}

#: Further settings by network. The gates of the GRU begin fast: slow gates might hold a pattern without a stable point.
OWN: dict[str, dict[str, Any]] = {"gru": {"network_args": {"memory": 2.0}}}

#: Training of the networks whose dynamics are compared: positions on a track lie along a line, a bit has two points.
KINDS: dict[str, dict[str, Any]] = {
    kind: {
        "task": task,
        "task_args": task_args,
        "alg": "supervised",
        "network": "ctrnn",
        "units": 32,
        "timesteps": 200_000,
        "eval_every": 0,
    }
    for kind, task, task_args in (
        ("line", "PathIntegration-v0", {"dimensions": 1}),
        ("point", "FlipFlop-v0", {"n_bits": 1}),
    )
}

#: Trials from which visited states are taken, starts of the search, and starts between pairs of stable points.
TRIALS, STARTS, BETWEEN = 200, 1000, 7

#: Repeats with the built network, its units; built and trained networks of each kind.
REPEATS, BUILT_UNITS, BUILT, TRAINED = 20, 12, 8, 5


@functools.cache
def networks() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of the trained networks, which goes with the process."""
    return tempfile.TemporaryDirectory(prefix="ngym-networks-")


def trained(settings: dict[str, Any], seed: int) -> tuple[Run, System]:
    """Return a trained network as a run and as a system."""
    name = f"{settings['network']}-{seed}"
    run = train(**settings, seed=seed, name=name, runs_root=Path(networks().name), overwrite=True, progress=False)
    return run, run.system


def visited(system: System, rng: np.random.Generator) -> np.ndarray:
    """Return the states visited in trials with pulses as in training, shape (states, units)."""
    pulses = (rng.random((128, TRIALS, 3)) < 0.05) * rng.choice([-1.0, 1.0], size=(128, TRIALS, 3))
    pulses[0] = rng.choice([-1.0, 1.0], size=(TRIALS, 3))
    states, visited_states = np.zeros((TRIALS, system.units)), []
    for now in pulses:
        states = system.step(states, now)
        visited_states.append(states)
    return np.concatenate(visited_states)


def flip_flop(cell: str, seed: int) -> Row:
    """Train a network and find its points."""
    run, system = trained({**SETTINGS, "network": cell, **OWN.get(cell, {})}, seed)
    actor: Any = Source(run.run).actor
    states = visited(system, np.random.default_rng(seed))
    began = time.process_time()
    points = search_points(system, [states], np.zeros((1, 3)), STARTS, slow=None, between=BETWEEN)
    seconds = time.process_time() - began
    signs = np.sign(actor.heads([points.points.astype(np.float32)] * 2)[0]).astype(int)
    _, ends = connections(system, points)
    ends = ends[(ends >= 0).all(axis=1)]
    near = ends[(signs[ends[:, 0]] != signs[ends[:, 1]]).sum(axis=1) == 1]
    counts = np.bincount(points.n_unstable, minlength=4)
    return {
        "unstable": counts.tolist(),
        "patterns": len(np.unique(signs[points.stable], axis=0)),
        "edges": len({frozenset((tuple(signs[a]), tuple(signs[b]))) for a, b in near}),
        "largest_speed": float(points.speed.max()),
        "search_seconds": seconds,
    }


def built() -> Row:
    """Search the points of a network whose points are known in closed form, rotated at random."""
    lost = invented = 0
    position = eigenvalue = 0.0
    for seed in range(REPEATS):
        rng = np.random.default_rng(1000 + seed)
        net, points, values = known.flip_flop(3, BUILT_UNITS)
        turned = known.Rotated(net, known.random_rotation(BUILT_UNITS, rng))
        near = points[rng.integers(len(points), size=500)]
        starts = (near + 0.5 * rng.standard_normal((500, BUILT_UNITS))) @ turned.rotation.T
        search = find_between(turned, find_fixed_points(turned, starts, np.zeros(3)))
        distances = np.linalg.norm(search.points[:, None] - (points @ turned.rotation.T)[None], axis=2)
        nearest = distances.argmin(axis=1)
        invented += int((distances.min(axis=1) > 1e-6).sum())
        lost += len(points) - len(set(nearest[distances.min(axis=1) <= 1e-6]))
        position = max(position, float(distances.min(axis=1).max()))
        errors = np.sort(np.abs(search.eigenvalues)) - np.sort(values[nearest])
        eigenvalue = max(eigenvalue, float(np.abs(errors).max()))
    return {
        "repeats": REPEATS,
        "points": 27,
        "lost": lost,
        "invented": invented,
        "position_error": position,
        "eigenvalue_error": eigenvalue,
    }


def built_population(kind: str, seed: int) -> PopulationTrials:
    """Return trials of a built network that integrates its input along a line, or forgets it at a point."""
    rng = np.random.default_rng(seed if kind == "line" else 100 + seed)
    net = known.line_attractor(20, [1.0, 0.5], rng)[0] if kind == "line" else known.point_attractor(20, 2, rng)
    return driven(f"{kind} {seed}", net, 0.3, rng)


def trained_population(kind: str, seed: int) -> PopulationTrials:
    """Return trials of a network that was trained to integrate its input, or to hold the sign of the last pulse."""
    rng = np.random.default_rng(seed if kind == "line" else 100 + seed)
    return driven(f"{kind} {seed}", trained(KINDS[kind], seed)[1], 0.5, rng)


def driven(label: str, net: System, scale: float, rng: np.random.Generator) -> PopulationTrials:
    """Return sixty trials under the same kind of input for all networks: white noise of this standard deviation."""
    inputs = rng.standard_normal((60, 60, net.inputs)) * scale
    trials = known.simulate(net, np.zeros((60, net.units)), inputs, rng, 0.02)
    return PopulationTrials(label, list(trials), np.full(60, "all"), list(inputs))


def similarity(make_population: Callable[[str, int], PopulationTrials], n: int) -> Row:
    """Compare n networks of each of two kinds, each with other weights and noise."""
    populations = [make_population(kind, seed) for kind in ("line", "point") for seed in range(n)]
    row: Row = {"networks": len(populations)}
    for metric in ("dsa", "input-dsa"):
        distances = compare_populations(populations, metric).distance  # type: ignore[arg-type]
        pairs = list(combinations(range(len(populations)), 2))
        between = [distances[i, j] for i, j in pairs if (i < n) != (j < n)]
        same = [distances[i, j] for i, j in pairs if (i < n) == (j < n)]
        higher = np.subtract.outer(between, same)
        row[metric] = float((higher > 0).mean() + 0.5 * (higher == 0).mean())
        row[f"{metric}_medians"] = [float(np.median(between)), float(np.median(same))]
        row[f"{metric}_floor"] = float(np.median(np.diag(distances)))
    return row


ITEMS: dict[str, Callable[[], Row]] = {
    "built": built,
    "similarity": lambda: similarity(built_population, BUILT),
    "similarity-trained": lambda: similarity(trained_population, TRAINED),
}


def make(item: str, seed: int) -> Row:
    """Measure one item."""
    torch.set_num_threads(1)
    return ITEMS[item]() if item in ITEMS else flip_flop(item, seed)


def table(rows: Rows) -> str:
    """Points of the networks that hold three bits, a line for each."""
    lines = [
        "| network | seed | stable | one unstable direction | two | three | patterns | edges with a saddle |",
        "|---" * 8 + "|",
    ]
    for cell in (name for name in rows if name not in ITEMS):
        for seed, row in rows[cell].items():
            counts = " | ".join(str(n) for n in row["unstable"][:4])
            lines.append(f"| {cell} | {seed} | {counts} | {row['patterns']} of 8 | {row['edges']} of 12 |")
    return "\n".join(lines)


def _distances(row: Row, metric: str) -> str:
    return ", ".join(f"{each:.3f}" for each in [*row[f"{metric}_medians"], row[f"{metric}_floor"]])


def measured(rows: Rows) -> str:
    """Points of the built network and similarity, in sentences, as far as they are measured."""
    lines = []
    if "built" in rows:
        b = rows["built"]["0"]
        lines.append(
            f"- Built network, {b['repeats']} rotations: {b['lost']} of {b['repeats'] * b['points']} points lost,"
            f" {b['invented']} invented; largest errors {b['position_error']:.0e} (position),"
            f" {b['eigenvalue_error']:.0e} (eigenvalue)."
        )
    for item, kind in (("similarity", "Built"), ("similarity-trained", "Trained")):
        if item in rows:
            s = rows[item]["0"]
            lines.append(
                f"- {kind} line against point attractors ({s['networks']} networks): area under the curve"
                f" {s['dsa']:.3f} for DSA, {s['input-dsa']:.3f} for InputDSA. Median distance between kinds, within a"
                f" kind, and of a network to itself: {_distances(s, 'dsa')} (DSA), {_distances(s, 'input-dsa')}"
                " (InputDSA)."
            )
    return "\n".join(lines)


RECORD = Record(
    name="dynamics",
    what="points of trained and built networks, similarity of dynamics",
    file=Path(__file__).with_name("results.json"),
    items=lambda: ("gru", "ctrnn", *ITEMS),
    make=make,
    tables={"points": table, "measured": measured},
    seeds=lambda item: 1 if item in ITEMS else 5,
)
