"""The Bayesian observer of intervals."""

import numpy as np
import pytest

from neurogym.analysis import bayes_least_squares, bayesian_reproduction, interval_reproduction

SHORT, LONG = (480, 560, 640, 720, 800), (800, 900, 1000, 1100, 1200)


@pytest.mark.parametrize("weights", [None, (4, 1, 1, 1, 1)])
def test_no_other_estimate_has_a_smaller_squared_error(weights):
    rng = np.random.default_rng(0)
    p = np.ones(5) if weights is None else np.array(weights, float)
    interval = rng.choice(SHORT, 400_000, p=p / p.sum())
    measured = interval * (1 + 0.1 * rng.normal(size=len(interval)))
    estimate = bayes_least_squares(measured, SHORT, 0.1, weights)
    group = np.rint(measured / 5).astype(int)  # the mean of the true intervals behind like measurements is best
    n = np.bincount(group)
    best = np.bincount(group, interval)[group] / n[group]
    often = n[group] > 500
    assert np.abs(best - estimate)[often].max() < 12
    assert np.mean((estimate - interval) ** 2) < np.mean((measured - interval) ** 2)
    mean, sd = bayesian_reproduction(SHORT, 0.1, weights)
    for k, each in enumerate(SHORT):
        assert estimate[interval == each].mean() == pytest.approx(mean[k], abs=1)
        assert estimate[interval == each].std() == pytest.approx(sd[k], abs=1)


def test_estimates_move_towards_the_mean_of_the_prior_and_more_so_with_more_noise():
    for intervals in (SHORT, LONG):
        exact, noisy, noisier = (bayesian_reproduction(intervals, weber)[0] for weber in (0.001, 0.05, 0.1))
        np.testing.assert_allclose(exact, intervals, atol=1)
        assert np.all(np.diff([np.ptp(exact), np.ptp(noisy), np.ptp(noisier)]) < 0)
    assert bayesian_reproduction(SHORT, 0.1)[0][-1] < 800 < bayesian_reproduction(LONG, 0.1)[0][0]


@pytest.mark.parametrize("wrong", [{"weber": 0}, {"intervals": (0, 500)}, {"intervals": ()}, {"weights": (0, 0)}])
def test_what_has_no_posterior_is_refused(wrong):
    with pytest.raises(ValueError, match="positive"):
        bayes_least_squares([500], **{"intervals": (400, 600), "weber": 0.1, **wrong})


def test_reproduction_is_described_without_intervals_where_none_are_asked_for():
    rng = np.random.default_rng(0)
    target = rng.choice(SHORT, 500).astype(float)
    produced = 0.8 * target + 130 + rng.normal(size=500)
    quick, full = (interval_reproduction(target, produced, n_boot=n) for n in (0, 50))
    assert quick.slope.value == full.slope.value == pytest.approx(0.8, abs=0.01)
    assert np.isnan(quick.slope.low) and full.slope.low < 0.8 < full.slope.high
