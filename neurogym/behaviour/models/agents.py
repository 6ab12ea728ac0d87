"""Models with a few parameters and an update after each trial: one trial of one session, without further axes.

    import jax.numpy as jnp
    from neurogym.behaviour.models.agents import Agent
    from neurogym.behaviour.models.parameters import positive, rate

    class DualRate(Agent):
        fast, slow, beta = rate(), rate(), positive(3.0)

        def begin(self, p, n):
            return {"f": jnp.zeros(n), "s": jnp.zeros(n)}

        def logits(self, p, state, trial):
            return p.beta * (state.f + state.s)

        def update(self, p, state, trial):
            error = trial.chosen * (trial.reward - state.f - state.s)
            return {"f": state.f + p.fast * error, "s": state.s + p.slow * error}

Everything else follows: bias and weights of stimuli, likelihood with gradients, fits of many subjects and folds at
once, intervals, groups, posteriors, simulations and a response that takes time (see `neurogym.behaviour.models.scan`).

Parameters are searched in an unbounded scale (logit of rates, logarithm of positive numbers) with a Gaussian prior
each; intervals are credible intervals (see `neurogym.behaviour.models.credible`), or where these are not asked for or
uncertain, those of the curvature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.base import Fitted, Model, ParallelTrials, Policy, Problem, UnfitError
from neurogym.behaviour.models.credible import credible
from neurogym.behaviour.models.evidence import Evidence, rounded, widened
from neurogym.behaviour.models.marks import fit_at
from neurogym.behaviour.models.one_trial import OneTrial
from neurogym.behaviour.models.parameters import ModelParameter, prior_of, scale_notes
from neurogym.behaviour.models.scan import POINTS, Scan, filled, padded_arrays, scan_of
from neurogym.behaviour.models.search import CONVERGED, Maximum, curvature, inverse_curvature, minimise
from neurogym.behaviour.table import PADDING, Behaviour, Padded, Session, padded, rectangle

#: Random points of the prior that are tried for each fit, and the best of them from which the search starts.
DRAWS, STARTS = 48, 3


@dataclass
class AgentPolicy(Policy):
    """Behaviour of an agent with given parameters, in many sessions at once.

    States are those of the sessions and of further ones, so that numbers of sessions share compiled functions.
    """

    agent: OneTrial
    parameters: tuple[ModelParameter, ...]
    x: FloatArray
    n_choices: int

    @property
    def sees_cue(self) -> bool:
        """Whether the first stimulus of a trial is its cue."""
        return self.agent.sees_cue

    @property
    def values(self) -> dict[str, float]:
        """Parameters by name."""
        return {each.name: float(each.value(self.x[k])) for k, each in enumerate(self.parameters)}

    @property
    def _scan(self) -> Scan:
        return scan_of(self.agent, self.parameters, self.n_choices)

    def varied(self, sd: float, rng: np.random.Generator) -> AgentPolicy:
        """See `Policy.varied`."""
        units = np.array([each.unit for each in self.parameters])
        return replace(self, x=self.x + sd * units * rng.standard_normal(len(self.x)))

    def begin(self, n: int) -> Any:
        """See `Policy.begin`."""
        state = self._scan.begin(self.x)
        return {key: np.broadcast_to(each, (rounded(n), *each.shape)) for key, each in state.items()}

    def _filled(self, trial: ParallelTrials) -> dict[str, np.ndarray]:
        """Return a trial of several sessions, and of those that fill them up."""
        count = len(trial.choice)
        extra = rounded(count) - count
        columns = {key: getattr(trial, key, None) for key in PADDING}
        known = {
            key: np.full(count, PADDING[key]) if value is None else np.nan_to_num(value)
            for key, value in columns.items()
        }
        if self.sees_cue:
            known["cue"] = np.nan_to_num(trial.stimuli[:, 0], nan=-1.0).astype(int)
        if extra:  # padding takes longer than a step
            known = {key: np.pad(each, [(0, extra)] + [(0, 0)] * (each.ndim - 1)) for key, each in known.items()}
        return known

    def logits(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """See `Policy.logits`."""
        none = np.full(len(stimuli), -1)
        trial = ParallelTrials(stimuli, none, np.zeros(len(stimuli)), none, none)
        return np.asarray(self._scan.logits(self.x, state, self._filled(trial)))[: len(stimuli)]

    def advance(self, state: Any, trial: ParallelTrials) -> Any:
        """See `Policy.advance`."""
        return self._scan.advance(self.x, state, self._filled(trial))

    def second(self, state: Any, reached: IntArray) -> FloatArray:
        """Return probabilities of the second-stage choices, shape (sessions, 2), in the states that were reached."""
        return np.exp(np.asarray(self._scan.second(self.x, state, widened(reached, 1))))[: len(reached)]

    def logits_of(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the logits of all trials of each session, shape (trials, choices)."""
        rows = np.asarray(self._scan.trials(self.x, padded_arrays(padded(sessions))).logits)
        return [rows[k, : len(each)] for k, each in enumerate(sessions)]

    def states(self, sessions: Sequence[Session]) -> list[dict[str, FloatArray]]:
        """See `Policy.states`: each entry of the learner's state, as ``q 0`` and ``q 1`` of two values."""
        states = self._scan.states(self.x, padded_arrays(padded(sessions)))
        columns = {
            " ".join([name, *map(str, index)]): np.asarray(value)[(..., *index)]
            for name, value in states.items()
            for index in np.ndindex(value.shape[2:])
        }
        return [{name: value[k, : len(each)] for name, value in columns.items()} for k, each in enumerate(sessions)]

    def predict(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the probability of each choice for each session, shape (trials, choices)."""
        return [np.exp(log_softmax(each)) for each in self.logits_of(sessions)]


def gathered(tables: Sequence[Behaviour]) -> Padded:
    """Return the sessions of all tables with a leading axis for the table; what is missing is padding."""
    each = [table.padded for table in tables]
    arrays = {name: rectangle([getattr(data, name) for data in each], value) for name, value in PADDING.items()}
    return Padded(**arrays, lengths=np.array([sum(data.lengths) for data in each]))


class ChoiceLikelihood:
    """Log-likelihood of the choices of a learner.

    Args:
        agent: the learner.
        table: sessions of a subject.
    """

    def __init__(self, agent: OneTrial, table: Behaviour):
        self._agent, self._data, self._arrays = agent, table.padded, padded_arrays(table.padded)
        self.parameters, self._n = agent.parameters(table), len(table.choices)
        self._scan = scan_of(agent, self.parameters, self._n)

    def log_likelihood(self, x: FloatArray) -> tuple[float, FloatArray]:
        """See `Likelihood.log_likelihood`."""
        value, slope = self._scan.slopes(np.asarray(x)[None, None], {k: v[None] for k, v in self._arrays.items()})
        return float(value[0, 0]), np.asarray(slope[0, 0])

    def pointwise(self, x: FloatArray) -> FloatArray:
        """See `Likelihood.pointwise`; second-stage choices count with the first of their trial."""
        counted = self._data.scored & (self._data.choice >= 0)
        return np.asarray(self._scan.trials(x, self._arrays).log_likelihood)[filled(counted, 2) > 0]

    def policy(self, x: FloatArray) -> AgentPolicy:
        """See `Likelihood.policy`."""
        return AgentPolicy(self._agent, self.parameters, x, self._n)


class Agent(OneTrial, Model):
    """A model of choices with a state that each trial updates; `OneTrial` lists what a subclass declares."""

    takes_prior = True
    passes = True

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`."""
        for each in problems:
            self.check(each.table)
        fits = fit_together(self, problems)
        depending = [each.name for each in self.own if each.per_outcome or each.in_outcomes]
        for each, fit in zip(problems, fits, strict=True):
            fit.notes.extend(scale_notes(each.table, depending, fit.parameters))
        return fits

    def evidence_of(self, table: Behaviour, columns: int) -> Evidence:
        """See `Model.evidence_of`: value differences (Pedersen, Frank & Biele 2017, 10.3758/s13423-016-1199-y)."""
        parameters, data, n = self.parameters(table), table.padded, len(table.choices)
        inside = np.arange(data.choice.shape[1]) < data.lengths[:, None]
        trials = padded_arrays(data), widened(np.flatnonzero(filled(inside, 2)))
        scan = scan_of(self, parameters, n)
        return Evidence(parameters, scan.evidence, trials, lambda x: (AgentPolicy(self, parameters, x, n), 1.0))

    def log_likelihoods(self, tables: Sequence[Behaviour]) -> Callable[[Any], Any]:
        """See `Model.log_likelihoods`."""
        return scan_of(self, self.parameters(tables[0]), len(tables[0].choices)).together(gathered(tables))

    def posterior(self, problem: Problem) -> ChoiceLikelihood:
        """Return the log-likelihood of the sessions of a problem."""
        return ChoiceLikelihood(self, problem.table)

    def to_arrays(self, policy: AgentPolicy) -> dict[str, FloatArray]:
        """See `Model.to_arrays`."""
        return {"x": policy.x}

    def from_arrays(self, arrays: Mapping[str, FloatArray], table: Behaviour) -> AgentPolicy:
        """See `Model.from_arrays`."""
        return AgentPolicy(self, self.parameters(table), arrays["x"], len(table.choices))


class _Posterior:
    """Negative log-posteriors of several problems, in units of the parameters.

    Args:
        agent: the model.
        problems: data and settings of each fit.
    """

    def __init__(self, agent: OneTrial, problems: Sequence[Problem]):
        self.parameters = [agent.parameters(each.table) for each in problems]
        self.n = len(problems[0].table.choices)
        self._scan, self._most = scan_of(agent, self.parameters[0], self.n), POINTS
        self._data = padded_arrays(gathered([each.table for each in problems]))
        self._on_device = self._scan.put(self._data)
        priors = [prior_of(each, problem.prior) for each, problem in zip(self.parameters, problems, strict=True)]
        mean, sd = (np.stack(each) for each in zip(*priors, strict=True))
        self.unit = np.array([[p.unit for p in each] for each in self.parameters])
        self.mean, self.sd = mean / self.unit, sd / self.unit
        self._size = rounded(len(problems))

    def slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return values (problems, points) and gradients at points (problems, points, parameters)."""
        count = len(x)
        points = np.pad(x * self.unit[:, None], ((0, self._size - count), (0, 0), (0, 0)))
        value, slope = (np.asarray(each)[:count] for each in self._scan.slopes(points, self._on_device))
        z = (x - self.mean[:, None]) / self.sd[:, None]
        return 0.5 * (z**2).sum(-1) - value, z / self.sd[:, None] - slope * self.unit[:, None]

    def values(self, k: int, x: FloatArray) -> FloatArray:
        """Return values (points,) of a problem, given by number, at points (points, parameters)."""
        data = {name: each[k] for name, each in self._data.items()}
        pieces = [x[start : start + self._most] for start in range(0, len(x), self._most)]
        scores = [np.asarray(self._scan.values(piece * self.unit[k], data)) for piece in pieces]
        prior = 0.5 * (((x - self.mean[k]) / self.sd[k]) ** 2).sum(1)
        return np.asarray(prior - np.concatenate(scores))

    def log_likelihood(self, x: FloatArray, value: FloatArray) -> FloatArray:
        """Return log-likelihoods (problems,) at points (problems, parameters) whose values are known."""
        return np.asarray(0.5 * (((x - self.mean) / self.sd) ** 2).sum(1) - value)


def fit_together(agent: OneTrial, problems: Sequence[Problem]) -> list[Fitted]:
    """Return maximum a posteriori fits of a learner to the tables of several problems."""
    posterior = _Posterior(agent, problems)
    starts = _starts(posterior, problems)
    if not np.isfinite(posterior.slopes(starts)[0]).all():
        raise UnfitError(f"{agent.name}: the log-likelihood is not a finite number; expected finite logits")
    points, values, slopes = minimise(posterior.slopes, starts, covariance=_expected(posterior, problems))
    lowest = np.arange(len(problems)), values.argmin(1)
    x, value, slope = points[lowest], values[lowest], slopes[lowest]
    curved = curvature(posterior.slopes, x, starts.shape[1])
    covariance = np.stack([inverse_curvature(each, posterior.sd[k]) for k, each in enumerate(curved)])
    remaining = 0.5 * np.einsum("fi,fij,fj->f", slope, covariance, slope)
    score = posterior.log_likelihood(x, value)
    fits = []
    for k, (problem, parameters) in enumerate(zip(problems, posterior.parameters, strict=True)):
        unit = posterior.unit[k]
        best = Maximum(x[k] * unit, value[k], covariance[k] * np.outer(unit, unit), bool(remaining[k] < CONVERGED))
        policy = AgentPolicy(agent, parameters, best.x, posterior.n)
        intervals = None
        if problem.intervals:
            found = credible(partial(posterior.values, k), points[k], values[k], covariance[k], problem.seed)
            intervals = (found.sd * unit, found.ends * unit) if found.valid else None
        sd = prior_of(parameters)[1] if problem.prior is None else None
        fits.append(fit_at(agent.name, policy, float(score[k]), parameters, best, intervals, sd))
    return fits


def _expected(posterior: _Posterior, problems: Sequence[Problem]) -> FloatArray | None:
    """Return the covariances of earlier fits of all problems, or None."""
    known = [each.covariance for each in problems if each.covariance is not None]
    unit = posterior.unit[:, None] * posterior.unit[..., None]
    return np.stack(known) / unit if len(known) == len(problems) else None


def _starts(posterior: _Posterior, problems: Sequence[Problem]) -> FloatArray:
    """Return points from which searches begin (problems, starts, parameters): earlier fits, or the best draws."""
    known = [each.start for each in problems if each.start is not None]
    if len(known) == len(problems):
        return np.stack(known)[:, None] / posterior.unit[:, None]
    d = posterior.mean.shape[1]
    draws = [0.8 * np.random.default_rng(each.seed).standard_normal((DRAWS - 1, d)) for each in problems]
    points = posterior.mean[:, None] + posterior.sd[:, None] * np.pad(np.stack(draws), ((0, 0), (1, 0), (0, 0)))
    order = np.stack([posterior.values(k, each) for k, each in enumerate(points)]).argsort(1)[:, :STARTS]
    return np.asarray(np.take_along_axis(points, order[..., None], 1))
