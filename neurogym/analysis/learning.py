"""Learning: curves over seeds, reversals, regret in bandits, and the agents that regret is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.intervals import enough_groups, proportion_curve, spread_interval
from neurogym.analysis.results import Curve, Estimate, Result, UndeterminedError, bootstrap, interquartile_mean
from neurogym.array_types import FloatArray


@dataclass(frozen=True)
class LearningCurve(Result):
    """Performance along training, over seeds.

    Attributes:
        mean: mean over seeds, against steps (or trials), with Student's interval from bootstrap draws of seeds.
        iqm: interquartile mean over seeds, with the same kind of interval.
        seeds: the curve of each seed on the common grid, shape (seeds, points).
    """

    mean: Curve
    iqm: Curve
    seeds: FloatArray


@dataclass(frozen=True)
class ReversalCurve(Result):
    """Behaviour around reversals.

    Attributes:
        correct: probability of the choice that is right after the reversal, against the trial relative to it (0 is
            the first trial after it), with Wilson intervals.
        n_reversals: number of reversals.
        trials_to_switch: trials from a reversal to the first of ``streak`` right choices in a row; the mean over
            reversals that got there, with its t interval.
    """

    correct: Curve
    n_reversals: int
    trials_to_switch: Estimate


@dataclass(frozen=True)
class Options(Result):
    """Options of a task whose values have to be learned, trial by trial.

    Attributes:
        names: name of each option.
        chosen: index of the chosen option, shape (trials,); nan where there was no answer.
        expected: expected reward of each option; 1 for the better option and 0 for others where the task does not say
            more, shape (trials, options).
        loss: expected loss against the best option in each trial, shape (trials,).
        in_reward: whether the loss is in units of reward, or 1 for each choice that is not the best.
    """

    names: tuple[str, ...]
    chosen: FloatArray
    expected: FloatArray
    loss: FloatArray
    in_reward: bool

    @property
    def better(self) -> np.ndarray:
        """Index of the option with the highest expected reward in each trial."""
        return self.expected.argmax(axis=1)


def binned_performance(step: ArrayLike, performance: ArrayLike, n_bins: int = 50) -> tuple[FloatArray, FloatArray]:
    """Return the mean performance of equally many trials per bin, and the step at which each bin ends.

    Args:
        step: training step at the end of each trial, shape (trials,).
        performance: shape (trials,); ``nan`` is left out.
        n_bins: number of bins, fewer if there are fewer trials.
    """
    x, y = np.asarray(step, float), np.asarray(performance, float)
    order = np.argsort(x[np.isfinite(y)], kind="stable")
    x, y = x[np.isfinite(y)][order], y[np.isfinite(y)][order]
    bins = np.array_split(np.arange(len(x)), min(n_bins, len(x))) if len(x) else []
    return np.array([x[rows[-1]] for rows in bins]), np.array([y[rows].mean() for rows in bins])


def learning_curve(
    steps: Sequence[ArrayLike],
    scores: Sequence[ArrayLike],
    *,
    grid: ArrayLike | None = None,
    n_points: int = 100,
    n_boot: int = 2000,
    level: float = 0.95,
    seed: int | None = 0,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> LearningCurve:
    """Average learning curves over seeds (Agarwal et al. 2021, arXiv 2108.13264).

    Args:
        steps: increasing training steps of each seed, each of shape (points,).
        scores: performance of each seed at these steps.
        grid: steps to interpolate to; by default ``n_points`` over the range that all seeds cover.
        n_points: length of the default grid.
        n_boot: bootstrap draws, of whole seeds.
        level: coverage of the intervals.
        seed: seed of the bootstrap.
        bounds: smallest and largest possible score, as 0 and 1 of performance; no interval exceeds these.

    Raises:
        ValueError: no seeds, or seeds that share no range of steps.
    """
    if len(steps) == 0 or len(steps) != len(scores):
        raise ValueError(f"learning curves need as many steps as scores, got {len(steps)} and {len(scores)}")
    if grid is None:
        first, last = max(np.min(s) for s in steps), min(np.max(s) for s in steps)
        if last < first:
            raise UndeterminedError("the learning curves share no range of steps")
        grid = np.linspace(first, last, n_points)
    at = np.asarray(grid, float)
    curves = np.stack([np.interp(at, np.asarray(x), np.asarray(y)) for x, y in zip(steps, scores, strict=True)])
    mean, iqm = (
        _over_curves(at, curves, centre, n_boot, level, seed, bounds) for centre in (_mean, interquartile_mean)
    )
    return LearningCurve(mean, iqm, curves)


def _mean(curves: FloatArray) -> FloatArray:
    return np.asarray(curves.mean(axis=0))


def _over_curves(
    x: np.ndarray,
    curves: FloatArray,
    centre: Callable[[FloatArray], FloatArray],
    n_boot: int,
    level: float,
    seed: int | None,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Curve:
    """Return the centre of curves, shape (curves, points), with Student's interval over whole curves.

    A single curve has no interval.
    """
    value = centre(curves)
    low = high = np.full(len(x), np.nan)
    if len(curves) > 1:
        draws = bootstrap(lambda rows: centre(curves[rows]), len(curves), n_boot, seed)
        low, high = spread_interval(value, draws, len(curves), level, bounds)
    return Curve(x, value, low, high, np.full(len(x), len(curves)))


def cumulative_regret(
    choice: ArrayLike,
    probabilities: ArrayLike,
    *,
    session: ArrayLike | None = None,
    n_boot: int = 1000,
    level: float = 0.95,
    seed: int | None = 0,
) -> Curve:
    """Return the expected reward lost against always choosing the best arm, summed along a session.

    Args:
        choice: index of the chosen arm, shape (trials,).
        probabilities: expected reward of each arm on each trial, shape (trials, arms).
        session: session of each trial, shape (trials,); the curve is their mean, cut at the shortest one.
        n_boot: bootstrap draws, of whole sessions.
        level: coverage of the interval; it is ``nan`` for a single session.
        seed: seed of the bootstrap.
    """
    p, arm = np.asarray(probabilities, float), np.asarray(choice).astype(int)
    if p.ndim != 2 or len(p) != len(arm) or (arm.size and not 0 <= arm.min() <= arm.max() < p.shape[1]):
        raise ValueError(f"regret needs probabilities of shape (trials, arms) and arms within them, got {p.shape}")
    loss = p.max(axis=1) - p[np.arange(len(arm)), arm]
    return cumulative_loss(loss, session=session, n_boot=n_boot, level=level, seed=seed)


def cumulative_loss(
    loss: ArrayLike,
    *,
    session: ArrayLike | None = None,
    n_boot: int = 1000,
    level: float = 0.95,
    seed: int | None = 0,
) -> Curve:
    """Return the loss summed along a session, averaged over sessions and cut at the shortest.

    Args:
        loss: of each trial, shape (trials,).
        session: see `cumulative_regret`, as for the other arguments.
        n_boot: bootstrap draws, of whole sessions.
        level: coverage of the interval; it is ``nan`` for a single session.
        seed: seed of the bootstrap.
    """
    lost = np.asarray(loss, float)
    session = np.zeros(len(lost), int) if session is None else np.asarray(session)
    each = [np.cumsum(lost[session == s]) for s in np.unique(session)]
    length = min(map(len, each))
    curves = np.stack([curve[:length] for curve in each])
    return _over_curves(np.arange(1, length + 1), curves, _mean, n_boot, level, seed)


def reversal_curve(
    choice: ArrayLike,
    best: ArrayLike,
    *,
    session: ArrayLike | None = None,
    before: int = 10,
    after: int = 30,
    streak: int = 3,
    level: float = 0.95,
) -> ReversalCurve:
    """Return how choices follow when the best alternative changes.

    Args:
        choice: chosen alternative, shape (trials,).
        best: best alternative of each trial, in the same coding, shape (trials,); where it changes is a reversal.
        session: trials of different sessions do not follow each other, shape (trials,).
        before: trials shown before a reversal.
        after: trials shown after it.
        streak: right choices in a row that count as having switched.
        level: coverage of the intervals.

    Raises:
        ValueError: the best alternative never changes.
    """
    chosen, right = np.asarray(choice, float), np.asarray(best, float)
    session = np.zeros(len(chosen), int) if session is None else np.asarray(session)
    change = np.flatnonzero((right[1:] != right[:-1]) & (session[1:] == session[:-1])) + 1
    if not len(change):
        raise UndeterminedError("the best alternative never changes: no reversal to align to")
    new_session = np.flatnonzero(np.r_[True, session[1:] != session[:-1]])
    ends = np.sort(np.r_[change, new_session, len(chosen)])
    offsets = np.arange(-before, after)
    places, hits, of, switch = [], [], [], []
    for start in change:
        position = np.searchsorted(ends, start)
        trials = np.arange(max(ends[position - 1], start - before), min(ends[position + 1], start + after))
        places.append(trials - start + before)
        hits.append(chosen[trials] == right[start])
        of.append(np.full(len(trials), session[start]))
        block = chosen[start : ends[position + 1]] == right[start]
        runs = np.convolve(block, np.ones(streak), "valid") == streak
        if len(block) >= streak and runs.any():
            switch.append(float(np.argmax(runs)))
    at = np.concatenate(places)
    correct = proportion_curve(offsets, at, np.concatenate(hits), enough_groups(np.concatenate(of)), level)
    return ReversalCurve(correct, len(change), Estimate.mean(np.array(switch), level))


def best_policy(trials: int) -> tuple[list[np.ndarray], float]:
    """The policy with the highest expected reward, by backward induction.

    Returns:
        For each trial whether to take arm 0, by (pulls of arm 0, rewards of arm 0, rewards of arm 1), and the expected
        reward of a session.
    """
    value = np.zeros((trials + 1,) * 3)
    policy = []
    for t in range(trials - 1, -1, -1):
        size = t + 1
        pulls = np.arange(size, dtype=float)[:, None, None]
        wins0 = np.arange(size, dtype=float)[None, :, None]
        wins1 = np.arange(size, dtype=float)[None, None, :]
        mean0 = np.clip((wins0 + 1) / (pulls + 2), 0, 1)
        mean1 = np.clip((wins1 + 1) / (t - pulls + 2), 0, 1)
        take0 = mean0 * (1 + value[1 : size + 1, 1 : size + 1, :size])
        take0 += (1 - mean0) * value[1 : size + 1, :size, :size]
        take1 = mean1 * (1 + value[:size, :size, 1 : size + 1]) + (1 - mean1) * value[:size, :size, :size]
        policy.append(take0 >= take1)
        value[:size, :size, :size] = np.maximum(take0, take1)
    return policy[::-1], float(value[0, 0, 0])


def best_choices(p: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Choices of that policy.

    Args:
        p: Probability of reward of each arm, shape (sessions, 2).
        trials: of a session.
        rng: generator.

    Returns:
        Arms, shape (sessions, trials).
    """
    policy, each = best_policy(trials)[0], np.arange(len(p))
    pulls, wins = np.zeros(len(p), int), np.zeros((len(p), 2), int)
    chosen = np.empty((len(p), trials), int)
    for t in range(trials):
        arm = chosen[:, t] = 1 - policy[t][pulls, wins[:, 0], wins[:, 1]].astype(int)
        wins[each, arm] += rng.random(len(p)) < p[each, arm]
        pulls += arm == 0
    return chosen


def thompson(p: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Choices of Thompson sampling with a uniform prior for each arm (Thompson 1933, 10.1093/biomet/25.3-4.285).

    Args:
        p: Probability of reward of each arm, shape (sessions, arms).
        trials: of a session.
        rng: generator.

    Returns:
        Arms, shape (sessions, trials).
    """
    wins, losses, each = np.ones_like(p), np.ones_like(p), np.arange(len(p))
    chosen = np.empty((len(p), trials), int)
    for t in range(trials):
        arm = chosen[:, t] = rng.beta(wins, losses).argmax(1)
        paid = rng.random(len(p)) < p[each, arm]
        wins[each, arm] += paid
        losses[each, arm] += ~paid
    return chosen
