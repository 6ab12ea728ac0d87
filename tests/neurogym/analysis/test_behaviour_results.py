"""Behavioural analyses on cases whose answer is known by hand."""

import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap

from neurogym import analysis
from neurogym.analysis.history import two_step


def test_wilson_agrees_with_statsmodels_for_arrays_and_parts_of_successes():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    successes, trials = np.array([[0, 2.5], [1.25, 40]]), np.array([3, 40])
    expected = proportion.proportion_confint(successes, trials, alpha=0.1, method="wilson")
    assert np.allclose(analysis.wilson(successes, trials, 0.9), expected) and analysis.wilson(0, 0)[1] == 1


def test_bootstrap_draws_are_those_of_scipy():
    values = np.random.default_rng(3).normal(size=(9, 2))
    ours = analysis.bootstrap(lambda rows: values[rows].mean(axis=0), 9, 50, seed=4)
    reference = scipy_bootstrap(
        (np.arange(9),),
        lambda rows: values[rows].mean(axis=0),
        n_resamples=50,
        vectorized=False,
        batch=1,
        random_state=np.random.default_rng(4),
        method="percentile",
    )
    assert np.allclose(ours.T, reference.bootstrap_distribution)


def test_regression_agrees_with_statsmodels_and_survives_separation():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    x = rng.normal(0, [1, 10], (500, 2))
    y = rng.random(500) < 1 / (1 + np.exp(-(0.3 + x @ [1.0, 0.1])))
    fit = analysis.regress_choice({"a": x[:, 0], "b": x[:, 1]}, y, prior_sd=np.inf)
    reference = sm.Logit(y.astype(float), sm.add_constant(x)).fit(disp=0)
    assert np.allclose(fit.values, reference.params, rtol=1e-4)
    assert np.allclose([w.se for w in fit.weights.values()], reference.bse, rtol=1e-3)
    weak = analysis.regress_choice({"a": x[:, 0], "b": x[:, 1]}, y)
    assert np.allclose(weak.values, fit.values, rtol=0.03)  # likelihood has a bias of about 1 % here
    separable = analysis.regress_choice({"a": x[:, 0]}, x[:, 0] > 0)
    assert np.isfinite(separable.values).all() and separable.weights["a"].low > 3


def test_rates_by_condition():
    table = {"outcome": ["correct", "error", "abort", "miss", "correct"], "coh": [1, 1, 1, 2, 2], "seed": [0] * 5}
    first, two = analysis.rates(table, ["coh", "seed"])
    assert first.condition == {"coh": 1, "seed": 0} and first.n == 3
    assert (first.accuracy.value, first.abort.value, two.accuracy.value, two.miss.value) == (0.5, 1 / 3, 1.0, 0.5)


def test_history_does_not_cross_sessions():
    choice, correct = [1, 1, 1, 0], [1, 1, 1, 1]
    assert analysis.win_stay_lose_shift(choice, correct).n_win == 3
    split = analysis.win_stay_lose_shift(choice, correct, session=[0, 0, 1, 1])
    assert (split.n_win, split.win_stay.value) == (2, 0.5)
    missed = analysis.win_stay_lose_shift([1, np.nan, 1, 1], correct)
    assert (missed.n_win, missed.win_stay.value) == (1, 1.0)


def test_transitions_need_two_lags():
    with pytest.raises(ValueError, match="two lags"):
        analysis.choice_history([1, -1], [1, 0], [1, 1], n_lags=1)


def test_perfect_use_of_context():
    rng = np.random.default_rng(0)
    evidence, context = rng.choice([-50, -15, 15, 50], (800, 2)), rng.integers(0, 2, 800)
    estimate = analysis.context_use(evidence, evidence[np.arange(800), context] > 0, context)
    assert estimate.selectivity.value > 0.9 and set(estimate.by_context) == {0, 1}


def test_two_step_extremes():
    rng = np.random.default_rng(1)
    common, reward, choice = rng.random(4000) < 0.7, rng.random(4000) < 0.5, np.zeros(4000)
    for t in range(1, 4000):
        choice[t] = choice[t - 1] if common[t - 1] == reward[t - 1] else 1 - choice[t - 1]
    planner = two_step(choice, common, reward)
    assert planner.model_based.value == 1 and planner.model_free.value == 0
    for t in range(1, 4000):
        choice[t] = choice[t - 1] if reward[t - 1] else 1 - choice[t - 1]
    habit = two_step(choice, common, reward)
    assert habit.model_based.value == 0 and habit.model_free.value == 1


def test_reversal_curve_of_a_subject_that_lags():
    best = np.repeat([0, 1, 0, 1], 20)
    choice = np.r_[np.zeros(3), best[:-3]]
    curve = analysis.reversal_curve(choice, best, before=5, after=10)
    assert curve.n_reversals == 3 and curve.trials_to_switch.value == 3
    assert np.array_equal(curve.correct.value, (curve.correct.x >= 3).astype(float))
    with pytest.raises(ValueError, match="never changes"):
        analysis.reversal_curve([0, 1], [1, 1])


def test_learning_curves_share_a_grid():
    steps = [np.arange(0, 100, 10), np.arange(5, 120, 5)]
    estimate = analysis.learning_curve(steps, [s / 100 for s in steps], n_points=7, n_boot=50)
    assert (estimate.mean.x[0], estimate.mean.x[-1]) == (5, 90)
    assert np.allclose(estimate.iqm.value, estimate.mean.x / 100) and estimate.seeds.shape == (2, 7)
    x, y = analysis.binned_performance([3, 1, 2, 4], [1, 0, np.nan, 1], n_bins=2)
    assert x.tolist() == [3, 4] and y.tolist() == [0.5, 1]


def test_interquartile_mean_ignores_outliers():
    assert analysis.interquartile_mean([0, 1, 2, 3, 4, 5, 6, 1000]) == 3.5


def test_kernel_of_late_weighting_is_recency():
    rng = np.random.default_rng(0)
    stimulus = rng.normal(size=(2000, 4))
    estimate = analysis.psychophysical_kernel(stimulus, stimulus[:, 3] + rng.logistic(size=2000) > 0, dt=50, start=100)
    assert estimate.weights.x.tolist() == [100, 150, 200, 250] and estimate.primacy.high < 0


def test_flat_reaction_times_are_no_diffusion():
    with pytest.raises(ValueError, match="do not fall"):
        analysis.fit_chronometric(np.repeat([0.0, 50.0], 50), np.full(100, 300.0), np.ones(100))
