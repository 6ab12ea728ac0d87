"""Markov chains of hidden states: log-likelihood by a scan over trials, expected states as its gradient, and maxima.

The derivative of the log-likelihood of all choices by the log-likelihood of a choice in a state is the probability of
that state given all choices, so neither the forward-backward algorithm nor expected transitions are written out. The
weights have a Gaussian prior of s.d. 2 for scaled predictors, rows of transitions and first states Dirichlet priors of
2, weights of inputs Gaussian priors of s.d. 1. Needs JAX (extra ``fit``).

Transitions may depend on inputs, such as rewards (Bengio & Frasconi 1996, 10.1109/72.536317): P(state j at t + 1 |
state i at t, inputs u of trial t) is proportional to A_ij exp(v_j . u). The inputs of a trial are its reward, its
choice (-1, 0 after a miss, 1) or its stimuli, scaled by their s.d. and centred; v of the first state is 0.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from neurogym.analysis.regression import log_chosen, log_softmax
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import ParallelTrials, UnfitError, require_two
from neurogym.behaviour.models.scan import filled, slopes_of
from neurogym.behaviour.models.search import curvature, inverse_curvature, minimise
from neurogym.behaviour.table import Behaviour
from neurogym.messages.options import option

#: S.d. of the priors of weights of scaled predictors and of inputs, and largest standard error along any direction.
PRIOR, INPUT_PRIOR, WIDEST = 2.0, 1.0, 30.0
FIRST, KEPT = 25, 3  #: evaluations from all starts, and the best points, from which the search goes on


@dataclass(frozen=True)
class TransitionInputs:
    """Inputs of transitions.

    Attributes:
        names: "reward", "choice" or names of stimuli.
        columns: of the stimuli among the inputs; -1 for reward, -2 for choice.
        centre: subtracted from each input.
        scale: divisor of each input.
    """

    names: tuple[str, ...] = ()
    columns: tuple[int, ...] = ()
    centre: FloatArray = field(default_factory=lambda: np.zeros(0))
    scale: FloatArray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, names: Sequence[str], table: Behaviour) -> TransitionInputs:
        """Return inputs by name.

        Raises:
            UnfitError: for a name that is neither reward, choice nor a stimulus, an input that is constant, or one of
                more than two choices.
        """
        if "choice" in names:
            require_two(table, option("--transition choice"))
        columns = []
        for name in names:
            if name not in ("reward", "choice", *table.stimuli):
                offered = ", ".join(("reward", "choice", *table.stimuli))
                raise UnfitError(f"{option('--transition')}: unknown input '{name}'; expected {offered}")
            columns.append(
                {"reward": -1, "choice": -2}.get(name, table.stimuli.index(name) if name in table.stimuli else 0)
            )
        plain = cls(tuple(names), tuple(columns), np.zeros(len(names)), np.ones(len(names)))
        rows = plain.values(np.nan_to_num(table.join("stimuli")), table.join("choice"), table.join("reward"))
        answered = rows[table.join("scored_choice") >= 0]
        scale = answered.std(0)
        for name, sd in zip(names, scale, strict=True):
            if sd == 0:
                raise UnfitError(f"{option('--transition')}: {name} is the same in all trials")
        return cls(plain.names, plain.columns, answered.mean(0), scale)

    def values(self, stimuli: FloatArray, choice: np.ndarray, reward: FloatArray) -> FloatArray:
        """Return the scaled inputs of trials, 0 for trials without a choice, shape (..., inputs)."""
        sources = {-1: np.nan_to_num(reward), -2: np.where(choice < 0, 0.0, 2.0 * choice - 1)}
        raw = [sources[k] if k < 0 else stimuli[..., k] for k in self.columns]
        if not raw:
            return np.zeros((*choice.shape, 0))
        scaled = (np.stack(raw, -1) - self.centre) / self.scale
        return np.where(choice[..., None] < 0, 0.0, scaled)

    def of_trial(self, trial: ParallelTrials) -> FloatArray:
        """Return the inputs of a trial of many sessions, shape (sessions, inputs)."""
        return self.values(trial.stimuli, trial.choice, trial.reward)


@dataclass(frozen=True)
class Chain:
    """Parameters of the model.

    Attributes:
        weights: of the choices but the first, shape (states, (choices - 1) predictors).
        transitions: probability of each state after each, shape (states, states); row: before.
        start: probability of each state in the first trial of a session, shape (states,).
        inputs: weights of inputs of the transitions, shape (states, inputs); see `TransitionInputs`.
    """

    weights: FloatArray
    transitions: FloatArray
    start: FloatArray
    inputs: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def reordered(self, order: np.ndarray) -> Chain:
        """Return the parameters with the states in another order."""
        inputs = self.inputs[order] - self.inputs[order[:1]]
        return Chain(self.weights[order], self.transitions[order][:, order], self.start[order], inputs)

    def after(self, inputs: FloatArray) -> FloatArray:
        """Return the transitions after trials with inputs (..., inputs), shape (..., states, states)."""
        if not self.inputs.size:
            return self.transitions
        logits = np.log(np.maximum(self.transitions, 1e-300)) + (inputs @ self.inputs.T)[..., None, :]
        return np.exp(log_softmax(logits))

    def next_states(self, state: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the distribution of states (sessions, states) after trials with inputs (sessions, inputs)."""
        return np.einsum("si,...ij->sj" if not self.inputs.size else "si,sij->sj", state, self.after(inputs))


class ChainTrials(NamedTuple):
    """Trials of a chain.

    Attributes:
        predictors: shape (sessions, trials, predictors).
        choice: shape (sessions, trials), -1 for misses and padding.
        inputs: of the transitions after each trial, shape (sessions, trials, inputs).
    """

    predictors: Any
    choice: Any
    inputs: Any


def state_logits(weights: Any, x: Any) -> Any:
    """Return the logits of the choices but the first, in each state, shape (..., states, choices - 1)."""
    return (x @ weights.reshape(-1, x.shape[-1]).T).reshape(*x.shape[:-1], len(weights), -1)


def fit_chain(starts: Sequence[Chain], trials: ChainTrials) -> tuple[Chain, float]:
    """Return the parameters with the largest posterior probability, and the log-likelihood; predictors are scaled."""
    shape, slopes = starts[0].weights.shape, _slopes_of(starts[0], trials)
    points, values, _ = minimise(slopes, np.stack([_packed(each) for each in starts])[None], FIRST)
    points, values, _ = minimise(slopes, points[:, values[0].argsort()[:KEPT]])
    best = points[0, values[0].argmin()]
    chain = _unpacked(best[np.prod(shape) :], best[: np.prod(shape)].reshape(shape))
    return chain, float(-values.min() - _prior(best, *shape))


def chain_covariance(chain: Chain, trials: ChainTrials) -> FloatArray:
    """Return the covariance of weights and of log-odds of leaving a state for each other, at given first states.

    Where transitions depend on inputs, that of the weights alone, given the chain.

    Args:
        chain: parameters with the largest posterior probability.
        trials: of the fit.
    """
    curved = curvature(_slopes_of(chain, trials), _packed(chain)[None], KEPT)[0]
    size, states = chain.weights.size, len(chain.start)
    leaving = size + np.flatnonzero(~np.eye(states, dtype=bool))
    free = np.concatenate([np.arange(size), leaving[: 0 if chain.inputs.size else None]])
    return inverse_curvature(curved[np.ix_(free, free)], np.array(WIDEST))


def expected_states(chain: Chain, x: FloatArray, choice: np.ndarray, inputs: FloatArray | None = None) -> FloatArray:
    """Return the probability of each state given all choices, shape (sessions, trials, states).

    Args:
        chain: parameters.
        x: predictors, shape (sessions, trials, predictors).
        choice: shape (sessions, trials), -1 for misses and padding.
        inputs: of the transitions after each trial, shape (sessions, trials, inputs); None for none.
    """
    each = np.zeros((*choice.shape, 0)) if inputs is None else inputs
    logs = log_chosen(state_logits(chain.weights, x), choice[..., None])
    return states_given(chain, np.maximum(logs, np.log(1e-12)), each)


def states_given(chain: Chain, log_emissions: FloatArray, inputs: FloatArray) -> FloatArray:
    """Return the probability of each state given the log-likelihood of each choice in each state."""
    sessions, trials = log_emissions.shape[:2]
    rest = _packed(chain)[chain.weights.size :]
    return np.asarray(_expected(filled(log_emissions, 2), rest, filled(inputs, 2)))[:sessions, :trials]


def improve_chain(chain: Chain, log_emissions: FloatArray, inputs: FloatArray) -> Chain:
    """Fit transitions and first states given the log-likelihood of each choice in each state."""
    data = filled(log_emissions, 2), filled(inputs, 2)
    rest = _packed(chain)[chain.weights.size :]
    points = minimise(lambda x: _chain_slopes(x, *data), rest[None, None])[0]
    return _unpacked(points[0, 0], chain.weights)


def _packed(chain: Chain) -> FloatArray:
    """Return weights, logits of transitions and first states, and weights of inputs as a point of the search."""
    logs = np.log(np.maximum(np.append(chain.transitions.ravel(), chain.start), 1e-300))
    return np.concatenate([chain.weights.ravel(), logs, (chain.inputs - chain.inputs[:1])[1:].ravel()])


def _unpacked(rest: FloatArray, weights: FloatArray) -> Chain:
    logits, first, inputs = _parts(rest, len(weights))
    transitions, start = (np.asarray(jax.nn.softmax(each)) for each in (logits, first))
    return Chain(weights, transitions, start, np.asarray(inputs))


def _parts(rest: Any, states: int) -> tuple[Array, Array, Array]:
    """Return logits of transitions and of first states, and weights of inputs (states, inputs), 0 for the first."""
    logits, first, inputs = jnp.split(rest, [states**2, states**2 + states])
    return logits.reshape(states, states), first, jnp.pad(inputs.reshape(states - 1, -1), ((1, 0), (0, 0)))


def _log_likelihood(log_emissions: Array, rest: Array, inputs: Array) -> Array:
    sessions, _, states = log_emissions.shape
    logits, first, weights = _parts(rest, states)

    def step(before: Array, trial: tuple[Array, Array]) -> tuple[Array, Array]:
        joint = before * jnp.exp(trial[0])
        total = joint.sum(-1, keepdims=True)
        if not inputs.shape[-1]:
            return joint / total @ jax.nn.softmax(logits), jnp.log(total)
        transitions = jax.nn.softmax(logits + (trial[1] @ weights.T)[:, None])
        return jnp.einsum("si,sij->sj", joint / total, transitions), jnp.log(total)

    start = jnp.broadcast_to(jax.nn.softmax(first), (sessions, states))
    logs: Array = jax.lax.scan(step, start, (log_emissions.swapaxes(0, 1), inputs.swapaxes(0, 1)))[1]
    return logs.sum()


def _chain_prior(rest: Any, states: int) -> Array:
    """Return the log-prior of the chain: one transition of each kind at mean inputs, and one first state of each."""
    logits, first, inputs = _parts(rest, states)
    counts = jax.nn.log_softmax(logits).sum() + jax.nn.log_softmax(first).sum()
    return counts - 0.5 * (inputs**2).sum() / INPUT_PRIOR**2


def _prior(x: Any, states: int, weights: int) -> Array:
    size = states * weights
    return _chain_prior(x[size:], states) - 0.5 * (x[:size] ** 2).sum() / PRIOR**2


def _loss(shape: tuple[int, int], x: Array, trials: ChainTrials) -> Array:
    weights, rest = jnp.split(x, [shape[0] * shape[1]])
    emissions = log_chosen(state_logits(weights.reshape(shape), trials.predictors), trials.choice[..., None], jnp)
    return -_log_likelihood(emissions, rest, trials.inputs) - _prior(x, *shape)


def _chain_loss(rest: Array, log_emissions: Array, inputs: Array) -> Array:
    return -_log_likelihood(log_emissions, rest, inputs) - _chain_prior(rest, log_emissions.shape[-1])


_expected = jax.jit(jax.grad(_log_likelihood))
_chain_slopes = slopes_of(_chain_loss, 2)


@functools.cache
def _slopes(shape: tuple[int, int]) -> Any:
    return slopes_of(functools.partial(_loss, shape), 1)


def _slopes_of(chain: Chain, trials: ChainTrials) -> Any:
    """Return the negative log-posterior with gradients, as `minimise` takes it."""
    fills = ChainTrials(0.0, -1, 0.0)
    data = jax.device_put(ChainTrials(*(filled(each, 2, fill) for each, fill in zip(trials, fills, strict=True))))
    return lambda x: _slopes(chain.weights.shape)(x, data)
