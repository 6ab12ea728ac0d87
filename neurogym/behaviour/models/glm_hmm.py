"""Hidden Markov model with a logistic regression in each state (Ashwood et al. 2022, 10.1038/s41593-021-01007-z).

P(choice 1 | state k) = logistic(w_k . x); the state follows a Markov chain with transitions A, newly drawn from pi in
each session. Fitted by expectation-maximisation from several starts, with a Gaussian prior of s.d. 2 on the weights
(of scaled predictors) and Dirichlet priors of 2 on the rows of A; predictions use the filtered state. Own code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import expit

from neurogym.analysis.regression import fit_weights
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import (
    Fitted,
    OneByOne,
    ParallelTrials,
    Problem,
    UnfitError,
    log_likelihoods,
    predict,
)
from neurogym.behaviour.models.chain_estimates import ChainTrials, chain_estimates, chain_marks
from neurogym.behaviour.models.chains import (
    Chain,
    Posterior,
    emission,
    expected_states,
    forward_backward,
    improve,
    improve_chain,
    next_states,
)
from neurogym.behaviour.models.drifting import design
from neurogym.behaviour.models.drifting_states import (
    ALTERNATIONS,
    DriftingStatesPolicy,
    fit_walks,
    prior_walk,
    steps_are_determined,
)
from neurogym.behaviour.models.logistic import Features
from neurogym.behaviour.models.marks import NOT_IDENTIFIED
from neurogym.behaviour.models.transitions import TransitionInputs
from neurogym.behaviour.models.walks import Walk, WalkLimits
from neurogym.behaviour.table import Behaviour, padded

#: Starts, iterations with all of them, iterations of the best, the gain (nats) at which these end, s.d. of the weights.
STARTS, FIRST, MOST, GAIN, PRIOR = 6, 12, 150, 0.02, 2.0
#: Share of the trials below which a state is empty.
EMPTY = 0.01
FAR = 25.0  #: largest squared distance of scaled weights that counts in the comparison of states


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

    def state_probabilities(self, state: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return the probability of each hidden state before a trial, shape (sessions, states)."""
        return state[1]

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
        drift: whether the weights of the states drift from trial to trial, see `drifting_states`.
        sigma: s.d. of the change of the weights from trial to trial; negative to estimate that of each weight.
        sigma_max: largest s.d. that is estimated; 0 for no bound.

    Raises:
        UnfitError: for a s.d. without drift.
    """

    def __init__(
        self,
        states: int = 3,
        history: int = 1,
        name: str = "glm-hmm",
        transition: str | None = None,
        drift: bool = False,
        sigma: float = -1.0,
        sigma_max: float = 0.0,
    ):
        self.name, self.states, self.history, self.drift = name, states, history, drift
        self.transition = tuple(each.strip() for each in transition.split("+")) if transition else ()
        if not drift and (sigma >= 0 or sigma_max):
            raise UnfitError("sigma and sigma_max need drift=true")
        self.limits = WalkLimits.of(sigma, sigma_max)
        self.policy = DriftingStatesPolicy if drift else ChainPolicy

    def check(self, table: Behaviour) -> None:
        """See `OneByOne.check`."""
        super().check(table)
        TransitionInputs.of(self.transition, table)

    def fit(self, problems: Sequence[Problem]) -> list[Fitted]:
        """See `Model.fit`.

        The states of fits to some sessions of the same subjects have the numbers of the fit to most sessions; those of
        a further subject are matched with the mean weights of the subjects before, which have more trials.
        """
        for each in problems:
            self.check(each.table)
        fits: dict[int, Fitted] = {}
        weights: dict[tuple[str, ...], FloatArray] = {}
        for k in sorted(range(len(problems)), key=lambda k: -problems[k].table.n_trials):
            subjects = problems[k].table.subjects
            reference = np.mean(list(weights.values()), 0) if weights else None
            fits[k] = self._fit(problems[k], weights.get(subjects, reference))
            weights.setdefault(subjects, fits[k].details["weights"])
        return [fits[k] for k in range(len(problems))]

    def _fit(self, problem: Problem, like: FloatArray | None = None) -> Fitted:
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
        order = _order(chain, len(problem.table.stimuli), scale, like)
        chain, posterior = chain.reordered(order), posterior.reordered(order)
        estimates = chain_estimates(chain, features.names, ChainTrials(x, choice, inputs), precision)
        fit = Fitted(
            self.name,
            ChainPolicy(features, chain, source),
            estimates,
            posterior.log_likelihood,
            {
                "states": posterior.states,
                "transitions": chain.transitions,
                "weights": chain.weights,
                "names": features.names,
                "lengths": [len(each) for each in problem.table.sessions],
                "transition_weights": chain.inputs,
            },
            chain_marks(estimates, features.names, self.states, precision),
        )
        if self.drift:
            chain, posterior = self._let_drift(
                fit, chain, posterior, x, choice, scale, inputs, source, problem.intervals
            )
            fit.score = sum(
                float(np.nansum(log_likelihoods(p, each.scored_choice)))
                for p, each in zip(predict(fit.policy, problem.table.sessions), problem.table.sessions, strict=True)
            )
        fit.notes = [*_empty_states(posterior, choice), *_transition_notes(chain, source)]
        return fit

    def _let_drift(
        self,
        fit: Fitted,
        chain: Chain,
        posterior: Posterior,
        x: FloatArray,
        choice: np.ndarray,
        scale: FloatArray,
        inputs: FloatArray,
        source: TransitionInputs,
        intervals: bool,
    ) -> tuple[Chain, Posterior]:
        """Fit weights that drift, starting from states whose weights do not, and complete the fit."""
        walks, weights = list[Walk](), chain.weights
        for _ in range(ALTERNATIONS):
            walks, likelihood = fit_walks(chain.weights, posterior.states, x, choice, scale, self.limits, walks)
            posterior = forward_backward(chain, likelihood, choice, inputs)
            chain = improve_chain(chain, posterior, inputs)
        features: Features = fit.policy.features  # type: ignore[attr-defined]
        mean, start, step = (np.stack([getattr(each, name) for each in walks]) for name in ("mean", "start", "step"))
        fit.policy = DriftingStatesPolicy(
            features, mean, start, step, chain.transitions, chain.start, chain.inputs, source
        )
        priors = [prior_walk(w, scale, self.limits) for w in weights]
        determined = steps_are_determined(walks, priors, posterior.states, x, choice) if intervals else []
        variances = {}
        for k, walk in enumerate(walks):
            for j, name in enumerate(features.names):
                label = f"state {k + 1}: sigma {name}"
                variances[label] = float(walk.step[j])
                fit.parameters[label] = Estimate(float(np.sqrt(walk.step[j])))
                if intervals and not determined[k][j]:
                    fit.marks[label] = NOT_IDENTIFIED
        fit.marks |= self.limits.marks(variances)
        fit.details |= {
            "states": posterior.states,
            "transitions": chain.transitions,
            "transition_weights": chain.inputs,
        }
        return chain, posterior

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


def _order(chain: Chain, stimuli: int, scale: FloatArray, like: FloatArray | None) -> np.ndarray:
    """Return the order of the states: nearest to those of another fit, or largest stimulus weights first, then by bias.

    Args:
        chain: parameters.
        stimuli: number of stimuli.
        scale: s.d. of the predictors.
        like: weights of another fit of the same subjects, shape (states, predictors).
    """
    if like is not None and like.shape == chain.weights.shape:
        distance = (((like[:, None] - chain.weights) * scale) ** 2).sum(-1)
        return np.asarray(linear_sum_assignment(np.minimum(distance, FAR))[1])
    size = (chain.weights[:, 1 : 1 + stimuli] ** 2).sum(1) if stimuli else np.abs(chain.weights).sum(1)
    engaged = int(size.argmax())
    rest = sorted(set(range(len(chain.weights))) - {engaged}, key=lambda k: float(chain.weights[k, 0]))
    return np.array([engaged, *rest])


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
