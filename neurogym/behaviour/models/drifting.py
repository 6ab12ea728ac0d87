"""Logistic regression whose weights drift from trial to trial (Roy et al. 2021, 10.1016/j.neuron.2020.12.004).

P(choice = c) is proportional to exp(w_ct . x_t) with w_0t = 0; w_{t+1} = w_t + N(0, sigma_k^2); each session begins
with w_1 ~ N(mu, diag(s_k^2)). The posterior over weights is followed by a Gaussian filter with moments of the logits by
quadrature, so a prediction uses only earlier trials of the session. mu, s and sigma maximise the marginal likelihood;
the smoother of Rauch, Tung and Striebel gives the weights over trials with intervals. The code is ours; PsyTrack finds
sigma by a decoupled Laplace approximation of the same likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neurogym.analysis.regression import fit_weights
from neurogym.array_types import FloatArray
from neurogym.behaviour.models import walks
from neurogym.behaviour.models.base import Fitted, OneByOne, ParallelTrials, Policy, Problem
from neurogym.behaviour.models.logistic import Features, estimated_weights
from neurogym.behaviour.models.marks import INFORMED, NOT_IDENTIFIED
from neurogym.behaviour.table import Behaviour, rectangle


@dataclass
class DriftingPolicy(Policy):
    """Choices from weights that are followed through the session.

    Attributes:
        features: predictors.
        walk: distribution of the weights.
    """

    features: Features
    walk: walks.Walk

    def begin(self, n: int) -> tuple[FloatArray, walks.Belief]:
        """See `Policy.begin`."""
        return self.features.begin(n), walks.begin(self.walk, n)

    def probabilities(self, state: tuple[FloatArray, walks.Belief], stimuli: FloatArray) -> FloatArray:
        """See `Policy.probabilities`."""
        return walks.probabilities(state[1], self.features.now(state[0], stimuli))

    def advance(self, state: tuple[FloatArray, walks.Belief], trial: ParallelTrials) -> tuple[FloatArray, walks.Belief]:
        """See `Policy.advance`."""
        x = self.features.now(state[0], trial.stimuli)
        return self.features.after(state[0], trial), walks.advance(state[1], self.walk, x, trial.choice)


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
        self.name, self.history, self.limits = name, history, walks.WalkLimits.of(sigma, sigma_max)

    def check(self, table: Behaviour) -> None:
        """See `OneByOne.check`."""
        walks.require_few_choices(table, self.name)

    def _fit(self, problem: Problem) -> Fitted:
        table = problem.table
        features, n = Features.of(table, self.history), len(table.choices)
        names = features.weight_names
        x, choice = design(features, problem)
        flat, chosen = x[choice >= 0], choice[choice >= 0]
        scale = np.where(flat.std(0) > 0, flat.std(0), 1.0)
        mean = fit_weights(flat, chosen, n, np.where(flat.std(0) > 0, 3.0 / scale, 10.0))[0][1:].ravel()
        posterior = walks.WalkPosterior(x, choice, self.limits.prior(mean, np.tile(scale, n - 1)), self.limits)
        walk, score = posterior.maximum()
        smoothed = posterior.smoothed(walk)
        means = estimated_weights(flat, chosen, n, table.interval_groups(table.join("scored_choice") >= 0))
        estimates = dict(zip(names, means, strict=True))
        marks = self.limits.marks({f"sigma {name}": walk.step[k] for k, name in enumerate(names)})
        errors = posterior.spread(walk) if problem.intervals else np.full(2 * len(mean), np.nan)
        for k, name in enumerate(names):
            step = f"sigma {name}", walk.step[k], errors[len(mean) + k]
            for label, variance, error in (step, (f"sigma at start {name}", walk.start[k], errors[k])):
                estimates[label] = walks.deviation(float(variance), float(error))
                if error >= INFORMED * walks.SPREAD or (len(table.sessions) < 2 and "at start" in label):
                    marks.setdefault(label, NOT_IDENTIFIED)
        details = {
            "weights": smoothed.mean,
            "weights_sd": np.sqrt(np.diagonal(smoothed.covariance, 0, 2, 3)),
            "names": names,
            "lengths": [len(each) for each in table.sessions],
        }
        return Fitted(self.name, DriftingPolicy(features, walk), estimates, score, details, marks)


def design(features: Features, problem: Problem) -> tuple[FloatArray, np.ndarray]:
    """Return predictors (sessions, trials, predictors) and scored choices (sessions, trials), padded."""
    sessions = problem.table.sessions
    x = rectangle(list(map(features.matrix, sessions)), 0.0)
    return x, rectangle([each.scored_choice for each in sessions], -1)
