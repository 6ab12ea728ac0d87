"""Train the tasks of the table over seeds and measure them on fresh trials.

    OMP_NUM_THREADS=1 python -m experiments.supervised [case or recipe.toml ...] --seeds 3

Writes `results.json` beside this file, or beside the recipe: for each case and seed performance (of each task, where
there are several), cross-entropy in nats per step, seconds, updates; and prints one line each.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ngym_cli.agents.algorithms.segments import pack
from ngym_cli.agents.from_config import build_model
from ngym_cli.agents.supervised.learner import Supervised
from ngym_cli.agents.supervised.material import TrialStream
from ngym_cli.config import from_dict, read_toml
from ngym_cli.environments.stack import build_venv, resolve
from ngym_cli.evaluation import fresh_trials

RESULTS = Path(__file__).parent / "results.json"
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
    stream = TrialStream(model.env.venv.envs[0], seed, model._weigh, draw=model.streams[0].draw)
    total, seen = 0.0, 0
    while seen < rows:
        material = stream.trials(4000)
        with torch.no_grad():
            _, numbers = model.loss(material, pack(material.length))
        total, seen = total + float(numbers[1]) * len(material), seen + len(material)
    return total / seen


def run(settings: dict[str, Any], trials: int) -> dict[str, Any]:
    """Train once; measure on `trials` fresh trials (of each task, where there are several)."""
    config, facts = resolve(from_dict({"alg": "supervised", **settings}))
    seed = config.seed
    venv = build_venv(config, int(config.n_envs or 1))
    model = build_model(config, venv)
    venv.seed(seed)
    began = time.perf_counter(), time.process_time()
    model.learn(int(config.timesteps or 0))
    wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    several = "task" in facts.conditions
    found = fresh_trials.evaluate(model.policy, config, facts, trials * (20 if several else 1), 10_000 + seed)
    numbers: dict[str, Any] = {"performance": found.summary["performance"], "ceiling": found.summary["ceiling"]}
    if several:
        scores, tasks = found.table["performance"], found.table["task"]
        numbers["tasks"] = {str(task): round(float(scores[tasks == task].mean()), 4) for task in np.unique(tasks)}
    loss = cross_entropy(model, 20_000 + seed)
    return {**numbers, "nats_per_step": loss, "updates": model._n_updates, "seconds": wall, "cpu_seconds": cpu}


def main() -> None:
    """Run what was asked for and keep the rest of the results as they are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)}")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=10_000, help="fresh trials, of each task where there are several")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for case in arguments.cases:
        recipe = Path(case) if case.endswith(".toml") else None
        settings = CASES[case] if recipe is None else read_toml(recipe)
        several = []
        for seed in range(arguments.seeds):
            found = run({**settings, "seed": seed}, arguments.trials)
            several.append(found)
            worst = min(found["tasks"].items(), key=lambda item: item[1]) if "tasks" in found else ""
            line = f"performance {found['performance']:.4f} {worst}, {found['nats_per_step']:.5f} nats a step"
            print(f"{case}, seed {seed}: {line}, {found['updates']} updates in {found['seconds']:.1f} s", flush=True)
        keep(
            RESULTS if recipe is None else recipe.parent / "results.json",
            case if recipe is None else recipe.stem,
            several,
        )


def keep(path: Path, case: str, several: list[dict[str, Any]]) -> None:
    """Replace the results of one case."""
    results = json.loads(path.read_text()) if path.exists() else {}
    scores = [found["performance"] for found in several]
    results[case] = {"performance": [round(float(np.mean(scores)), 4), round(float(np.std(scores, ddof=1)), 4)]}
    results[case]["seeds"] = several
    path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
