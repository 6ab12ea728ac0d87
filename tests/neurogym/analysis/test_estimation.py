"""Errors of continuous reports, on a line and on a ring."""

import numpy as np
import pytest

from neurogym.analysis import continuous_reports


@pytest.mark.parametrize(
    ("guesses", "kappa"),
    [(0.3, 4.0), *(pytest.param(*each, marks=pytest.mark.long) for each in ((0.0, 30.0), (0.7, 30.0)))],
)
def test_guesses_and_precision_are_recovered(guesses, kappa):
    """A mixture of a von Mises distribution and uniform reports (Zhang & Luck 2008)."""
    rng = np.random.default_rng(3)
    target = rng.uniform(0, 360, 4000)
    remembered = np.rad2deg(rng.vonmises(0, kappa, 4000))
    report = np.where(rng.random(4000) < guesses, rng.uniform(0, 360, 4000), target + remembered)
    found = continuous_reports(report, target, ring=360, n_boot=50)
    spread = np.rad2deg(np.sqrt(-2 * np.log(np.abs(np.exp(1j * np.deg2rad(remembered)).mean()))))
    assert found.guess_rate.value == pytest.approx(guesses, abs=0.05)
    assert found.precision.value == pytest.approx(spread, rel=0.12)
    assert found.precision.low < found.precision.value < found.precision.high


def test_errors_on_a_ring_go_the_short_way():
    found = continuous_reports([359.0, 1.0] * 10, [1.0, 359.0] * 10, ring=360, n_boot=0)
    assert sorted(set(found.errors)) == [-2, 2] and abs(found.bias.value) < 1e-9
    assert found.guess_rate.value == pytest.approx(0, abs=1e-3)


def test_reports_on_a_line_have_a_bias_and_no_guesses():
    target = np.linspace(0, 1, 50)
    found = continuous_reports(np.r_[target[:-1] + 0.25, np.nan], target, n_boot=20)
    assert len(found.errors) == 49 and found.guess_rate is None
    assert found.bias.value == pytest.approx(0.25) and found.spread.value == pytest.approx(0)


def test_few_reports_are_refused():
    with pytest.raises(ValueError, match="need 10 trials, got 1"):
        continuous_reports([1.0], [1.0])
