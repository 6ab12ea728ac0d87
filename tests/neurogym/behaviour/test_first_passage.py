"""Densities and probabilities of first passage agree with each other, with numerical integrals and with simulation."""

import numpy as np
import pytest
from scipy.integrate import quad

from neurogym.behaviour.models import first_passage

CASES = [(1.0, 1.4, 0.5, 0.0), (-2.0, 1.0, 0.3, 0.0), (3.0, 2.0, 0.7, 1.0), (0.0, 1.0, 0.5, 0.5), (6.0, 1.6, 0.8, 0.0)]


def density(t: float, upper: bool, case: tuple[float, ...]) -> float:
    parameters = [np.array([value]) for value in case]
    return float(np.exp(first_passage.log_density(np.array([t]), np.array([upper]), *parameters)[0]))


@pytest.mark.parametrize("case", CASES)
def test_distribution_functions_are_integrals_of_the_density(case):
    drift, bound, start, spread = case
    for limit in (0.05, 0.9):
        integrals = [quad(density, 0, limit, args=(side, case), limit=300)[0] for side in (False, True)]
        both = first_passage.over_drifts(lambda v, t=limit: first_passage.reached(t, v, bound, start), drift, spread)
        assert both == pytest.approx(np.array(integrals), abs=1e-6)
    total = quad(density, 0, 40, args=(True, case), limit=400)[0]
    upper = first_passage.over_drifts(lambda v: first_passage.probability_upper(v, bound, start), drift, spread)
    assert upper == pytest.approx(total, abs=2e-6)


def test_simulated_choices_and_times_have_the_moments_of_the_diffusion():
    rng, n = np.random.default_rng(1), 6_000
    choice, time = first_passage.draw(np.ones(n), np.full(n, 1.4), np.full(n, 0.5), rng)
    assert (choice == 1).mean() == pytest.approx(1 / (1 + np.exp(-1.4)), abs=0.02)
    assert time.mean() == pytest.approx(0.7 * np.tanh(0.7), abs=0.02)
    assert time.var() == pytest.approx(0.7 * (np.tanh(0.7) - 0.7 / np.cosh(0.7) ** 2), abs=0.02)
