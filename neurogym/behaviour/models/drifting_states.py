"""Hidden states with a logistic regression each, whose weights drift from trial to trial.

Between `drifting` (one state) and `glm_hmm` (no drift): logit P(choice 1 | state k) = w_kt . x_t with w_k,t+1 = w_kt +
N(0, sigma_k^2). States and weights are independent in the approximate posterior: given the probabilities of the states,
the weights of a state follow from choices that count by its probability; given the weights, the states follow from the
forward-backward algorithm with the expected log-likelihood of each choice (Ghahramani & Hinton 2000,
10.1162/089976600300015619). Predictions use filtered states and weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_expit

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import ParallelTrials
from neurogym.behaviour.models.logistic import Features
from neurogym.behaviour.models.marks import INFORMED
from neurogym.behaviour.models.transitions import TransitionInputs, transition_probabilities
from neurogym.behaviour.models.walks import (
    LOGIT_WEIGHTS,
    NODES,
    SPREAD,
    Belief,
    Walk,
    WalkLimits,
    WalkPosterior,
    advance,
    begin,
    probability,
)

ALTERNATIONS = 6  #: of weights and states


def expected_log_likelihood(smoothed: Belief, x: FloatArray, choice: np.ndarray) -> FloatArray:
    """Return the expected log-likelihood of each choice given the posterior of the weights; 0 for misses.

    Args:
        smoothed: posterior of the weights.
        x: predictors, shape (sessions, trials, predictors).
        choice: shape (sessions, trials).
    """
    logit = np.einsum("tsk,stk->st", smoothed.mean, x)
    variance = np.einsum("tskl,stk,stl->st", smoothed.covariance, x, x)
    points = logit[..., None] + np.sqrt(2 * np.maximum(variance, 0))[..., None] * NODES
    log = log_expit(np.where(choice == 1, 1.0, -1.0)[..., None] * points) @ LOGIT_WEIGHTS
    return np.where(choice < 0, 0.0, log)


def prior_walk(weights: FloatArray, scale: FloatArray, limits: WalkLimits) -> Walk:
    """Return the prior of the distribution of the weights of a state."""
    return Walk(weights, (0.5 / scale) ** 2, limits.clipped((0.02 / scale) ** 2))


def steps_are_determined(
    walks: Sequence[Walk],
    priors: Sequence[Walk],
    states: FloatArray,
    x: FloatArray,
    choice: np.ndarray,
) -> list[list[bool]]:
    """Return for each weight of each state whether the choices determine the s.d. of its step.

    The s.d. has no interval: weights and states are independent in the approximation, which makes steps too small where
    states are uncertain.

    Args:
        walks: distributions of the weights of each state.
        priors: of these.
        states: probability of each state, shape (sessions, trials, states).
        x: predictors, shape (sessions, trials, predictors).
        choice: shape (sessions, trials).
    """
    determined = []
    for k, (walk, prior) in enumerate(zip(walks, priors, strict=True)):
        errors = WalkPosterior(x, choice, prior, count=states[..., k]).spread(walk)[len(walk.step) :]
        determined.append([bool(error < INFORMED * SPREAD) for error in errors])
    return determined


def fit_walks(
    weights: FloatArray,
    states: FloatArray,
    x: FloatArray,
    choice: np.ndarray,
    scale: FloatArray,
    limits: WalkLimits,
    walks: Sequence[Walk] = (),
) -> tuple[list[Walk], FloatArray]:
    """Return the distribution of the weights of each state, and the log-likelihood of each choice in each state.

    Args:
        weights: of the states without drift, shape (states, predictors).
        states: probability of each state, shape (sessions, trials, states).
        x: predictors, shape (sessions, trials, predictors).
        choice: shape (sessions, trials).
        scale: s.d. of the predictors.
        limits: of the s.d. of a step.
        walks: of an earlier alternation.

    Returns:
        The distributions, and log-likelihoods (sessions, trials, states).
    """
    results, log_likelihood = [], np.empty(states.shape)
    for k, w in enumerate(weights):
        posterior = WalkPosterior(x, choice, prior_walk(w, scale, limits), limits, states[..., k])
        results.append(posterior.maximum(walks[k] if walks else None)[0])
        log_likelihood[..., k] = expected_log_likelihood(posterior.smoothed(results[-1]), x, choice)
    return results, log_likelihood


@dataclass
class DriftingStatesPolicy:
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

    def state_probabilities(self, state: tuple[FloatArray, FloatArray, tuple[Belief, ...]]) -> FloatArray:
        """Return the probability of each hidden state before a trial, shape (sessions, states)."""
        return state[1]

    def probabilities(
        self, state: tuple[FloatArray, FloatArray, tuple[Belief, ...]], stimuli: FloatArray
    ) -> FloatArray:
        """See `Policy.probabilities`."""
        x = self.features.now(state[0], stimuli)
        p = (np.stack([probability(each, x) for each in state[2]], 1) * state[1]).sum(1)
        return np.stack([1 - p, p], 1)

    def advance(
        self, state: tuple[FloatArray, FloatArray, tuple[Belief, ...]], trial: ParallelTrials
    ) -> tuple[FloatArray, FloatArray, tuple[Belief, ...]]:
        """See `Policy.advance`."""
        past, states, beliefs = state
        x = self.features.now(past, trial.stimuli)
        p = np.stack([probability(each, x) for each in beliefs], 1)
        likelihood = np.where(trial.choice[:, None] == 1, p, 1 - p)
        joint = states * np.where(trial.choice[:, None] < 0, 1.0, np.clip(likelihood, 1e-12, 1))
        responsible = joint / joint.sum(1, keepdims=True)
        after = tuple(
            advance(each, self._walk(k), x, trial.choice, responsible[:, k]) for k, each in enumerate(beliefs)
        )
        transitions = self.transitions
        if self.input_weights.size:
            transitions = transition_probabilities(transitions, self.input_weights, self.inputs.of_trial(trial))
            return self.features.after(past, trial), np.einsum("si,sij->sj", responsible, transitions), after
        return self.features.after(past, trial), responsible @ transitions, after
