"""Weights of choice regressions: coverage of their intervals, sessions and subjects as groups, separable choices."""

import numpy as np
import pytest

from neurogym.analysis.regression import fit_bias_reduced, is_separable
from neurogym.behaviour.describe import describe
from neurogym.behaviour.models.base import Problem
from neurogym.behaviour.models.drifting import Drifting
from neurogym.behaviour.models.logistic import Logistic
from neurogym.behaviour.table import Behaviour, session


def simulated(rng, trials, weight, bias=0.0, history=0.0, sessions=1, spread=0.0) -> Behaviour:
    """Return choices from known weights; each session has a bias of its own."""
    rows = []
    for k in range(sessions):
        stimulus = rng.choice([-1, -0.5, -0.25, 0, 0.25, 0.5, 1], trials)
        choice, last, present = np.zeros(trials, int), 0, bias + spread * rng.normal()
        for t in range(trials):
            logit = weight * stimulus[t] + present + history * last
            choice[t] = rng.random() < 1 / (1 + np.exp(-logit))
            last = 2 * choice[t] - 1
        rows.append(session(choice, name=str(k), stimuli=stimulus[:, None]))
    return Behaviour(tuple(rows), ("0", "1"), ("x",))


@pytest.mark.parametrize(
    ("trials", "weight", "history"),
    [(200, 4.0, 0.0), *(pytest.param(*each, marks=pytest.mark.long) for each in ((400, 0.5, 0.3), (200, 2.0, 1.0)))],
)
def test_intervals_of_weights_cover_the_truth(trials, weight, history):
    truth = {"bias": 0.3, "x": weight, "choice, 1 back": history}
    rng, repeats = np.random.default_rng(trials), 60
    hits = dict.fromkeys(truth, 0)
    for _ in range(repeats):
        table = simulated(rng, trials, weight, 0.3, history)
        result = Logistic(1, past_stimuli=False).fit([Problem(table)])[0].parameters
        for name, value in truth.items():
            hits[name] += value in result[name]
    assert min(hits.values()) >= 51  # of 60: below with probability 0.002 where coverage is 0.95


def test_the_bias_over_sessions_with_biases_of_their_own_is_covered():
    rng, repeats = np.random.default_rng(0), 12
    hits = sum(0 in describe(simulated(rng, 40, 2.0, sessions=12, spread=0.7))[0].bias for _ in range(repeats))
    assert hits >= 10


def test_bias_is_removed_also_with_three_choices():
    rng, truth = np.random.default_rng(0), np.array([[0.5, 1.5], [-0.5, -1.0]])
    results = []
    for _ in range(150):
        x = np.column_stack([np.ones(60), rng.normal(size=60)])
        p = np.exp(np.column_stack([np.zeros(60), x @ truth.T]))
        choice = (rng.random(60)[:, None] > np.cumsum(p / p.sum(1, keepdims=True), 1)).sum(1)
        results.append(fit_bias_reduced(x, choice, 3)[0])
    error = np.std(results, 0) / np.sqrt(len(results))
    assert (np.abs(np.mean(results, 0) - truth) < 3.5 * error).all()


def test_two_choices_agree_with_firth():
    """A two by two table: the correction adds half a trial to each cell."""
    x = np.repeat([[1.0, 0.0], [1.0, 1.0]], [10, 12], axis=0)
    choice = np.array([1] * 3 + [0] * 7 + [1] * 12)
    weights, *_ = fit_bias_reduced(x, choice, 2)
    expected = np.log(3.5 / 7.5), np.log(12.5 / 0.5) - np.log(3.5 / 7.5)
    assert weights[0] == pytest.approx(expected, abs=0.02)


def test_separable_choices_are_named_and_their_weights_bounded():
    stimulus = np.tile([-1.0, -0.5, 0.5, 1.0], 50)
    table = Behaviour((session((stimulus > 0).astype(int), stimuli=stimulus[:, None]),), ("0", "1"), ("x",))
    (estimate,) = describe(table)
    assert estimate.separable
    assert all(
        np.abs([each.low, each.high]).max() < 60 for each in estimate.history.values() if np.isfinite(each.value)
    )
    assert not describe(simulated(np.random.default_rng(0), 200, 2.0))[0].separable
    assert is_separable(np.array([[1.0, -1], [1, 1]]), [0, 1])


def test_the_mean_weight_of_drifting_weights_is_covered():
    rng, repeats, hits = np.random.default_rng(1), 12, 0
    for _ in range(repeats):
        stimulus = rng.choice([-1, -0.5, -0.25, 0.25, 0.5, 1], 90)
        choice = (rng.random(90) < 1 / (1 + np.exp(-3 * stimulus))).astype(int)
        table = Behaviour((session(choice, stimuli=stimulus[:, None]),), ("0", "1"), ("x",))
        hits += 3 in Drifting(0).fit([Problem(table)])[0].parameters["x"]
    assert hits >= 10


def test_sizes_of_steps_have_intervals_that_cover_the_truth():
    sigma, hits, repeats = np.array([0.06, 0.04]), 0, 4
    for seed in range(repeats):
        rng, rows = np.random.default_rng(seed), []
        for k in range(2):
            x, w = rng.normal(size=150), np.array([0.2, 1.5]) + 0.4 * rng.normal(size=2)
            choice = np.zeros(150, int)
            for t in range(150):
                choice[t] = rng.random() < 1 / (1 + np.exp(-(w[0] + w[1] * x[t])))
                w = w + sigma * rng.normal(size=2)
            rows.append(session(choice, name=str(k), stimuli=x[:, None]))
        fit = Drifting(0).fit([Problem(Behaviour(tuple(rows), stimuli=("x",)))])[0]
        for name, value in zip(("sigma bias", "sigma x"), sigma, strict=True):
            assert 0 < fit.parameters[name].low < fit.parameters[name].value < fit.parameters[name].high
            hits += value in fit.parameters[name]
    assert hits >= 6


def test_the_spread_over_sessions_of_a_single_session_is_not_identified():
    table = simulated(np.random.default_rng(0), 200, 2.0)
    fit = Drifting(0).fit([Problem(table)])[0]
    assert fit.marks["sigma at start bias"] == fit.marks["sigma at start x"] == "not identified"
