"""Samples of the posterior of subjects and group, from the shell to the figure (``--posterior``)."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ngym_cli as nc
from tests.neurogym.behaviour.laboratories import write_csv

SUBJECTS, TRIALS, DRAWS = 3, 150, 200
RATES = (0.2, 0.4, 0.6)


def learners(path):
    """Write the choices of value learners on a bandit that reverses."""
    rng, rows = np.random.default_rng(0), {"subject": [], "choice": [], "reward": []}
    for who, rate in enumerate(RATES):
        value = np.zeros(2)
        for t in range(TRIALS):
            choice = int(rng.random() < 1 / (1 + np.exp(-4 * (value[1] - value[0]))))
            reward = int(rng.random() < (0.8 if choice == (t // 25) % 2 else 0.2))
            value[choice] += rate * (reward - value[choice])
            for name, entry in zip(rows, (f"s{who}", choice, reward), strict=True):
                rows[name].append(entry)
    return write_csv(path, rows)


@pytest.mark.slow
def test_the_posterior_of_a_group_is_sampled_reported_and_drawn(tmp_path, ngym):
    pytest.importorskip("numpyro", reason="needs the extra fit")
    path = learners(tmp_path / "bandit.csv")
    options = ["--model", "q-learning", "--subjects", "hierarchical", "--folds", "2", "--posterior", str(DRAWS)]
    command = ["fit", path, *options, "--runs", tmp_path / "runs", "--name", "p"]
    shown = ngym(*command)
    assert shown.code == 0 and "R-hat" in shown.out and "ESS" in shown.out
    record = json.loads(ngym(*command, "--json").out)
    posterior = record["models"]["q-learning"]["posterior"]
    assert posterior["chains"] == 2 and posterior["draws"] == DRAWS
    assert list(posterior["parameters"]) == ["s0", "s1", "s2"]
    for parameters in [*posterior["parameters"].values(), *posterior["group"].values()]:
        for row in parameters.values():
            assert 0.99 < row["r_hat"] < 1.1 and row["ess"] > 40
            assert row["low"] < row["value"] < row["high"]
    intervals = [each["alpha"] for each in posterior["parameters"].values()]
    inside = [each["low"] <= rate <= each["high"] for rate, each in zip(RATES, intervals, strict=True)]
    assert sum(inside) >= 2
    assert np.isfinite([posterior["loo"]["elpd"], posterior["loo"]["se"]]).all()
    figure = nc.Fit(record["path"]).plot("trace")
    assert sum(len(axes.lines) for axes in figure.axes) >= 2 * len(posterior["group"])
    plotted = ngym("plot", record["path"], "trace")
    assert plotted.code == 0 and (tmp_path / plotted.out.split()[-1]).suffix == ".png"
