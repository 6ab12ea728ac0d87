"""Credible intervals of few parameters: exact for a Gaussian, and wide enough where the posterior is a funnel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurogym.behaviour.models.credible import credible
from neurogym.behaviour.models.search import curvature, minimise

SEEDS = (0, 1)


def intervals(loss, d):
    def slopes(x):
        total = jax.grad(lambda points: loss(points).sum())
        return np.asarray(loss(x)), np.asarray(total(x))

    x, value, _ = minimise(slopes, np.zeros((len(SEEDS), 1, d)))
    covariance = np.linalg.inv(curvature(slopes, x[:, 0]) + 1e-6 * np.eye(d))
    return [
        credible(lambda points: np.asarray(loss(points)), x[k], value[k], covariance[k], seed)
        for k, seed in enumerate(SEEDS)
    ]


def test_the_intervals_of_a_correlated_gaussian_are_exact():
    covariance = np.array([[1.0, 0.8, 0.0], [0.8, 2.0, 0.3], [0.0, 0.3, 0.5]])
    precision = np.linalg.inv(covariance)
    sd = np.sqrt(np.diag(covariance))
    for result in intervals(lambda x: 0.5 * jnp.einsum("...i,ij,...j->...", x, precision, x), 3):
        np.testing.assert_allclose(result.ends, [-1.96 * sd, 1.96 * sd], rtol=0.15)
        assert result.valid


def test_the_tails_of_a_funnel_are_reached():
    def loss(x):
        scale, rest = x[..., 0], x[..., 1:]
        return 0.5 * scale**2 + (0.5 * (rest * jnp.exp(-scale)[..., None]) ** 2 + scale[..., None]).sum(-1)

    rng = np.random.default_rng(0)
    exact = np.quantile(np.exp(rng.normal(size=200_000)) * rng.normal(size=200_000), 0.975)
    for low, high in (result.ends for result in intervals(loss, 5)):
        assert (high[1:] > 0.5 * exact).all() and (low[1:] < -0.5 * exact).all()
        assert high[0] == pytest.approx(1.96, rel=0.3)
