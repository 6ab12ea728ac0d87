"""Regret of a trained network on ChangingBandit-v0, next to Thompson sampling's and the best there is.

    python -m experiments.records --make --only bandit

Regret is the mean reward of the better arm, less what the chosen one does, per trial. All three play the
same sessions: the network as it is trained, Thompson sampling from uniform priors, and dynamic programming over the
counts of both arms. Intervals are over sessions, paired.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import neurogym
from experiments.records.record import Record, Row, Rows
from neurogym.analysis.learning import best_choices, thompson
from ngym_cli import Run, runs
from ngym_cli.config import read_toml

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


def make(item: str, seed: int, folder: Path, sessions: int = SESSIONS) -> Row:
    """Compare a trained network on fresh sessions; it explores by drawing its actions."""
    session = neurogym.make("ChangingBandit-v0").unwrapped.trials_per_session
    evaluation = Run(folder).evaluate(sessions * session, seed=10_000 + seed, deterministic=False, progress=False)
    p, chosen = choices(evaluation.trials, session)
    rng = np.random.default_rng(seed)
    ours, sampling, least = (
        regret(p, chosen_arms) for chosen_arms in (chosen, thompson(p, session, rng), best_choices(p, session, rng))
    )
    more = ours - sampling
    return {
        "regret": float(ours.mean()),
        "thompson": float(sampling.mean()),
        "best": float(least.mean()),
        "over thompson": [float(more.mean()), float(1.96 * more.std(ddof=1) / np.sqrt(len(more)))],
        "sessions": len(p),
        "cpu_seconds": round(runs.RunFolder(folder).manifest()["cpu_seconds"], 1),
    }


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
    run=lambda item: read_toml(HERE / f"{item}.toml"),
    tables={"regret": table},
    outcome=lambda row: {"regret": row["regret"]},
)
