"""Samples of the posterior of subjects and group, from the shell to the figure (``--posterior``)."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import ngym_cli as nc
from ngym_cli.fitting import posterior
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


@pytest.mark.parametrize("error", [pytest.param(0.3, marks=pytest.mark.long), 1.0])
def test_the_spread_of_a_group_is_that_of_its_exact_posterior(error):
    """Subjects with Gaussian likelihoods, spread .4: large errors leave a funnel at s.d. 0."""
    pytest.importorskip("numpyro", reason="needs the extra fit")
    y = np.random.default_rng(1).normal(0.5, np.hypot(0.4, error), 12)
    fits = [SimpleNamespace(details={"unbounded": y[[k]], "unbounded_variance": [error**2]}) for k in range(len(y))]
    covariates = SimpleNamespace(matrix=np.zeros((len(y), 0)))
    nothing = np.zeros((0, 1))
    group = SimpleNamespace(
        mean=np.array([y.mean()]), sd=np.array([0.4]), covariates=covariates, weights=nothing, weights_se=nothing
    )
    target = posterior.Target(
        lambda x: -0.5 * ((x[:, 0] - y) / error) ** 2, [SimpleNamespace(mean=0.0, sd=1.0)], fits, group
    )
    samples = posterior.sample(target, 1000, 0)
    mean, sd = np.meshgrid(np.linspace(-2, 3, 301), np.linspace(1e-3, 2, 400), indexing="ij")
    total = sd**2 + error**2
    log = -0.5 * (mean**2 + (sd / posterior.SPREAD) ** 2)
    log -= 0.5 * (((y - mean[..., None]) ** 2 / total[..., None]) + np.log(total)[..., None]).sum(-1)
    weight = np.exp(log - log.max()).sum(0)
    exact = np.interp([0.05, 0.5, 0.95], np.cumsum(weight) / weight.sum(), sd[0])
    assert samples.divergences <= 10
    assert np.quantile(samples.sd, [0.05, 0.5, 0.95]) == pytest.approx(exact, abs=0.06)
