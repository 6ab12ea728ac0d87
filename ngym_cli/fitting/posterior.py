"""Samples of the posterior of subjects and group by the no-U-turn sampler of NumPyro (extra ``fit``).

Subjects' parameters x_s (unbounded scale) come from N(m + (z_s - mean z) G, s^2). Priors: m and G are Gaussian with the
s.d. of the model's priors, s is half-normal with half of that s.d. The sampler moves in coordinates in which the
empirical Bayes solution is a standard Gaussian, so that few leapfrog steps are needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, Likelihood, Model, Problem
from neurogym.behaviour.models.parameters import ModelParameter, prior_of
from neurogym.behaviour.table import Behaviour
from ngym_cli.errors import UserError, option
from ngym_cli.fitting import predictive
from ngym_cli.fitting.group import Group

#: Chains, draws of the warm-up, longest trajectory (power of 2), and rate of acceptance that is aimed for.
CHAINS, WARMUP, DEPTH, ACCEPT = 2, 300, 7, 0.9
#: Ratio of the variance over subjects to the squared standard error from which a parameter is centred. At ratios near 1
#: the centred posterior has a funnel: group s.d. near 0 were never reached, and trajectories diverged.
CENTRED = 5.0
#: Largest R-hat and smallest effective sample size without a warning.
R_HAT, ESS = 1.01, 100
#: Draws of which the log-likelihood of each trial is computed for leave-one-out.
POINTWISE = 200
#: Predictive p value below which a statistic of the data is named.
SURPRISING = 0.01
#: Scale of the half-normal prior of the s.d. of subjects, in units of the s.d. of the model's prior.
SPREAD = 0.5


@dataclass(frozen=True)
class Samples:
    """Samples of a posterior.

    Attributes:
        subjects: parameters of each subject in the unbounded scale, shape (chains, draws, subjects, parameters).
        mean: of the group, or of the prior without one, shape (chains, draws, parameters).
        sd: of the group, or of the prior, shape (chains, draws, parameters).
        weights: of covariates, shape (chains, draws, covariates, parameters).
        divergences: number of divergent trajectories.
    """

    subjects: FloatArray
    mean: FloatArray
    sd: FloatArray
    weights: FloatArray
    divergences: int


class Target:
    """Log-density of all parameters in the coordinates of the sampler, in JAX.

    Parameters that the data of a subject determine better than the group does are centred on the subjects' fits; the
    others are given relative to the group (Papaspiliopoulos, Roberts & Sköld 2007, 10.1214/088342307000000014).

    Args:
        log_likelihoods: of all subjects (subjects,) at points (subjects, parameters), which JAX can differentiate.
        parameters: of the model.
        fits: empirical Bayes or maximum a posteriori fits of each subject.
        group: distribution of the subjects; None to sample each with the model's own prior.
    """

    def __init__(
        self,
        log_likelihoods: Callable[[Any], Any],
        parameters: Sequence[ModelParameter],
        fits: Sequence[Fitted],
        group: Group | None,
    ):
        self.log_likelihoods, self.group = log_likelihoods, group
        self.prior_mean, self.prior_sd = prior_of(parameters)
        self.centre = np.stack([fit.details["unbounded"] for fit in fits])
        spread = np.mean([fit.details["unbounded_variance"] for fit in fits], 0)
        self.centred = np.ones(len(parameters), bool) if group is None else group.sd**2 > CENTRED * spread
        self.scale = np.stack([_root(fit, self.centred) for fit in fits])
        self.shape = self.centre.shape
        s, d = self.shape
        self.covariates = np.zeros((s, 0)) if group is None else group.covariates.matrix
        self.size = s * d + (0 if group is None else d * (2 + self.covariates.shape[1]))

    def unpack(self, u: Any) -> tuple[Any, Any, Any, Any]:
        """Return subjects (subjects, parameters), group mean, group s.d. and weights (covariates, parameters)."""
        jnp = _optional("jax.numpy")
        s, d = self.shape
        relative = u[: s * d].reshape(s, d)
        mean, sd, weights = self.prior_mean, self.prior_sd, np.zeros((0, d))
        if self.group is not None:
            rest = u[s * d :].reshape(-1, d)
            mean = self.group.mean + self.group.sd / np.sqrt(s) * rest[0]
            sd = self.group.sd * jnp.exp(rest[1] / np.sqrt(2 * s))
            weights = self.group.weights + self.group.weights_se * rest[2:]
        centred = self.centre + jnp.einsum("sij,sj->si", self.scale, relative)
        x = jnp.where(self.centred, centred, mean + self.covariates @ weights + sd * relative)
        return x, mean, sd, weights

    def __call__(self, u: Any) -> Any:
        """Return the log-density."""
        jnp = _optional("jax.numpy")
        s, d = self.shape
        x, mean, sd, weights = self.unpack(u)
        expected = mean + self.covariates @ weights
        standard = jnp.where(self.centred, (x - expected) / sd, u[: s * d].reshape(s, d))
        value = self.log_likelihoods(x).sum() - 0.5 * (standard**2).sum()
        if self.group is None:
            return value
        from_prior, wide = (mean - self.prior_mean) / self.prior_sd, sd / (SPREAD * self.prior_sd)
        weight_scale = self.prior_sd / np.maximum(self.covariates.std(0)[:, None], 1e-9)
        value -= 0.5 * ((from_prior**2).sum() + (wide**2).sum() + ((weights / weight_scale) ** 2).sum())
        return value + ((1 - s * self.centred) * jnp.log(sd)).sum()  # Jacobian of log s, norm of the Gaussians


def _root(fit: Fitted, centred: np.ndarray) -> FloatArray:
    """Return a square root of Laplace's covariance of the centred parameters of a fit, 0 for the others."""
    covariance = fit.details.get("covariance", np.diag(fit.details["unbounded_variance"]))
    root = np.zeros(covariance.shape)
    inside = np.ix_(centred, centred)
    root[inside] = np.linalg.cholesky(covariance[inside] + 1e-9 * np.eye(int(centred.sum())))
    return root


def require_numpyro() -> None:
    """Check that NumPyro is installed.

    Raises:
        UserError: says how to install it.
    """
    if find_spec("numpyro") is None:
        raise UserError(f"{option('--posterior')} needs NumPyro: pip install 'ngym[fit]'")


def sample(target: Target, draws: int, seed: int) -> Samples:
    """Return samples of a posterior.

    Args:
        target: log-density.
        draws: of each chain.
        seed: of the sampler.
    """
    require_numpyro()
    jax, numpyro = _optional("jax"), _optional("numpyro")
    numpyro.enable_x64()
    kernel = numpyro.infer.NUTS(potential_fn=lambda u: -target(u), target_accept_prob=ACCEPT, max_tree_depth=DEPTH)
    chains = numpyro.infer.MCMC(
        kernel, num_warmup=WARMUP, num_samples=draws, num_chains=CHAINS, chain_method="sequential", progress_bar=False
    )
    start = 0.5 * np.random.default_rng(seed).standard_normal((CHAINS, target.size))
    chains.run(jax.random.PRNGKey(seed), init_params=jax.numpy.asarray(start), extra_fields=("diverging",))
    points = chains.get_samples(group_by_chain=True)
    x, mean, sd, weights = map(np.asarray, jax.jit(jax.vmap(jax.vmap(target.unpack)))(points))
    return Samples(x, mean, sd, weights, int(np.asarray(chains.get_extra_fields()["diverging"]).sum()))


def subject_log_likelihoods(
    model: Model, tables: Sequence[Behaviour], likelihoods: Sequence[Likelihood]
) -> Callable[[Any], Any]:
    """Return the log-likelihoods (subjects,) of a model at points (subjects, parameters), which JAX differentiates.

    Learners are JAX themselves; models of times are called from there.

    Args:
        model: the model.
        tables: sessions of each subject.
        likelihoods: of the model for each table, see `Model.posterior`.
    """
    together = model.log_likelihoods(tables)
    if together is not None:
        return together
    jax = _optional("jax")

    def evaluate(x: Any) -> tuple[np.ndarray, np.ndarray]:
        rows = [each.log_likelihood(point) for each, point in zip(likelihoods, np.asarray(x, float), strict=True)]
        values, slopes = np.array([value for value, _ in rows]), np.stack([slope for _, slope in rows])
        return np.where(np.isfinite(values), values, -1e12), np.nan_to_num(slopes, posinf=0.0, neginf=0.0)

    def both(x: Any) -> Any:
        kinds = tuple(jax.ShapeDtypeStruct(shape, jax.numpy.float64) for shape in (x.shape[:1], x.shape))
        return jax.pure_callback(evaluate, kinds, x)

    log_likelihoods: Callable[[Any], Any] = jax.custom_vjp(lambda x: both(x)[0])
    jax.custom_vjp.defvjp(log_likelihoods, both, lambda slopes, change: (change[:, None] * slopes,))
    return log_likelihoods


def _optional(name: str) -> Any:
    """Return a module of the extra ``fit``, whose types are not known where it is not installed."""
    return import_module(name)


def summary(draws: FloatArray) -> dict[str, float]:
    """Return mean, s.d., 95 % interval, R-hat and effective sample size of draws (chains, draws)."""
    diagnostics = _optional("numpyro.diagnostics")
    low, high = np.quantile(draws, [0.025, 0.975])
    varies = bool(np.ptp(draws) > 0)
    return {
        "value": float(draws.mean()),
        "low": float(low),
        "high": float(high),
        "se": float(draws.std(ddof=1)),
        "r_hat": float(diagnostics.split_gelman_rubin(draws)) if varies else float("nan"),
        "ess": float(diagnostics.effective_sample_size(draws)) if varies else float("nan"),
    }


def _natural(samples: Samples, parameters: Sequence[ModelParameter]) -> FloatArray:
    """Return the parameters of subjects in their natural scale, shape (chains, draws, subjects, parameters)."""
    return np.stack([each.value(samples.subjects[..., j]) for j, each in enumerate(parameters)], -1)


def summaries(
    samples: Samples, parameters: Sequence[ModelParameter], subjects: Sequence[str], group: Group | None
) -> dict[str, Any]:
    """Return the record of samples: parameters of subjects in their natural scale, group in the unbounded scale.

    Args:
        samples: of the posterior.
        parameters: of the model.
        subjects: names of the subjects.
        group: distribution of the subjects; None for none.
    """
    names = [each.name for each in parameters]

    def by_name(draws: FloatArray) -> dict[str, dict[str, float]]:
        return {name: summary(draws[..., j]) for j, name in enumerate(names)}

    natural = _natural(samples, parameters)
    record: dict[str, Any] = {
        "chains": natural.shape[0],
        "draws": natural.shape[1],
        "divergences": samples.divergences,
        "parameters": {who: by_name(natural[:, :, k]) for k, who in enumerate(subjects)},
    }
    if group is not None:
        mean, sd = by_name(samples.mean), by_name(samples.sd)
        record["group"] = {name: {"mean": mean[name], "sd": sd[name]} for name in names}
        if covariates := group.covariates.names:
            weights = {each: by_name(samples.weights[:, :, k]) for k, each in enumerate(covariates)}
            record["between"] = {name: {each: weights[each][name] for each in covariates} for name in names}
    return record


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
    if find_spec("arviz") is None:
        return None
    arviz = _optional("arviz")
    chains, draws = samples.subjects.shape[:2]
    count = min(draws, POINTWISE // chains)
    chosen = np.sort(np.random.default_rng(seed).choice(draws, count, replace=False))

    def logs(draw: FloatArray) -> FloatArray:
        return np.concatenate([each.pointwise(x) for each, x in zip(likelihoods, draw, strict=True)])

    rows = np.array([list(map(logs, chain)) for chain in samples.subjects[:, chosen]])
    data = arviz.from_dict(posterior={"x": samples.subjects[:, chosen, 0]}, log_likelihood={"trials": rows})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the share of unreliable trials is part of the result
        result = arviz.loo(data, pointwise=True)
    return {
        "elpd": float(result.elpd_loo),
        "se": float(result.se),
        "p": float(result.p_loo),
        "unreliable": float((np.asarray(result.pareto_k) > 0.7).mean()),
    }


def sample_model(
    model: Model, tables: Mapping[str, Behaviour], fits: Sequence[Fitted], group: Group | None, draws: int, seed: int
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the record of a posterior, and draws of the first subject as arrays for figures.

    Args:
        model: the model.
        tables: sessions of each subject.
        fits: of each subject, to all of these sessions.
        group: distribution of the subjects in a hierarchical fit, None for subjects that are fitted one by one.
        draws: of each chain.
        seed: of the sampler.
    """
    likelihoods = [model.posterior(Problem(table)) for table in tables.values()]
    parameters = likelihoods[0].parameters
    log_likelihoods = subject_log_likelihoods(model, list(tables.values()), likelihoods)
    samples = sample(Target(log_likelihoods, parameters, fits, group), draws, seed)
    record = summaries(samples, parameters, list(tables), group)
    record["loo"] = leave_one_out(samples, likelihoods, seed)
    record["predictive"] = predictive.check(samples.subjects, likelihoods, tables, seed)
    names = np.array([each.name for each in parameters])
    arrays = {"draws": _natural(samples, parameters)[:, :, 0], "draws_names": names}
    return record, arrays


def warnings_of(record: Mapping[str, Any]) -> list[str]:
    """Return warnings about a posterior: chains that disagree, few effective draws, divergent trajectories."""
    rows = [row for parameters in record["parameters"].values() for row in parameters.values()]
    worst, least = max(row["r_hat"] for row in rows), min(row["ess"] for row in rows)
    texts = []
    if worst > R_HAT or least < ESS:
        texts.append(
            f"posterior: R-hat up to {worst:.3f} and effective sample size down to {least:.0f}; more draws are advised "
            f"(R-hat below {R_HAT}, {ESS} effective draws or more)"
        )
    for name, row in record.get("predictive", {}).items():
        if row["p"] < SURPRISING:
            simulations = f"{row['low']:.3g} to {row['high']:.3g} in simulations"
            texts.append(f"posterior predictive check: {name} is {row['observed']:.3g}, and {simulations}")
    loo = record.get("loo")
    if loo and loo["unreliable"]:
        texts.append(f"leave-one-out is unreliable for {loo['unreliable']:.1%} of the trials (Pareto k above 0.7)")
    if record["divergences"]:
        texts.append(f"posterior: {record['divergences']} divergent trajectories")
    return texts
