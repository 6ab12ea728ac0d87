"""Regret of a trained network on ChangingBandit-v0, beside Thompson sampling's and the best there is.

    OMP_NUM_THREADS=1 python -m experiments.bandit

Regret is what the better arm would have paid on average, less what the chosen one does, per trial. All three play the
same sessions: the network as it is trained, Thompson sampling from uniform priors, and dynamic programming over the
counts of both arms. Intervals are over sessions, paired. Writes `results.json` beside this file.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.ceilings.bandits import best_choices
from ngym_cli.agents.from_config import build_model
from ngym_cli.config import from_dict, read_toml
from ngym_cli.environments.stack import build_venv, resolve
from ngym_cli.evaluation import fresh_trials

HERE = Path(__file__).parent


def choices(table: Any, session: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the arms (session, arm) and the network's choices (session, trial)."""
    order = np.lexsort((table["trial"], table["env"])).reshape(-1, session)
    p = np.stack([np.asarray(table[name])[order[:, 0]] for name in ("p0", "p1")], axis=1)
    return p, np.asarray(table["choice"])[order].astype(int)


def regret(p: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Mean over the trials of each session."""
    return p.max(1) - np.take_along_axis(p, chosen, axis=1).mean(1)


def thompson(p: np.ndarray, session: int, rng: np.random.Generator) -> np.ndarray:
    """Choices (session, trial) of Thompson sampling (1933, doi:10.1093/biomet/25.3-4.285)."""
    wins, losses, each = np.ones_like(p), np.ones_like(p), np.arange(len(p))
    chosen = np.empty((len(p), session), int)
    for t in range(session):
        arm = chosen[:, t] = rng.beta(wins, losses).argmax(1)
        paid = rng.random(len(p)) < p[each, arm]
        wins[each, arm] += paid
        losses[each, arm] += ~paid
    return chosen


def run(settings: dict[str, Any], sessions: int) -> dict[str, Any]:
    """Train once and compare on fresh sessions."""
    config, facts = resolve(from_dict(settings))
    venv = build_venv(config, int(config.n_envs or 1))
    model = build_model(config, venv)
    venv.seed(config.seed)
    began = time.perf_counter()
    model.learn(int(config.timesteps or 0))
    seconds = time.perf_counter() - began
    session = venv.get_attr("envs")[0][0].unwrapped.session
    protocol = fresh_trials.Protocol(deterministic=False)  # it explores by drawing
    found = fresh_trials.evaluate(
        model.policy, config, facts, sessions * session, 10_000 + config.seed, protocol=protocol
    )
    p, chosen = choices(found.table, session)
    rng = np.random.default_rng(config.seed)
    ours, sampling, least = (
        regret(p, part) for part in (chosen, thompson(p, session, rng), best_choices(p, session, rng))
    )
    more = ours - sampling
    return {
        "seed": config.seed,
        "regret": float(ours.mean()),
        "thompson": float(sampling.mean()),
        "best": float(least.mean()),
        "over thompson": [float(more.mean()), float(1.96 * more.std(ddof=1) / np.sqrt(len(more)))],
        "sessions": len(p),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Train, print a line each, keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sessions", type=int, default=4000, help="fresh sessions")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results = []
    for seed in arguments.seeds:
        found = run({**read_toml(HERE / "changing_bandit.toml"), "seed": seed}, arguments.sessions)
        more, half = found["over thompson"]
        line = f"seed {seed}: regret {found['regret']:.4f}, Thompson {found['thompson']:.4f}, best {found['best']:.4f}"
        print(f"{line}; over Thompson {more:+.4f} +- {half:.4f}; {found['seconds']:.0f} s", flush=True)
        results.append(found)
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
