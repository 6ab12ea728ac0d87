"""Drifting read-out of a fitted model: weights that adapt within the session.

The logit of the model, a constant, the present stimuli and the previous choice are combined by weights that drift from
trial to trial and are followed by a filter, as in `neurogym.behaviour.models.walks`. So a model of fixed parameters
follows changes of bias, of the use of stimuli and of its own weight, from earlier trials of the session alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models import walks
from neurogym.behaviour.models.base import ParallelTrials, Policy, flatten, rebuild, require_two, trial_of
from neurogym.behaviour.models.walks import Belief, Walk
from neurogym.behaviour.table import Behaviour, padded

START, STEP = 0.1**2, 0.01**2  #: means of the priors of the variances of the read-out


@dataclass(frozen=True)
class State:
    """State of the model, previous choice (-1, 1; 0 for none) and belief about the weights."""

    model: Any
    last: FloatArray
    belief: Belief


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
        return State(self.model.begin(n), np.zeros(n), walks.begin(self.walk, n))

    def probabilities(self, state: State, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        return walks.probabilities(state.belief, _predictors(self.model, state.model, state.last, stimuli))

    def advance(self, state: State, trial: ParallelTrials) -> State:
        """See `Policy.advance`."""
        x = _predictors(self.model, state.model, state.last, trial.stimuli)
        belief = walks.advance(state.belief, self.walk, x, trial.choice)
        return State(self.model.advance(state.model, trial), _signed(trial.choice), belief)


def _signed(choice: np.ndarray) -> FloatArray:
    return np.where(choice < 0, 0.0, 2.0 * choice - 1)


def _predictors(model: Policy, state: Any, last: FloatArray, stimuli: FloatArray) -> FloatArray:
    p = np.clip(model.probabilities(state, stimuli)[:, 1], 1e-6, 1 - 1e-6)
    return np.column_stack([np.log(p / (1 - p)), np.ones(len(p)), stimuli, last])


def require_drift(table: Behaviour, name: str) -> None:
    """Refuse tables on which the read-out of a model cannot drift.

    Raises:
        UnfitError: if there are other than two choices.
    """
    require_two(table, f"{name} with drift")


def fit_readout(model: Policy, table: Behaviour, name: str) -> DriftingReadout:
    """Fit the drifting read-out of a model to the sessions that the model was fitted to.

    Args:
        model: fitted to two choices.
        table: training sessions.
        name: of the model, for messages.
    """
    require_drift(table, name)
    ordered = table.only([each for who in table.subjects for each in table.of(who).sessions])
    data, at = padded(ordered.sessions), 0
    x = np.zeros((*data.choice.shape, 3 + len(table.stimuli)))
    for who in table.subjects:
        subject_data, policy = padded(table.of(who).sessions), model.of(who)
        n, trials = subject_data.choice.shape
        state, last = policy.begin(n), np.zeros(n)
        for t in range(trials):
            trial = trial_of(subject_data, t)
            x[at : at + n, t] = _predictors(policy, state, last, trial.stimuli)
            state, last = policy.advance(state, trial), _signed(trial.choice)
        at += n
    choice = np.where(data.scored, data.choice, -1)
    scale = np.maximum(x[choice >= 0].std(0), 0.1)
    scale[1] = 1.0
    first = Walk(np.r_[1.0, np.zeros(x.shape[2] - 1)], START / scale**2, STEP / scale**2)
    return DriftingReadout(model, walks.WalkPosterior(x, choice, first).maximum()[0])


def to_arrays(policy: Policy) -> tuple[Policy, dict[str, np.ndarray]]:
    """Return the model behind a policy, and the arrays of the policy's drifting read-out, if there is one."""
    if not isinstance(policy, DriftingReadout):
        return policy, {}
    return policy.model, flatten(policy.walk, "walk.")


def from_arrays(model: Policy, arrays: Mapping[str, np.ndarray]) -> Policy:
    """Return a model with its drifting read-out, if the arrays hold one."""
    return DriftingReadout(model, rebuild(Walk, arrays, "walk.")) if "walk.mean" in arrays else model


def arrays_of_nets(arrays: Mapping[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Return the arrays of each network of a model, which are named ``netK.NAME``."""
    nets: dict[str, dict[str, np.ndarray]] = {}
    for name, values in arrays.items():
        net, dot, weight = name.partition(".")
        if dot and net.startswith("net"):
            nets.setdefault(net, {})[weight] = values
    return [nets[f"net{k}"] for k in range(len(nets))]
