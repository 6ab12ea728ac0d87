"""Ideal observers of stimuli on rings of noisy units: which of two is the stronger, and whether two match."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray
from neurogym.core import TrialEnv
from neurogym.envs.psychophysics import bump, exact_ceiling, steps_of
from neurogym.scores import Score

TRIALS, CHUNK, MOST = 8000, 200, 60_000  #: simulated trials, those of them at a time, and states of a trial at most
EQUAL, NOTICED = 1e-5, 0.02  #: evidence that counts as none; noise that changes nothing, as a share of the evidence
METHOD = "exact posterior over directions and strengths, simulated"
BestPosterior = Callable[[np.random.Generator, tuple[int, ...], int], FloatArray]


def simulated(env: TrialEnv, periods: tuple[str, ...], best: BestPosterior) -> Score:
    """Ceiling of a task from the posterior of the best answer in simulated trials.

    Args:
        env: The task; gives durations and rewards.
        periods: Those that show stimuli.
        best: Takes a generator, the number of steps of each period and of trials; returns the posterior probability of
            the best answer in each trial.
    """
    rng = np.random.default_rng(0)
    kinds, counts = np.unique(np.stack([steps_of(env, name) for name in periods]), axis=1, return_counts=True)
    n = np.maximum(TRIALS * counts // counts.sum(), 1)
    values = [
        np.concatenate([best(rng, tuple(steps), min(CHUNK, total - k)) for k in range(0, total, CHUNK)])
        for steps, total in zip(kinds.T.tolist(), n.tolist(), strict=True)
    ]
    mean = float(counts @ [each.mean() for each in values] / counts.sum())
    everything = np.concatenate(values)
    error = float(everything.std() / np.sqrt(len(everything)))
    return {**exact_ceiling(env, mean, METHOD), "error": error, "method": METHOD}


def stronger(
    theta: FloatArray, strengths: FloatArray, evidence: FloatArray, drawn: BoolArray, sigma: float
) -> BestPosterior | None:
    """Observer who responds towards the stronger of two different directions, each shown on one ring or on both.

    Args:
        theta: Directions, and preferred directions of the units (rad), shape (units,).
        strengths: Equally likely strengths of both directions on a ring, shape (values, 2).
        evidence: How much stronger the first direction is in what is judged, with each strength on the first and the
            second ring, shape (values, values); with a single ring (values, 1).
        drawn: Whether the combination of strengths is drawn, in the shape of ``evidence``.
        sigma: Noise s.d. of a unit in a step; less than can be told from the least evidence counts as that.

    Returns:
        Takes the steps of one period with both, or of a period for each; None if there are too many possible trials.
    """
    pairs, tuning = np.array(list(permutations(range(len(theta)), 2))), bump(theta, theta, np.ones(len(theta)))
    overlap, combinations = tuning @ tuning.T, np.argwhere(drawn)
    if len(pairs) * len(strengths) > MOST:
        return None
    tie = np.abs(evidence) < EQUAL
    first = np.where(tie, 0.5, evidence > 0) * drawn
    sigma = max(sigma, NOTICED * float(np.abs(evidence)[~tie].min(initial=1.0)))
    is_first = np.eye(len(theta))[pairs]  # shape (pairs, 2, directions)

    def likelihood(rng: np.random.Generator, steps: tuple[int, ...], pair: IntArray, level: FloatArray) -> FloatArray:
        """Likelihood of one ring in each trial, shape (trials, pairs, values)."""
        log = np.zeros((len(pair), len(pairs), len(strengths)))
        for stage, count in enumerate(steps):
            shown = (0, 1) if len(steps) == 1 else (stage,)
            mean = sum(level[:, k, None] * tuning[pair[:, k]] for k in shown)
            total = count * mean + sigma * np.sqrt(count) * rng.standard_normal((len(pair), len(theta)))
            for k in shown:
                log += (total @ tuning.T)[:, pairs[:, k], None] * strengths[:, k]
                for other in shown:
                    square = overlap[pairs[:, k], pairs[:, other], None] * strengths[:, k] * strengths[:, other]
                    log -= 0.5 * count * square
        return np.asarray(np.exp((log - log.max(axis=(1, 2), keepdims=True)) / sigma**2))

    def best(rng: np.random.Generator, steps: tuple[int, ...], n: int) -> FloatArray:
        pair, chosen = pairs[rng.integers(len(pairs), size=n)], combinations[rng.integers(len(combinations), size=n)]
        one = likelihood(rng, steps, pair, strengths[chosen[:, 0]])
        other = likelihood(rng, steps, pair, strengths[chosen[:, 1]]) if evidence.shape[1] > 1 else np.ones((1, 1, 1))
        favoured, unfavoured = (((one @ weight) * other).sum(axis=2) for weight in (first, drawn - first))
        answers = favoured @ is_first[:, 0] + unfavoured @ is_first[:, 1]
        return np.asarray(answers.max(axis=1) / answers.sum(axis=1))

    return best


def matching(theta: FloatArray, category: bool, match_is_answered: bool, sigma: float) -> BestPosterior:
    """Observer who responds towards a test that matches the sample, or that does not, and withholds otherwise.

    Args:
        theta: Directions, and preferred directions of the units (rad), shape (units,).
        category: Whether halves of the circle are compared; otherwise the test equals the sample or is opposite.
        match_is_answered: Whether the response goes to matching tests.
        sigma: Noise s.d. of a unit in a step.

    Returns:
        Takes the steps of sample and test.
    """
    n_directions, tuning = len(theta), bump(theta, theta, np.ones(len(theta)))
    place, half = np.arange(n_directions), n_directions // 2
    same = place[:, None] // half == place // half if category else place[:, None] == place
    drawn = np.ones_like(same) if category else same | ((place[:, None] + half) % n_directions == place)
    answered = same == match_is_answered

    def best(rng: np.random.Generator, steps: tuple[int, ...], n: int) -> FloatArray:
        sample, test = np.argwhere(drawn)[rng.integers(drawn.sum(), size=n)].T
        like = []
        for shown, count in zip((sample, test), steps, strict=True):
            total = count * tuning[shown] + sigma * np.sqrt(count) * rng.standard_normal((n, n_directions))
            log = total @ tuning.T / sigma**2
            like.append(np.exp(log - log.max(axis=1, keepdims=True)))
        joint = like[0][:, :, None] * like[1][:, None] * drawn
        joint /= joint.sum(axis=(1, 2), keepdims=True)
        withheld = (joint * ~answered).sum(axis=(1, 2))
        return np.maximum((joint * answered).sum(axis=1).max(axis=1), withheld)

    return best
