"""Hidden states with a logistic regression each, whose weights drift from trial to trial.

Between `drifting` (one state) and `glm_hmm` (no drift): P(choice = c | state k) is proportional to exp(w_kct . x_t)
with w_k0t = 0 and w_kc,t+1 = w_kct + N(0, sigma_kc^2). States and weights are independent in the approximate posterior:
given the probabilities of the states, the weights of a state follow from choices that count by its probability; given
the weights, the states follow from the forward-backward algorithm with the expected log-likelihood of each choice
(Ghahramani & Hinton 2000, 10.1162/089976600300015619). Predictions use filtered states and weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neurogym.analysis.regression import log_chosen
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import ParallelTrials, Policy
from neurogym.behaviour.models.chains import Chain
from neurogym.behaviour.models.logistic import Features
from neurogym.behaviour.models.transitions import TransitionInputs
from neurogym.behaviour.models.walks import (
    Belief,
    Walk,
    advance,
    begin,
    logits_at_points,
    probabilities,
    quadrature,
)

ALTERNATIONS = 6  #: of weights and states


def expected_log_likelihood(smoothed: Belief, x: FloatArray, choice: np.ndarray) -> FloatArray:
    """Return the expected log-likelihood of each choice given the posterior of the weights; 0 for misses.

    Args:
        smoothed: posterior of the weights.
        x: predictors, shape (sessions, trials, predictors).
        choice: shape (sessions, trials).
    """
    each = Belief(*(np.concatenate(part.swapaxes(0, 1)) for part in smoothed))
    logits, ways = logits_at_points(each, np.concatenate(x))
    return np.asarray(log_chosen(logits, choice.reshape(-1, 1)) @ quadrature(len(ways))[1]).reshape(choice.shape)


def state_columns(p: FloatArray) -> dict[str, FloatArray]:
    """Return probabilities of hidden states (sessions, states) as columns, ``state_2`` and so on."""
    return {f"state_{k + 1}": p[:, k] for k in range(1, p.shape[1])}


@dataclass
class DriftingStatesPolicy(Policy):
    """Choices from filtered states and weights.

    Attributes:
        features: predictors.
        mean: of the weights of each state when a session begins, shape (states, weights).
        start: variance of these weights, shape (states, weights).
        step: variance of the change from trial to trial, shape (states, weights).
        transitions: probability of each state after each, shape (states, states); row: before.
        first: probability of each state in the first trial of a session, shape (states,).
        input_weights: of the transitions, shape (states, inputs).
        inputs: of the transitions.
    """

    features: Features
    mean: FloatArray
    start: FloatArray
    step: FloatArray
    transitions: FloatArray
    first: FloatArray
    input_weights: FloatArray
    inputs: TransitionInputs

    def _walk(self, state: int) -> Walk:
        return Walk(self.mean[state], self.start[state], self.step[state])

    def begin(self, n: int) -> tuple[FloatArray, FloatArray, tuple[Belief, ...]]:
        """See `Policy.begin`."""
        beliefs = tuple(begin(self._walk(k), n) for k in range(len(self.mean)))
        return self.features.begin(n), np.tile(self.first, (n, 1)), beliefs

    def columns_before(self, state: tuple[FloatArray, FloatArray, tuple[Belief, ...]]) -> dict[str, FloatArray]:
        """See `Policy.columns_before`."""
        return state_columns(state[1])

    def probabilities(
        self, state: tuple[FloatArray, FloatArray, tuple[Belief, ...]], stimuli: FloatArray
    ) -> FloatArray:
        """See `Policy.probabilities`."""
        x = self.features.now(state[0], stimuli)
        return np.einsum("ksc,sk->sc", [probabilities(each, x) for each in state[2]], state[1])

    def advance(
        self, state: tuple[FloatArray, FloatArray, tuple[Belief, ...]], trial: ParallelTrials
    ) -> tuple[FloatArray, FloatArray, tuple[Belief, ...]]:
        """See `Policy.advance`."""
        past, states, beliefs = state
        x = self.features.now(past, trial.stimuli)
        likelihood = np.stack([probabilities(each, x)[np.arange(len(x)), trial.choice] for each in beliefs], 1)
        joint = states * np.where(trial.choice[:, None] < 0, 1.0, np.clip(likelihood, 1e-12, 1))
        responsible = joint / joint.sum(1, keepdims=True)
        after = tuple(
            advance(each, self._walk(k), x, trial.choice, responsible[:, k]) for k, each in enumerate(beliefs)
        )
        chain = Chain(self.mean, self.transitions, self.first, self.input_weights)
        return self.features.after(past, trial), chain.next_states(responsible, self.inputs.of_trial(trial)), after
