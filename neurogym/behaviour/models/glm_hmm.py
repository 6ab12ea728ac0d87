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
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, OneByOne, ParallelTrials, Problem
from neurogym.behaviour.models.chain_estimates import ChainTrials, chain_estimates
from neurogym.behaviour.models.chains import Chain, Posterior, emission, expected_states, improve, next_states
from neurogym.behaviour.models.drifting import design
from neurogym.behaviour.models.logistic import Features
from neurogym.behaviour.models.transitions import TransitionInputs
from neurogym.behaviour.table import Behaviour, padded

#: Starts, iterations with all of them, iterations of the best, the gain (nats) at which these end, s.d. of the weights.
STARTS, FIRST, MOST, GAIN, PRIOR = 6, 12, 150, 0.02, 2.0
#: Share of the trials below which a state is empty.
EMPTY = 0.01


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
        return self.features.after(state[0], trial), next_states(
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
            chain_estimates(chain, features.names, ChainTrials(x, choice, inputs), precision),
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
