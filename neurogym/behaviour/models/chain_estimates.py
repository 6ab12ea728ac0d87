"""Weights and transitions of hidden states with intervals, from the curvature of the likelihood of the choices.

The information in the choices is less than that in choices and states together, because the states are uncertain (Louis
1982, 10.1111/j.2517-6161.1982.tb01203.x). The slope of the log-likelihood of the choices is the expected slope of that
of choices and states; its differences give the curvature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, polygamma

from neurogym.analysis.regression import log_softmax
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.chains import Chain, expected_states
from neurogym.behaviour.models.marks import INFORMED, NOT_IDENTIFIED

#: Step of differences of slopes, in log-odds and weights of scaled predictors; smallest curvature.
STEP, LEAST = 1e-3, 1e-3
ROW_PRIOR = 2.0  #: of the Dirichlet distribution of each row of transitions


@dataclass(frozen=True)
class ChainTrials:
    """Trials of a chain.

    Attributes:
        predictors: shape (sessions, trials, predictors).
        choice: shape (sessions, trials), -1 for misses and padding.
        inputs: of the transitions after each trial, shape (sessions, trials, inputs).
    """

    predictors: FloatArray
    choice: IntArray
    inputs: FloatArray


def chain_estimates(
    chain: Chain, names: Sequence[str], trials: ChainTrials, precision: FloatArray
) -> dict[str, Estimate]:
    """Return the weights of each state and its probability to stay, with intervals.

    The probability to stay has no interval where transitions depend on inputs.

    Args:
        chain: parameters with the largest posterior probability.
        names: of the predictors.
        trials: of the fit.
        precision: of the prior of the weights, shape (predictors,).
    """
    states, predictors = chain.weights.shape
    scale = np.concatenate([np.tile(1 / np.sqrt(precision), states), np.ones(states * (states - 1))])
    if chain.inputs.size:
        scale = scale[: states * predictors]
    slopes = []
    for k, size in enumerate(STEP * scale):
        move = np.where(np.arange(len(scale)) == k, size, 0.0)
        ahead, behind = (_slope(_moved(chain, sign * move), trials, precision) for sign in (1, -1))
        slopes.append((ahead - behind)[: len(scale)] / (2 * size) * scale * scale[k])
    curvature = -np.array(slopes)
    values, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
    covariance = (vectors / np.maximum(values, LEAST)) @ vectors.T * np.outer(scale, scale)
    errors = np.sqrt(np.diag(covariance))
    estimates = {}
    for k, row in enumerate(chain.weights):
        for name, value, error in zip(names, row, errors[k * predictors :], strict=False):
            estimates[f"state {k + 1}: {name}"] = Estimate.normal(float(value), float(error))
    for k in range(states):
        estimates[f"state {k + 1}: stay"] = _stay(chain, k, covariance)
    return estimates


def chain_marks(
    estimates: Mapping[str, Estimate], names: Sequence[str], states: int, precision: FloatArray
) -> dict[str, str]:
    """Return a mark for each estimate that is as uncertain as before the data, as where states are not needed.

    Args:
        estimates: see `chain_estimates`.
        names: of the predictors.
        states: number of states.
        precision: of the prior of the weights, shape (predictors,).
    """
    marks = {}
    widest = 2 * 1.96 * INFORMED * np.sqrt(polygamma(1, ROW_PRIOR) + polygamma(1, ROW_PRIOR * (states - 1)))
    for k in range(states):
        for name, each in zip(names, precision, strict=True):
            if estimates[f"state {k + 1}: {name}"].se >= INFORMED / np.sqrt(each):
                marks[f"state {k + 1}: {name}"] = NOT_IDENTIFIED
        stay = estimates[f"state {k + 1}: stay"]
        ends = logit(np.clip([stay.low, stay.high], 1e-9, 1 - 1e-9))
        if ends[1] - ends[0] >= widest:
            marks[f"state {k + 1}: stay"] = NOT_IDENTIFIED
    return marks


def _moved(chain: Chain, move: FloatArray) -> Chain:
    """Return a chain with changed weights and log-odds of leaving each state for each other state."""
    size = chain.weights.size
    logits = np.log(np.maximum(chain.transitions, 1e-300))
    if len(move) > size:
        logits[_off_diagonal(len(logits))] += move[size:]
    return replace(
        chain, weights=chain.weights + move[:size].reshape(chain.weights.shape), transitions=np.exp(log_softmax(logits))
    )


def _slope(chain: Chain, trials: ChainTrials, precision: FloatArray) -> FloatArray:
    """Return the slope of the log-posterior along weights and log-odds of leaving."""
    posterior = expected_states(chain, trials.predictors, trials.choice, trials.inputs)
    valid = trials.choice >= 0
    x, chosen = trials.predictors[valid], trials.choice[valid]
    residual = posterior.states[valid] * (chosen[:, None] - expit(x @ chain.weights.T))
    by_weight = residual.T @ x - precision * chain.weights
    pairs = posterior.pairs + 1.0  # the prior of one transition of each kind
    by_logit = pairs - pairs.sum(1, keepdims=True) * chain.transitions
    return np.concatenate([by_weight.ravel(), by_logit[_off_diagonal(len(pairs))]])


def _stay(chain: Chain, k: int, covariance: FloatArray) -> Estimate:
    """Return the probability that a state stays, with an interval of its log-odds."""
    states = len(chain.transitions)
    value = float(np.clip(chain.transitions[k, k], 1e-9, 1 - 1e-9))
    if chain.inputs.size:
        return Estimate(value)
    slope = np.zeros(len(covariance))
    block = chain.weights.size + k * (states - 1) + np.arange(states - 1)
    slope[block] = -np.delete(chain.transitions[k], k) / (1 - value)
    error = float(np.sqrt(slope @ covariance @ slope))
    return Estimate.normal(float(logit(value)), error).transformed(lambda x: float(expit(x)))


def _off_diagonal(states: int) -> np.ndarray:
    return ~np.eye(states, dtype=bool)
