"""Evidence of each trial that drives a response: stimuli, formulas of columns, learned values, or logits of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.agent_policy import AgentPolicy, compiled
from neurogym.behaviour.models.base import ParallelTrials, Policy, stepped
from neurogym.behaviour.models.formulas import Formula
from neurogym.behaviour.models.one_trial import OneTrial
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.table import Behaviour, Session, padded

#: Largest typical drift per s of the prior of weights of evidence.
DRIFT = 10.0


class Slope(NamedTuple):
    """Evidence with derivatives.

    Attributes:
        value: shape (trials, columns).
        jacobian: derivative by each parameter in the unbounded scale, shape (trials, columns, parameters).
        extra: log-likelihood of what else the subject did, such as second-stage choices.
        extra_slope: its derivatives, shape (parameters,).
    """

    value: FloatArray
    jacobian: FloatArray
    extra: float
    extra_slope: FloatArray


class Evidence(Protocol):
    """Evidence of the trials of a table as a function of parameters in the unbounded scale."""

    @property
    def parameters(self) -> tuple[ModelParameter, ...]:
        """Parameters of the evidence."""

    def slope(self, x: FloatArray) -> Slope:
        """Return the evidence of all trials at a point, with derivatives."""

    def policy(self, x: FloatArray) -> EvidencePolicy:
        """Return the evidence as it is stepped from trial to trial."""


class EvidencePolicy:
    """Evidence of many sessions at once, stepped from trial to trial; by default, trials leave no state."""

    @property
    def formulas(self) -> dict[str, Formula]:
        """Formulas of the evidence by name."""
        return {}

    def of(self, subject: str) -> EvidencePolicy:
        """Return the evidence of a subject, where a model of several subjects has one for each."""
        return self

    def begin(self, n: int) -> Any:
        """Return the state before the first trial of ``n`` sessions."""
        return n

    def evidence(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """Return the evidence of a trial, shape (sessions, columns)."""
        raise NotImplementedError

    def advance(self, state: Any, trial: ParallelTrials) -> Any:
        """Return the state after a trial."""
        return state

    def columns_before(self, state: Any) -> dict[str, FloatArray]:
        """See `Policy.columns_before`."""
        return {}

    def of_sessions(self, sessions: Sequence[Session]) -> FloatArray:
        """Return the evidence of all trials of sessions, concatenated, shape (trials, columns)."""
        return np.concatenate(stepped(self, sessions, lambda state, trial: self.evidence(state, trial.stimuli)))

    def with_columns(self, sessions: Sequence[Session]) -> list[Session]:
        """Return sessions with `columns_before` each trial."""
        names = list(self.columns_before(self.begin(1)))
        if not names:
            return list(sessions)
        every = stepped(self, sessions, lambda state, _: np.stack([self.columns_before(state)[k] for k in names], 1))
        return [
            replace(each, conditions={**each.conditions, **dict(zip(names, rows.T, strict=True))})
            for each, rows in zip(sessions, every, strict=True)
        ]


@dataclass(frozen=True)
class ProportionalPolicy(EvidencePolicy):
    """Drift in proportion to a stimulus, ``k (x - x0)``; a constant drift without a stimulus.

    Attributes:
        values: k and x0, or the drift.
    """

    values: FloatArray

    def evidence(self, state: int, stimuli: FloatArray) -> FloatArray:
        """See `EvidencePolicy.evidence`."""
        if len(self.values) == 1:
            return np.full((len(stimuli), 1), self.values[0])
        k, x0 = self.values
        return np.asarray(k * (stimuli[:, :1] - x0))


class ProportionalEvidence:
    """Drift in proportion to a stimulus (Palmer, Huk & Shadlen 2005); constant where a table has no stimulus.

    Args:
        table: sessions of the fit, with one stimulus or none.
    """

    def __init__(self, table: Behaviour):
        stimuli = np.nan_to_num(table.join("stimuli"))
        self.x = stimuli[:, 0] if table.stimuli else None
        self.n = len(stimuli)
        size = 1.0 if self.x is None else float(np.median(np.abs(self.x[self.x != 0]))) if self.x.any() else 1.0
        self.parameters: tuple[ModelParameter, ...] = (
            (ModelParameter("drift", sd=DRIFT / 2),)
            if self.x is None
            else (ModelParameter("k", sd=DRIFT / size), ModelParameter("x0", sd=size))
        )

    def slope(self, x: FloatArray) -> Slope:
        """See `Evidence.slope`."""
        if self.x is None:
            value, jacobian = np.full((self.n, 1), x[0]), np.ones((self.n, 1, 1))
        else:
            difference = self.x - x[1]
            value = (x[0] * difference)[:, None]
            jacobian = np.stack([difference, np.full(self.n, -x[0])], -1)[:, None]
        return Slope(value, jacobian, 0.0, np.zeros(len(x)))

    def policy(self, x: FloatArray) -> ProportionalPolicy:
        """See `Evidence.policy`."""
        return ProportionalPolicy(x)


def as_columns(logits: FloatArray, columns: int) -> FloatArray:
    """Return logits (..., choices) as evidence: the difference of the second from the first option, or all."""
    return logits[..., 1:2] - logits[..., :1] if columns == 1 else logits


class AgentEvidence:
    """Value difference of a learner as evidence (Pedersen, Frank & Biele 2017, 10.3758/s13423-016-1199-y).

    Args:
        agent: the learner.
        table: sessions of the fit.
        columns: 1 for the difference of two options, or the number of options.
    """

    def __init__(self, agent: OneTrial, table: Behaviour, columns: int):
        self.agent, self.columns, self.choices = agent, columns, len(table.choices)
        self.parameters = agent.parameters(table)
        self._data = padded(table.sessions)
        self._inside = np.arange(self._data.choice.shape[1]) < self._data.lengths[:, None]
        self._scan = compiled(agent, self.parameters, self.choices)

    def slope(self, x: FloatArray) -> Slope:
        """See `Evidence.slope`."""
        rows, slopes = self._scan.derivatives_of(x, self._data)
        value = as_columns(rows.logits[self._inside], self.columns)
        jacobian = np.moveaxis(as_columns(np.moveaxis(slopes.logits[self._inside], -1, 0), self.columns), 0, -1)
        return Slope(value, jacobian, float(rows.second.sum()), slopes.second.sum((0, 1)))

    def policy(self, x: FloatArray) -> LogitPolicy:
        """See `Evidence.policy`."""
        return LogitPolicy(AgentPolicy(self.agent, self.parameters, x, self.choices), 1.0, self.columns)


@dataclass(frozen=True)
class LogitPolicy(EvidencePolicy):
    """Logits of a model of choices, times a factor, as evidence.

    Attributes:
        inner: the model with its parameters.
        factor: drift per s of a logit of 1.
        columns: 1 for the difference of two options, or the number of options.
    """

    inner: Policy
    factor: float
    columns: int

    def of(self, subject: str) -> LogitPolicy:
        """See `EvidencePolicy.of`."""
        return LogitPolicy(self.inner.of(subject), self.factor, self.columns)

    def columns_before(self, state: Any) -> dict[str, FloatArray]:
        """See `Policy.columns_before`."""
        return self.inner.columns_before(state)

    def begin(self, n: int) -> Any:
        """See `EvidencePolicy.begin`."""
        return self.inner.begin(n)

    def evidence(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """See `EvidencePolicy.evidence`."""
        return self.factor * as_columns(self.inner.logits(state, stimuli), self.columns)

    def advance(self, state: Any, trial: ParallelTrials) -> Any:
        """See `EvidencePolicy.advance`."""
        return self.inner.advance(state, trial)

    def of_sessions(self, sessions: Sequence[Session]) -> FloatArray:
        """See `EvidencePolicy.of_sessions`."""
        return self.factor * as_columns(np.concatenate(self.inner.logits_of(sessions)), self.columns)


class LogitEvidence:
    """Logit of a model of choices that was fitted before, times a factor that is estimated with the times.

    Args:
        inner: the fitted model.
        table: sessions of the fit.
        columns: 1 for the difference of two options, or the number of options.
    """

    parameters = (ModelParameter("drift per logit", "positive", 0.0, 1.0),)

    def __init__(self, inner: Policy, table: Behaviour, columns: int):
        self.inner, self.columns = inner, columns
        rows: dict[int, FloatArray] = {}
        for subject in table.subjects:
            indices = [k for k, each in enumerate(table.sessions) if each.subject == subject]
            policy = LogitPolicy(inner, 1.0, columns).of(subject)
            for k in indices:
                rows[k] = policy.of_sessions([table.sessions[k]])
        self._logits = np.concatenate([rows[k] for k in range(len(table.sessions))])

    def slope(self, x: FloatArray) -> Slope:
        """See `Evidence.slope`."""
        value = float(np.exp(x[0])) * self._logits
        return Slope(value, value[..., None], 0.0, np.zeros(1))

    def policy(self, x: FloatArray) -> LogitPolicy:
        """See `Evidence.policy`."""
        return LogitPolicy(self.inner, float(np.exp(x[0])), self.columns)
