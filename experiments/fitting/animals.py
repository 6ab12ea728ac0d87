"""Fits to animals, and to an agent that was trained here, from its own trial table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ngym_cli import fit

Row = dict[str, Any]
DATA = Path(__file__).parents[1] / "data"

#: Models of the rat, and the published or measured anchor of each (nats per held-out trial).
RAT = {
    "logistic": -0.6423,
    "logistic:history=1": -0.6236,
    "logistic:history=5": -0.6152,
    "psytrack": -0.6176,
    "glm-hmm:states=2": -0.6204,
    "glm-hmm:states=3": -0.6148,
    "gru:units=1": -0.6161,
    "gru:units=2": -0.6119,
    "gru:units=4": -0.6144,
    "gru:units=2:drift=true": -0.609,
    "disentangled": -0.6093,
    "disentangled:drift=true": -0.609,
}


def rat(model: str) -> Callable[[int], Row]:
    """Return the measurement of a model on the rat's 36 sessions."""

    def measured(seed: int) -> Row:
        with tempfile.TemporaryDirectory() as runs:
            fitted = fit(DATA / "akrami_2018_rat_w053.csv", model, seed=seed, runs=runs)
            score = fitted["scores"][model]["log_likelihood"]
        return {
            "log-likelihood": round(score["value"], 4),
            "interval": [round(score["low"], 4), round(score["high"], 4)],
        }

    return measured


def monkeys(seed: int) -> Row:
    """Fit drift diffusion to each monkey, without and with variability over trials."""
    with_variability = "ddm:drift_sd=true:time_range=true"
    with tempfile.TemporaryDirectory() as runs:
        record = fit(DATA / "roitman_shadlen_2002.csv", f"ddm,{with_variability}", seed=seed, runs=runs)
        row: Row = {}
        for label, words in (("ddm", ""), (with_variability, ", variability")):
            model = record["models"][label]
            row[f"nats per trial{words}"] = round(model["time_score"]["together"]["value"], 4)
            for monkey, parameters in model["parameters"].items():
                for name in ("k", "A", "t_R"):
                    row[f"monkey {monkey}, {name}{words}"] = round(parameters[name]["value"], 4)
    return row


def trained_agent(seed: int) -> Row:
    """Train a recurrent agent on a changing bandit, fit models to trials that it makes, by session."""
    import ngym_cli as nc

    with tempfile.TemporaryDirectory() as folder:
        run = nc.train(
            "ChangingBandit-v0",
            seed=seed,
            timesteps=1_000_000,
            wrappers="pass_reward,pass_action",
            runs_root=folder,
            progress=False,
        )
        trials = run.evaluate(trials=6000, deterministic=False, name="choices")
        table = trials.folder / "trials.parquet"
        performance = trials.performance
        fitted = fit(table, "q-learning-forgetting,gru", units=2, seed=seed, runs=folder, stimuli="none")
        return {name: round(row["log_likelihood"]["value"], 4) for name, row in fitted["scores"].items()} | {
            "trials": fitted["scores"]["bias"]["trials"],
            "performance of the agent": performance and round(performance, 3),
        }
