"""Hidden Markov model with a logistic regression in each state (Ashwood et al. 2022, 10.1038/s41593-021-01007-z).

P(choice = c | state k) is proportional to exp(w_kc . x), w_k0 = 0; the state follows a Markov chain with transitions A,
newly drawn from pi in each session. The posterior probability is maximised from several starts (see
`neurogym.behaviour.models.chains`); intervals follow from its curvature, and predictions use the filtered state.

The weights of the states may drift as well (see `neurogym.behaviour.models.drifting`): P(choice = c | state k) is
proportional to exp(w_kct . x_t). States and weights are independent in the approximate posterior: given the
probabilities of the states, the weights of a state follow from choices that count by its probability; given the
weights, the states follow from the forward-backward algorithm with the expected log-likelihood of each choice
(Ghahramani & Hinton 2000, 10.1162/089976600300015619). Predictions use filtered states and weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import expit, logit, polygamma

from neurogym.analysis.regression import fit_weights, log_chosen, log_softmax, with_reference
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models import chains, walks
from neurogym.behaviour.models.base import (
    Fitted,
    OneByOne,
    ParallelTrials,
    Policy,
    Problem,
    UnfitError,
    score_of,
)
from neurogym.behaviour.models.drifting import design
from neurogym.behaviour.models.logistic import Features
from neurogym.behaviour.models.marks import INFORMED, NOT_IDENTIFIED, marked
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.table import Behaviour

STARTS = 6  #: of the search
ALTERNATIONS = 6  #: of weights and states
ROW_PRIOR = 2.0  #: of the Dirichlet distribution of each row of transitions
#: Share of the trials below which a state is empty.
EMPTY = 0.01
FAR = 25.0  #: largest squared distance of scaled weights that counts in the comparison of states


def expected_log_likelihood(smoothed: walks.Belief, x: FloatArray, choice: np.ndarray) -> FloatArray:
    """Return the expected log-likelihood of each choice given the posterior of the weights; 0 for misses.

    Args:
        smoothed: posterior of the weights.
        x: predictors, shape (sessions, trials, predictors).
        choice: shape (sessions, trials).
    """
    each = walks.Belief(*(np.concatenate(part.swapaxes(0, 1)) for part in smoothed))
    logits, ways = walks.logits_at_points(each, np.concatenate(x))
    return np.asarray(log_chosen(logits, choice.reshape(-1, 1)) @ walks.quadrature(len(ways))[1]).reshape(choice.shape)


#: Predictors from earlier trials, probabilities of the states (sessions, states), and beliefs about drifting weights.
State = tuple[FloatArray, FloatArray, tuple[walks.Belief, ...]]


class StatesPolicy(Policy):
    """Choices from filtered states.

    Attributes:
        features: predictors.
        inputs: of the transitions.
    """

    features: Features
    inputs: chains.TransitionInputs

    def choices(self, state: State, x: FloatArray) -> FloatArray:
        """Return the probability of each choice in each state given predictors, shape (states, sessions, choices)."""
        raise NotImplementedError

    def columns_before(self, state: State) -> dict[str, FloatArray]:
        """See `Policy.columns_before`: probabilities of the states but the first."""
        return {f"state_{k + 1}": state[1][:, k] for k in range(1, state[1].shape[1])}

    def probabilities(self, state: State, stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        return np.einsum("ksc,sk->sc", self.choices(state, self.features.now(state[0], stimuli)), state[1])

    def after(self, state: State, trial: ParallelTrials, chain: chains.Chain) -> tuple[State, FloatArray, FloatArray]:
        """Return the state after a trial, beliefs as before, the probability of each state in it, and predictors."""
        past, states, beliefs = state
        x = self.features.now(past, trial.stimuli)
        likelihood = np.clip(self.choices(state, x)[:, np.arange(len(x)), trial.choice].T, 1e-12, 1)
        joint = states * np.where(trial.choice[:, None] < 0, 1.0, likelihood)
        now = joint / joint.sum(1, keepdims=True)
        following = chain.next_states(now, self.inputs.of_trial(trial))
        return (self.features.after(past, trial), following, beliefs), now, x


@dataclass
class ChainPolicy(StatesPolicy):
    """Choices from the filtered state.

    Attributes:
        features: predictors.
        chain: parameters.
        inputs: of the transitions.
    """

    features: Features
    chain: chains.Chain
    inputs: chains.TransitionInputs = field(default_factory=chains.TransitionInputs)

    def begin(self, n: int) -> State:
        """See `Policy.begin`."""
        return self.features.begin(n), np.tile(self.chain.start, (n, 1)), ()

    def choices(self, state: State, x: FloatArray) -> FloatArray:
        """See `StatesPolicy.choices`."""
        logits = with_reference(chains.state_logits(self.chain.weights, x))
        return np.exp(log_softmax(logits)).swapaxes(0, 1)

    def advance(self, state: State, trial: ParallelTrials) -> State:
        """See `Policy.advance`."""
        return self.after(state, trial, self.chain)[0]


@dataclass
class DriftingStatesPolicy(StatesPolicy):
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
    inputs: chains.TransitionInputs

    @property
    def _walks(self) -> list[walks.Walk]:
        return [walks.Walk(*each) for each in zip(self.mean, self.start, self.step, strict=True)]

    def begin(self, n: int) -> State:
        """See `Policy.begin`."""
        beliefs = tuple(walks.begin(each, n) for each in self._walks)
        return self.features.begin(n), np.tile(self.first, (n, 1)), beliefs

    def choices(self, state: State, x: FloatArray) -> FloatArray:
        """See `StatesPolicy.choices`."""
        return np.stack([walks.probabilities(each, x) for each in state[2]])

    def advance(self, state: State, trial: ParallelTrials) -> State:
        """See `Policy.advance`."""
        chain = chains.Chain(self.mean, self.transitions, self.first, self.input_weights)
        (past, states, beliefs), now, x = self.after(state, trial, chain)
        rows = zip(beliefs, self._walks, now.T, strict=True)
        return past, states, tuple(walks.advance(each, walk, x, trial.choice, count) for each, walk, count in rows)


class GlmHmm(OneByOne):
    """Hidden Markov model with a logistic regression in each state.

    Args:
        states: number of states, 2 to 4.
        history: number of previous trials among the predictors.
        name: name of the model.
        transition: inputs of the transitions, "reward", "choice" or stimuli, several with ``+``; None for none.
        drift: whether the weights of the states drift from trial to trial, see `drifting`.
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
        self.limits = walks.WalkLimits.of(sigma, sigma_max)
        self.policy = DriftingStatesPolicy if drift else ChainPolicy

    def check(self, table: Behaviour) -> None:
        """See `OneByOne.check`."""
        if self.drift:
            walks.require_few_choices(table, f"{self.name} with drift")
        chains.TransitionInputs.of(self.transition, table)

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
        features, n = Features.of(problem.table, self.history), len(problem.table.choices)
        x, choice = design(features, problem)
        flat, chosen = x[choice >= 0], choice[choice >= 0]
        sds = np.where(flat.std(0) > 0, flat.std(0), 1.0)
        base, scale = fit_weights(flat / sds, chosen, n, np.full(len(sds), chains.PRIOR))[0][1:], np.tile(sds, n - 1)
        rng = np.random.default_rng(problem.seed)
        source = chains.TransitionInputs.of(self.transition, problem.table)
        data = problem.table.padded
        inputs = source.values(data.stimuli, data.choice, data.reward)
        trials = chains.ChainTrials(x, choice, inputs)
        scaled_trials = chains.ChainTrials(x / sds, choice, inputs)
        scaled, score = chains.fit_chain([self._start(base, rng, k) for k in range(STARTS)], scaled_trials)
        scaled = scaled.reordered(_order(scaled, features, None if like is None else like * scale))
        covariance = chains.chain_covariance(scaled, scaled_trials)
        chain = replace(scaled, weights=scaled.weights / scale)
        states = chains.expected_states(chain, x, choice, inputs)
        estimates, marks = _estimates(chain, features.weight_names, scale, covariance)
        details = {
            "states": states,
            "transitions": chain.transitions,
            "weights": chain.weights,
            "names": features.weight_names,
            "lengths": [len(each) for each in problem.table.sessions],
            "transition_weights": chain.inputs,
        }
        fit = Fitted(self.name, ChainPolicy(features, chain, source), estimates, score, details, marks)
        if self.drift:
            chain = self._let_drift(fit, chain, trials, scale, problem.intervals)
            fit.score = score_of(fit.policy, problem.table)
        fit.notes = [*_empty_states(fit.details["states"], choice), *_transition_notes(chain, source)]
        return fit

    def _let_drift(
        self, fit: Fitted, chain: chains.Chain, trials: chains.ChainTrials, scale: FloatArray, intervals: bool
    ) -> chains.Chain:
        """Fit weights that drift, starting from states whose weights do not, and complete the fit but for its score.

        The s.d. of steps has no interval: weights and states are independent in the approximation, which makes steps
        too small where states are uncertain.
        """
        x, choice, inputs = trials
        states, names, policy = fit.details["states"], fit.details["names"], fit.policy
        assert isinstance(policy, ChainPolicy)
        priors = [self.limits.prior(w, scale) for w in chain.weights]
        fitted_walks = priors
        for _ in range(ALTERNATIONS):
            posteriors = [
                walks.WalkPosterior(x, choice, each, self.limits, states[..., k]) for k, each in enumerate(priors)
            ]
            fitted_walks = [each.maximum(walk)[0] for each, walk in zip(posteriors, fitted_walks, strict=True)]
            beliefs = [each.smoothed(walk) for each, walk in zip(posteriors, fitted_walks, strict=True)]
            log_emissions = np.stack([expected_log_likelihood(each, x, choice) for each in beliefs], -1)
            chain = chains.improve_chain(chain, log_emissions, inputs)
            states = chains.states_given(chain, log_emissions, inputs)
        mean, start, step = (
            np.stack([getattr(each, name) for each in fitted_walks]) for name in ("mean", "start", "step")
        )
        fit.policy = DriftingStatesPolicy(
            policy.features, mean, start, step, chain.transitions, chain.start, chain.inputs, policy.inputs
        )
        labels = [f"state {k + 1}: sigma {name}" for k in range(self.states) for name in names]
        variances = dict(zip(labels, step.ravel(), strict=True))
        fit.parameters |= {label: Estimate(float(np.sqrt(each))) for label, each in variances.items()}
        if intervals:
            errors = [each.spread(walk)[len(names) :] for each, walk in zip(posteriors, fitted_walks, strict=True)]
            unknown = np.concatenate(errors) >= INFORMED * walks.SPREAD
            fit.marks |= {label: NOT_IDENTIFIED for label, each in zip(labels, unknown, strict=True) if each}
        fit.marks |= self.limits.marks(variances)
        fit.details |= {"states": states, "transitions": chain.transitions, "transition_weights": chain.inputs}
        return chain

    def _start(self, base: FloatArray, rng: np.random.Generator, number: int) -> chains.Chain:
        """Return starting values: plain regression weights with noise; every second start spreads the biases."""
        k = self.states
        weights = base + rng.normal(0, 0.5, (k, *base.shape))
        if number % 2 == 0:
            option = number // 2 % len(base)
            weights[:, option, 0] = base[option, 0] + np.r_[0.0, np.linspace(-1.5, 1.5, k - 1) if k > 2 else 1.5]
        stay = (0.9, 0.95, 0.98)[number % 3]
        transitions = np.full((k, k), (1 - stay) / (k - 1))
        np.fill_diagonal(transitions, stay)
        return chains.Chain(weights.reshape(k, -1), transitions, np.full(k, 1 / k), np.zeros((k, len(self.transition))))


def _estimates(
    chain: chains.Chain, names: Sequence[str], scale: FloatArray, covariance: FloatArray
) -> tuple[dict[str, Estimate], dict[str, str]]:
    """Return the weights of each state and its probability to stay, with intervals, and a mark for each without one.

    The probability to stay has no interval where transitions depend on inputs.

    Args:
        chain: parameters with the largest posterior probability.
        names: of the weights of a state.
        scale: s.d. of the predictor of each.
        covariance: see `chain_covariance`.
    """
    states, size = len(chain.weights), chain.weights.size
    sds = np.tile(chains.PRIOR / scale, states)
    errors = np.sqrt(np.diag(covariance)[:size]) / np.tile(scale, states)
    labels = [f"state {k + 1}: {name}" for k in range(states) for name in names]
    estimates, marks = marked(list(map(ModelParameter, labels)), chain.weights.ravel(), errors, sds)
    # each state's weights minus the mean of all states
    apart = np.kron(np.eye(states) - 1 / states, np.eye(len(names)))
    differences = np.sqrt(np.diag(apart @ covariance[:size, :size] @ apart) / (1 - 1 / states))
    same = differences >= INFORMED * chains.PRIOR  # as uncertain as before the data: fewer states would do
    marks |= {label: NOT_IDENTIFIED for label, each in zip(labels, same, strict=True) if each}
    widest = INFORMED * np.sqrt(polygamma(1, ROW_PRIOR) + polygamma(1, ROW_PRIOR * (states - 1)))
    for k, row in enumerate(chain.transitions):
        label, stay = f"state {k + 1}: stay", float(np.clip(row[k], 1e-9, 1 - 1e-9))
        estimates[label] = Estimate(stay)
        if not chain.inputs.size:
            slope = -np.delete(row, k) / (1 - stay)
            leaving = size + k * (states - 1) + np.arange(states - 1)
            error = float(np.sqrt(slope @ covariance[np.ix_(leaving, leaving)] @ slope))
            estimates[label] = Estimate.normal(float(logit(stay)), error).transformed(lambda x: float(expit(x)))
            marks |= {label: NOT_IDENTIFIED} if error >= widest else {}
    return estimates, marks


def _order(chain: chains.Chain, features: Features, like: FloatArray | None) -> np.ndarray:
    """Return the order of the states: nearest to those of another fit, or largest stimulus weights first, then by bias.

    Args:
        chain: parameters, with weights of scaled predictors.
        features: predictors.
        like: such weights of another fit of the same subjects, shape (states, weights).
    """
    if like is not None and like.shape == chain.weights.shape:
        distance = ((like[:, None] - chain.weights) ** 2).sum(-1)
        return np.asarray(linear_sum_assignment(np.minimum(distance, FAR))[1])
    stimuli = chain.weights.reshape(len(chain.weights), -1, len(features.names))[..., 1 : 1 + len(features.stimuli)]
    size = (stimuli**2).sum((1, 2)) if features.stimuli else np.abs(chain.weights).sum(1)
    engaged = int(size.argmax())
    rest = sorted(set(range(len(chain.weights))) - {engaged}, key=lambda k: float(chain.weights[k, 0]))
    return np.array([engaged, *rest])


def _empty_states(states: FloatArray, choice: np.ndarray) -> list[str]:
    """Return a note for each state that hardly any trial is in."""
    valid = choice >= 0
    expected, trials = states[valid].sum(0), int(valid.sum())
    return [
        f"state {k + 1} is empty: {each:.0f} of {trials:,} trials are expected in it; fewer states are advised"
        for k, each in enumerate(expected)
        if each < EMPTY * trials
    ]


def _transition_notes(chain: chains.Chain, source: chains.TransitionInputs) -> list[str]:
    """Return the weights of inputs of the transitions in words."""
    return [
        f"{name} (1 s.d.) changes the log-odds of going to state {k + 1} instead of state 1 by {value:+.2f}"
        for k, row in enumerate(chain.inputs)
        for name, value in zip(source.names, row, strict=True)
        if k
    ]
