"""User-defined model as a plain function of a trial.

    PARAMETERS = {"alpha": (0, 1), "beta": (0, 20)}

    def agent(params, state, choice, reward, stimulus):
        q = [0.0, 0.0] if state is None else list(state)
        if choice is not None:
            q[choice] += params["alpha"] * (reward - q[choice])
        return [params["beta"] * value for value in q], q

The function is called before each choice with the values of the parameters by name, the state that it returned before
(None in the first trial of a session), choice and reward of the previous trial (None in the first trial and after a
miss) and the stimuli of the present trial by name; it returns the logits of the choices and the new state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.base import Fitted, ParallelTrials, Problem, UnfitError
from neurogym.behaviour.models.credible import credible
from neurogym.behaviour.models.marks import CONVERGED, marked
from neurogym.behaviour.models.parameters import ModelParameter, Prior, with_priors
from neurogym.behaviour.models.search import hessian, inverse_curvature, remaining
from neurogym.behaviour.table import Behaviour, Session

#: Searches at most, and the difference of log-likelihood at which two searches have found the same.
STARTS, SAME = 3, 0.01

LastTrial = tuple[int | None, float | None]  #: choice and reward of the trial before


class FunctionModel:
    """Model defined by a plain function; see the module.

    Args:
        function: ``agent(params, state, choice, reward, stimulus)``.
        bounds: lower and upper end of each parameter; None for no bound.
        name: name of the model.
    """

    takes_prior = True

    def __init__(
        self,
        function: Callable[..., Any],
        bounds: Mapping[str, tuple[float | None, float | None]],
        name: str,
    ):
        self.function, self.name = function, name
        self._declared = tuple(_parameter(key, *ends) for key, ends in bounds.items())
        self.priors: Mapping[str, Prior] = {}

    @property
    def parameters(self) -> tuple[ModelParameter, ...]:
        """Parameters with their priors."""
        return with_priors(self._declared, self.priors)

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`."""
        return [self._fit(each) for each in problems]

    def to_arrays(self, policy: FunctionPolicy) -> dict[str, FloatArray]:
        """See `Model.to_arrays`."""
        return {"x": policy.x}

    def from_arrays(self, arrays: Mapping[str, FloatArray], table: Behaviour) -> FunctionPolicy:
        """See `Model.from_arrays`."""
        return FunctionPolicy(self, arrays["x"], table)

    def _fit(self, problem: Problem) -> Fitted:
        table, rng = problem.table, np.random.default_rng(problem.seed)
        default = tuple(np.array([getattr(p, key) for p in self.parameters]) for key in ("mean", "sd"))
        mean, sd = default if problem.prior is None else problem.prior

        sessions = [_trials(each, table) for each in table.sessions]

        def loss(x: FloatArray) -> float:
            values = self.values(x)
            value = sum(self._log_likelihood(values, each, len(table.choices)) for each in sessions)
            return float(0.5 * (((x - mean) / sd) ** 2).sum() - value)

        ends: list[tuple[float, FloatArray]] = []
        for k in range(STARTS):
            start = mean + 0.7 * sd * rng.standard_normal(len(mean)) * (k > 0)
            result = minimize(loss, start, method="L-BFGS-B")
            agree = any(abs(result.fun - value) < SAME for value, _ in ends)
            ends.append((float(result.fun), np.asarray(result.x)))
            if agree:
                break
        _, x = min(ends, key=lambda end: end[0])

        def many(_: np.ndarray, points: FloatArray) -> FloatArray:
            return np.array([[loss(point) for point in points[0]]])

        covariance = inverse_curvature(hessian(many, x[None])[0], sd)
        se = np.sqrt(np.diag(covariance))
        prior_sd = None if problem.prior is not None else sd
        left = remaining(many, x[None], np.diag(se**2)[None])[0]
        interval, spread = None, se
        if problem.intervals:
            maxima, values = np.array([point for _, point in ends]), np.array([value for value, _ in ends])
            posterior = credible(many, maxima[None], values[None], covariance[None], [problem.seed])
            if posterior.valid[0]:
                interval, spread = np.stack([posterior.low[0], posterior.high[0]]), posterior.sd[0]
        estimates, marks = marked(self.parameters, x, spread, prior_sd, bool(left < CONVERGED), interval)
        details = {"unbounded": x, "unbounded_variance": se**2}
        return Fitted(self.name, FunctionPolicy(self, x, table), estimates, -loss(x), details, marks)

    def values(self, x: FloatArray) -> dict[str, float]:
        """Return the parameters by name from the unbounded scale."""
        return {p.name: float(p.value(np.asarray(x[k]))) for k, p in enumerate(self.parameters)}

    def call(
        self, values: Mapping[str, float], state: object, before: LastTrial, stimulus: Mapping[str, float], choices: int
    ) -> tuple[FloatArray, object]:
        """Return logits and the new state, checked.

        Raises:
            UnfitError: if the function returns something else.
        """
        output = self.function(values, state, *before, stimulus)
        if not isinstance(output, tuple) or len(output) != 2:
            raise UnfitError(f"{self.name} returned {type(output).__name__}, expected (logits, state)")
        logits = np.asarray(output[0], float)
        if logits.shape != (choices,) or not np.isfinite(logits).all():
            raise UnfitError(f"{self.name} returned logits {logits.tolist()}, expected {choices} finite numbers")
        return logits, output[1]

    def logits_of(self, table: Behaviour) -> Callable[[FloatArray], FloatArray]:
        """Return the logits (trials, choices) of all trials of a table as a function of a point."""
        sessions = [_trials(each, table) for each in table.sessions]
        n = len(table.choices)

        def logits(x: FloatArray) -> FloatArray:
            values = self.values(x)
            return np.concatenate([self._logits(values, each, n) for each in sessions])

        return logits

    def _log_likelihood(self, values: Mapping[str, float], trials: _Trials, choices: int) -> float:
        """Return the log-likelihood of a session."""
        logits = self._logits(values, trials, choices)
        return float(log_softmax(logits)[trials.valid, trials.choice].sum())

    def _logits(self, values: Mapping[str, float], trials: _Trials, choices: int) -> FloatArray:
        """Return the logits of a session; those of all trials are checked together."""
        function, state, rows = self.function, None, list[float]()
        try:
            for choice, reward, stimulus in trials.seen:
                logits, state = function(values, state, choice, reward, stimulus.copy())
                if len(logits) != choices:
                    raise ValueError
                rows.extend(logits)
            every = np.array(rows, float).reshape(-1, choices)
            if not np.isfinite(every).all():
                raise ValueError
        except (TypeError, ValueError):
            self._complain(values, trials, choices)
            raise
        return every

    def _complain(self, values: Mapping[str, float], trials: _Trials, choices: int) -> None:
        """Call the function again trial by trial, with a check of what each call returns."""
        state = None
        for choice, reward, stimulus in trials.seen:
            _, state = self.call(values, state, (choice, reward), stimulus, choices)


@dataclass(frozen=True)
class _Trials:
    """Session as plain values: choice and reward before each trial with its stimuli; trials with a choice."""

    seen: list[tuple[int | None, float | None, dict[str, float]]]
    valid: IntArray
    choice: IntArray


def _trials(each: Session, table: Behaviour) -> _Trials:
    choices, rewards = each.choice.tolist(), np.nan_to_num(each.reward).tolist()
    after = [(c, r) if c >= 0 else (None, None) for c, r in zip(choices, rewards, strict=True)]
    stimuli = [dict(zip(table.stimuli, row, strict=True)) for row in np.nan_to_num(each.stimuli).tolist()]
    before = [(None, None), *after[:-1]]
    valid = np.flatnonzero(each.scored_choice >= 0)
    return _Trials([(*b, s) for b, s in zip(before, stimuli, strict=True)], valid, each.choice[valid])


def _parameter(name: str, low: float | None, high: float | None) -> ModelParameter:
    if low is not None and high is not None:
        return ModelParameter(name, "unit", 0.0, 1.7, float(low), float(high))
    return ModelParameter(name, "positive", 0.5, 1.5) if low == 0 else ModelParameter(name, "real", 0.0, 3.0)


class FunctionPolicy:
    """Behaviour of a plain function, session by session.

    Args:
        model: the model.
        x: parameters in the unbounded scale.
        table: names of choices and stimuli.
    """

    def __init__(self, model: FunctionModel, x: FloatArray, table: Behaviour):
        self.model, self.x, self.values, self.table = model, x, model.values(x), table

    def begin(self, n: int) -> list[tuple[object, LastTrial]]:
        """See `Policy.begin`."""
        return [(None, (None, None))] * n

    def _call(self, state: list[tuple[object, LastTrial]], stimuli: FloatArray) -> list[tuple[FloatArray, object]]:
        names, n = self.table.stimuli, len(self.table.choices)
        rows = [dict(zip(names, row, strict=True)) for row in stimuli.tolist()]
        return [
            self.model.call(self.values, session_state, before, row, n)
            for (session_state, before), row in zip(state, rows, strict=True)
        ]

    def logits(self, state: list[tuple[object, LastTrial]], stimuli: FloatArray) -> FloatArray:
        """Return the logit of each choice, shape (sessions, choices)."""
        import copy

        return np.stack([logits for logits, _ in self._call(copy.deepcopy(state), stimuli)])

    def probabilities(self, state: list[tuple[object, LastTrial]], stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        return np.exp(log_softmax(self.logits(state, stimuli)))

    def advance(self, state: list[tuple[object, LastTrial]], trial: ParallelTrials) -> list[tuple[object, LastTrial]]:
        """See `Policy.advance`."""
        moved = self._call(state, trial.stimuli)
        before = [
            (int(c), float(r)) if c >= 0 else (None, None) for c, r in zip(trial.choice, trial.reward, strict=True)
        ]
        return [(session_state, last) for (_, session_state), last in zip(moved, before, strict=True)]
