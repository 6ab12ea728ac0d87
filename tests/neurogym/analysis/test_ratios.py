"""Ratios: not reported where the denominator may be zero, and inside their interval elsewhere."""

import numpy as np
import pytest

from neurogym import analysis
from neurogym.analysis.regression import ratio_estimate


@pytest.mark.parametrize("seed", range(5))
def test_a_ratio_with_a_denominator_around_zero_is_not_determined(seed):
    rng = np.random.default_rng(seed)
    stimulus, choice = rng.normal(size=(150, 6)), rng.random(150) < 0.5
    kernel = analysis.psychophysical_kernel(stimulus, choice)
    early, late = kernel.weights.value[:3].mean(), kernel.weights.value[3:].mean()
    if abs(early + late) < 0.1:
        assert np.isnan(kernel.primacy.value) and f"{kernel.primacy}" == "not determined"
    history = analysis.choice_history(stimulus[:, 0], choice, rng.random(150) < 0.7, n_lags=2)
    if 0 in history.transition_after_correct:
        assert np.isnan(history.reset_index.value)


@pytest.mark.parametrize("seed", range(20))
def test_an_estimate_lies_in_its_interval(seed):
    rng = np.random.default_rng(seed)
    draws = rng.normal([rng.normal(), rng.normal(2, 1)], [0.5, 0.5], (500, 2)).T
    result = ratio_estimate(np.r_[rng.normal(), draws[0]], np.r_[draws[1].mean(), draws[1]], 0.95)
    assert np.isnan(result.value) or result.value in result


def test_a_transition_bias_that_an_error_abolishes_has_a_reset_index_near_one():
    rng, n = np.random.default_rng(0), 6000
    side, choice, correct = rng.choice([-1.0, 1.0], n), np.zeros(n), np.zeros(n)
    for t in range(n):
        repeat = 0.0
        if t > 2 and correct[t - 1]:
            before, last, previous = choice[t - 3 : t]
            repeat = 1.5 * (1 if before == last else -1) * (1 if previous else -1) * correct[t - 2]
        choice[t] = rng.random() < 1 / (1 + np.exp(-side[t] - repeat))
        correct[t] = (choice[t] == 1) == (side[t] > 0)
    estimate = analysis.choice_history(side, choice, correct, n_lags=2).reset_index
    assert estimate.low > 0.4 and estimate.high <= 1 and estimate.value in estimate
