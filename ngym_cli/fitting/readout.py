"""Drifting read-out of a fitted model: weights that adapt within the session.

The logit of the model, a constant, the present stimuli and the previous choice are combined by weights that drift from
trial to trial and are followed by a filter, as in `neurogym.behaviour.models.walks`. So a model of fixed parameters
follows changes of bias, of the use of stimuli and of its own weight, from earlier trials of the session alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models import walks
from neurogym.behaviour.models.base import ParallelTrials, Policy, predict, require_two
from neurogym.behaviour.models.walks import Belief, Walk
from neurogym.behaviour.table import Behaviour, rectangle

START, STEP = 0.1**2, 0.01**2  #: means of the priors of the variances of the read-out


#: State of the model, previous choice (-1, 1; 0 for none) and belief about the weights.
State = tuple[Any, FloatArray, Belief]


@dataclass
class DriftingReadout(Policy):
    """Policy of a model behind a drifting read-out.

    Attributes:
        model: the fitted model.
        walk: distribution of the weights.
    """

    model: Policy
    walk: Walk

    def of(self, subject: str) -> DriftingReadout:
        """Return the policy with a subject's own model."""
        return DriftingReadout(self.model.of(subject), self.walk)

    def begin(self, n: int) -> State:
        """See `Policy.begin`."""
        return self.model.begin(n), np.zeros(n), walks.begin(self.walk, n)

    def probabilities(self, state: State, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        inner, last, belief = state
        return walks.probabilities(belief, _row(self.model.probabilities(inner, stimuli), stimuli, last))

    def advance(self, state: State, trial: ParallelTrials) -> State:
        """See `Policy.advance`."""
        inner, last, belief = state
        x = _row(self.model.probabilities(inner, trial.stimuli), trial.stimuli, last)
        learned = walks.advance(belief, self.walk, x, trial.choice)
        return self.model.advance(inner, trial), _signed(trial.choice), learned


def _signed(choice: np.ndarray) -> FloatArray:
    return np.where(choice < 0, 0.0, 2.0 * choice - 1)


def _row(probabilities: FloatArray, stimuli: FloatArray, last: FloatArray) -> FloatArray:
    p = np.clip(probabilities[:, 1], 1e-6, 1 - 1e-6)
    return np.column_stack([np.log(p / (1 - p)), np.ones(len(p)), stimuli, last])


def fit_readout(model: Policy, table: Behaviour, name: str) -> DriftingReadout:
    """Fit the drifting read-out of a model to the sessions that the model was fitted to.

    Args:
        model: fitted to two choices.
        table: training sessions.
        name: of the model, for messages.
    """
    require_two(table, f"{name} with drift")
    rows = zip(predict(model, table.sessions), table.sessions, strict=True)
    pieces = [_row(p, np.nan_to_num(each.stimuli), np.r_[0, _signed(each.choice[:-1])]) for p, each in rows]
    x, choice = rectangle(pieces, 0.0), rectangle([each.scored_choice for each in table.sessions], -1)
    scale = np.maximum(x[choice >= 0].std(0), 0.1)
    scale[1] = 1.0
    first = Walk(np.r_[1.0, np.zeros(x.shape[2] - 1)], START / scale**2, STEP / scale**2)
    return DriftingReadout(model, walks.WalkPosterior(x, choice, first).maximum()[0])
