"""Credible intervals of few parameters: exact for a Gaussian, and wide enough where the posterior is a funnel."""

import jax
import jax.numpy as jnp
import numpy as np

from neurogym.behaviour.models.credible import credible
from neurogym.behaviour.models.search import curvature, minimise

SEEDS = (0, 1)


def intervals(loss, d):
    def slopes(x):
        total = jax.grad(lambda points: loss(None, points).sum())
        return np.asarray(loss(None, x)), np.asarray(total(x))

    x, value, _ = minimise(slopes, np.zeros((len(SEEDS), 1, d)))
    covariance = np.linalg.inv(curvature(slopes, x[:, 0]) + 1e-6 * np.eye(d))
    return credible(lambda rows, points: np.asarray(loss(rows, points)), x, value, covariance, SEEDS)


def test_the_intervals_of_a_correlated_gaussian_are_exact():
    covariance = np.array([[1.0, 0.8, 0.0], [0.8, 2.0, 0.3], [0.0, 0.3, 0.5]])
    precision = np.linalg.inv(covariance)
    result = intervals(lambda rows, x: 0.5 * jnp.einsum("fpi,ij,fpj->fp", x, precision, x), 3)
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(result.high, np.tile(1.96 * sd, (2, 1)), rtol=0.15)
    np.testing.assert_allclose(result.low, np.tile(-1.96 * sd, (2, 1)), rtol=0.15)
    assert result.valid.all()


def test_the_tails_of_a_funnel_are_reached():
    def loss(rows, x):
        scale, rest = x[..., 0], x[..., 1:]
        return 0.5 * scale**2 + (0.5 * (rest * jnp.exp(-scale)[..., None]) ** 2 + scale[..., None]).sum(-1)

    rng = np.random.default_rng(0)
    exact = np.quantile(np.exp(rng.normal(size=200_000)) * rng.normal(size=200_000), 0.975)
    result = intervals(loss, 5)
    assert (result.high[:, 1:] > 0.5 * exact).all() and (result.low[:, 1:] < -0.5 * exact).all()
    np.testing.assert_allclose(result.high[:, 0], 1.96, rtol=0.3)
