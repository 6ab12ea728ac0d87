"""Logistic regression whose weights drift from trial to trial (Roy et al. 2021, 10.1016/j.neuron.2020.12.004).

logit P(choice 1) = w_t . x_t; w_{t+1} = w_t + N(0, sigma_k^2); each session begins with w_1 ~ N(mu, diag(s_k^2)). The
posterior over weights is followed by a Gaussian filter with exact moments of the logit, so a prediction uses only
earlier trials of the session. mu, s and sigma maximise the marginal likelihood with slopes from the smoother of Rauch,
Tung and Striebel, which also gives the weights over trials with intervals. The code is ours; PsyTrack finds sigma by a
decoupled Laplace approximation of the same likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from neurogym.analysis.regression import fit_weights
from neurogym.analysis.results import Estimate
from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Fitted, OneByOne, ParallelTrials, Problem
from neurogym.behaviour.models.logistic import Features, estimated_weights
from neurogym.behaviour.table import rectangle

#: Iterations of the search for the variances, and the change of their logarithms at which it ends.
ITERATIONS, TOLERANCE = 50, 0.05
SMOOTHING_ROUNDS = 4  #: repetitions after which the smoothed weights are the most probable ones
SPREAD = 4 * np.log(2)  #: s.d. of the prior of the logarithm of the variance of a step: a factor of 4 in the s.d.
FLOOR, STILL = 1e-8, 1e-12  #: smallest variance of a step of the weights that is estimated, and that is fixed
#: Points and weights of Gauss-Hermite quadrature over a logit.
NODES, LOGIT_WEIGHTS = np.polynomial.hermite.hermgauss(16)
LOGIT_WEIGHTS = LOGIT_WEIGHTS / np.sqrt(np.pi)


@dataclass(frozen=True)
class Walk:
    """Distribution of drifting weights.

    Attributes:
        mean: of the weights when a session begins, shape (weights,).
        start: variance of the weights when a session begins, shape (weights,).
        step: variance of the change from trial to trial, shape (weights,).
    """

    mean: FloatArray
    start: FloatArray
    step: FloatArray


@dataclass(frozen=True)
class WalkLimits:
    """Limits of the s.d. of the change of a weight from trial to trial.

    Attributes:
        low: smallest s.d.
        high: largest s.d.; the same as `low` to fix it.
    """

    low: float = 0.0
    high: float = np.inf

    @classmethod
    def of(cls, sigma: float, sigma_max: float) -> WalkLimits:
        """Return the limits for a fixed s.d. (negative to estimate it) and a largest one (0 for none)."""
        if sigma >= 0:
            return cls(sigma, sigma)
        return cls(0.0, sigma_max or np.inf)

    def marks(self, variances: Mapping[str, float]) -> dict[str, str]:
        """Return a mark for each s.d. at its upper bound, by name."""
        if self.low == self.high:
            return dict.fromkeys(variances, "fixed")
        bound = f"at its bound {self.high:g}"
        return {name: bound for name, each in variances.items() if each >= (1 - 1e-3) * self.high**2}

    def clipped(self, variance: FloatArray) -> FloatArray:
        """Return variances within the limits."""
        floor = STILL if self.low == self.high else FLOOR
        return np.clip(variance, max(self.low**2, floor), max(self.high**2, floor))


@dataclass(frozen=True)
class Belief:
    """Gaussian belief about the weights.

    Attributes:
        mean: shape (sessions, weights).
        covariance: shape (sessions, weights, weights).
    """

    mean: FloatArray
    covariance: FloatArray


def begin(walk: Walk, n: int) -> Belief:
    """Return the belief before the first trial of ``n`` sessions."""
    return Belief(np.tile(walk.mean, (n, 1)), np.tile(np.diag(walk.start), (n, 1, 1)))


def _logits(belief: Belief, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return the belief about the logit: mean, variance, covariance with the weights, and points of a quadrature."""
    px = np.einsum("sij,sj->si", belief.covariance, x)
    variance, logit = (px * x).sum(1), (belief.mean * x).sum(1)
    return logit, variance, px, logit[:, None] + np.sqrt(2 * variance)[:, None] * NODES


def probability(belief: Belief, x: FloatArray) -> FloatArray:
    """Return the probability of choice 1, uncertainty about the weights included, shape (sessions,)."""
    return np.asarray(expit(_logits(belief, x)[3]) @ LOGIT_WEIGHTS)


def learn(belief: Belief, x: FloatArray, choice: np.ndarray, count: FloatArray | None = None) -> Belief:
    """Return the belief after a choice (-1: a miss, from which nothing is learned).

    Mean and variance of the logit given the choice are found by quadrature and determine those of the weights.

    Args:
        belief: before the choice.
        x: predictors, shape (sessions, weights).
        choice: shape (sessions,).
        count: exponent of the likelihood of each choice, shape (sessions,); None for 1.
    """
    logit, variance, px, points = _logits(belief, x)
    p = expit(np.where(choice == 1, 1.0, -1.0)[:, None] * points)
    p = (p if count is None else p ** count[:, None]) * LOGIT_WEIGHTS
    p /= p.sum(1, keepdims=True)
    mean = (p * points).sum(1)
    after = (p * (points - mean[:, None]) ** 2).sum(1)
    valid = choice >= 0
    floor_variance = np.maximum(variance, 1e-12)
    gain = np.where(valid, (mean - logit) / floor_variance, 0.0)
    shrink = np.where(valid, (variance - after) / floor_variance**2, 0.0)
    return Belief(
        belief.mean + px * gain[:, None], belief.covariance - shrink[:, None, None] * px[:, :, None] * px[:, None, :]
    )


def learn_around(
    belief: Belief, x: FloatArray, choice: np.ndarray, logit: FloatArray, count: FloatArray | None = None
) -> Belief:
    """Return the belief after a choice whose likelihood is expanded around a logit, shape (sessions,)."""
    px = np.einsum("sij,sj->si", belief.covariance, x)
    p = np.clip(expit(logit), 1e-4, 1 - 1e-4)
    precision = np.where(choice >= 0, p * (1 - p) if count is None else count * p * (1 - p), 0.0)
    surprise = logit + (choice - p) / (p * (1 - p)) - (belief.mean * x).sum(1)
    share = precision / (1 + precision * (px * x).sum(1))
    mean = belief.mean + px * (share * surprise)[:, None]
    return Belief(mean, belief.covariance - share[:, None, None] * px[:, :, None] * px[:, None, :])


def diffuse(belief: Belief, walk: Walk) -> Belief:
    """Return the belief after a step of the weights."""
    return Belief(belief.mean, belief.covariance + np.diag(walk.step))


#: Steps whose s.d. is estimated.
ESTIMATED = WalkLimits()


@dataclass(frozen=True)
class Smoothed:
    """Posterior of the weights in all trials given all choices of a session.

    Attributes:
        mean: shape (trials, sessions, weights).
        covariance: shape (trials, sessions, weights, weights).
        steps: expected squares of the steps, summed over trials, shape (sessions, weights).
        log_likelihood: of all choices.
    """

    mean: FloatArray
    covariance: FloatArray
    steps: FloatArray
    log_likelihood: float


def smooth(
    walk: Walk,
    x: FloatArray,
    choice: np.ndarray,
    around: FloatArray | None = None,
    counts: FloatArray | None = None,
) -> Smoothed:
    """Return the weights of all trials.

    Args:
        walk: distribution of the weights.
        x: predictors, shape (sessions, trials, weights).
        choice: 0, 1 or -1, shape (sessions, trials).
        around: logits around which the likelihood of the choices is expanded, shape (sessions, trials); None for the
            mode of each belief. Repeated with the smoothed logits, the weights become the most probable ones.
        counts: exponent of the likelihood of each choice, shape (sessions, trials); None for 1.
    """
    sessions, trials, _ = x.shape
    belief, filtered, score = begin(walk, sessions), [], 0.0
    for t in range(trials):
        p = probability(belief, x[:, t])
        valid = choice[:, t] >= 0
        count = None if counts is None else counts[:, t]
        log = np.log(np.where(choice[:, t] == 1, p, 1 - p))
        score += float((log if count is None else count * log)[valid].sum())
        if around is None:
            filtered.append(learn(belief, x[:, t], choice[:, t], count))
        else:
            filtered.append(learn_around(belief, x[:, t], choice[:, t], around[:, t], count))
        belief = diffuse(filtered[-1], walk)
    mean = np.stack([each.mean for each in filtered])
    covariance = np.stack([each.covariance for each in filtered])
    steps = np.zeros_like(mean[0])
    lengths = (np.arange(trials)[None] * (choice >= 0)).max(1)  # steps after the last choice are not counted
    ahead = np.linalg.inv(covariance + np.diag(walk.step))
    for t in range(trials - 2, -1, -1):
        gain = covariance[t] @ ahead[t]
        after = covariance[t + 1]
        new_mean = mean[t] + np.einsum("sij,sj->si", gain, mean[t + 1] - mean[t])
        new = covariance[t] + gain @ (after - covariance[t] - np.diag(walk.step)) @ gain.transpose(0, 2, 1)
        cross = np.einsum("sij,sji->si", gain, after)  # diagonal of the covariance of neighbours
        square = (mean[t + 1] - new_mean) ** 2 + np.diagonal(after, 0, 1, 2) + np.diagonal(new, 0, 1, 2) - 2 * cross
        steps += np.where((t < lengths)[:, None], square, 0.0)
        mean[t], covariance[t] = new_mean, new
    return Smoothed(mean, covariance, steps, score)


def fit_walk(
    x: FloatArray,
    choice: np.ndarray,
    first: Walk,
    iterations: int = ITERATIONS,
    counts: FloatArray | None = None,
    prior: Walk | None = None,
    limits: WalkLimits = ESTIMATED,
) -> tuple[Walk, Smoothed]:
    """Fit the distribution of drifting weights to sessions; further arguments as in `smooth`.

    Variances follow the sign of the slope of the marginal likelihood in their logarithm (resilient propagation), which
    the smoother gives by Fisher's identity; expectation-maximisation alone needs thousands of iterations for them. A
    weak prior on the logarithm of the steps' variances, around those of the prior, keeps them from falling to zero.

    Args:
        x: predictors.
        choice: choices.
        first: where the search starts.
        iterations: of the search.
        counts: exponents of the likelihoods.
        prior: means of the priors; None for ``first``.
        limits: of the s.d. of a step.
    """
    prior = first if prior is None else prior
    walk, smoothed = first, smooth(first, x, choice, counts=counts)
    best = (smoothed.log_likelihood, walk, smoothed)
    count = (np.arange(x.shape[1])[None] * (choice >= 0)).max(1).sum()
    size, before = np.full(2 * x.shape[2], 0.5), np.zeros(2 * x.shape[2])
    for _ in range(iterations):
        w, v = smoothed.mean[0], np.diagonal(smoothed.covariance[0], 0, 1, 2)
        # a tenth of a session's worth of prior at the start keeps a single session from a variance of zero
        mean = (w.sum(0) + 0.1 * prior.mean) / (len(w) + 0.1)
        square = ((w - mean) ** 2 + v).sum(0) + 0.1 * prior.start
        slope = 0.5 * np.r_[square / walk.start - len(w) - 0.1, smoothed.steps.sum(0) / walk.step - count]
        slope[x.shape[2] :] -= np.log(walk.step / prior.step) / SPREAD**2
        turned = slope * before < 0
        size = np.clip(np.where(turned, 0.5 * size, np.where(before == 0, size, 1.2 * size)), 1e-3, 1.5)
        change = np.where(turned, 0.0, np.sign(slope) * size)
        before = np.where(turned, 0.0, slope)
        start, step = np.maximum(np.exp(np.log(np.r_[walk.start, walk.step]) + change), FLOOR).reshape(2, -1)
        walk = Walk(mean, start, limits.clipped(step))
        smoothed = smooth(walk, x, choice, counts=counts)
        value = smoothed.log_likelihood - 0.5 * float((np.log(walk.step / prior.step) ** 2).sum()) / SPREAD**2
        if value > best[0]:
            best = value, walk, smoothed
        if size.max() < TOLERANCE:
            break
    _, walk, smoothed = best
    score = smoothed.log_likelihood
    for _ in range(SMOOTHING_ROUNDS):
        smoothed = smooth(walk, x, choice, np.einsum("tsk,stk->st", smoothed.mean, x), counts)
    return walk, replace(smoothed, log_likelihood=score)


@dataclass
class DriftingPolicy:
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
        p = probability(state[1], self.features.now(state[0], stimuli))
        return np.stack([1 - p, p], 1)

    def advance(self, state: tuple[FloatArray, Belief], trial: ParallelTrials) -> tuple[FloatArray, Belief]:
        """See `Policy.advance`."""
        x = self.features.now(state[0], trial.stimuli)
        return self.features.after(state[0], trial), diffuse(learn(state[1], x, trial.choice), self.walk)


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

    def _fit(self, problem: Problem) -> Fitted:
        table = problem.table
        features = Features.of(table, self.history)
        x, choice = design(features, problem)
        flat, chosen = x[choice >= 0], choice[choice >= 0]
        scale = np.where(flat.std(0) > 0, flat.std(0), 1.0)
        mean = fit_weights(flat, chosen, 2, np.where(flat.std(0) > 0, 3.0 / scale, 10.0))[0][1]
        first = Walk(mean, (0.5 / scale) ** 2, self.limits.clipped((0.02 / scale) ** 2))
        walk, smoothed = fit_walk(x, choice, first, limits=self.limits)
        means = estimated_weights(flat, chosen, 2, table.interval_groups(table.join("choice") >= 0))
        estimates = dict(zip(features.names, means, strict=True))
        for k, name in enumerate(features.names):
            estimates[f"sigma {name}"] = Estimate(float(np.sqrt(walk.step[k])))
            estimates[f"sigma at start {name}"] = Estimate(float(np.sqrt(walk.start[k])))
        marks = self.limits.marks({f"sigma {name}": walk.step[k] for k, name in enumerate(features.names)})
        return Fitted(
            self.name,
            DriftingPolicy(features, walk),
            estimates,
            smoothed.log_likelihood,
            {
                "weights": smoothed.mean,
                "weights_sd": np.sqrt(np.diagonal(smoothed.covariance, 0, 2, 3)),
                "names": features.names,
                "lengths": [len(each) for each in table.sessions],
            },
            marks,
        )


def design(features: Features, problem: Problem) -> tuple[FloatArray, np.ndarray]:
    """Return predictors (sessions, trials, predictors) and choices (sessions, trials) of all sessions, padded."""
    sessions = problem.table.sessions
    return rectangle(list(map(features.matrix, sessions)), 0.0), rectangle([each.choice for each in sessions], -1)
