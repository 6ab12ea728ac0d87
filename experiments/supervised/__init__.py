"""Classic results of supervised learning, repeated: trained over seeds and measured on fresh trials.

    python -m experiments.records --make --only supervised

Kept are performance (of each task, where there are several), cross-entropy in nats per step, seconds and updates.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.records.record import Record, Row, Rows
from ngym_cli.agents.algorithms.rollout import PackedRollout
from ngym_cli.agents.defaults import complete, resolve
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.agents.supervised.learner import Supervised
from ngym_cli.agents.supervised.material import TrialStream
from ngym_cli.config import from_dict
from ngym_cli.evaluation import fresh_trials

#: Fresh trials, of each task where there are several.
TRIALS = 10_000

YANG = {"task": "yang19", "task_args": {"dim_ring": 2}, "timesteps": 1000 * 32 * 100}
CASES: dict[str, dict[str, Any]] = {
    "random dots, lstm 64": {
        "task": "PerceptualDecisionMaking-v0",
        "units": 64,
        "timesteps": 2000 * 16 * 100,
        "hyperparameters": {"batch_size": 16, "seq_len": 100},
    },
    "context, lstm 128": {
        "task": "ContextDecisionMaking-v0",
        "task_args": {"use_expl_context": True},
        "timing": {"delay": 0},
        "units": 128,
        "timesteps": 1000 * 32 * 22,
        "hyperparameters": {"batch_size": 32, "seq_len": 22},
    },
    "yang19, lstm 128": {**YANG, "units": 128, "hyperparameters": {"batch_size": 32, "seq_len": 100}},
    "yang19, ctrnn 256": {
        **YANG,
        "network": "ctrnn",
        "units": 256,
        "hyperparameters": {"batch_size": 32, "seq_len": 100},
    },
}


def cross_entropy(model: Supervised, seed: int, rows: int = 400_000) -> float:
    """Nats per step on fresh trials, every step counting the same."""
    stream = TrialStream(model.env.venv.envs[0], seed, model.weigh, draw=model.streams[0].draw)
    total, seen = 0.0, 0
    while seen < rows:
        material = stream.trials(4000)
        length = material.length.astype(np.int64)
        _, numbers = model.gradient(material, PackedRollout(np.zeros_like(length), np.cumsum(length) - length, length))
        total, seen = total + float(numbers[1]) * len(material), seen + len(material)
    return total / seen


def run(settings: dict[str, Any], trials: int) -> dict[str, Any]:
    """Train once; measure on `trials` fresh trials (of each task, where there are several)."""
    config, facts = resolve(from_dict({"alg": "supervised", **settings}))
    config = complete(config, facts)
    seed = config.seed
    venv = build_venv(config, int(config.n_envs or 1))
    model = build_model(config, venv)
    venv.seed(seed)
    began = time.perf_counter(), time.process_time()
    model.learn(int(config.timesteps or 0))
    wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    several = "task" in facts.conditions
    test = fresh_trials.EvaluationSettings(trials * (20 if several else 1), 10_000 + seed)
    evaluation = fresh_trials.evaluate(model.policy, config, facts, test)
    numbers: dict[str, Any] = {
        "performance": evaluation.summary["performance"],
        "ceiling": evaluation.summary["ceiling"],
    }
    if several:
        scores, tasks = evaluation.table["performance"], evaluation.table["task"]
        numbers["tasks"] = {str(task): round(float(scores[tasks == task].mean()), 4) for task in np.unique(tasks)}
    loss = cross_entropy(model, 20_000 + seed)
    return {**numbers, "nats_per_step": loss, "updates": model.updates, "seconds": wall, "cpu_seconds": cpu}


def make(item: str, seed: int) -> Row:
    """Train one case."""
    torch.set_num_threads(1)
    return run({**CASES[item], "seed": seed}, TRIALS)


def table(rows: Rows) -> str:
    """Performance and loss of each case: mean over the seeds, and the lowest task of any of them."""
    lines = ["| case | performance | ceiling | lowest task | nats per step | CPU seconds |", "|---" * 6 + "|"]
    for case, seeds in rows.items():
        scores = [row["performance"] for row in seeds.values()]
        tasks = [(score, task) for row in seeds.values() for task, score in row.get("tasks", {}).items()]
        lowest = "{1} {0:.3f}".format(*min(tasks)) if tasks else "-"
        ceiling = next(iter(seeds.values()))["ceiling"]
        numbers = [np.mean([row[name] for row in seeds.values()]) for name in ("nats_per_step", "cpu_seconds")]
        each = f"{np.mean(scores):.4f} ({min(scores):.4f} to {max(scores):.4f})"
        reference = "-" if ceiling is None else f"{ceiling:.4f}"
        lines.append(f"| {case} | {each} | {reference} | {lowest} | {numbers[0]:.4f} | {numbers[1]:.0f} |")
    return "\n".join(lines)


RECORD = Record(
    name="supervised",
    what="classic results of supervised learning",
    file=Path(__file__).with_name("results.json"),
    items=lambda: CASES,
    make=make,
    tasks=lambda item: [CASES[item]["task"]],
    settings=lambda item: CASES[item],
    trainings=lambda item: [{"alg": "supervised", **CASES[item]}],
    tables={"results": table},
)
