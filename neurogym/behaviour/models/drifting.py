"""Logistic regression whose weights drift from trial to trial (Roy et al. 2021, 10.1016/j.neuron.2020.12.004).

P(choice = c) is proportional to exp(w_ct . x_t) with w_0t = 0; w_{t+1} = w_t + N(0, sigma_k^2); each session begins
with w_1 ~ N(mu, diag(s_k^2)). The posterior over weights is followed by a Gaussian filter with moments of the logits by
quadrature, so a prediction uses only earlier trials of the session. mu, s and sigma maximise the marginal likelihood;
the smoother of Rauch, Tung and Striebel gives the weights over trials with intervals. The code is ours; PsyTrack finds
sigma by a decoupled Laplace approximation of the same likelihood.

Hidden states with a regression each may have drifting weights as well (see `glm_hmm`): P(choice = c | state k) is
proportional to exp(w_kct . x_t). States and weights are independent in the approximate posterior: given the
probabilities of the states, the weights of a state follow from choices that count by its probability; given the
weights, the states follow from the forward-backward algorithm with the expected log-likelihood of each choice
(Ghahramani & Hinton 2000, 10.1162/089976600300015619). Predictions use filtered states and weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neurogym.analysis.regression import fit_weights, log_chosen
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, OneByOne, ParallelTrials, Policy, Problem
from neurogym.behaviour.models.chains import Chain, TransitionInputs
from neurogym.behaviour.models.logistic import Features, estimated_weights
from neurogym.behaviour.models.marks import INFORMED, NOT_IDENTIFIED
from neurogym.behaviour.models.walks import (
    SPREAD,
    Belief,
    Walk,
    WalkLimits,
    WalkPosterior,
    advance,
    begin,
    deviation,
    logits_at_points,
    probabilities,
    quadrature,
    require_few_choices,
)
from neurogym.behaviour.table import Behaviour, rectangle

ALTERNATIONS = 6  #: of weights and states


@dataclass
class DriftingPolicy(Policy):
    """Choices from weights that are followed through the session.

    Attributes:
        features: predictors.
        walk: distribution of the weights.
    """

    features: Features
    walk: Walk

    def begin(self, n: int) -> tuple[FloatArray, Belief]:
        """See `Policy.begin`."""
        return self.features.begin(n), begin(self.walk, n)

    def probabilities(self, state: tuple[FloatArray, Belief], stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        return probabilities(state[1], self.features.now(state[0], stimuli))

    def advance(self, state: tuple[FloatArray, Belief], trial: ParallelTrials) -> tuple[FloatArray, Belief]:
        """See `Policy.advance`."""
        x = self.features.now(state[0], trial.stimuli)
        return self.features.after(state[0], trial), advance(state[1], self.walk, x, trial.choice)


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


class Drifting(OneByOne):
    """Weights of stimuli and history that drift from trial to trial.

    The reported weight of a predictor is the mean over trials, estimated as a constant weight; its interval is that of
    `Logistic`. The mean of the weights at the start of a session is a property of the fitted walk: with few sessions it
    goes along with the fitted variances, and the posterior given these is too narrow.

    Args:
        history: number of previous trials among the predictors.
        name: name of the model.
        sigma: s.d. of the change of the weights from trial to trial; negative to estimate that of each weight.
        sigma_max: largest s.d. that is estimated; 0 for no bound.
    """

    policy = DriftingPolicy

    def __init__(self, history: int = 1, name: str = "psytrack", sigma: float = -1.0, sigma_max: float = 0.0):
        self.name, self.history, self.limits = name, history, WalkLimits.of(sigma, sigma_max)

    def check(self, table: Behaviour) -> None:
        """See `OneByOne.check`."""
        require_few_choices(table, self.name)

    def _fit(self, problem: Problem) -> Fitted:
        table = problem.table
        features, n = Features.of(table, self.history), len(table.choices)
        names = features.weight_names
        x, choice = design(features, problem)
        flat, chosen = x[choice >= 0], choice[choice >= 0]
        scale = np.where(flat.std(0) > 0, flat.std(0), 1.0)
        mean = fit_weights(flat, chosen, n, np.where(flat.std(0) > 0, 3.0 / scale, 10.0))[0][1:].ravel()
        posterior = WalkPosterior(x, choice, self.limits.prior(mean, np.tile(scale, n - 1)), self.limits)
        walk, score = posterior.maximum()
        smoothed = posterior.smoothed(walk)
        means = estimated_weights(flat, chosen, n, table.interval_groups(table.join("scored_choice") >= 0))
        estimates = dict(zip(names, means, strict=True))
        marks = self.limits.marks({f"sigma {name}": walk.step[k] for k, name in enumerate(names)})
        errors = posterior.spread(walk) if problem.intervals else np.full(2 * len(mean), np.nan)
        for k, name in enumerate(names):
            for label, variance, error in (
                (f"sigma {name}", walk.step[k], errors[len(mean) + k]),
                (f"sigma at start {name}", walk.start[k], errors[k]),
            ):
                estimates[label] = deviation(float(variance), float(error))
                if error >= INFORMED * SPREAD or (len(table.sessions) < 2 and "at start" in label):
                    marks.setdefault(label, NOT_IDENTIFIED)
        return Fitted(
            self.name,
            DriftingPolicy(features, walk),
            estimates,
            score,
            {
                "weights": smoothed.mean,
                "weights_sd": np.sqrt(np.diagonal(smoothed.covariance, 0, 2, 3)),
                "names": names,
                "lengths": [len(each) for each in table.sessions],
            },
            marks,
        )


def design(features: Features, problem: Problem) -> tuple[FloatArray, np.ndarray]:
    """Return predictors (sessions, trials, predictors) and scored choices (sessions, trials), padded."""
    sessions = problem.table.sessions
    x = rectangle(list(map(features.matrix, sessions)), 0.0)
    return x, rectangle([each.scored_choice for each in sessions], -1)
