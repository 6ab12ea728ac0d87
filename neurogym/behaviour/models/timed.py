"""Maximum a posteriori fits of choices and times: evidence of each trial, and a response that the evidence drives.

Evidence and response are one function of JAX. Standard errors are Laplace's, from the curvature at the maximum; races
that nothing learned drives have credible intervals (see `neurogym.behaviour.models.credible`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour.models.base import ParallelTrials, Policy
from neurogym.behaviour.models.credible import Credible, credible
from neurogym.behaviour.models.evidence import Evidence, as_columns, widened
from neurogym.behaviour.models.formulas import Formula
from neurogym.behaviour.models.parameters import ModelParameter, Prior, prior_of, with_priors
from neurogym.behaviour.models.responses import Response, log_likelihoods
from neurogym.behaviour.models.scan import natural_value
from neurogym.behaviour.models.search import Maximum, maximum, posterior_slopes
from neurogym.behaviour.models.times import TimedTrials, TimeSettings, timed_trials
from neurogym.behaviour.table import Session

#: Bounds and non-decision times (share of the 2 % quantile of the times) from which searches start.
START_BOUNDS, START_SHARES = (0.4, 0.7, 1.1, 1.8), (0.4, 0.75)
LINKS = {"positive": "log ", "unit": "logit ", "real": ""}


@dataclass(frozen=True)
class ResponseParameters:
    """Parameters of a response, each a number or a linear function of predictors in the unbounded scale.

    Attributes:
        response: the response.
        predictors: formula of each parameter that has one.
    """

    response: Response
    predictors: Mapping[str, Formula] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[ModelParameter, ...]:
        """Parameters to estimate."""
        parameters: list[ModelParameter] = []
        for each in self.response.parameters:
            if each.name not in self.predictors:
                parameters.append(each)
                continue
            for name in self.predictors[each.name].names:
                mean = each.mean if name == "Intercept" else 0.0
                parameters.append(ModelParameter(f"{LINKS[each.kind]}{each.name}: {name}", "real", mean, each.sd))
        return tuple(parameters)

    def matrices(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the predictors (trials, columns) of each parameter of the response in the trials of sessions."""
        n = sum(map(len, sessions))
        return self._each(n, {name: each.matrix(sessions) for name, each in self.predictors.items()})

    def typical(self, stimuli: FloatArray, columns: Mapping[str, np.ndarray]) -> list[FloatArray]:
        """Return predictors for stimuli (trials, stimuli) and some columns, where others are unknown."""
        matrices = {name: each.typical(stimuli, columns) for name, each in self.predictors.items()}
        return self._each(len(stimuli), matrices)

    def _each(self, n: int, matrices: Mapping[str, FloatArray]) -> list[FloatArray]:
        return [matrices[each.name] if each.name in matrices else np.ones((n, 1)) for each in self.response.parameters]

    def values(self, matrices: Sequence[FloatArray], x: FloatArray) -> dict[str, FloatArray]:
        """Return the natural value of each parameter of the response in each trial at a point, shape (trials,)."""
        return _values(self.response.parameters, matrices, x, ModelParameter.value)


def _values(parameters: Sequence[ModelParameter], matrices: Sequence[Any], x: Any, natural: Any) -> dict[str, Any]:
    ends = np.cumsum([each.shape[1] for each in matrices])
    rows = zip(parameters, matrices, ends, strict=True)
    return {each.name: natural(each, matrix @ x[end - matrix.shape[1] : end]) for each, matrix, end in rows}


class Structure(NamedTuple):
    """Part of a posterior that its compiled functions are made for: evidence, response, free parameters of this."""

    evidence: Any
    response: Response
    parameters: tuple[ModelParameter, ...]


class Data(NamedTuple):
    """Arrays of a posterior.

    Attributes:
        evidence: data of the evidence.
        point: all parameters of the evidence, of which those that are fixed count.
        free: numbers of the others.
        matrices: predictors of each free parameter of the response.
        constants: values of the others, by name.
        parts: trials by kind, see `Response.parts`.
        nodes: see `Response.nodes`.
    """

    evidence: Any
    point: Any
    free: Any
    matrices: Any
    constants: Any
    parts: Any
    nodes: Any


def _evidence(of: Structure, x: Any, data: Data) -> tuple[Any, Any]:
    """Return the evidence (trials, columns); and again, with the log-likelihood of what else the subject did."""
    value, extra = of.evidence(data.point.at[data.free].set(x), data.evidence)
    columns = as_columns(value, of.response.columns)
    return columns, (columns, extra)


def _logs(of: Structure, x: Any, data: Data) -> tuple[Any, Any]:
    """Return the log-likelihood of each trial, and of what else the subject did."""
    split = len(data.free)
    evidence, (_, extra) = _evidence(of, x[:split], data)
    values = _values(of.parameters, data.matrices, x[split:], natural_value)
    p = {name: jnp.broadcast_to(each, len(evidence)) for name, each in {**data.constants, **values}.items()}
    return log_likelihoods(of.response, evidence, p, data.parts, data.nodes), extra


def _total(of: Structure, x: Any, data: Data) -> Any:
    logs, extra = _logs(of, x, data)
    return logs.sum() + extra


def _given(logits: Any, of: Structure, x: Any, data: Data) -> tuple[Any, Any]:
    logs = _logs(of, x, data._replace(evidence=logits))[0]
    return logs.sum(), logs


_jacobian: Any = jax.jit(jax.jacfwd(_evidence, 1, has_aux=True), static_argnums=0)
_trials, _slopes = jax.jit(_logs, static_argnums=0), jax.jit(jax.value_and_grad(_total, 1), static_argnums=0)
_by_logits: Any = jax.jit(jax.grad(_given, has_aux=True), static_argnums=1)


class TimedPosterior:
    """Log-posterior of a fit in the unbounded scale, with its gradient.

    Args:
        evidence: evidence of the trials.
        response: parameters of the response.
        sessions: sessions of the fit, as for the evidence.
        settings: conditions of the recording.
        prior: mean and s.d. of each parameter; None for the parameters' own.
        priors: priors of parameters that a user chose, by name.
        fix: value of each parameter of the evidence that is fixed, by name; other names are ignored.
    """

    def __init__(
        self,
        evidence: Evidence,
        response: ResponseParameters,
        sessions: Sequence[Session],
        settings: TimeSettings,
        prior: tuple[FloatArray, FloatArray] | None = None,
        priors: Mapping[str, Prior] | None = None,
        fix: Mapping[str, float] | None = None,
    ):
        self.evidence, self.response = evidence, response
        self.trials: TimedTrials = timed_trials(sessions, settings)
        fixed, every, plain = fix or {}, evidence.parameters, response.response
        self._free = np.flatnonzero([each.name not in fixed for each in every])
        self._point = np.array([p.unbounded(p.checked(fixed[p.name])) if p.name in fixed else 0.0 for p in every])
        free = [each for each in every if each.name not in fixed]
        self.parameters = with_priors((*free, *response.parameters), priors or {})
        self.mean, self.sd = prior_of(self.parameters, prior)
        self._split = len(free)
        matrices = [widened(each) for each in response.matrices(sessions)]
        # trials whose parameters are equal at a point that is drawn have equal ones at all points
        drawn = self.mean + self.sd * np.random.default_rng(0).standard_normal(len(self.mean))
        values = plain.complete(response.values(matrices, drawn[self._split :]), len(matrices[0]))
        constants = {name: float(value) for name, value in plain.constants.items()}
        response_data = matrices, constants, plain.parts(self.trials), plain.nodes(values)
        self._of = Structure(evidence.value, plain, tuple(each.without_prior for each in plain.parameters))
        self._data: Any = jax.device_put(Data(evidence.data, self._point, self._free, *response_data))

    def log_likelihood(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood of all trials and its gradient."""
        value, slope = _slopes(self._of, x, self._data)
        return float(value), np.asarray(slope)

    def given_logits(self, logits: FloatArray, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log-likelihood of each trial, and derivatives by the logits of a model that was fitted before.

        Args:
            logits: in place of those of the model, shape (trials, choices).
            x: point.
        """
        slope, logs = _by_logits(widened(logits), self._of, x, self._data)
        return np.asarray(logs)[: len(logits)], np.asarray(slope)[: len(logits)]

    def pointwise(self, x: FloatArray) -> FloatArray:
        """Return the log-likelihood of each trial that counts at a point, shape (trials,)."""
        counted = self.trials.timed | self.trials.untimed | self.trials.omitted | self.trials.withheld
        return np.asarray(_trials(self._of, x, self._data)[0])[: len(counted)][counted]

    def credible(self, best: Maximum, seed: int) -> Credible:
        """Return credible intervals of the parameters of a race, in the unbounded scale.

        Threshold, range of starts and non-decision time make up for each other in sums, so that the posterior is close
        to an ellipse in their natural scale, and has long curved tails in that of their logarithms.

        Args:
            best: maximum of the posterior.
            seed: random seed.
        """
        positive: BoolArray = np.array([each.kind == "positive" for each in self.parameters])

        def loss(points: FloatArray) -> FloatArray:
            out = np.full(len(points), np.inf)
            possible = (points[:, positive] > 0).all(1)
            x = _with_logarithms(points[possible], positive)
            density = x[:, positive].sum(1)  # in the natural scale, over that in the scale of the search
            logs = [sum(float(each.sum()) for each in _trials(self._of, point, self._data)) for point in x]
            out[possible] = density + [self._prior_loss(point) for point in x] - np.array(logs)
            return out

        natural = np.where(positive, np.exp(best.x), best.x)
        slope = np.where(positive, natural, 1.0)
        covariance = best.covariance * np.outer(slope, slope)
        found = credible(loss, natural[None], loss(natural[None]), covariance, seed)
        return Credible(_with_logarithms(found.ends, positive), found.sd / slope, found.effective)

    def _prior_loss(self, x: FloatArray) -> float:
        z = (x - self.mean) / self.sd
        return 0.5 * float(z @ z)

    def _loss(self, x: FloatArray) -> float:
        """Return the negative log-posterior."""
        return self._prior_loss(x) - self.log_likelihood(x)[0]

    def policy(self, x: FloatArray) -> TimedPolicy:
        """Return the behaviour at a point."""
        point = self._point.copy()
        point[self._free] = x[: self._split]
        choices, factor = self.evidence.policy(point)
        return TimedPolicy(choices, self.response, x[self._split :], self.trials.settings, factor)

    def starts(self) -> list[FloatArray]:
        """Return points from which a search may start, best first."""
        timed = self.trials.timed
        low = float(np.quantile(self.trials.rt[timed], 0.02)) if timed.any() else 0.3
        names = [each.name for each in self.parameters]
        points = []
        for bound in START_BOUNDS:
            for share in START_SHARES:
                x = self.mean.copy()
                for name, value in (("A", bound), ("t_R", max(share * low, 0.02))):
                    for k, each in enumerate(names):
                        if each in (name, f"log {name}: Intercept"):
                            x[k] = np.log(value)
                points.append(self._with_slope(x, bound))
        return sorted(points, key=self._loss)

    def _with_slope(self, x: FloatArray, bound: float) -> FloatArray:
        """Return a point whose weights of the evidence are those of a linear regression of the choices."""
        if self.response.response.columns != 1:
            return x
        slopes, (value, _) = _jacobian(self._of, x[: self._split], self._data)
        jacobian, base = np.asarray(slopes), np.asarray(value)
        scored = np.flatnonzero(self.trials.choice >= 0)
        jacobian, side = jacobian[scored, 0], 2.0 * (self.trials.choice[scored] == 1) - 1
        sd = self.sd[: self._split]
        scaled = jacobian * sd
        ridge = scaled.T @ scaled + np.eye(len(sd)) * max(1.0, 1e-3 * len(side))
        step = np.linalg.solve(ridge, scaled.T @ (1.5 * side / bound - base[scored, 0]))
        out = x.copy()
        out[: self._split] += np.clip(step, -1.5, 1.5) * sd
        return out if self._loss(out) < self._loss(x) else x


def _with_logarithms(points: FloatArray, positive: BoolArray) -> FloatArray:
    """Return points (..., parameters) with the logarithm of some parameters, minus infinity below 0."""
    out = points.copy()
    with np.errstate(divide="ignore"):
        out[..., positive] = np.log(np.maximum(points[..., positive], 0))
    return out


def maximise(posterior: TimedPosterior, start: FloatArray | None = None, searches: int = 2) -> Maximum:
    """Return the maximum of a posterior.

    Args:
        posterior: the log-posterior.
        start: point from which to search; None for the points of `TimedPosterior.starts`.
        searches: largest number of those points; a search that converges is the last.
    """
    prior, scale = (posterior.mean, posterior.sd), np.diag(posterior.sd)
    found: list[Maximum] = []
    for x in posterior.starts()[:searches] if start is None else [start]:
        slopes = posterior_slopes(posterior.log_likelihood, prior, x, scale)
        found.append(maximum(slopes, x, scale, step=posterior.response.response.step))
        if found[-1].converged:
            break
    return min(found, key=lambda each: each.value)


@dataclass
class TimedPolicy(Policy):
    """Choices and times of a fitted model.

    Attributes:
        inner: model of choices, whose logits are the evidence.
        response: parameters of the response.
        x: values of these parameters in the unbounded scale.
        settings: conditions of the recording.
        factor: drift per s of a logit of 1.
    """

    inner: Policy
    response: ResponseParameters
    x: FloatArray
    settings: TimeSettings
    factor: float = 1.0
    has_times = True

    def of(self, subject: str) -> TimedPolicy:
        """See `Policy.of`."""
        return replace(self, inner=self.inner.of(subject))

    def begin(self, n: int) -> Any:
        """See `Policy.begin`."""
        return self.inner.begin(n)

    def advance(self, state: Any, trial: ParallelTrials) -> Any:
        """See `Policy.advance`."""
        return self.inner.advance(state, trial)

    def evidence_from(self, logits: FloatArray) -> FloatArray:
        """Return the evidence (trials, columns) from logits (trials, choices) of the model of choices."""
        return self.factor * as_columns(logits, self.response.response.columns)

    def probabilities(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`; predictors other than stimuli have their typical value."""
        return self.response.response.probabilities(*self._now(state, stimuli))

    def respond(self, state: Any, stimuli: FloatArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Return simulated choices (-1 for none) and reaction times in s of a trial, shape (sessions,)."""
        return self.response.response.sample(*self._now(state, stimuli), rng, self.settings)

    def _now(self, state: Any, stimuli: FloatArray) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return evidence and values of the parameters of the response in a trial of each session."""
        columns = self.inner.columns_before(state) if self.response.predictors else {}
        values = self.response.values(self.response.typical(stimuli, columns), self.x)
        return self.evidence_from(self.inner.logits(state, stimuli)), values

    def _every(self, sessions: Sequence[Session]) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return evidence and values of the parameters of the response in all trials of sessions."""
        return self.evidence_from(np.concatenate(self.inner.logits_of(sessions))), self.values(sessions)

    def predict(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """See `Policy.predict`."""
        return np.split(self.response.response.probabilities(*self._every(sessions)), _ends(sessions))

    def log_densities(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the log-density of choice and time (nats; omissions: log-probability); nan where none is scored."""
        trials = timed_trials(sessions, self.settings)
        log = self.response.response.log(*self._every(sessions), trials)
        scored = trials.timed | trials.omitted | trials.withheld
        return np.split(np.where(scored, log, np.nan), _ends(sessions))

    def states(self, sessions: Sequence[Session]) -> list[dict[str, FloatArray]]:
        """See `Policy.states`."""
        return self.inner.states(sessions)

    def simulate(self, sessions: Sequence[Session], rng: np.random.Generator) -> list[tuple[IntArray, FloatArray]]:
        """See `Policy.simulate`."""
        choice, rt = self.response.response.sample(*self._every(sessions), rng, self.settings)
        ends = _ends(sessions)
        return list(zip(np.split(choice, ends), np.split(rt, ends), strict=True))

    def values(self, sessions: Sequence[Session]) -> dict[str, FloatArray]:
        """Return the values of the parameters of the response in the trials of sessions."""
        sessions = with_columns(self.inner, sessions) if self.response.predictors else sessions
        return self.response.values(self.response.matrices(sessions), self.x)


def with_columns(policy: Policy, sessions: Sequence[Session]) -> list[Session]:
    """Return sessions with `Policy.columns_before` each trial; states of learners are no columns of formulas."""
    return [
        replace(each, conditions={**each.conditions, **columns})
        for each, columns in zip(sessions, Policy.states(policy, sessions), strict=True)
    ]


def _ends(sessions: Sequence[Session]) -> IntArray:
    return np.cumsum([len(each) for each in sessions])[:-1]
