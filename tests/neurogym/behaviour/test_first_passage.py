"""Densities and probabilities of first passage agree with each other, with numerical integrals and with simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from neurogym.behaviour.models import first_passage

CASES = [(1.0, 1.4, 0.5, 0.0), (-2.0, 1.0, 0.3, 0.0), (3.0, 2.0, 0.7, 1.0), (0.0, 1.0, 0.5, 0.5), (6.0, 1.6, 0.8, 0.0)]


def density(t: float, upper: bool, case: tuple[float, ...]) -> float:
    parameters = [np.array([value]) for value in case]
    return float(np.exp(first_passage.log_density(np.array([t]), np.array([upper]), *parameters).log[0]))


@pytest.mark.parametrize("case", CASES)
def test_distribution_functions_are_integrals_of_the_density(case):
    parameters = [np.array([value]) for value in case]
    for limit in (0.05, 0.3, 0.9):
        lower, upper = (quad(density, 0, limit, args=(side, case), limit=300)[0] for side in (False, True))
        assert first_passage.survival(np.array([limit]), *parameters)[0] == pytest.approx(1 - lower - upper, abs=1e-6)
        assert first_passage.reached(np.array([limit]), *parameters)[0] == pytest.approx(upper, abs=1e-6)
    total = quad(density, 0, 40, args=(True, case), limit=400)[0]
    assert first_passage.probability_upper(*parameters)[0] == pytest.approx(total, abs=2e-6)


def test_derivatives_of_the_density_are_those_of_finite_differences():
    rng, n, step = np.random.default_rng(0), 500, 1e-6
    arguments = [
        rng.gamma(2, 0.3, n) + 0.01,
        rng.random(n) < 0.5,
        rng.normal(0, 2, n),
        rng.uniform(0.6, 2.5, n),
        rng.uniform(0.1, 0.9, n),
        rng.uniform(0, 1.5, n),
    ]
    result = first_passage.log_density(*arguments)
    for k, name in ((0, "time"), (2, "drift"), (3, "bound"), (4, "start"), (5, "spread")):
        low, high = list(arguments), list(arguments)
        low[k], high[k] = low[k] - step, high[k] + step
        numerical = (first_passage.log_density(*high).log - first_passage.log_density(*low).log) / (2 * step)
        np.testing.assert_allclose(getattr(result, name), numerical, rtol=1e-5, atol=1e-5)


def test_simulated_choices_and_times_have_the_moments_of_the_diffusion():
    rng = np.random.default_rng(1)
    n = 20_000
    walk = first_passage.sample(np.ones(n), lambda t: np.array(0.7), np.zeros(n), rng)
    drawn = first_passage.draw(np.ones(n), np.full(n, 1.4), np.full(n, 0.5), rng)
    for choice, time in (walk, drawn):
        assert (choice == 1).mean() == pytest.approx(1 / (1 + np.exp(-1.4)), abs=0.01)
        assert time.mean() == pytest.approx(0.7 * np.tanh(0.7), abs=0.01)
        assert time.std() == pytest.approx(walk[1].std(), abs=0.02)
