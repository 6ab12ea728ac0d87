"""Hidden Markov model with a logistic regression in each state (Ashwood et al. 2022, 10.1038/s41593-021-01007-z).

P(choice 1 | state k) = logistic(w_k . x); the state follows a Markov chain with transitions A, newly drawn from pi in
each session. Fitted by expectation-maximisation from several starts, with a Gaussian prior of s.d. 2 on the weights
(of scaled predictors) and Dirichlet priors of 2 on the rows of A; predictions use the filtered state. Own code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from neurogym.analysis.regression import fit_weights
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, OneByOne, ParallelTrials, Problem
from neurogym.behaviour.models.drifting import design
from neurogym.behaviour.models.logistic import Features

#: Starts, iterations with all of them, iterations of the best, the gain (nats) at which these end, s.d. of the weights.
STARTS, FIRST, MOST, GAIN, PRIOR = 6, 12, 150, 0.02, 2.0


@dataclass(frozen=True)
class Chain:
    """Parameters of the model.

    Attributes:
        weights: shape (states, predictors).
        transitions: probability of each state after each, shape (states, states); row: before.
        start: probability of each state in the first trial of a session, shape (states,).
    """

    weights: FloatArray
    transitions: FloatArray
    start: FloatArray


@dataclass(frozen=True)
class Posterior:
    """Expected states.

    Attributes:
        states: probability of each state given all choices, shape (sessions, trials, states).
        pairs: expected numbers of transitions, shape (states, states).
        log_likelihood: of all choices.
    """

    states: FloatArray
    pairs: FloatArray
    log_likelihood: float


def emission(chain: Chain, x: FloatArray, choice: np.ndarray) -> FloatArray:
    """Return the likelihood of each choice in each state, 1 for misses, shape (..., states)."""
    p = expit(x @ chain.weights.T)
    out = np.where(choice[..., None] == 1, p, 1 - p)
    return np.where(choice[..., None] < 0, 1.0, np.clip(out, 1e-12, 1))


def expected_states(chain: Chain, x: FloatArray, choice: np.ndarray) -> Posterior:
    """Return the states given all choices by the forward-backward algorithm.

    Args:
        chain: parameters.
        x: predictors, shape (sessions, trials, predictors).
        choice: shape (sessions, trials), -1 for misses and padding.
    """
    likelihood = emission(chain, x, choice)
    sessions, trials, states = likelihood.shape
    forward, scale = np.empty((trials, sessions, states)), np.empty((trials, sessions))
    now = np.tile(chain.start, (sessions, 1))
    for t in range(trials):
        joint = now * likelihood[:, t]
        scale[t] = joint.sum(1)
        forward[t] = joint / scale[t][:, None]
        now = forward[t] @ chain.transitions
    last = (np.arange(trials)[None] * (choice >= 0)).max(1)
    backward = np.ones((sessions, states))
    smoothed, pairs = forward.copy(), np.zeros((states, states))
    for t in range(trials - 2, -1, -1):
        ahead = likelihood[:, t + 1] * backward / scale[t + 1][:, None]
        pairs += chain.transitions * ((forward[t] * (t < last)[:, None]).T @ ahead)
        backward = ahead @ chain.transitions.T
        smoothed[t] = forward[t] * backward
    return Posterior(smoothed.transpose(1, 0, 2), pairs, float(np.log(scale).sum()))


def improve(chain: Chain, posterior: Posterior, x: FloatArray, choice: np.ndarray, precision: FloatArray) -> Chain:
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
    pairs = posterior.pairs + 1.0
    start = posterior.states[:, 0].sum(0) + 1.0
    return Chain(weights, pairs / pairs.sum(1, keepdims=True), start / start.sum())


@dataclass
class ChainPolicy:
    """Choices from the filtered state.

    Attributes:
        features: predictors.
        chain: parameters.
    """

    features: Features
    chain: Chain

    def begin(self, n: int) -> tuple[FloatArray, FloatArray]:
        """See `Policy.begin`."""
        return self.features.begin(n), np.tile(self.chain.start, (n, 1))

    def probabilities(self, state: tuple[FloatArray, FloatArray], stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        each = expit(self.features.now(state[0], stimuli) @ self.chain.weights.T)
        p = (each * state[1]).sum(1)
        return np.stack([1 - p, p], 1)

    def advance(self, state: tuple[FloatArray, FloatArray], trial: ParallelTrials) -> tuple[FloatArray, FloatArray]:
        """See `Policy.advance`."""
        joint = state[1] * emission(self.chain, self.features.now(state[0], trial.stimuli), trial.choice)
        now = joint / joint.sum(1, keepdims=True)
        return self.features.after(state[0], trial), now @ self.chain.transitions


class GlmHmm(OneByOne):
    """Hidden Markov model with a logistic regression in each state.

    Args:
        states: number of states, 2 to 4.
        history: number of previous trials among the predictors.
        name: name of the model.
    """

    policy = ChainPolicy

    def __init__(self, states: int = 3, history: int = 1, name: str = "glm-hmm"):
        self.name, self.states, self.history = name, states, history

    def _fit(self, problem: Problem) -> Fitted:
        features = Features.of(problem.table, self.history)
        x, choice = design(features, problem)
        flat, chosen = x[choice >= 0], choice[choice >= 0]
        scale = np.where(flat.std(0) > 0, flat.std(0), 1.0)
        precision = (scale / PRIOR) ** 2
        base = fit_weights(flat, chosen, 2, PRIOR / scale)[0][1]
        rng = np.random.default_rng(problem.seed)
        tried = [self._search(self._start(base, scale, rng, k), x, choice, precision, FIRST) for k in range(STARTS)]
        chain, posterior = self._search(
            max(tried, key=lambda found: found[1].log_likelihood)[0], x, choice, precision, MOST
        )
        chain, posterior = _ordered(chain, posterior, len(problem.table.stimuli))
        return Fitted(
            self.name,
            ChainPolicy(features, chain),
            _estimates(chain, posterior, features, x, choice, precision),
            posterior.log_likelihood,
            {
                "states": posterior.states,
                "transitions": chain.transitions,
                "weights": chain.weights,
                "names": features.names,
                "lengths": [len(each) for each in problem.table.sessions],
            },
        )

    def _start(self, base: FloatArray, scale: FloatArray, rng: np.random.Generator, which: int) -> Chain:
        """Return starting values: plain regression weights with noise; every second start spreads the biases."""
        k = self.states
        weights = base + rng.normal(0, 0.5, (k, len(base))) / scale
        if which % 2 == 0:
            weights[:, 0] = base[0] + np.r_[0.0, np.linspace(-1.5, 1.5, k - 1) if k > 2 else 1.5]
        stay = (0.9, 0.95, 0.98)[which % 3]
        transitions = np.full((k, k), (1 - stay) / (k - 1))
        np.fill_diagonal(transitions, stay)
        return Chain(weights, transitions, np.full(k, 1 / k))

    @staticmethod
    def _search(
        chain: Chain, x: FloatArray, choice: np.ndarray, precision: FloatArray, most: int
    ) -> tuple[Chain, Posterior]:
        found = expected_states(chain, x, choice)
        for _ in range(most):
            chain = improve(chain, found, x, choice, precision)
            new = expected_states(chain, x, choice)
            gain, found = new.log_likelihood - found.log_likelihood, new
            if abs(gain) < GAIN:
                break
        return chain, found


def _ordered(chain: Chain, posterior: Posterior, stimuli: int) -> tuple[Chain, Posterior]:
    """Put the state with the largest stimulus weights first, then sort by bias."""
    size = (chain.weights[:, 1 : 1 + stimuli] ** 2).sum(1) if stimuli else np.abs(chain.weights).sum(1)
    engaged = int(size.argmax())
    rest = sorted(set(range(len(chain.weights))) - {engaged}, key=lambda k: float(chain.weights[k, 0]))
    order = np.array([engaged, *rest])
    chain = Chain(chain.weights[order], chain.transitions[order][:, order], chain.start[order])
    return chain, Posterior(posterior.states[..., order], posterior.pairs[order][:, order], posterior.log_likelihood)


def _estimates(
    chain: Chain, posterior: Posterior, features: Features, x: FloatArray, choice: np.ndarray, precision: FloatArray
) -> dict[str, Estimate]:
    """Return weights and transitions with intervals, given the expected states."""
    valid = choice >= 0
    found = {}
    for k, w in enumerate(chain.weights):
        p = expit(x[valid] @ w)
        each = posterior.states[valid][:, k] * p * (1 - p)
        covariance = np.linalg.inv((x[valid] * each[:, None]).T @ x[valid] + np.diag(precision))
        for name, value, se in zip(features.names, w, np.sqrt(np.diag(covariance)), strict=True):
            found[f"state {k + 1}: {name}"] = Estimate.normal(float(value), float(se))
    for k, row in enumerate(posterior.pairs):
        found[f"state {k + 1}: stay"] = Estimate.proportion(float(row[k]), float(row.sum()))
    return found
