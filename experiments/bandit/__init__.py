"""Regret of a trained network on ChangingBandit-v0, next to Thompson sampling's and the best there is.

    python -m experiments.records --make --only bandit

Regret is the mean reward of the better arm, less what the chosen one does, per trial. All three play the
same sessions: the network as it is trained, Thompson sampling from uniform priors, and dynamic programming over the
counts of both arms. Intervals are over sessions, paired.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments.records.record import Record, Row, Rows
from neurogym.analysis.learning import best_choices, thompson
from ngym_cli.agents.defaults import complete, resolve
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.config import from_dict, read_toml
from ngym_cli.evaluation import fresh_trials

HERE = Path(__file__).parent
ITEM = "changing_bandit"

#: Fresh sessions that all three play.
SESSIONS = 4000


def choices(table: Any, session: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the arms (session, arm) and the network's choices (session, trial)."""
    order = np.lexsort((table["trial"], table["env"])).reshape(-1, session)
    p = np.stack([np.asarray(table[name])[order[:, 0]] for name in ("p0", "p1")], axis=1)
    return p, np.asarray(table["choice"])[order].astype(int)


def regret(p: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Mean over the trials of each session."""
    return p.max(1) - np.take_along_axis(p, chosen, axis=1).mean(1)


def run(settings: dict[str, Any], sessions: int) -> dict[str, Any]:
    """Train once and compare on fresh sessions."""
    config, facts = resolve(from_dict(settings))
    config = complete(config, facts)
    venv = build_venv(config, int(config.n_envs or 1))
    model = build_model(config, venv)
    venv.seed(config.seed)
    began = time.perf_counter()
    model.learn(int(config.timesteps or 0))
    seconds = time.perf_counter() - began
    session = venv.get_attr("unwrapped")[0].session
    # the agent explores by drawing its actions
    test = fresh_trials.EvaluationSettings(sessions * session, 10_000 + config.seed, deterministic=False)
    evaluation = fresh_trials.evaluate(model.policy, config, facts, test)
    p, chosen = choices(evaluation.table, session)
    rng = np.random.default_rng(config.seed)
    ours, sampling, least = (
        regret(p, chosen_arms) for chosen_arms in (chosen, thompson(p, session, rng), best_choices(p, session, rng))
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


def make(item: str, seed: int) -> Row:
    """Train with the settings of the recipe."""
    torch.set_num_threads(1)
    return run({**read_toml(HERE / f"{item}.toml"), "seed": seed}, SESSIONS)


def table(rows: Rows) -> str:
    """Regret of each seed."""
    lines = ["| seed | regret per trial | Thompson sampling | best possible | over Thompson |", "|---|---|---|---|---|"]
    for seed, row in rows.get(ITEM, {}).items():
        more, half = row["over thompson"]
        lines.append(
            f"| {seed} | {row['regret']:.4f} | {row['thompson']:.4f} | {row['best']:.4f} | {more:+.4f} +- {half:.4f} |"
        )
    return "\n".join(lines)


RECORD = Record(
    name="bandit",
    what="regret on ChangingBandit-v0 next to Thompson sampling's and the best possible",
    file=HERE / "results.json",
    items=lambda: [ITEM],
    make=make,
    tables={"regret": table},
    outcome=lambda row: {"regret": row["regret"]},
)
