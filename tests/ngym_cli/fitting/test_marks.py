"""Estimates of every model are marked, without an interval, where data do not determine them; few trials are said."""

import json

import numpy as np
import pytest

import ngym_cli as nc

OWN = """
import jax.numpy as jnp
from neurogym.behaviour.models.agents import Agent
from neurogym.behaviour.models.parameters import rate

class Own(Agent):
    alpha, beta, unused, linear = rate(), rate(high=20), rate(), False

    def begin(self, p, n):
        return {"q": jnp.zeros(n)}

    def logits(self, p, state, trial):
        return p.beta * state.q

    def update(self, p, state, trial):
        return {"q": state.q + p.alpha * trial.chosen * (trial.reward - state.q)}
"""
SEED, TRIALS = 3, 60


def bandit(rng):
    return {"choice": rng.integers(0, 2, TRIALS), "reward": (rng.random(TRIALS) < 0.5) * 1}


def gambles(rng):
    choice = rng.integers(0, 4, TRIALS)
    return {"choice": choice, "gain": rng.random(TRIALS).round(2), "loss": -rng.random(TRIALS).round(2)}


def two_step(rng):
    return {
        "level1_choice": rng.integers(1, 3, TRIALS),
        "level2_choice": rng.integers(1, 5, TRIALS),
        "reward": rng.integers(0, 2, TRIALS),
    }


def cues(rng):
    return {
        "cue": rng.integers(1, 5, TRIALS),
        "keyPressed": rng.integers(0, 2, TRIALS),
        "outcome": rng.integers(-1, 2, TRIALS),
    }


CASES = [
    (bandit, "q-learning,win-stay-lose-shift,bayes-reversal,kalman,logistic:history=1,psytrack,glm-hmm:states=2"),
    (gambles, "orl"),
    (two_step, "hybrid"),
    (cues, "go-no-go"),
]
MORE = [
    (bandit, "q-learning-two-rates,q-learning-forgetting,rescorla-wagner,ewa,fictive"),
    (gambles, "gain-loss,pvl-delta,vpp"),
    (two_step, "model-free,model-based"),
]


def check(fit):
    """Every number is finite or marked, no interval has zero width, and what is marked has none."""
    for label, model in fit["models"].items():
        for who, parameters in model["parameters"].items():
            for name, value in parameters.items():
                mark = model.get("marks", {}).get(who, {}).get(name, "")
                assert value["value"] is not None or mark, (label, name)
                assert not (mark and value["low"] is not None), (label, name)
                ordered = value["low"] is None or value["low"] <= value["value"] <= value["high"] > value["low"]
                assert ordered, (label, name)
    table = fit.parameters
    assert not ((table["mark"] != "") & np.isfinite(table["value_low"].astype(float))).any()


@pytest.mark.parametrize(("make", "models"), [*CASES, *(pytest.param(*each, marks=pytest.mark.long) for each in MORE)])
def test_estimates_of_noise_are_marked_and_few_trials_are_said(make, models, tmp_path):
    fit = nc.fit(make(np.random.default_rng(SEED)), model=models, runs=tmp_path, folds=1)
    check(fit)
    assert all(
        f"{TRIALS} trials for" in " ".join(model["notes"]["subject"]) and "are advised" in str(model["notes"])
        for label, model in fit["models"].items()
        if label not in ("bias", "win-stay-lose-shift")
    )


def test_a_parameter_that_does_nothing_is_not_identified_anywhere(tmp_path, ngym):
    path = tmp_path / "own.py"
    path.write_text(OWN)
    table = bandit(np.random.default_rng(SEED))
    fit = nc.fit(table, model=[f"{path}:Own"], runs=tmp_path, folds=2, name="own")
    check(fit)
    rows = fit.parameters
    assert rows[rows["parameter"] == "unused"]["mark"].tolist() == ["not identified"]
    assert json.loads((fit.path / "fit.json").read_text())["models"][f"{path}:Own"]["marks"]["subject"]["unused"]
    (tmp_path / "t.csv").write_text(
        "choice,reward\n" + "\n".join(f"{c},{r}" for c, r in zip(*table.values(), strict=True))
    )
    shown = ngym("fit", str(tmp_path / "t.csv"), "--model", f"{path}:Own", "--folds", "2", "--runs", str(tmp_path))
    assert "not identified" in shown.out


def test_a_network_says_how_many_trials_its_weights_need(tmp_path):
    fit = nc.fit(bandit(np.random.default_rng(SEED)), model=["gru"], units=[1], seeds=1, folds=2, runs=tmp_path)
    label = next(each for each in fit.models if each != "bias")
    assert "weights of a network" in fit["models"][label]["notes"]["subject"][0]


@pytest.mark.parametrize("table", [two_step, cues])
def test_models_that_see_no_cue_play_the_world_of_every_table(table, tmp_path):
    models = ["psytrack", "glm-hmm", "gru:units=1:drift=true"]
    fit = nc.fit(table(np.random.default_rng(SEED)), model=models, seeds=1, folds=2, runs=tmp_path)
    assert set(models) <= set(fit.scores["model"])
