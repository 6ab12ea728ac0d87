"""Base of models with a few parameters and an update after each trial; fitted by maximum a posteriori.

Parameters are searched in an unbounded scale (logit of rates, logarithm of positive numbers) with a Gaussian prior
each; intervals are credible intervals (see `neurogym.behaviour.models.credible`), or where these are not asked for or
uncertain, those of the curvature. Arrays have the axes (fit, point, session, choice): many fits
(folds, subjects, starts) and many points of each are evaluated together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.base import Fitted, ParallelTrials, Problem, one_hot, require_rewards, trial_at
from neurogym.behaviour.models.credible import credible
from neurogym.behaviour.models.marks import CONVERGED, marked
from neurogym.behaviour.models.parameters import ModelParameter, Prior, scaled, stimulus_weight, with_priors
from neurogym.behaviour.models.scales import outcome_scale, power_of_ten, scale_notes, typical_size
from neurogym.behaviour.models.search import hessian, inverse_curvature, minimise, remaining
from neurogym.behaviour.table import PADDING, Behaviour, Padded, padded, rectangle

ParameterValues = Mapping[str, FloatArray]
AgentState = dict[str, FloatArray]

#: Random points of the prior that are tried for each fit, and the best of them from which the search starts.
DRAWS, STARTS = 48, 3


class Agent:
    """A model of choices with a state that each trial updates.

    A subclass names its parameters and writes `begin`, `logits` and `update` with arithmetic that works for any
    leading axes; parameters arrive with two axes of length one at the end.

    Args:
        name: name of the model.

    Attributes:
        own: parameters besides the bias and the weights of stimuli.
        per_outcome: names of positive parameters per unit of outcome, whose prior follows the size of outcomes.
        in_outcomes: names of real parameters in the unit of outcomes, whose prior does.
    """

    own: tuple[ModelParameter, ...] = ()
    per_outcome: tuple[str, ...] = ()
    in_outcomes: tuple[str, ...] = ()
    needs_rewards: bool = True
    takes_prior = True
    priors: Mapping[str, Prior] = MappingProxyType({})  #: priors that a user chose, by name of the parameter

    def __init__(self, name: str):
        self.name = name

    def begin(self, p: ParameterValues, shape: tuple[int, ...]) -> AgentState:
        """Return the state before the first trial; ``shape`` is (fit, point, session, choice)."""
        raise NotImplementedError

    def logits(self, p: ParameterValues, state: AgentState) -> FloatArray:
        """Return the logits of the choices without the part of the stimuli."""
        raise NotImplementedError

    def now(self, p: ParameterValues, state: AgentState, stimuli: FloatArray, n: int) -> FloatArray:
        """Return the logits of ``n`` choices in a trial with stimuli, shape (..., session, choice)."""
        logits: FloatArray = self.logits(p, state) + _linear(p, len(self.own), stimuli, n)
        return logits

    def second(self, p: ParameterValues, state: AgentState, reached: IntArray) -> FloatArray:
        """Return the probabilities of the second-stage choices in the states that were reached.

        Equal for models that know nothing of second-stage choices.
        """
        return np.full((*reached.shape, 2), 0.5)

    def update(self, p: ParameterValues, state: AgentState, chosen: FloatArray, reward: FloatArray) -> AgentState:
        """Return the state after a trial.

        Args:
            p: parameters.
            state: before the trial.
            chosen: 1 for the choice, 0 for others, shape (fit, 1, session, choice).
            reward: shape (fit, 1, session, 1).
        """
        raise NotImplementedError

    def check(self, table: Behaviour) -> None:
        """Refuse tables that do not suit the model.

        Raises:
            UnfitError: if the model does not suit the table, with the reason.
        """
        if self.needs_rewards:
            require_rewards(table, self.name)

    def parameters(self, table: Behaviour) -> tuple[ModelParameter, ...]:
        """Return all parameters: the model's own, the bias and the weight of each stimulus for each further choice.

        A table without trials, with which a stored fit is read, says names alone.
        """
        words = [""] if len(table.choices) == 2 else [f" -> {word}" for word in table.choices[1:]]
        stimuli = table.join("stimuli") if table.sessions else np.ones((1, len(table.stimuli)))
        sizes = [min(1.0, power_of_ten(typical_size(values))) for values in stimuli.T]
        linear = [ModelParameter("bias"), *map(stimulus_weight, table.stimuli, sizes)]
        further = (replace(each, name=each.name + word) for word in words for each in linear)
        return with_priors((*self.scaled(table), *further), self.priors)

    def scaled(self, table: Behaviour) -> tuple[ModelParameter, ...]:
        """Return the model's own parameters with priors that follow the size of the outcomes of a table."""
        scale = outcome_scale(table) if table.sessions else 1.0
        return scaled(self.own, scale, self.per_outcome, self.in_outcomes)

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`."""
        for each in problems:
            self.check(each.table)
        parameters_of = [self.parameters(each.table) for each in problems]
        best = _fit(self, parameters_of, problems)
        fits = []
        for k, each in enumerate(problems):
            parameters, se = parameters_of[k], np.sqrt(np.maximum(np.diag(best.covariance[k]), 0))
            sd = np.array([p.sd for p in parameters]) if each.prior is None else None
            converged = bool(best.remaining[k] < CONVERGED)
            ends, spread = best.posterior.get(k, (None, se))
            estimates, marks = marked(parameters, best.x[k], spread, sd, converged, ends)
            policy = AgentPolicy(self, parameters, best.x[k], len(each.table.choices))
            details = {"unbounded": best.x[k], "unbounded_variance": se**2, "covariance": best.covariance[k]}
            notes = scale_notes(each.table, (*self.per_outcome, *self.in_outcomes), estimates)
            fits.append(Fitted(self.name, policy, estimates, float(best.log_likelihood[k]), details, marks, notes))
        return fits

    def to_arrays(self, policy: AgentPolicy) -> dict[str, FloatArray]:
        """See `Model.to_arrays`."""
        return {"x": policy.x}

    def from_arrays(self, arrays: Mapping[str, FloatArray], table: Behaviour) -> AgentPolicy:
        """See `Model.from_arrays`."""
        return AgentPolicy(self, self.parameters(table), arrays["x"], len(table.choices))

    def extra_log_likelihood(
        self, p: ParameterValues, state: AgentState, data: ParallelTrials, chosen: FloatArray
    ) -> FloatArray | float:
        """Return the log-likelihood of what else the subject did in a trial, such as a second choice."""
        return 0.0

    def step(self, p: ParameterValues, state: AgentState, trial: ParallelTrials, chosen: FloatArray) -> AgentState:
        """Return the state after a trial; missed trials leave the state unchanged."""
        new = self.update(p, state, chosen, trial.reward[..., None])
        valid = trial.choice[..., None] >= 0
        return {key: np.where(_as_wide(valid, value), value, state[key]) for key, value in new.items()}


def _as_wide(valid: np.ndarray, value: FloatArray) -> np.ndarray:
    return valid.reshape(*valid.shape, *[1] * (value.ndim - valid.ndim))


@dataclass
class AgentPolicy:
    """Behaviour of an agent with given parameters."""

    agent: Agent
    parameters: tuple[ModelParameter, ...]
    x: FloatArray
    n_choices: int

    def __post_init__(self) -> None:
        """Find the values of the parameters."""
        self.p = _values(self.parameters, self.x[None, None])

    @property
    def values(self) -> dict[str, float]:
        """Parameters by name."""
        return {key: float(value.ravel()[0]) for key, value in self.p.items()}

    def begin(self, n: int) -> AgentState:
        """See `Policy.begin`."""
        return self.agent.begin(self.p, (1, 1, n, self.n_choices))

    def logits(self, state: AgentState, stimuli: FloatArray) -> FloatArray:
        """Return the logit of each choice, shape (sessions, choices)."""
        logits: FloatArray = self.agent.now(self.p, state, stimuli[None, None], self.n_choices)[0, 0]
        return logits

    def probabilities(self, state: AgentState, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        return np.exp(log_softmax(self.logits(state, stimuli)))

    def advance(self, state: AgentState, trial: ParallelTrials) -> AgentState:
        """See `Policy.advance`."""
        wide = trial_at(trial, np.s_[None, None])
        return self.agent.step(self.p, state, wide, one_hot(wide.choice, self.n_choices))

    def second(self, state: AgentState, reached: IntArray) -> FloatArray:
        """Return probabilities of the second-stage choices, shape (sessions, 2), in the states that were reached."""
        return self.agent.second(self.p, state, reached[None, None])[0, 0]


def _values(parameters: Sequence[ModelParameter], x: FloatArray) -> dict[str, FloatArray]:
    return {p.name: p.value(x[..., k])[..., None, None] for k, p in enumerate(parameters)}


def _linear(p: ParameterValues, offset: int, stimuli: FloatArray, n: int) -> FloatArray:
    """Return the part of the logits that bias and stimuli give, zero for the first choice."""
    weights = list(p.values())[offset:]
    per = len(weights) // (n - 1)
    shape = (*np.broadcast_shapes(weights[0].shape[:-1], stimuli.shape[:-1]), 1)
    columns = [np.zeros(shape)]
    for k in range(n - 1):
        bias, *each = weights[k * per : (k + 1) * per]
        total = bias + np.zeros(shape)
        for j, w in enumerate(each):
            total = total + w * stimuli[..., j : j + 1]
        columns.append(total)
    return np.concatenate(columns, -1)


def gathered(tables: Sequence[Behaviour]) -> Padded:
    """Return the sessions of all tables with a leading axis for the table; what is missing is padding."""
    each = [padded(table.sessions) for table in tables]
    arrays = {name: rectangle([getattr(data, name) for data in each], value) for name, value in PADDING.items()}
    return Padded(**arrays, lengths=np.array([sum(data.lengths) for data in each]))


@dataclass
class _Maxima:
    """Maxima of the posteriors of several problems, in the unbounded scale.

    Attributes:
        x: shape (problems, parameters).
        log_likelihood: shape (problems,).
        covariance: inverse curvatures, shape (problems, parameters, parameters).
        remaining: what another step would gain, shape (problems,).
        posterior: by problem, ends of credible intervals (2, parameters) and standard deviations (parameters,).
    """

    x: FloatArray
    log_likelihood: FloatArray
    covariance: FloatArray
    remaining: FloatArray
    posterior: dict[int, tuple[FloatArray, FloatArray]]


def _fit(agent: Agent, parameters_of: Sequence[tuple[ModelParameter, ...]], problems: Sequence[Problem]) -> _Maxima:
    data, n = gathered([each.table for each in problems]), len(problems[0].table.choices)
    parameters = parameters_of[0]
    d, count = len(parameters), len(problems)
    mean, sd = (np.array([[getattr(p, name) for p in each] for each in parameters_of]) for name in ("mean", "sd"))
    for k, each in enumerate(problems):
        if each.prior is not None:
            mean[k], sd[k] = each.prior
    unit = np.array([[p.unit for p in each] for each in parameters_of])  # the search is in these units
    mean, sd = mean / unit, sd / unit
    likelihood = likelihood_of(agent, parameters, data, n)

    def loss(rows: np.ndarray, x: FloatArray) -> FloatArray:
        prior = 0.5 * (((x - mean[rows][:, None]) / sd[rows][:, None]) ** 2).sum(-1)
        return prior - likelihood(rows, x * unit[rows][:, None])

    points = np.stack(
        [
            mean[k]
            + sd[k] * np.vstack([np.zeros(d), 0.8 * np.random.default_rng(each.seed).standard_normal((DRAWS - 1, d))])
            for k, each in enumerate(problems)
        ]
    )
    order = loss(np.arange(count), points).argsort(1)[:, :STARTS]
    starts = np.take_along_axis(points, order[..., None], 1).reshape(count * STARTS, d)
    origin = np.repeat(np.arange(count), STARTS)
    x, value = minimise(lambda which, tried: loss(origin[which], tried), starts)
    maxima, values = x.reshape(count, STARTS, d), value.reshape(count, STARTS)
    x = maxima[np.arange(count), values.argmin(1)]  # the best start of each problem
    covariance = np.stack([inverse_curvature(each, sd[k]) for k, each in enumerate(hessian(loss, x))])
    score = likelihood(np.arange(count), (x * unit)[:, None])[:, 0]
    left = remaining(loss, x, covariance)
    exact = np.flatnonzero([each.intervals for each in problems])
    posterior = {}
    if len(exact):
        seeds = [problems[int(k)].seed for k in exact]
        found = credible(lambda r, p: loss(exact[r], p), maxima[exact], values[exact], covariance[exact], seeds)
        posterior = {
            int(k): (np.stack([found.low[i], found.high[i]]) * unit[k], found.sd[i] * unit[k])
            for i, k in enumerate(exact)
            if found.valid[i]
        }
    return _Maxima(x * unit, score, covariance * unit[:, :, None] * unit[:, None], left, posterior)


def likelihood_of(
    agent: Agent, parameters: Sequence[ModelParameter], data: Padded, n: int
) -> Callable[[np.ndarray, FloatArray], FloatArray]:
    """Return the log-likelihood as a function of tables (runs,) and points (runs, points, parameters).

    Args:
        agent: the model.
        parameters: of the model.
        data: sessions of several tables, see `gathered`.
        n: number of choices.
    """
    chosen = one_hot(data.choice, n)
    two_stage = bool((data.choice2 >= 0).any())

    def likelihood(rows: np.ndarray, x: FloatArray) -> FloatArray:
        p = _values(parameters, x)
        selected = Padded(**{key: value[rows] for key, value in vars(data).items()})
        picks = chosen[rows]
        runs, points, sessions = len(x), x.shape[1], selected.choice.shape[1]
        state = agent.begin(p, (runs, points, sessions, n))
        total = np.zeros((runs, points))
        for t in range(selected.choice.shape[2]):
            trial = trial_at(selected, np.s_[:, None, :, t])
            pick = picks[:, None, :, t]
            logits = agent.now(p, state, trial.stimuli, n)
            counted = selected.scored[:, None, :, t]
            total += ((log_softmax(logits) * pick).sum(-1) * counted).sum(-1)
            if two_stage:
                total += (agent.extra_log_likelihood(p, state, trial, pick) * counted).sum(-1)
            state = agent.step(p, state, trial, pick)
        return total

    return likelihood


def trial_logits(
    agent: Agent, parameters: Sequence[ModelParameter], data: Padded, n: int
) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
    """Return the logits of all trials of padded sessions as a function of points in the unbounded scale.

    Args:
        agent: the model.
        parameters: of the model.
        data: sessions of one fit.
        n: number of choices.

    Returns:
        A function from points (points, parameters) to logits (points, sessions, trials, choices) and to the
        log-likelihood (points,) of second-stage choices.
    """
    chosen = one_hot(data.choice, n)
    two_stage = bool((data.choice2 >= 0).any())

    def logits(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = _values(parameters, x[None])
        sessions, trials = data.choice.shape
        state = agent.begin(p, (1, len(x), sessions, n))
        rows, extra = [], np.zeros(len(x))
        for t in range(trials):
            trial, pick = trial_at(data, np.s_[None, None, :, t]), chosen[None, None, :, t]
            row = agent.now(p, state, trial.stimuli, n)
            rows.append(np.broadcast_to(row[0], (len(x), sessions, n)))
            if two_stage:
                counted = data.scored[None, None, :, t]
                extra += (agent.extra_log_likelihood(p, state, trial, pick) * counted)[0].sum(-1)
            state = agent.step(p, state, trial, pick)
        return np.stack(rows, 2), extra

    return logits
