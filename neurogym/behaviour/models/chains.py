"""Markov chains of hidden states: expected states by the forward-backward algorithm, and updates of the parameters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import expit

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.transitions import improve_transitions, transition_probabilities

#: Weights of inputs of transitions that depend on none.
NO_INPUTS = np.zeros((0, 0))


@dataclass(frozen=True)
class Chain:
    """Parameters of the model.

    Attributes:
        weights: shape (states, predictors).
        transitions: probability of each state after each, shape (states, states); row: before.
        start: probability of each state in the first trial of a session, shape (states,).
        inputs: weights of inputs of the transitions, shape (states, inputs); see `TransitionInputs`.
    """

    weights: FloatArray
    transitions: FloatArray
    start: FloatArray
    inputs: FloatArray = field(default_factory=lambda: NO_INPUTS)

    def reordered(self, order: np.ndarray) -> Chain:
        """Return the parameters with the states in another order."""
        inputs = self.inputs[order] - self.inputs[order[:1]]
        return Chain(self.weights[order], self.transitions[order][:, order], self.start[order], inputs)

    def after(self, inputs: FloatArray) -> FloatArray:
        """Return the transitions after trials with inputs (..., inputs), shape (..., states, states)."""
        if not self.inputs.size:
            return self.transitions
        return transition_probabilities(self.transitions, self.inputs, inputs)


@dataclass(frozen=True)
class Posterior:
    """Expected states.

    Attributes:
        states: probability of each state given all choices, shape (sessions, trials, states).
        pairs: expected numbers of transitions, shape (states, states).
        log_likelihood: of all choices.
        after: expected transitions after each trial, shape (trials, sessions, states, states); empty without inputs.
    """

    states: FloatArray
    pairs: FloatArray
    log_likelihood: float
    after: FloatArray = field(default_factory=lambda: NO_INPUTS)

    def reordered(self, order: np.ndarray) -> Posterior:
        """Return the expected states in another order."""
        after = self.after[..., order, :][..., order] if self.after.size else self.after
        return Posterior(self.states[..., order], self.pairs[order][:, order], self.log_likelihood, after)


def emission(chain: Chain, x: FloatArray, choice: np.ndarray) -> FloatArray:
    """Return the likelihood of each choice in each state, 1 for misses, shape (..., states)."""
    p = expit(x @ chain.weights.T)
    out = np.where(choice[..., None] == 1, p, 1 - p)
    return np.where(choice[..., None] < 0, 1.0, np.clip(out, 1e-12, 1))


def expected_states(chain: Chain, x: FloatArray, choice: np.ndarray, inputs: FloatArray = NO_INPUTS) -> Posterior:
    """Return the states given all choices by the forward-backward algorithm.

    Args:
        chain: parameters.
        x: predictors, shape (sessions, trials, predictors).
        choice: shape (sessions, trials), -1 for misses and padding.
        inputs: of the transitions after each trial, shape (sessions, trials, inputs).
    """
    return forward_backward(chain, emission(chain, x, choice), choice, inputs)


def forward_backward(
    chain: Chain, likelihood: FloatArray, choice: np.ndarray, inputs: FloatArray = NO_INPUTS
) -> Posterior:
    """Return the states given the likelihood of each choice in each state, shape (sessions, trials, states)."""
    sessions, trials, states = likelihood.shape
    forward, scale = np.empty((trials, sessions, states)), np.empty((trials, sessions))
    varies = bool(chain.inputs.size)
    transitions = chain.after(inputs.swapaxes(0, 1)) if varies else chain.transitions
    now = np.tile(chain.start, (sessions, 1))
    for t in range(trials):
        joint = now * likelihood[:, t]
        scale[t] = joint.sum(1)
        forward[t] = joint / scale[t][:, None]
        now = next_states(forward[t], transitions, t)
    last = (np.arange(trials)[None] * (choice >= 0)).max(1)
    backward = np.ones((sessions, states))
    smoothed, pairs = forward.copy(), np.zeros((states, states))
    after = np.zeros((trials, sessions, states, states)) if varies else NO_INPUTS
    for t in range(trials - 2, -1, -1):
        ahead = likelihood[:, t + 1] * backward / scale[t + 1][:, None]
        counted = forward[t] * (t < last)[:, None]
        if varies:
            after[t] = counted[..., None] * transitions[t] * ahead[:, None]
            backward = np.einsum("sij,sj->si", transitions[t], ahead)
        else:
            pairs += chain.transitions * (counted.T @ ahead)
            backward = ahead @ chain.transitions.T
        smoothed[t] = forward[t] * backward
    total = after.sum((0, 1)) if varies else pairs
    return Posterior(smoothed.transpose(1, 0, 2), total, float(np.log(scale).sum()), after)


def next_states(state: FloatArray, transitions: FloatArray, t: int) -> FloatArray:
    """Return the distribution of states after the transitions of trial ``t``."""
    if transitions.ndim == 2:
        return np.asarray(state @ transitions)
    return np.einsum("si,sij->sj", state, transitions[t])


def improve(
    chain: Chain,
    posterior: Posterior,
    x: FloatArray,
    choice: np.ndarray,
    precision: FloatArray,
    inputs: FloatArray = NO_INPUTS,
) -> Chain:
    """Update the parameters: a step of Newton's method for the weights, expected counts for the chain."""
    valid = choice >= 0
    rows, chosen = x[valid], choice[valid]
    weights = chain.weights.copy()
    for k, w in enumerate(weights):
        responsible = posterior.states[valid][:, k]
        p = expit(rows @ w)
        slope = rows.T @ (responsible * (chosen - p)) - precision * w
        curvature = (rows * (responsible * p * (1 - p))[:, None]).T @ rows + np.diag(precision)
        step = np.linalg.solve(curvature, slope)
        weights[k] = w + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-9))
    return replace(improve_chain(chain, posterior, inputs), weights=weights)


def improve_chain(chain: Chain, posterior: Posterior, inputs: FloatArray = NO_INPUTS) -> Chain:
    """Update transitions and first states by their expected counts."""
    pairs = posterior.pairs + 1.0
    start = posterior.states[:, 0].sum(0) + 1.0
    start = start / start.sum()
    if not chain.inputs.size:
        return replace(chain, transitions=pairs / pairs.sum(1, keepdims=True), start=start)
    k = len(pairs)
    rows = inputs.swapaxes(0, 1).reshape(-1, inputs.shape[-1])
    base, slopes = improve_transitions(chain.transitions, chain.inputs, posterior.after.reshape(-1, k, k), rows)
    return Chain(chain.weights, base, start, slopes)
