"""The psychometric function beyond recovery: shapes, edges, goodness of fit."""

import numpy as np
import pytest

from neurogym.analysis import fit_psychometric, psychometric_function


def trials(model="probit", n=2000, seed=0, **parameters):
    rng = np.random.default_rng(seed)
    x = rng.choice([0.0, 3.2, 6.4, 12.8, 25.6, 51.2], n) * (1 if model == "weibull" else rng.choice([-1, 1], n))
    return x, rng.random(n) < psychometric_function(x, model, **parameters)


@pytest.mark.parametrize(
    ("model", "threshold", "half"), [("probit", 2, 0.5), ("logistic", 2, 0.5), ("weibull", 8, 0.632)]
)
def test_threshold_is_where_the_sigmoid_says(model, threshold, half):
    assert psychometric_function(threshold, model, threshold, 1.3) == pytest.approx(half, abs=1e-3)
    x, y = trials(model, threshold=threshold, slope=1.3 if model == "weibull" else 0.1)
    fit = fit_psychometric(x, y, model=model, guess=0.0, lapse=0.0, n_boot=0)
    assert fit.strength_at(float(half)) == pytest.approx(fit.threshold.value, abs=0.05)
    assert fit.predict(x).shape == x.shape


def test_agrees_with_unconstrained_probit_regression():
    sm = pytest.importorskip("statsmodels.api")
    x, y = trials(threshold=1.0, slope=0.1)
    reference = sm.Probit(y.astype(float), sm.add_constant(x)).fit(disp=0)
    fit = fit_psychometric(x, y, guess=0.0, lapse=0.0, n_boot=0)
    assert fit.slope.value == pytest.approx(reference.params[1], rel=1e-3)
    assert fit.threshold.value == pytest.approx(-reference.params[0] / reference.params[1], abs=1e-3)
    assert fit.log_likelihood == pytest.approx(reference.llf, rel=1e-6)


def test_a_wrong_shape_is_found_out():
    rng = np.random.default_rng(0)
    x = np.repeat([-4.0, -3, -2, -1, 0, 1, 2, 3, 4], 300)
    y = rng.random(len(x)) < 0.5 + 0.3 * np.sin(x)
    assert fit_psychometric(x, y, n_boot=100).deviance_p < 0.02
    assert fit_psychometric(*trials(threshold=1.0, slope=0.1), n_boot=100).deviance_p > 0.05


def test_perfect_choices_bound_the_slope_from_below_and_the_threshold_between_neighbours():
    x = np.repeat([-2.0, -1, 1, 2], 50)
    fit = fit_psychometric(x, x > 0, n_boot=0)
    assert fit.slope.value == np.inf and 1 < fit.slope.low < np.inf and f"{fit.slope:.1f}".startswith("> ")
    assert -1 < fit.threshold.low < -0.5 and 0.5 < fit.threshold.high < 1
    assert fit.lapse.value == 0 and 0 < fit.lapse.high < 0.1
    assert np.isfinite(fit.predict(x)).all() and np.isfinite(fit.strength_at(0.75))


def test_constant_choices_leave_a_threshold_on_one_side():
    x = np.repeat([-2.0, -1, 1, 2], 50)
    high, low = (fit_psychometric(x, np.full(len(x), value), n_boot=0).threshold for value in (1, 0))
    assert high.value == high.low == -np.inf and high.high < -1 and f"{high:.1f}" == f"< {high.high:.1f}"
    assert low.value == low.high == np.inf and low.low == pytest.approx(-high.high, abs=0.05)


def test_too_few_trials_determine_nothing():
    fit = fit_psychometric([-1, 1, -1, 1], [0, 1, 1, 0], n_boot=0)
    assert np.isnan(fit.slope.value) and f"{fit.slope}" == "not determined"


@pytest.mark.long
@pytest.mark.parametrize(("n", "sessions", "spread"), [(80, 0, 0.0), (1000, 0, 0.0), (1000, 20, 6.0)])
def test_intervals_of_all_four_parameters_cover(n, sessions, spread):
    truth = {"threshold": 2.0, "slope": 0.1, "guess": 0.05, "lapse": 0.08}
    rng, repeats = np.random.default_rng(n), 40
    hits = dict.fromkeys(truth, 0)
    for _ in range(repeats):
        x = rng.choice([-51.2, -25.6, -12.8, -6.4, -3.2, 3.2, 6.4, 12.8, 25.6, 51.2], n)
        session = np.arange(n) * sessions // n
        shift = rng.normal(0, spread, max(sessions, 1))[session]
        y = rng.random(n) < psychometric_function(x - shift, "probit", **truth)
        fit = fit_psychometric(x, y, n_boot=0, groups=session if sessions else None)
        marginal = {**truth, "slope": 1 / np.hypot(1 / truth["slope"], spread)}
        for name, value in marginal.items():
            hits[name] += value in getattr(fit, name)
    assert min(hits.values()) >= 0.85 * repeats  # below 34 of 40 with probability 0.003 where coverage is 0.95


def test_band_holds_the_curve_and_dictionary_is_plain():
    fit = fit_psychometric(*trials(threshold=1.0, slope=0.1), n_boot=100)
    low, high = fit.band([-10, 0, 10])
    assert (low <= fit.predict([-10, 0, 10])).all() and (fit.predict([-10, 0, 10]) <= high).all()
    written = fit.to_dict()
    assert "draws" not in written and written["threshold"]["low"] < 1 < written["threshold"]["high"]


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        ([1, 2], [0, 1], {"model": "cauchy"}, "cauchy"),
        ([1, 1], [0, 1], {}, "two strengths"),
        ([1, 2], [0, 2], {}, "0 or 1"),
        ([-1, 2], [0, 1], {"model": "weibull"}, "at least 0"),
        ([1, 2, 3], [0, 1], {}, "equally long"),
    ],
)
def test_what_cannot_be_fitted_is_said(x, y, options, message):
    with pytest.raises(ValueError, match=message):
        fit_psychometric(x, y, **options)


def test_estimates_do_not_depend_on_whether_intervals_are_looked_for():
    rng = np.random.default_rng(0)
    strength = rng.choice([-51.2, -25.6, -6.4, 0.0, 6.4, 25.6, 51.2], 1500)
    response = (rng.random(1500) < 0.03 + 0.94 / (1 + np.exp(-strength / 5))).astype(int)
    uninterrupted, quick = (
        fit_psychometric(strength, response, n_boot=0, profile=profile) for profile in (True, False)
    )
    for name in ("threshold", "slope", "guess", "lapse"):
        assert getattr(quick, name).value == getattr(uninterrupted, name).value
    assert quick.guess.low == quick.guess.high or np.isnan(quick.guess.low)
    assert uninterrupted.guess.low < uninterrupted.guess.value < uninterrupted.guess.high
