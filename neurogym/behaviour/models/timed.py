"""Maximum a posteriori fits of choices and times: evidence of each trial, and a response that the evidence drives.

Gradients are analytic in the parameters of the response; those of the evidence pass through its Jacobian. Standard
errors are Laplace's, from the curvature at the maximum; races that nothing learned drives have credible intervals (see
`neurogym.behaviour.models.credible`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.behaviour.models.base import ParallelTrials, Policy
from neurogym.behaviour.models.credible import Credible, credible
from neurogym.behaviour.models.evidence import Evidence, EvidencePolicy
from neurogym.behaviour.models.formulas import Formula
from neurogym.behaviour.models.parameters import ModelParameter, Prior, with_priors
from neurogym.behaviour.models.responses import Gradient, Response
from neurogym.behaviour.models.search import curvature
from neurogym.behaviour.models.times import TimedTrials, TimeSettings, timed_trials
from neurogym.behaviour.table import Session

#: Largest decrease of the loss (nats, twice) that the gradient predicts of a converged search.
GRADIENT = 0.05
#: Iterations of the search.
ITERATIONS = 300
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

    def for_trials(self, sessions: Sequence[Session]) -> TrialParameters:
        """Return the parameters as functions of a point, for the trials of sessions."""
        matrices = {name: each.matrix(sessions) for name, each in self.predictors.items()}
        return TrialParameters(self.response.parameters, matrices)

    def typical(self, stimuli: FloatArray, columns: Mapping[str, np.ndarray]) -> TrialParameters:
        """Return the parameters for stimuli (trials, stimuli) and some columns, where others are unknown."""
        matrices = {name: each.typical(stimuli, columns) for name, each in self.predictors.items()}
        return TrialParameters(self.response.parameters, matrices)


@dataclass(frozen=True)
class TrialParameters:
    """Values of the parameters of a response in each trial.

    Attributes:
        parameters: of the response.
        matrices: predictors (trials, columns) of the parameters that have any.
    """

    parameters: tuple[ModelParameter, ...]
    matrices: Mapping[str, FloatArray]

    def _blocks(self) -> list[tuple[ModelParameter, slice]]:
        blocks, start = [], 0
        for each in self.parameters:
            size = self.matrices[each.name].shape[1] if each.name in self.matrices else 1
            blocks.append((each, slice(start, start + size)))
            start += size
        return blocks

    def values(self, x: FloatArray) -> dict[str, FloatArray]:
        """Return the natural values at a point: numbers, or shape (trials,)."""
        values = {}
        for each, block in self._blocks():
            u = self.matrices[each.name] @ x[block] if each.name in self.matrices else x[block][0]
            values[each.name] = np.asarray(each.value(u))
        return values

    def gradient(self, x: FloatArray, by_value: Mapping[str, FloatArray]) -> FloatArray:
        """Return derivatives (parameters,) of a sum over trials from its derivatives (trials,) by each value."""
        out, values = np.zeros(len(x)), self.values(x)
        for each, block in self._blocks():
            v = values[each.name]
            inside = (v - each.low) * (each.high - v) / (each.high - each.low) if each.kind == "unit" else v
            by_u = by_value[each.name] * (1.0 if each.kind == "real" else inside)
            matrix = self.matrices.get(each.name)
            out[block] = by_u.sum() if matrix is None else matrix.T @ by_u
        return out


class TimedPosterior:
    """Log-posterior of a fit in the unbounded scale, with its gradient.

    Args:
        evidence: evidence of the trials.
        response: parameters of the response.
        sessions: sessions of the fit, as for the evidence.
        settings: conditions of the recording.
        prior: mean and s.d. of each parameter; None for the parameters' own.
        priors: priors of parameters that a user chose, by name.
    """

    def __init__(
        self,
        evidence: Evidence,
        response: ResponseParameters,
        sessions: Sequence[Session],
        settings: TimeSettings,
        prior: tuple[FloatArray, FloatArray] | None = None,
        priors: Mapping[str, Prior] | None = None,
    ):
        self.evidence, self.response = evidence, response
        self.trials: TimedTrials = timed_trials(sessions, settings)
        self.parameters = with_priors((*evidence.parameters, *response.parameters), priors or {})
        mean: FloatArray = np.array([each.mean for each in self.parameters])
        sd: FloatArray = np.array([each.sd for each in self.parameters])
        self.mean, self.sd = prior if prior is not None else (mean, sd)
        self._split = len(evidence.parameters)
        self._values = response.for_trials(sessions)

    def log_likelihood(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood of all trials and its gradient."""
        slope = self.evidence.slope(x[: self._split])
        result = self.given_evidence(slope.value, x)
        by_evidence = np.einsum("tc,tcp->p", result.evidence, slope.jacobian) + slope.extra_slope
        gradient = np.concatenate([by_evidence, self._values.gradient(x[self._split :], result.values)])
        return float(result.log.sum()) + slope.extra, gradient

    def given_evidence(self, evidence: FloatArray, x: FloatArray) -> Gradient:
        """Return the log-likelihood of each trial for evidence (trials, columns), with the response at a point."""
        return self.response.response.log_likelihood(evidence, self._values.values(x[self._split :]), self.trials)

    def pointwise(self, x: FloatArray) -> FloatArray:
        """Return the log-likelihood of each trial that counts at a point, shape (trials,)."""
        log = self.given_evidence(self.evidence.slope(x[: self._split]).value, x).log
        counted = self.trials.timed | self.trials.untimed | self.trials.omitted | self.trials.withheld
        return np.asarray(log[counted])

    def credible(self, best: Maximum, seed: int) -> Credible:
        """Return credible intervals of the parameters of a race, in the unbounded scale.

        Threshold, range of starts and non-decision time make up for each other in sums, so that the posterior is close
        to an ellipse in their natural scale, and has long curved tails in that of their logarithms.

        Args:
            best: maximum of the posterior.
            seed: random seed.
        """
        response: Any = self.response.response
        positive: BoolArray = np.array([each.kind == "positive" for each in self.parameters])

        def loss(_: np.ndarray, points: FloatArray) -> FloatArray:
            out = np.full(points.shape[1], np.inf)
            possible = (points[0][:, positive] > 0).all(1)
            x = _with_logarithms(points[0][possible], positive)
            density = x[:, positive].sum(1)  # in the natural scale, over that in the scale of the search
            out[possible] = density + [self._loss(point, response.log) for point in x]
            return out[None]

        natural = np.where(positive, np.exp(best.x), best.x)
        slope = np.where(positive, natural, 1.0)
        covariance = best.covariance * np.outer(slope, slope)
        start = natural[None, None]
        found = credible(loss, start, loss(np.zeros(1, int), start), covariance[None], [seed])
        low, high = (_with_logarithms(ends, positive) for ends in (found.low, found.high))
        return Credible(low, high, found.sd / slope, found.effective)

    def _loss(self, x: FloatArray, log: Callable[..., FloatArray]) -> float:
        evidence = self.evidence.slope(x[: self._split])
        likelihood = log(evidence.value, self._values.values(x[self._split :]), self.trials).sum() + evidence.extra
        z = (x - self.mean) / self.sd
        return 0.5 * float(z @ z) - float(likelihood)

    def policy(self, x: FloatArray) -> TimedPolicy:
        """Return the behaviour at a point."""
        evidence = self.evidence.policy(x[: self._split])
        return TimedPolicy(evidence, self.response, x[self._split :], self.trials.settings)

    def __call__(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-posterior and its gradient."""
        value, gradient = self.log_likelihood(x)
        z = (x - self.mean) / self.sd
        return value - 0.5 * float(z @ z), gradient - z / self.sd

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
        return sorted(points, key=lambda x: -self(x)[0])

    def _with_slope(self, x: FloatArray, bound: float) -> FloatArray:
        """Return a point whose weights of the evidence are those of a linear regression of the choices."""
        base = self.evidence.slope(x[: self._split])
        if base.value.shape[1] != 1 or not len(base.value):
            return x
        scored = self.trials.choice >= 0
        jacobian, side = base.jacobian[scored, 0], 2.0 * (self.trials.choice[scored] == 1) - 1
        sd = self.sd[: self._split]
        scaled = jacobian * sd
        ridge = scaled.T @ scaled + np.eye(len(sd)) * max(1.0, 1e-3 * len(side))
        step = np.linalg.solve(ridge, scaled.T @ (1.5 * side / bound - base.value[scored, 0]))
        out = x.copy()
        out[: self._split] += np.clip(step, -1.5, 1.5) * sd
        return out if self(out)[0] > self(x)[0] else x


def _with_logarithms(points: FloatArray, positive: BoolArray) -> FloatArray:
    """Return points (..., parameters) with the logarithm of some parameters, minus infinity below 0."""
    out = points.copy()
    with np.errstate(divide="ignore"):
        out[..., positive] = np.log(np.maximum(points[..., positive], 0))
    return out


class Maximum(NamedTuple):
    """Maximum of a posterior.

    Attributes:
        x: point in the unbounded scale.
        covariance: Laplace's covariance there.
        converged: whether the gradient vanishes.
    """

    x: FloatArray
    covariance: FloatArray
    converged: bool


def maximise(posterior: TimedPosterior, start: FloatArray | None = None, searches: int = 2) -> Maximum:
    """Return the maximum of a posterior by a quasi-Newton search.

    Args:
        posterior: the log-posterior.
        start: point from which to search; None for the points of `TimedPosterior.starts`.
        searches: largest number of those points; a search that converges is the last.
    """
    mean, sd, worst = posterior.mean, posterior.sd, 1e12

    def loss(z: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = posterior(mean + sd * z)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return worst, np.zeros(len(z))
        return -value, -gradient * sd

    best: Maximum | None = None
    value = np.inf
    for x in posterior.starts()[:searches] if start is None else [start]:
        worst = 1e12
        worst = loss((x - mean) / sd)[0] + 1e3  # steps beyond the support are shortened, and not to nothing
        options = {"maxiter": ITERATIONS, "ftol": 1e-11, "gtol": 1e-4}
        bounds = [(-12, 12)] * len(mean)
        result = minimize(loss, (x - mean) / sd, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        if best is None or result.fun < value:
            best, value = _curved(loss, np.asarray(result.x), posterior), float(result.fun)
        if best.converged:
            break
    assert best is not None
    return best


def _curved(
    loss: Callable[[FloatArray], tuple[float, FloatArray]], z: FloatArray, posterior: TimedPosterior
) -> Maximum:
    """Return a maximum with Laplace's covariance, from the change of the gradient around the point."""

    def slopes(points: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, slope = loss(points[0, 0])
        return np.array([[value]]), slope[None, None]

    values, vectors = np.linalg.eigh(curvature(slopes, z[None], step=posterior.response.response.step)[0])
    covariance = (vectors / np.maximum(values, 1.0)) @ vectors.T  # data never widen a prior
    slope = loss(z)[1]
    converged = bool(np.isfinite(slope).all() and slope @ covariance @ slope < GRADIENT and values.min() > 0)
    sd = posterior.sd
    return Maximum(posterior.mean + sd * z, covariance * np.outer(sd, sd), converged)


@dataclass
class TimedPolicy(Policy):
    """Choices and times of a fitted model.

    Attributes:
        inner: evidence from trial to trial.
        response: parameters of the response.
        x: values of these parameters in the unbounded scale.
        settings: conditions of the recording.
    """

    inner: EvidencePolicy
    response: ResponseParameters
    x: FloatArray
    settings: TimeSettings
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

    def probabilities(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`; predictors other than stimuli have their typical value."""
        return self.response.response.probabilities(self.inner.evidence(state, stimuli), self._typical(state, stimuli))

    def respond(self, state: Any, stimuli: FloatArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Return simulated choices (-1 for none) and reaction times in s of a trial, shape (sessions,)."""
        evidence = self.inner.evidence(state, stimuli)
        return self.response.response.sample(evidence, self._typical(state, stimuli), rng, self.settings)

    def _typical(self, state: Any, stimuli: FloatArray) -> dict[str, FloatArray]:
        columns = self.inner.columns_before(state) if self.response.predictors else {}
        return self.response.typical(stimuli, columns).values(self.x)

    def predict(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """See `Policy.predict`."""
        evidence = self.inner.of_sessions(sessions)
        p = self.response.response.probabilities(evidence, self.values(sessions))
        return np.split(p, _ends(sessions))

    def log_densities(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the log-density of choice and time (nats; omissions: log-probability); nan where none is scored."""
        trials = timed_trials(sessions, self.settings)
        evidence = self.inner.of_sessions(sessions)
        log = self.response.response.log_likelihood(evidence, self.values(sessions), trials).log
        scored = trials.timed | trials.omitted | trials.withheld
        return np.split(np.where(scored, log, np.nan), _ends(sessions))

    def simulate(self, sessions: Sequence[Session], rng: np.random.Generator) -> list[tuple[IntArray, FloatArray]]:
        """See `Policy.simulate`."""
        evidence = self.inner.of_sessions(sessions)
        choice, rt = self.response.response.sample(evidence, self.values(sessions), rng, self.settings)
        ends = _ends(sessions)
        return list(zip(np.split(choice, ends), np.split(rt, ends), strict=True))

    def values(self, sessions: Sequence[Session]) -> dict[str, FloatArray]:
        """Return the values of the parameters of the response in the trials of sessions."""
        sessions = self.inner.with_columns(sessions) if self.response.predictors else sessions
        return self.response.for_trials(sessions).values(self.x)


def _ends(sessions: Sequence[Session]) -> IntArray:
    return np.cumsum([len(each) for each in sessions])[:-1]
