"""Samples of the posterior of subjects and group by the no-U-turn sampler of NumPyro (extra ``bayes``).

Subjects' parameters x_s (unbounded scale) come from N(m + (z_s - mean z) G, s^2). Priors: m and G are Gaussian with the
s.d. of the model's priors, s is half-normal with half of that s.d. The sampler moves in coordinates in which the
empirical Bayes solution is a standard Gaussian, so that few leapfrog steps are needed. Likelihoods and gradients
are those of the fits, called from NumPyro.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agents import ModelParameter
from neurogym.behaviour.models.base import Fitted
from neurogym.behaviour.models.likelihoods import Likelihood
from ngym_cli.errors import UserError
from ngym_cli.fitting.group import Group

#: Chains, draws of the warm-up, longest trajectory (power of 2), and rate of acceptance that is aimed for.
CHAINS, WARMUP, DEPTH, ACCEPT = 2, 300, 7, 0.85
#: Draws of which the log-likelihood of each trial is computed for leave-one-out.
POINTWISE = 200
#: Scale of the half-normal prior of the s.d. of subjects, in units of the s.d. of the model's prior.
SPREAD = 0.5


@dataclass(frozen=True)
class Samples:
    """Samples of a posterior.

    Attributes:
        subjects: parameters of each subject in the unbounded scale, shape (chains, draws, subjects, parameters).
        mean: of the group, shape (chains, draws, parameters); None without a group.
        sd: of the group, shape (chains, draws, parameters); None without a group.
        weights: of covariates, shape (chains, draws, covariates, parameters); None without a group.
        divergences: number of divergent trajectories.
    """

    subjects: FloatArray
    mean: FloatArray | None
    sd: FloatArray | None
    weights: FloatArray | None
    divergences: int


class Target:
    """Log-density of all parameters in the coordinates of the sampler.

    Args:
        likelihoods: of each subject.
        fits: empirical Bayes or maximum a posteriori fits of each subject.
        group: distribution of the subjects; None to sample each with the model's own prior.
    """

    def __init__(self, likelihoods: Sequence[Likelihood], fits: Sequence[Fitted], group: Group | None):
        self.likelihoods, self.group = likelihoods, group
        parameters = likelihoods[0].parameters
        self.prior_mean = np.array([each.mean for each in parameters])
        self.prior_sd = np.array([each.sd for each in parameters])
        self.centre = np.stack([fit.details["unbounded"] for fit in fits])
        self.scale = np.stack([_root(fit) for fit in fits])
        self.shape = self.centre.shape
        s, d = self.shape
        self.covariates = np.zeros((s, 0)) if group is None else group.covariates.matrix
        q = self.covariates.shape[1]
        self.size = s * d + (0 if group is None else d * (2 + q))

    def unpack(self, u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return subjects (subjects, parameters), group mean, group s.d. and weights (covariates, parameters)."""
        s, d = self.shape
        x = self.centre + np.einsum("sij,sj->si", self.scale, u[: s * d].reshape(s, d))
        if self.group is None:
            return x, self.prior_mean, self.prior_sd, np.zeros((0, d))
        mean, log_sd, weights = np.split(u[s * d :].reshape(-1, d), [1, 2])
        group = self.group
        return (
            x,
            group.mean + group.sd / np.sqrt(s) * mean[0],
            group.sd * np.exp(log_sd[0] / np.sqrt(2 * s)),
            group.weights + group.weights_se * weights,
        )

    def __call__(self, u: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-density and its gradient."""
        s, d = self.shape
        x, mean, sd, weights = self.unpack(u)
        z = self.covariates
        expected = mean + z @ weights
        standard = (x - expected) / sd
        value = -0.5 * float((standard**2).sum())
        by_x = -standard / sd
        for k, likelihood in enumerate(self.likelihoods):
            log, slope = likelihood.log_likelihood(x[k])
            value, by_x[k] = value + log, by_x[k] + slope
        by_u = np.einsum("sij,si->sj", self.scale, by_x).ravel()
        if self.group is None:
            return value, by_u
        by_expected = standard / sd
        from_prior = (mean - self.prior_mean) / self.prior_sd
        wide = sd / (SPREAD * self.prior_sd)
        weight_scale = self.prior_sd / np.maximum(z.std(0)[:, None], 1e-9)
        log_sd = np.log(sd)
        value += -0.5 * float((from_prior**2).sum() + (wide**2).sum() + ((weights / weight_scale) ** 2).sum())
        value += float(log_sd.sum()) - s * float(log_sd.sum())  # the Jacobian of log s, and the Gaussians' norm
        by_mean = by_expected.sum(0) - from_prior / self.prior_sd
        by_log_sd = (standard**2).sum(0) - s + 1 - wide**2
        by_weights = z.T @ by_expected - weights / weight_scale**2
        group = self.group
        rest = [by_mean * group.sd / np.sqrt(s), by_log_sd / np.sqrt(2 * s), *(by_weights * group.weights_se)]
        return value, np.concatenate([by_u, *rest])


def _root(fit: Fitted) -> FloatArray:
    """Return a square root of Laplace's covariance of a fit."""
    covariance = fit.details.get("covariance", np.diag(fit.details["unbounded_variance"]))
    return np.asarray(np.linalg.cholesky(covariance + 1e-9 * np.eye(len(covariance))))


def require_numpyro() -> None:
    """Check that NumPyro is installed.

    Raises:
        UserError: says how to install it.
    """
    try:
        import numpyro  # noqa: F401 - only whether it is there
    except ImportError:
        raise UserError("--posterior needs NumPyro: pip install 'ngym[bayes]'") from None


def sample(target: Target, draws: int, seed: int) -> Samples:
    """Return samples of a posterior.

    Args:
        target: log-density.
        draws: of each chain.
        seed: of the sampler.
    """
    require_numpyro()
    import jax
    import numpyro
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    density = _as_potential(target)
    kernel = NUTS(potential_fn=density, target_accept_prob=ACCEPT, max_tree_depth=DEPTH)
    chains = MCMC(
        kernel, num_warmup=WARMUP, num_samples=draws, num_chains=CHAINS, chain_method="sequential", progress_bar=False
    )
    start = 0.5 * np.random.default_rng(seed).standard_normal((CHAINS, target.size))
    chains.run(jax.random.PRNGKey(seed), init_params=jax.numpy.asarray(start), extra_fields=("diverging",))
    points = np.asarray(chains.get_samples(group_by_chain=True))
    unpacked = [[target.unpack(u) for u in chain] for chain in points]
    x, mean, sd, weights = (np.array([[row[k] for row in chain] for chain in unpacked]) for k in range(4))
    divergences = int(np.asarray(chains.get_extra_fields()["diverging"]).sum())
    if target.group is None:
        return Samples(x, None, None, None, divergences)
    return Samples(x, mean, sd, weights, divergences)


def _as_potential(target: Target) -> Callable[[Any], Any]:
    """Return the negative log-density as a function that JAX can differentiate."""
    import jax
    import jax.numpy as jnp

    kinds = (jax.ShapeDtypeStruct((), jnp.float64), jax.ShapeDtypeStruct((target.size,), jnp.float64))

    def evaluate(u: Any) -> tuple[np.ndarray, np.ndarray]:
        value, slope = target(np.asarray(u, float))
        finite = np.isfinite(value)
        return np.asarray(-value if finite else 1e12), np.where(np.isfinite(slope), -slope, 0.0)

    @jax.custom_vjp
    def potential(u: Any) -> Any:
        return jax.pure_callback(evaluate, kinds, u)[0]

    def forward(u: Any) -> tuple[Any, Any]:
        return jax.pure_callback(evaluate, kinds, u)

    def backward(slope: Any, change: Any) -> tuple[Any]:
        return (change * slope,)

    potential.defvjp(forward, backward)
    return potential  # type: ignore[no-any-return]


def summary(draws: FloatArray) -> dict[str, float]:
    """Return mean, s.d., 95 % interval, R-hat and effective sample size of draws (chains, draws)."""
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    low, high = np.quantile(draws, [0.025, 0.975])
    varies = bool(np.ptp(draws) > 0)
    return {
        "value": float(draws.mean()),
        "low": float(low),
        "high": float(high),
        "se": float(draws.std(ddof=1)),
        "r_hat": float(split_gelman_rubin(draws)) if varies else float("nan"),
        "ess": float(effective_sample_size(draws)) if varies else float("nan"),
    }


def summaries(samples: Samples, parameters: Sequence[ModelParameter], subjects: Sequence[str]) -> dict[str, Any]:
    """Return the record of samples: parameters of subjects in their natural scale, group in the unbounded scale."""
    record: dict[str, Any] = {
        "chains": int(samples.subjects.shape[0]),
        "draws": int(samples.subjects.shape[1]),
        "divergences": samples.divergences,
        "parameters": {
            who: {
                each.name: summary(np.asarray(each.value(samples.subjects[:, :, k, j])))
                for j, each in enumerate(parameters)
            }
            for k, who in enumerate(subjects)
        },
    }
    if samples.mean is not None and samples.sd is not None:
        record["group"] = {
            each.name: {"mean": summary(samples.mean[..., j]), "sd": summary(samples.sd[..., j])}
            for j, each in enumerate(parameters)
        }
    return record


def between_summaries(
    samples: Samples, parameters: Sequence[ModelParameter], covariates: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the weights of covariates, by parameter and covariate."""
    if samples.weights is None:
        return {}
    return {
        each.name: {name: summary(samples.weights[:, :, k, j]) for k, name in enumerate(covariates)}
        for j, each in enumerate(parameters)
    }


def leave_one_out(samples: Samples, likelihoods: Sequence[Likelihood], seed: int) -> Mapping[str, float] | None:
    """Return the expected log predictive density by Pareto-smoothed importance sampling; None without ArviZ.

    Args:
        samples: of the posterior.
        likelihoods: of each subject.
        seed: of the choice of draws.

    Returns:
        ``elpd`` and its standard error ``se``, the effective number of parameters ``p``, and the share of trials
        whose Pareto k exceeds 0.7 (``unreliable``).
    """
    try:
        import arviz
    except ImportError:
        return None
    chains, draws = samples.subjects.shape[:2]
    count = min(draws, POINTWISE // chains)
    chosen = np.sort(np.random.default_rng(seed).choice(draws, count, replace=False))
    rows = np.array([
        [
            np.concatenate([each.pointwise(samples.subjects[c, t, k]) for k, each in enumerate(likelihoods)])
            for t in chosen
        ]
        for c in range(chains)
    ])  # fmt: skip
    data = arviz.from_dict(posterior={"x": samples.subjects[:, chosen, 0]}, log_likelihood={"trials": rows})
    found = arviz.loo(data, pointwise=True)
    return {
        "elpd": float(found.elpd_loo),
        "se": float(found.se),
        "p": float(found.p_loo),
        "unreliable": float((np.asarray(found.pareto_k) > 0.7).mean()),
    }


def estimate_of(row: Mapping[str, float]) -> Estimate:
    """Return a summary as an estimate."""
    return Estimate.from_record(row)
