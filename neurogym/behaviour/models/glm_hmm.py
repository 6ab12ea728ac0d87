"""Hidden Markov model with a logistic regression in each state (Ashwood et al. 2022, 10.1038/s41593-021-01007-z).

P(choice 1 | state k) = logistic(w_k . x); the state follows a Markov chain with transitions A, newly drawn from pi in
each session. Fitted by expectation-maximisation from several starts, with a Gaussian prior of s.d. 2 on the weights
(of scaled predictors) and Dirichlet priors of 2 on the rows of A; predictions use the filtered state. Own code.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from neurogym.analysis.regression import fit_weights
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, OneByOne, ParallelTrials, Problem
from neurogym.behaviour.models.drifting import design
from neurogym.behaviour.models.logistic import Features
from neurogym.behaviour.models.transitions import (
    TransitionInputs,
    improve_transitions,
    transition_probabilities,
)
from neurogym.behaviour.table import Behaviour, padded

#: Starts, iterations with all of them, iterations of the best, the gain (nats) at which these end, s.d. of the weights.
STARTS, FIRST, MOST, GAIN, PRIOR = 6, 12, 150, 0.02, 2.0
#: Share of the trials below which a state is empty; weights of inputs of transitions that depend on none.
EMPTY, NO_INPUTS = 0.01, np.zeros((0, 0))


@dataclass(frozen=True)
class Chain:
    """Parameters of the model.

    Attributes:
        weights: shape (states, predictors).
        transitions: probability of each state after each, shape (states, states); row: before.
        start: probability of each state in the first trial of a session, shape (states,).
        inputs: weights of inputs of the transitions, shape (states, inputs); see `transitions`.
    """

    weights: FloatArray
    transitions: FloatArray
    start: FloatArray
    inputs: FloatArray = field(default_factory=lambda: NO_INPUTS)

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
    likelihood = emission(chain, x, choice)
    sessions, trials, states = likelihood.shape
    forward, scale = np.empty((trials, sessions, states)), np.empty((trials, sessions))
    varies = bool(chain.inputs.size)
    transitions = chain.after(inputs.swapaxes(0, 1)) if varies else chain.transitions
    now = np.tile(chain.start, (sessions, 1))
    for t in range(trials):
        joint = now * likelihood[:, t]
        scale[t] = joint.sum(1)
        forward[t] = joint / scale[t][:, None]
        now = _moved(forward[t], transitions, t)
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


def _moved(state: FloatArray, transitions: FloatArray, t: int) -> FloatArray:
    """Return the distribution of states after the transitions of trial ``t``."""
    if transitions.ndim == 2:
        return np.asarray(state @ transitions)
    return np.einsum("si,sij->sj", state, transitions[t])


def improve(
    chain: Chain, posterior: Posterior, x: FloatArray, choice: np.ndarray, precision: FloatArray,
    inputs: FloatArray = NO_INPUTS,
) -> Chain:  # fmt: skip
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
    if not chain.inputs.size:
        return Chain(weights, pairs / pairs.sum(1, keepdims=True), start / start.sum(), chain.inputs)
    k = len(weights)
    rows = inputs.swapaxes(0, 1).reshape(-1, inputs.shape[-1])
    base, slopes = improve_transitions(chain.transitions, chain.inputs, posterior.after.reshape(-1, k, k), rows)
    return Chain(weights, base, start / start.sum(), slopes)


@dataclass
class ChainPolicy:
    """Choices from the filtered state.

    Attributes:
        features: predictors.
        chain: parameters.
        inputs: of the transitions.
    """

    features: Features
    chain: Chain
    inputs: TransitionInputs = field(default_factory=TransitionInputs)

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
        transitions = self.chain.after(self.inputs.of_trial(trial))
        return self.features.after(state[0], trial), _moved(
            now, transitions[None] if transitions.ndim == 3 else transitions, 0
        )


class GlmHmm(OneByOne):
    """Hidden Markov model with a logistic regression in each state.

    Args:
        states: number of states, 2 to 4.
        history: number of previous trials among the predictors.
        name: name of the model.
        transition: inputs of the transitions, "reward", "choice" or stimuli, several with ``+``; None for none.
    """

    policy = ChainPolicy

    def __init__(self, states: int = 3, history: int = 1, name: str = "glm-hmm", transition: str | None = None):
        self.name, self.states, self.history = name, states, history
        self.transition = tuple(each.strip() for each in transition.split("+")) if transition else ()

    def check(self, table: Behaviour) -> None:
        """See `OneByOne.check`."""
        super().check(table)
        TransitionInputs.of(self.transition, table)

    def _fit(self, problem: Problem) -> Fitted:
        features = Features.of(problem.table, self.history)
        x, choice = design(features, problem)
        flat, chosen = x[choice >= 0], choice[choice >= 0]
        scale = np.where(flat.std(0) > 0, flat.std(0), 1.0)
        precision = (scale / PRIOR) ** 2
        base = fit_weights(flat, chosen, 2, PRIOR / scale)[0][1]
        rng = np.random.default_rng(problem.seed)
        source = TransitionInputs.of(self.transition, problem.table)
        data = padded(problem.table.sessions)
        inputs = source.values(data.stimuli, data.choice, data.reward)
        tried = [
            self._search(self._start(base, scale, rng, k), x, choice, precision, FIRST, inputs) for k in range(STARTS)
        ]
        chain, posterior = self._search(
            max(tried, key=lambda found: found[1].log_likelihood)[0], x, choice, precision, MOST, inputs
        )
        chain, posterior = _ordered(chain, posterior, len(problem.table.stimuli))
        return Fitted(
            self.name,
            ChainPolicy(features, chain, source),
            _estimates(chain, posterior, features, x, choice, precision),
            posterior.log_likelihood,
            {
                "states": posterior.states,
                "transitions": chain.transitions,
                "weights": chain.weights,
                "names": features.names,
                "lengths": [len(each) for each in problem.table.sessions],
                "transition_weights": chain.inputs,
            },
            notes=[*_empty_states(posterior, choice), *_transition_notes(chain, source)],
        )

    def _start(self, base: FloatArray, scale: FloatArray, rng: np.random.Generator, number: int) -> Chain:
        """Return starting values: plain regression weights with noise; every second start spreads the biases."""
        k = self.states
        weights = base + rng.normal(0, 0.5, (k, len(base))) / scale
        if number % 2 == 0:
            weights[:, 0] = base[0] + np.r_[0.0, np.linspace(-1.5, 1.5, k - 1) if k > 2 else 1.5]
        stay = (0.9, 0.95, 0.98)[number % 3]
        transitions = np.full((k, k), (1 - stay) / (k - 1))
        np.fill_diagonal(transitions, stay)
        return Chain(weights, transitions, np.full(k, 1 / k), np.zeros((k, len(self.transition))))

    @staticmethod
    def _search(
        chain: Chain, x: FloatArray, choice: np.ndarray, precision: FloatArray, most: int, inputs: FloatArray
    ) -> tuple[Chain, Posterior]:
        posterior = expected_states(chain, x, choice, inputs)
        for _ in range(most):
            chain = improve(chain, posterior, x, choice, precision, inputs)
            new = expected_states(chain, x, choice, inputs)
            gain, posterior = new.log_likelihood - posterior.log_likelihood, new
            if abs(gain) < GAIN:
                break
        return chain, posterior


def _ordered(chain: Chain, posterior: Posterior, stimuli: int) -> tuple[Chain, Posterior]:
    """Put the state with the largest stimulus weights first, then sort by bias."""
    size = (chain.weights[:, 1 : 1 + stimuli] ** 2).sum(1) if stimuli else np.abs(chain.weights).sum(1)
    engaged = int(size.argmax())
    rest = sorted(set(range(len(chain.weights))) - {engaged}, key=lambda k: float(chain.weights[k, 0]))
    order = np.array([engaged, *rest])
    inputs = chain.inputs[order] - chain.inputs[order[:1]]
    chain = Chain(chain.weights[order], chain.transitions[order][:, order], chain.start[order], inputs)
    return chain, Posterior(posterior.states[..., order], posterior.pairs[order][:, order], posterior.log_likelihood)


def _empty_states(posterior: Posterior, choice: np.ndarray) -> list[str]:
    """Return a note for each state that hardly any trial is in."""
    valid = choice >= 0
    expected, trials = posterior.states[valid].sum(0), int(valid.sum())
    return [
        f"state {k + 1} is empty: {each:.0f} of {trials:,} trials are expected in it; fewer states are advised"
        for k, each in enumerate(expected)
        if each < EMPTY * trials
    ]


def _transition_notes(chain: Chain, source: TransitionInputs) -> list[str]:
    """Return the weights of inputs of the transitions in words."""
    return [
        f"{name} (1 s.d.) changes the log-odds of going to state {k + 1} instead of state 1 by {value:+.2f}"
        for k, row in enumerate(chain.inputs)
        for name, value in zip(source.names, row, strict=True)
        if k
    ]


def _estimates(
    chain: Chain, posterior: Posterior, features: Features, x: FloatArray, choice: np.ndarray, precision: FloatArray
) -> dict[str, Estimate]:
    """Return weights and transitions with intervals, given the expected states."""
    valid = choice >= 0
    estimates = {}
    for k, w in enumerate(chain.weights):
        p = expit(x[valid] @ w)
        each = posterior.states[valid][:, k] * p * (1 - p)
        covariance = np.linalg.inv((x[valid] * each[:, None]).T @ x[valid] + np.diag(precision))
        for name, value, se in zip(features.names, w, np.sqrt(np.diag(covariance)), strict=True):
            estimates[f"state {k + 1}: {name}"] = Estimate.normal(float(value), float(se))
    for k, row in enumerate(posterior.pairs):
        estimates[f"state {k + 1}: stay"] = Estimate.proportion(float(row[k]), float(row.sum()))
    return estimates
