"""Behaviour and log-likelihood of a learner with given parameters, in many sessions at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neurogym.analysis.regression import log_softmax
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.base import ParallelTrials, Policy
from neurogym.behaviour.models.one_trial import OneTrial
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.models.scan import Scan, scan_of
from neurogym.behaviour.table import PADDING, Behaviour, Padded, Session, padded, rectangle


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
        return self._scan.begin_of(self.x, n)

    def logits(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """See `Policy.logits`."""
        none = np.full(len(stimuli), -1)
        trial = ParallelTrials(stimuli, none, np.zeros(len(stimuli)), none, none)
        return self._scan.stepped("logits", self.x, state, trial, self.sees_cue)

    def probabilities(self, state: Any, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        return np.exp(log_softmax(self.logits(state, stimuli)))

    def advance(self, state: Any, trial: ParallelTrials) -> Any:
        """See `Policy.advance`."""
        return self._scan.stepped("advance", self.x, state, trial, self.sees_cue)

    def second(self, state: Any, reached: IntArray) -> FloatArray:
        """Return probabilities of the second-stage choices, shape (sessions, 2), in the states that were reached."""
        return np.exp(self._scan.second_of(self.x, state, reached))

    def logits_of(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the logits of all trials of each session, shape (trials, choices)."""
        rows = self._scan.rows_of(self.x, padded(sessions)).logits
        return [rows[k, : len(each)] for k, each in enumerate(sessions)]

    def states(self, sessions: Sequence[Session]) -> list[dict[str, FloatArray]]:
        """See `Policy.states`: each entry of the learner's state, as ``q 0`` and ``q 1`` of two values."""
        columns = {
            " ".join([name, *map(str, index)]): value[(..., *index)]
            for name, value in self._scan.states_of(self.x, padded(sessions)).items()
            for index in np.ndindex(value.shape[2:])
        }
        return [{name: value[k, : len(each)] for name, value in columns.items()} for k, each in enumerate(sessions)]

    def predict(self, sessions: Sequence[Session]) -> list[FloatArray]:
        """Return the probability of each choice for each session, shape (trials, choices)."""
        return [np.exp(log_softmax(each)) for each in self.logits_of(sessions)]


def gathered(tables: Sequence[Behaviour]) -> Padded:
    """Return the sessions of all tables with a leading axis for the table; what is missing is padding."""
    each = [padded(table.sessions) for table in tables]
    arrays = {name: rectangle([getattr(data, name) for data in each], value) for name, value in PADDING.items()}
    return Padded(**arrays, lengths=np.array([sum(data.lengths) for data in each]))


class ChoiceLikelihood:
    """Log-likelihood of the choices of a learner.

    Args:
        agent: the learner.
        table: sessions of a subject.
    """

    def __init__(self, agent: OneTrial, table: Behaviour):
        self._agent, self._data = agent, padded(table.sessions)
        self.parameters, self._n = agent.parameters(table), len(table.choices)
        self._scan = scan_of(agent, self.parameters, self._n)

    def log_likelihood(self, x: FloatArray) -> tuple[float, FloatArray]:
        """See `Likelihood.log_likelihood`."""
        value, slope = self._scan.slope_of(x, self._data)
        return value, slope

    def pointwise(self, x: FloatArray) -> FloatArray:
        """See `Likelihood.pointwise`; second-stage choices count with the first of their trial."""
        rows = self._scan.rows_of(x, self._data).log_likelihood
        return np.asarray(rows[self._data.scored & (self._data.choice >= 0)])

    def policy(self, x: FloatArray) -> AgentPolicy:
        """See `Likelihood.policy`."""
        return AgentPolicy(self._agent, self.parameters, x, self._n)
