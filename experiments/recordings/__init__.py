"""Networks that learn from made recordings of a teacher: held-out neurons, attractors, and currents between areas.

    python -m experiments.records --make --only recordings

The teacher has 1,000 leaky units in two areas with random weights. Area A also holds four random patterns, so that it
has four stable states, to which the four directions of `RDM-v0` bring it; area B follows A. Neurons of both areas, 40
to 400, are recorded in 20 to 200 trials with independent noise. Networks of 64 units for each area, from A to B, learn
the task, the recording, or both. Settings were chosen with teachers of other seeds (100, 103, 107).

| number | meaning |
|---|---|
| explained | explained variance of held-out neurons in held-out trials, as a share of the noise ceiling |
| attractors | directions whose delay, if it goes on for 1,000 steps, ends in a state that is, read out as neurons, |
| | nearest to the teacher's attractor of this direction, within a quarter of their distance from each other |
| currents | correlation of the current from A into each neuron of B, over steps and conditions, with the teacher's |
| of three | the same of the mean current in three networks of the recording alone |

Read-outs are ridge regressions of the averages of conditions without noise on those of the network.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import neurogym as ngym
from experiments.records.record import Record, Row, Rows
from neurogym.analysis.encoding import ridge
from neurogym.dynamics import Leaky, limits, spread, trajectories
from ngym_cli import Run, train
from ngym_cli.agents.algorithms.recorded import TaskTrials
from ngym_cli.config.sections import RecordingConfig
from ngym_cli.figures.recording import judge
from ngym_cli.figures.source import Source
from ngym_cli.runs.recordings import NETWORK_QUANTITIES, Recording
from ngym_cli.runs.trial_table import read_trials

#: Units of an area of the teacher and of the networks, number of directions, standard deviation of the noise.
TEACHER, UNITS, DIRECTIONS, NOISE = 500, 64, 4, 0.3
#: Neurons of each area and trials of each direction, by seed; the order of the trials is mixed.
NEURONS, TRIALS = (np.geomspace(a, b, 10).round().astype(int) for a, b in ((20, 200), (5, 50)))
TRIALS = TRIALS[3 * np.arange(10) % 10]
#: Step from the end at which the delay is over; steps for which it goes on.
HELD, LONGER = -3, 1000
SETTINGS: dict[str, Any] = {
    "task": "RDM-v0",
    "task_args": {"cohs": [80.0], "sigma": 0.1, "dim_ring": DIRECTIONS},
    "timing": {"fixation": 300, "stimulus": 500, "delay": 3000, "decision": 200},
    "alg": "supervised",
    "network": "ctrnn",
    "network_args": {
        "areas": {"A": {"units": UNITS, "input": True}, "B": {"units": UNITS, "output": True, "from": {"A": 1.0}}},
        **{"activation": "tanh", "tau": 200.0, "noise": 0.1, "radius": 0.1},
    },
    "units": 2 * UNITS,
    "timesteps": 700_000,
    "eval_every": 0,
}
LEARNING: dict[str, Any] = {"learning_rate": 0.003, "batch_size": 8, "seq_len": 82}
#: What networks learn from.
KINDS: dict[str, dict[str, Any]] = {
    "both": {"recording_weight": 30.0, "hyperparameters": {**LEARNING, "l2_weight": 1.0}},
    "recording": {"recording_only": True, "hyperparameters": LEARNING},
    "task": {"hyperparameters": {**LEARNING, "l2_weight": 1.0}},
}


def teacher(rng: np.random.Generator) -> Leaky:
    """Return the network of two areas, whose inputs are the fixation cue and the evidence for each direction."""
    n, patterns = TEACHER, rng.choice([-1.0, 1.0], (DIRECTIONS, TEACHER))
    recurrent, weights = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 1 + DIRECTIONS))
    recurrent[:n, :n] = 0.5 * rng.standard_normal((n, n)) / n**0.5 + 2.2 * patterns.T @ patterns / n
    recurrent[n:, :n] = rng.standard_normal((n, n)) / n**0.5
    recurrent[n:, n:] = 0.5 * rng.standard_normal((n, n)) / n**0.5
    weights[:n, 0] = 0.1 * rng.standard_normal(n)
    weights[:n, 1:] = patterns.T + 0.5 * rng.standard_normal((n, DIRECTIONS))
    return Leaky(recurrent, weights, 0.1 * rng.standard_normal(2 * n), alpha=0.5)


def stimuli(each: int, seed: int) -> np.ndarray:
    """Return observations of so many trials of each direction, shape (steps, directions x trials, channels)."""
    env = ngym.make("RDM-v0", dt=100, timing=SETTINGS["timing"], **SETTINGS["task_args"])
    frame = TaskTrials(env, seed).make(0, 100 + 8 * each)[0]
    side = np.asarray(frame.trials.info["ground_truth"])
    rows = np.concatenate([np.flatnonzero(side == k)[:each] for k in range(DIRECTIONS)])
    return frame.ob.reshape(len(side), -1, 1 + DIRECTIONS)[rows].swapaxes(0, 1).astype(float)


def by_direction(trials: np.ndarray) -> np.ndarray:
    """Return averages over the trials of each direction, shape (steps, directions, units)."""
    return trials.reshape(len(trials), DIRECTIONS, -1, trials.shape[-1]).mean(2)


def settled(system: Leaky, states: np.ndarray) -> np.ndarray:
    """Return where the states of a delay are after it went on, shape (directions, units)."""
    return limits.run(system, states[HELD], np.eye(1 + DIRECTIONS)[0], LONGER)


class Made(NamedTuple):
    """Recording of a teacher with the truth.

    Attributes:
        path: file of the recording.
        rates: activity of the recorded neurons without noise, shape (steps, directions, neurons).
        attractors: their activity in the attractor of each direction, shape (directions, neurons).
        currents: current from A to each recorded neuron of B, shape (steps, directions, neurons of B).
    """

    path: Path
    rates: np.ndarray
    attractors: np.ndarray
    currents: np.ndarray


def made(folder: Path, seed: int) -> Made:
    """Record a new teacher."""
    rng = np.random.default_rng(seed)
    system, n, each = teacher(rng), NEURONS[seed], TRIALS[seed]
    neurons = np.r_[rng.permutation(TEACHER)[:n], TEACHER + rng.permutation(TEACHER)[:n]]
    states = trajectories(system, stimuli(each, seed))
    activity = states[:, :, neurons] + NOISE * rng.standard_normal((*states.shape[:2], 2 * n))
    columns: dict[str, Any] = {
        "condition_ground_truth": np.repeat(np.arange(DIRECTIONS), each),
        "area": np.repeat(["A", "B"], n),
    }
    np.savez(folder / "made.npz", activity=activity.swapaxes(0, 1), dt=100.0, **columns)
    means = by_direction(states)
    currents = means[:, :, :TEACHER] @ system.recurrent[neurons[n:], :TEACHER].T
    return Made(folder / "made.npz", means[:, :, neurons], settled(system, means)[:, neurons], currents)


def states_of(run: Run) -> np.ndarray:
    """Return the mean states of a network, shape (steps, directions, units)."""
    return by_direction(trajectories(run.system, stimuli(50, 1000)))


def flat(values: np.ndarray) -> np.ndarray:
    """Return a row for each step and direction."""
    return values.reshape(-1, values.shape[2])


def folds(x: np.ndarray) -> np.ndarray:
    """Return the fold of each row."""
    return np.arange(len(x)) // DIRECTIONS % 4


def inferred(run: Run, truth: Made) -> np.ndarray:
    """Return the current from A that a network gives to the recorded neurons of B, shape (rows, neurons of B)."""
    system, states, n = run.system, states_of(run), truth.currents.shape[2]
    assert isinstance(system, Leaky)
    x, y = flat(states)[:, UNITS:], flat(truth.rates)[:, n:]
    return flat(states[:, :, :UNITS] @ system.recurrent[UNITS:, :UNITS].T) @ ridge(x, y, folds(x))[0]


def agreement(currents: np.ndarray, truth: Made) -> float:
    """Return the correlation of inferred with true currents, mean over neurons."""
    pairs = zip(currents.T, flat(truth.currents).T, strict=True)
    return round(float(np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs])), 3)


def outcome(run: Run, truth: Made, settings: RecordingConfig) -> Row:
    """Return how well a network explains held-out neurons, and what of the teacher is found in it."""
    evaluated = run.evaluate(trials=400, record=list(NETWORK_QUANTITIES), progress=False)
    table = read_trials(evaluated.folder / "trials.parquet")
    judged = judge(Source(run.run), Recording(evaluated.folder), table, truth.path, settings)
    share = {row["model"]: row["share"] or 0.0 for row in judged.rows if row["neurons"] == "held out"}
    system, states = run.system, states_of(run)
    assert isinstance(system, Leaky)
    x, y = flat(states), flat(truth.rates)
    weights, (mean_x, mean_y) = ridge(x, y, folds(x))
    read = (settled(system, states) - mean_x) @ weights + mean_y
    distance = np.linalg.norm(read[:, None] - truth.attractors, axis=2)
    found = (distance.argmin(1) == np.arange(DIRECTIONS)) & (distance.min(1) < spread(truth.attractors) / 4)
    return {
        "performance": evaluated.performance,
        "explained": round(share["network"], 3),
        "untrained": round(share["untrained network"], 3),
        "attractors": int(found.sum()),
        "currents": agreement(inferred(run, truth), truth),
    }


def make(item: str, seed: int) -> Row:
    """Train networks of a teacher's recording.

    Args:
        item: ``teacher`` for a network of both, of the recording alone and of the task alone, whose outcomes are
            returned; ``currents`` for three of the recording alone, whose currents are.
        seed: of teacher and networks.
    """
    torch.set_num_threads(1)
    row: Row = {"neurons": int(2 * NEURONS[seed]), "trials": int(DIRECTIONS * TRIALS[seed])}
    with tempfile.TemporaryDirectory(prefix="ngym-recordings-") as name:
        folder = Path(name)
        truth, settings = made(folder, seed), None

        def learned(kind: str, seed: int) -> Run:
            recording = None if kind == "task" else str(truth.path)
            where = {"name": f"{kind}-{seed}", "runs_root": folder, "progress": False}
            return train(**SETTINGS, **KINDS[kind], recording=recording, seed=seed, **where)

        if item == "currents":
            each = [inferred(learned("recording", seed + 100 * k), truth) for k in range(3)]
            one = [agreement(currents, truth) for currents in each]
            return {**row, "one": one, "three": agreement(np.mean(each, axis=0), truth)}
        for kind in KINDS:
            run = learned(kind, seed)
            settings = run.config.recording or settings
            assert settings is not None
            row[kind] = outcome(run, truth, settings)
    return row


def table(rows: Rows) -> str:
    """What was reached with each teacher."""
    names = ("performance", "explained", "attractors", "currents")
    lines = [f"| neurons | trials | {' | '.join(names)} | currents of three |", "|---" * 7 + "|"]
    for seed, row in rows["teacher"].items():
        cells = [" / ".join(f"{row[kind][name]:.3g}" for kind in KINDS) for name in names]
        three = rows.get("currents", {}).get(seed, {}).get("three", "-")
        lines.append(f"| {row['neurons']} | {row['trials']} | {' | '.join(cells)} | {three} |")
    return "\n".join(lines)


RECORD = Record(
    name="recordings",
    what="networks that learn from made recordings: held-out neurons, attractors, currents",
    file=Path(__file__).with_name("results.json"),
    items=lambda: ("teacher", "currents"),
    make=make,
    tables={"teachers": table},
    seeds=10,
    outcome=lambda row: {"currents": row["three"]} if "three" in row else {k: row[k]["explained"] for k in KINDS},
)
