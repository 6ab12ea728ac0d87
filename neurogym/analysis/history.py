"""Effect of past trials on choices: choice-history regression, win-stay and lose-shift, two-step stay probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.intervals import enough_groups, mean_interval, rows_of
from neurogym.analysis.regression import ChoiceRegression, ratio_estimate, regress_choice
from neurogym.analysis.results import Estimate, Result, UndeterminedError, contrast
from neurogym.array_types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class ChoiceHistory(Result):
    """Choice-history regressions after correct and after error trials.

    Attributes:
        after_correct: weights of the trials that follow a correct one: ``stimulus``, ``win_k`` and ``lose_k`` (side
            of the k-th last choice if it was right or wrong), ``transition_k`` (whether choices k + 1 and k trials
            back repeated or alternated, both correct, as a prediction from the last choice) and
            ``other_transition_k`` (the same where one or both were errors).
        after_error: the same for the trials that follow an error.
        transition_after_correct: summed transition weights after a correct trial.
        transition_after_error: summed transition weights after an error.
        reset_index: 1 - |transition_after_error| / |transition_after_correct|: 0 if an error leaves the transition
            bias as it is, 1 if it abolishes it, as in rats; nan if the bias after a correct trial may be zero.
    """

    after_correct: ChoiceRegression
    after_error: ChoiceRegression
    transition_after_correct: Estimate
    transition_after_error: Estimate
    reset_index: Estimate


@dataclass(frozen=True)
class StayShift(Result):
    """Win-stay and lose-shift.

    Attributes:
        win_stay: probability of repeating a choice that was correct.
        lose_shift: probability of changing a choice that was wrong.
        n_win: trials after a correct one.
        n_lose: trials after an error.
    """

    win_stay: Estimate
    lose_shift: Estimate
    n_win: int
    n_lose: int


def choice_history(
    stimulus: ArrayLike,
    choice: ArrayLike,
    correct: ArrayLike,
    *,
    session: ArrayLike | None = None,
    n_lags: int = 4,
    level: float = 0.95,
    groups: ArrayLike | None = None,
) -> ChoiceHistory:
    """Regress choices on the stimulus, on past choices and on past transitions, after correct and after error trials.

    Hermoso-Mendizabal et al. 2020, 10.1038/s41467-020-14824-w, and Molano-Mazon et al. 2023,
    10.1016/j.cub.2022.12.044 (reset index). The transition into the last trial is not included: together with the last
    choice it is the choice two trials back.

    Args:
        stimulus: signed strength of the evidence, shape (trials,), positive for the second alternative.
        choice: whether the second alternative was chosen, 0 or 1, shape (trials,); ``nan`` where there was no choice.
        correct: 0 or 1, shape (trials,).
        session: trials of different sessions (environments, animals) do not follow each other, shape (trials,).
        n_lags: number of past trials and transitions.
        level: coverage of the intervals.
        groups: session or block of each trial where trials are linked beyond what the regressors say; see
            `regress_choice`.

    Raises:
        ValueError: fewer than two lags (the first transition that differs from a choice has lag 2), or no trials
            after a correct or after an error trial.
    """
    if n_lags < 2:
        raise ValueError(f"a choice-history regression needs at least two lags, got {n_lags}")
    right, won = np.asarray(choice, float), np.asarray(correct, float)
    answered = np.isfinite(right)
    side = np.where(answered, np.where(right > 0.5, 1.0, -1.0), 0.0)
    win = np.where(answered, won > 0.5, False)
    session = np.zeros(len(side), int) if session is None else np.asarray(session)
    columns, last_win, last_lose = _regressors(side, win, session, n_lags)
    columns = {"stimulus": np.asarray(stimulus, float), **columns}

    fits = []
    for name, rows in (("a correct", last_win & answered), ("an error", last_lose & answered)):
        if not rows.any():
            raise UndeterminedError(f"no trial follows {name} trial; the choice-history regression cannot be made")
        varying = {name: column[rows] for name, column in columns.items() if np.ptp(column[rows]) > 0}
        fits.append(regress_choice(varying, right[rows] > 0.5, level=level, groups=rows_of(groups, rows)))
    after_correct, after_error = fits
    sums = [_transition_sum(fit, n_lags) for fit in fits]
    reset = _reset_index(sums[0], sums[1], level)
    return ChoiceHistory(after_correct, after_error, sums[0][0], sums[1][0], reset)


def _reset_index(
    after_correct: tuple[Estimate, FloatArray], after_error: tuple[Estimate, FloatArray], level: float
) -> Estimate:
    """Return the reset index from summed transition weights with draws; nan if that after a correct trial may be 0."""
    sums = [np.r_[estimate.value, draws] for estimate, draws in (after_error, after_correct)]
    ratio = ratio_estimate(sums[0], sums[1], level)
    ends = sorted((abs(ratio.low), abs(ratio.high)))
    nearest = 0.0 if ratio.low < 0 < ratio.high else ends[0]
    return Estimate(1 - abs(ratio.value), 1 - ends[1], 1 - nearest, ratio.se)


def win_stay_lose_shift(
    choice: ArrayLike, correct: ArrayLike, *, session: ArrayLike | None = None, level: float = 0.95
) -> StayShift:
    """Return the probabilities of win-stay and lose-shift, with intervals.

    Args:
        choice: any number of alternatives, shape (trials,); ``nan`` where there was no choice.
        correct: 0 or 1 (correct, or rewarded), shape (trials,).
        session: trials of different sessions do not follow each other, shape (trials,); intervals come from the
            sessions where there are enough of them.
        level: coverage of the intervals.
    """
    chosen, won = np.asarray(choice, float), np.asarray(correct, float) > 0.5
    session, pairs = _answered_pairs(chosen, session)
    stay, after_win, after_lose = chosen[1:] == chosen[:-1], pairs & won[:-1], pairs & ~won[:-1]
    linked = enough_groups(session[1:])
    win_stay = mean_interval(stay, linked, level, among=after_win)
    lose_shift = mean_interval(~stay, linked, level, among=after_lose)
    return StayShift(win_stay, lose_shift, int(after_win.sum()), int(after_lose.sum()))


def reward_history(
    choice: ArrayLike,
    rewarded: ArrayLike,
    *,
    session: ArrayLike | None = None,
    n_lags: int = 5,
    level: float = 0.95,
    groups: ArrayLike | None = None,
) -> ChoiceRegression:
    """Regress choices on past rewards and past choices (Lau & Glimcher 2005, 10.1901/jeab.2005.110-04).

    Args:
        choice: whether the second option was chosen, 0 or 1, shape (trials,); ``nan`` where there was no choice.
        rewarded: whether the trial was rewarded, shape (trials,).
        session: trials of different sessions do not follow each other, shape (trials,).
        n_lags: number of past trials.
        level: coverage of the intervals.
        groups: session or block of each trial where trials are linked; see `regress_choice`.

    Returns:
        ``reward_k`` and ``choice_k``: weight of a reward, and of the choice itself, k trials back, in log odds for the
        option.

    Raises:
        UndeterminedError: if fewer trials are answered than there are weights.
    """
    second = np.asarray(choice, float)
    answered = np.isfinite(second)
    sides = np.where(answered, np.where(second > 0.5, 1.0, -1.0), 0.0)
    session = np.zeros(len(sides), np.int64) if session is None else np.asarray(session)
    lags = range(1, n_lags + 1)
    columns = {f"reward_{k}": _lag(sides * np.asarray(rewarded, bool), session, k) for k in lags}
    columns |= {f"choice_{k}": _lag(sides, session, k) for k in lags}
    if answered.sum() <= len(columns):
        raise UndeterminedError(f"{int(answered.sum())} answered trials are too few for {len(columns)} weights")
    regressors: dict[str, ArrayLike] = {name: column[answered] for name, column in columns.items()}
    return regress_choice(regressors, second[answered], level=level, groups=rows_of(groups, answered))


def _answered_pairs(chosen: FloatArray, session: ArrayLike | None) -> tuple[np.ndarray, BoolArray]:
    """Return the session of each trial, and which trials from the second on have a choice, as has the trial before."""
    session = np.zeros(len(chosen), int) if session is None else np.asarray(session)
    return session, (session[1:] == session[:-1]) & np.isfinite(chosen[1:]) & np.isfinite(chosen[:-1])


def _lag(values: FloatArray, session: IntArray, k: int) -> FloatArray:
    """Return each trial's value ``k`` trials earlier in the session, 0 before the first trial."""
    past = np.zeros(len(values))
    if k < len(values):
        past[k:] = np.where(session[k:] == session[:-k], values[:-k], 0)
    return past


def _regressors(
    side: FloatArray, win: BoolArray, session: IntArray, n_lags: int
) -> tuple[dict[str, FloatArray], BoolArray, BoolArray]:
    """Return the history columns, and which trials follow a correct and which an error trial."""
    before = _lag(side, session, 1)
    repeat = side * before
    both_won = win & (_lag(win.astype(float), session, 1) > 0)
    columns: dict[str, FloatArray] = {}
    for k in range(1, n_lags + 1):
        columns[f"win_{k}"] = _lag(side * win, session, k)
        columns[f"lose_{k}"] = _lag(side * ~win, session, k)
    for k in range(2, n_lags + 1):
        columns[f"transition_{k}"] = before * _lag(repeat * both_won, session, k)
        columns[f"other_transition_{k}"] = before * _lag(repeat * ~both_won, session, k)
    last_win = _lag((win & (side != 0)).astype(float), session, 1) > 0
    return columns, last_win, (before != 0) & ~last_win


def _transition_sum(fit: ChoiceRegression, n_lags: int) -> tuple[Estimate, FloatArray]:
    """Return the summed transition weights with draws; regressors without variation count as zero."""
    names = [f"transition_{k}" for k in range(2, n_lags + 1) if f"transition_{k}" in fit.weights]
    if not names:
        return Estimate(0.0, np.nan, np.nan, np.nan), np.zeros(2000)
    draws = fit.draws(2000)
    total = fit.estimate([name in names for name in fit.weights])
    return total, np.sum([draws[name] for name in names], axis=0)


@dataclass(frozen=True)
class StayProbabilities(Result):
    """Stay probabilities as signs of two kinds of control (Daw et al. 2011, 10.1016/j.neuron.2011.02.027).

    Attributes:
        stay: probability of repeating the first choice after ``rewarded_common``, ``rewarded_rare``,
            ``unrewarded_common`` and ``unrewarded_rare`` trials, with Wilson intervals.
        n: trials behind each.
        model_free: main effect of reward: mean stay probability after reward minus after none.
        model_based: interaction of reward and transition: half of (rewarded common - rewarded rare) - (unrewarded
            common - unrewarded rare).
        regression: logistic regression of staying on ``reward``, ``transition`` (+1 common) and ``interaction``, all
            coded -1 and 1.
    """

    stay: dict[str, Estimate]
    n: dict[str, int]
    model_free: Estimate
    model_based: Estimate
    regression: ChoiceRegression


def two_step(
    choice: ArrayLike, common: ArrayLike, rewarded: ArrayLike, *, session: ArrayLike | None = None, level: float = 0.95
) -> StayProbabilities:
    """Analyse the effect of a trial's reward and transition on the probability of repeating the first choice.

    Args:
        choice: first-stage choice, shape (trials,); ``nan`` where there was none.
        common: whether the transition was the common one, shape (trials,).
        rewarded: whether the trial was rewarded, shape (trials,).
        session: trials of different sessions do not follow each other, shape (trials,); intervals come from the
            sessions where there are enough of them.
        level: coverage of the intervals.

    Raises:
        ValueError: no two answered trials follow each other.
    """
    chosen, was_common = np.asarray(choice, float), np.asarray(common, bool)
    won = np.asarray(rewarded, float) > 0
    session, pairs = _answered_pairs(chosen, session)
    if not pairs.any():
        raise UndeterminedError("stay probabilities need answered trials that follow each other, got none")
    stay = (chosen[1:] == chosen[:-1])[pairs]
    reward, transition = won[:-1][pairs], was_common[:-1][pairs]
    estimates, counts, linked = {}, {}, enough_groups(session[1:][pairs])
    for reward_name, rewarded_rows in (("rewarded", reward), ("unrewarded", ~reward)):
        for transition_name, transition_rows in (("common", transition), ("rare", ~transition)):
            rows, name = rewarded_rows & transition_rows, f"{reward_name}_{transition_name}"
            counts[name] = int(rows.sum())
            estimates[name] = mean_interval(stay, linked, level, among=rows)
    signs = 2.0 * reward - 1, 2.0 * transition - 1
    return StayProbabilities(
        estimates,
        counts,
        contrast(list(estimates.values()), (0.5, 0.5, -0.5, -0.5), level),
        contrast(list(estimates.values()), (0.5, -0.5, -0.5, 0.5), level),
        regress_choice(
            {"reward": signs[0], "transition": signs[1], "interaction": signs[0] * signs[1]},
            stay,
            level=level,
            groups=linked,
        ),
    )
