"""Groups of subjects: covariates, and samples of the posterior."""

import jax
import numpy as np
import pytest

import ngym_cli as nc
from neurogym.behaviour.models import first_passage
from neurogym.behaviour.models.agents import AgentPolicy
from neurogym.behaviour.models.base import Problem
from neurogym.behaviour.models.learning import QLearning
from neurogym.behaviour.models.with_times import diffusion
from neurogym.behaviour.simulate import ReversingBandit, simulate
from neurogym.behaviour.table import Behaviour, session
from ngym_cli.errors import UserError
from ngym_cli.fitting.group import Covariates, covariates_of, fit_groups
from ngym_cli.fitting.posterior import Target, sample, subject_log_likelihoods, summaries, warnings_of

EFFECT = 0.25


def people(n, trials, seed=0):
    """Return subjects whose log bound rises with age, and the ages."""
    rng, sessions = np.random.default_rng(seed), []
    ages = np.linspace(-1, 1, n)
    for k, age in enumerate(ages):
        x = rng.choice([-0.4, -0.1, 0.1, 0.4], trials)
        bound = np.full(trials, 2 * 0.8 * np.exp(EFFECT * age + 0.05 * rng.standard_normal()))
        choice, time = first_passage.draw(8 * x, bound, np.full(trials, 0.5), rng)
        conditions = {"age": np.full(trials, age), "group": np.full(trials, "ab"[k % 2]), "trial": np.arange(trials)}
        sessions.append(session(choice, subject=str(k), stimuli=x[:, None], rt=time + 0.3, conditions=conditions))
    return Behaviour(tuple(sessions), stimuli=("coh",))


def problems_of(table):
    return [Problem(table.of(who)) for who in table.subjects]


def test_the_effect_of_a_covariate_is_found_with_an_interval():
    table = people(14, 250)
    covariates = covariates_of(table, "age + group")
    fits, (group,) = fit_groups(diffusion(start=False), problems_of(table), 1, covariates)
    assert group is not None
    effects = group.effects()["A"]
    assert EFFECT in effects["age"] and 0 not in effects["age"]
    assert 0 in effects["group[T.b]"]
    assert len(fits) == 14


@pytest.mark.parametrize(
    ("between", "words"), [("trial", "250 values for subject 0"), ("size", "0 values"), ("1", "0 covariates")]
)
def test_covariates_that_do_not_describe_subjects_are_refused(between, words):
    with pytest.raises(UserError, match=words):
        covariates_of(people(6, 250), between)


@pytest.mark.parametrize("centred", [True, False])
def test_the_log_density_of_the_sampler_has_the_right_gradient(centred):
    jax.config.update("jax_enable_x64", True)
    table, model = people(4, 60), diffusion(start=False, lapse=0.02)
    covariates = Covariates(("age",), np.array([[-1.0], [-0.3], [0.3], [1.0]]))
    fits, (group,) = fit_groups(model, problems_of(table), 1, covariates)
    problems = problems_of(table)
    likelihoods = [model.posterior(each) for each in problems]
    together = subject_log_likelihoods(model, [each.table for each in problems], likelihoods)
    target = Target(together, likelihoods[0].parameters, fits, group)
    target.centred = np.full(len(target.centred), centred)
    if not centred:
        target.scale = np.zeros_like(target.scale)
    u = 0.3 * np.random.default_rng(0).standard_normal(target.size)
    slope = [(target(u + 1e-5 * e) - target(u - 1e-5 * e)) / 2e-5 for e in np.eye(target.size)]
    np.testing.assert_allclose(jax.grad(target)(u), slope, rtol=1e-4, atol=1e-3)


@pytest.mark.long
def test_samples_agree_with_laplace_and_have_diagnostics():
    table = people(1, 200)
    model = diffusion(start=False, lapse=0.02)
    fit = model.fit(problems_of(table))[0]
    likelihood = model.posterior(problems_of(table)[0])
    target = Target(subject_log_likelihoods(model, [table], [likelihood]), likelihood.parameters, [fit], None)
    record = summaries(sample(target, 150, 0), likelihood.parameters, ["0"], None)
    for name, row in record["parameters"]["0"].items():
        estimate = fit.parameters[name]
        assert abs(row["value"] - estimate.value) < 0.5 * estimate.se
        assert row["se"] == pytest.approx(estimate.se, rel=0.35)
        assert row["r_hat"] < 1.05 and row["ess"] > 50
    assert all("R-hat" in text or "divergent" in text for text in warnings_of(record))


def test_a_subject_whom_the_group_has_not_seen_is_predicted_by_the_group(tmp_path):
    rng, model = np.random.default_rng(3), QLearning("q", perseveration=True)
    parameters, rows = model.parameters(Behaviour(())), []
    for k in range(7):
        x = np.array([rng.normal(0, 0.3), rng.normal(1.3, 0.2), 0.8, 0.0])
        played = simulate(AgentPolicy(model, parameters, x, 2), ReversingBandit(1, 80, 2, rng), Behaviour(()), rng)
        (each,) = played.sessions
        rows += [{"subject": f"s{k}", "choice": c, "reward": r} for c, r in zip(each.choice, each.reward, strict=True)]
    known, new = rows[: 6 * 80], rows[6 * 80 :]
    options = {"model": ["q-learning", "logistic:history=1"], "subjects": "hierarchical", "runs_root": tmp_path}
    scores = nc.fit(known, folds=1, test=new, **options)["test_scores"]
    value = {name: row["log_likelihood"]["value"] for name, row in scores.items()}
    assert value["q-learning"] > value["bias"] + 0.1 and value["logistic:history=1"] > value["bias"] + 0.1
    with pytest.raises(nc.UserError, match="hierarchical"):
        nc.fit(known, folds=1, test=new, model="q-learning", runs_root=tmp_path)
