"""The analyses of behaviour, read from a trial table.

Each function takes a trial table (a mapping of columns, a DataFrame or a pyarrow Table), picks the trials and columns
that the analysis of the same name needs and hands on every further keyword. A table that lacks a column raises
`MissingColumnsError`, which says which one. For one result per condition:

>>> from neurogym.analysis import from_trials, groups
>>> table = {"coh": [6.4, 51.2] * 40, "choice": [1, 2, 1, 1] * 20, "outcome": ["correct"] * 80, "seed": [0] * 80}
>>> fits = [(c, from_trials.psychometric(trials, n_boot=0)) for c, trials in groups(table, "seed")]
>>> fits[0][0]
{'seed': 0}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.analysis import evidence, history, learning, timing, value
from neurogym.analysis.chronometric import ChronometricFit, fit_chronometric
from neurogym.analysis.intervals import clusters
from neurogym.analysis.psychometric import PsychometricFit, fit_psychometric
from neurogym.analysis.regression import ChoiceRegression
from neurogym.analysis.results import Curve, UndeterminedError
from neurogym.analysis.trial_tables import (
    MissingColumnsError,
    TrialData,
    in_sequence,
    is_correct,
    numbers,
    require,
    responded,
    rising_choices,
    select,
    signed_strength,
    two_choices,
)
from neurogym.array_types import BoolArray, FloatArray

Choices = tuple[float, float] | None


def psychometric(
    data: TrialData, strength: str = "coh", choices: Choices = None, signed: str | None = None, **options: Any
) -> PsychometricFit:
    """Fit choices of the second alternative against signed strength; ``model="weibull"`` fits accuracy instead.

    Args:
        data: trial table with ``choice``, ``outcome`` and the strength.
        strength: column with the unsigned strength.
        choices: the two actions, by default those that occur; with ``signed`` last the one that is right where it is
            larger, so that the curve rises.
        signed: column with a strength that has its sign already (a rate, a difference), in place of ``strength``.
        **options: see `fit_psychometric`; the guess rate of a Weibull function is 0.5 unless given.
    """
    if options.get("model") == "weibull":
        table = require(data, "outcome", strength)
        table = select(table, responded(table))
        options = _linked(table, {"guess": 0.5, **options})
        return fit_psychometric(np.abs(numbers(table[strength])), is_correct(table), **options)
    if signed is not None and choices is None:
        choices = rising_choices(data, signed)
    table, second = two_choices(data, choices)
    x = signed_strength(table, second, strength) if signed is None else numbers(require(table, signed)[signed])
    return fit_psychometric(x, second, **_linked(table, options))


def chronometric(data: TrialData, strength: str = "coh", **options: Any) -> ChronometricFit:
    """Fit reaction times and accuracy against strength; see `fit_chronometric`."""
    table = require(data, "outcome", "rt", strength)
    table = select(table, responded(table))
    options = _linked(table, options)
    return fit_chronometric(numbers(table[strength]), numbers(table["rt"]), is_correct(table), **options)


def choice_history(
    data: TrialData, strength: str | None = "coh", choices: Choices = None, **options: object
) -> history.ChoiceHistory:
    """Regress choices on stimulus and history; with ``strength=None`` the stimulus enters as left or right only.

    Trials without an answer stay in the sequence, as uninformative trials; so do answers other than
    ``choices``. These are by default the two that are in play throughout (`Variable_nch` records which are), or that
    occur. Where there are more than two, an error does not tell the side of the stimulus, which then counts as absent.
    """
    table, session = in_sequence(require(data, "choice", "outcome"))
    pair = _pair_in_play(table)
    answered, second = _answers(table, pair if choices is None else choices)
    sign = np.where((second == 1) == is_correct(table), 1.0, -1.0)
    size = np.ones(len(sign)) if strength is None else np.abs(numbers(require(table, strength)[strength]))
    several = pair is None and len(np.unique(numbers(table["choice"])[responded(table)])) > 2
    side_known = answered & (is_correct(table) if several else True)
    return history.choice_history(
        np.where(side_known, sign * size, 0.0), second, is_correct(table), session=session, **_linked(table, options)
    )


def win_stay_lose_shift(data: TrialData, won: str | None = None, **options: Any) -> history.StayShift:
    """Return win-stay and lose-shift; a win is a correct trial, or a positive value in the column ``won``."""
    table, session = in_sequence(require(data, "choice", "outcome", *([won] if won else [])))
    choice = np.where(responded(table), numbers(table["choice"]), np.nan)
    win = numbers(table[won]) > 0 if won else is_correct(table)
    return history.win_stay_lose_shift(choice, win, session=session, **options)


def context_use(
    data: TrialData,
    strengths: tuple[str, str] = ("coh_1", "coh_2"),
    sides: tuple[str, str] = ("ground_truth", "other_choice"),
    choices: Choices = None,
    **options: object,
) -> evidence.ContextUse:
    """Return the weights of relevant and irrelevant evidence.

    Args:
        data: trial table with ``context`` (0 or 1: which source is relevant) and the columns named here.
        strengths: unsigned strength of source 1 and source 2.
        sides: alternative to which the relevant and the irrelevant source point, in one coding.
        choices: the two actions, by default those that occur.
        **options: see `evidence.context_use`.
    """
    table, second = two_choices(require(data, "context", *strengths, *sides), choices)
    relevant = numbers(table["context"]).astype(int)
    towards = np.stack([numbers(table[side]) for side in sides], axis=1)
    sign = np.where(towards == towards.max(), 1.0, -1.0)
    size = np.stack([numbers(table[name]) for name in strengths], axis=1)
    by_source = np.take_along_axis(sign, np.stack([relevant, 1 - relevant], axis=1), axis=1)
    return evidence.context_use(by_source * size, second, relevant, **_linked(table, options))


def cue_combination(
    data: TrialData, choices: Choices = None, signed: str | None = None, **options: Any
) -> evidence.CueCombination:
    """Compare observed and optimal sigma, from unimodal and bimodal trials.

    Args:
        data: trial table with ``coh`` and ``modality``, or with ``coh_1`` and ``coh_2`` of which one is zero on trials
            with a single modality.
        choices: the two actions, by default those that occur.
        signed: column with a strength that has its sign already (a rate), in place of ``coh``.
        **options: see `evidence.cue_combination`.
    """
    table, second = two_choices(data, choices)
    options = _linked(table, options)
    if signed is not None:
        table = require(table, signed, "modality")
        return evidence.cue_combination(numbers(table[signed]), second, table["modality"], **options)
    if "modality" in table:
        return evidence.cue_combination(signed_strength(table, second), second, table["modality"], **options)
    first, another = (np.abs(numbers(require(table, "coh_1", "coh_2")[name])) for name in ("coh_1", "coh_2"))
    modality = np.select([another == 0, first == 0], ["first", "second"], default="both")
    sign = np.where(second == is_correct(table), 1.0, -1.0)
    return evidence.cue_combination(sign * np.maximum(first, another), second, modality, **options)


def cue_weights(data: TrialData, choices: Choices = None, **options: object) -> evidence.CueWeights:
    """Regress choices on the evidence of two modalities: ``coh_1`` and ``coh_2``, or ``coh`` split by ``coh_prop``."""
    table, second = two_choices(data, choices)
    if "coh_1" in table and "coh_2" in table:
        side = np.where(second == is_correct(table), 1.0, -1.0)
        first, another = (side * numbers(table[name]) for name in ("coh_1", "coh_2"))
        return evidence.cue_weights(first, another, second, **_linked(table, options))
    table, second = two_choices(require(data, "coh", "coh_prop"), choices)
    signed, share = signed_strength(table, second), numbers(table["coh_prop"])
    return evidence.cue_weights(signed * share, signed * (1 - share), second, **_linked(table, options))


def wagering(data: TrialData, sure: float = 3, strength: str = "coh", **options: Any) -> value.Wagering:
    """Analyse trials with an occasional sure option: ``wager`` marks trials with the option, ``sure`` is the action."""
    table = require(data, "choice", "outcome", "wager", strength)
    took = numbers(table["choice"]) == sure
    rows = responded(table) | took
    table, took = select(table, rows), took[rows]
    offered = numbers(table["wager"]) > 0
    options = _linked(table, options)
    return value.wagering(numbers(table[strength]), offered, took & offered, is_correct(table), **options)


def indifference_point(
    data: TrialData,
    amounts: tuple[str, str] = ("n_a", "n_b"),
    first: str = "a_first",
    choices: Choices = None,
    **options: object,
) -> value.Indifference:
    """Fit the relative value of goods A and B.

    Args:
        data: trial table with ``choice``, ``outcome`` and the columns named here.
        amounts: offered amount of A and of B.
        first: whether A was the first of the two options.
        choices: the actions that take the first and the second option, by default those that occur.
        **options: see `value.indifference_point`.
    """
    table, second = two_choices(require(data, *amounts, first), choices)
    chose_b = second == (numbers(table[first]) > 0)
    of_a, of_b = (numbers(table[name]) for name in amounts)
    return value.indifference_point(of_a, of_b, chose_b, **_linked(table, options))


def interval_reproduction(
    data: TrialData, target: str = "production", produced: str = "rt", lag: float = 0.0, **options: object
) -> timing.IntervalReproduction:
    """Analyse reproduced intervals.

    Args:
        data: trial table with ``outcome`` and the columns named here, in ms.
        target: the interval to be produced.
        produced: the produced one.
        lag: added to the produced one, ms: what passes from the cue to the moment from which it is counted.
        **options: see `timing.interval_reproduction`.
    """
    table = require(data, "outcome", target, produced)
    table = select(table, responded(table))
    wanted, answered = numbers(table[target]), numbers(table[produced]) + lag
    return timing.interval_reproduction(wanted, answered, **_linked(table, options))


def counted_from_cue(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return trials of produced intervals with ``rt`` (ms) from the cue to start, the onset of the period ``set``.

    Where an interval was measured before, reaction times count from the end of that period.
    """
    lag = numbers(table["period_set"]) if {"period_set", "measure"} <= set(table) else 0.0
    return {**table, "rt": numbers(table["rt"]) + lag}


def two_step(data: TrialData, common: str = "common", won: str = "reward", **options: Any) -> history.StayProbabilities:
    """Return stay probabilities and control indices; a trial without an answer stays in the sequence."""
    table, session = in_sequence(require(data, "choice", "outcome", common, won))
    choice = np.where(responded(table), numbers(table["choice"]), np.nan)
    return history.two_step(choice, numbers(table[common]) > 0, numbers(table[won]) > 0, session=session, **options)


def options(data: TrialData) -> learning.Options:
    """Return the options of a task whose values have to be learned, and the choices among the options.

    Expected rewards are in the columns ``value0``, ``value1``, ... or ``p0``, ``p1``, ...; or of sides in ``p_left``
    and ``p_right``; or the better option is in ``hi_state`` (coded from 0, as choices 1 and 2) or ``better`` (with the
    correct choice in ``ground_truth``).

    Raises:
        MissingColumnsError: if the trials have none of these.
    """
    table = require(data, "choice")
    chosen = numbers(table["choice"])
    if "outcome" in table:
        chosen = np.where(responded(table), chosen, np.nan)
    for prefix in ("value", "p"):
        names = sorted((name for name in table if _numbered(name, prefix)), key=lambda name: int(name[len(prefix) :]))
        if len(names) > 1:
            expected = np.stack([numbers(table[name]) for name in names], axis=1)
            rows = np.arange(len(chosen))[np.isfinite(chosen)]
            loss = expected.max(axis=1)
            loss[rows] -= expected[rows, chosen[rows].astype(int)]
            return learning.Options(tuple(f"option {k + 1}" for k in range(len(names))), chosen, expected, loss, True)
    labels: tuple[str, ...] = ("option 1", "option 2")
    if {"p_left", "p_right"} <= set(table):
        labels, chosen = ("left", "right"), chosen - 1
        expected = np.stack([numbers(table["p_left"]), numbers(table["p_right"])], axis=1)
    elif "hi_state" in table:
        chosen, expected = chosen - 1, np.eye(2)[numbers(table["hi_state"]).astype(int)]
    else:
        if not {"better", "ground_truth"} <= set(table):
            raise MissingColumnsError("the trials do not say which option is better")
        levels, better = np.unique(numbers(table["better"]), return_inverse=True)
        if len(levels) > 2:
            raise ValueError(f"the better of two options takes {len(levels)} values")
        right = numbers(table["choice"]) == numbers(table["ground_truth"])
        chosen, expected = np.where(np.isnan(chosen), np.nan, np.where(right, better, 1 - better)), np.eye(2)[better]
    right_share = numbers(table["performance"]) if "performance" in table else is_correct(table).astype(float)
    return learning.Options(labels, chosen, expected, 1.0 - right_share, False)


def _numbered(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and name[len(prefix) :].isdecimal()


def reward_history(data: TrialData, won: str = "reward", **options_of: Any) -> ChoiceRegression:
    """Return the weights of past rewards and choices of two options; see `history.reward_history`."""
    table, session = in_sequence(require(data, "choice", "outcome", won))
    found = options(table)
    taken = np.unique(found.chosen[np.isfinite(found.chosen)])
    if len(taken) != 2:
        raise UndeterminedError(f"weights of rewards need two options that are chosen, the trials have {len(taken)}")
    second = np.where(np.isnan(found.chosen), np.nan, found.chosen == taken[1])
    return history.reward_history(second, numbers(table[won]) > 0, session=session, **_linked(table, options_of))


def cumulative_regret(data: TrialData, arms: Sequence[str], **options: Any) -> Curve:
    """Return the cumulative regret; ``arms`` names the columns with each arm's expected reward."""
    table, session = in_sequence(require(data, "choice", *arms))
    expected = np.stack([numbers(table[arm]) for arm in arms], axis=1)
    return learning.cumulative_regret(numbers(table["choice"]), expected, session=session, **options)


def changes(data: TrialData, **options_of: Any) -> learning.ReversalCurve:
    """Return the choices around the trials at which another option becomes the better one; see `options`."""
    table, session = in_sequence(data)
    found = options(table)
    return learning.reversal_curve(found.chosen, found.better, session=session, **options_of)


def reversal_curve(data: TrialData, best: str = "best", **options: Any) -> learning.ReversalCurve:
    """Return behaviour around the trials at which the column ``best`` (coded like the choice) changes."""
    table, session = in_sequence(require(data, "choice", best))
    return learning.reversal_curve(numbers(table["choice"]), numbers(table[best]), session=session, **options)


def learning_curve(
    tables: Sequence[TrialData], step: str = "step", score: str = "performance", n_bins: int = 50, **options: Any
) -> learning.LearningCurve:
    """Return the learning curve over runs, with a trial table for each run."""
    curves = [
        learning.binned_performance(numbers(t[step]), numbers(t[score]), n_bins)
        for t in (require(data, step, score) for data in tables)
    ]
    if score == "performance":
        options = {"bounds": (0.0, 1.0), **options}
    return learning.learning_curve([steps for steps, _ in curves], [scores for _, scores in curves], **options)


def _pair_in_play(table: Mapping[str, np.ndarray]) -> Choices:
    """Return the two choices available in all trials, if recorded, else None."""
    values = np.unique(np.asarray(table.get("variable_nch_choices", []), dtype=str))
    pair = values[0].split("-") if len(values) == 1 else []
    return (float(pair[0]), float(pair[1])) if len(pair) == 2 else None


def _linked(table: Mapping[str, np.ndarray], options: dict[str, object]) -> dict[str, Any]:
    """Return the options with the sessions or blocks that intervals come from where trials are linked."""
    return {"groups": clusters(table), **options}


def _answers(table: Mapping[str, np.ndarray], choices: Choices) -> tuple[BoolArray, FloatArray]:
    """Return the answered trials with either of two choices, and the choices coded as 0, 1 or ``nan``."""
    chosen = numbers(table["choice"])
    result = np.unique(chosen[responded(table)]) if choices is None else np.asarray(choices)
    if len(result) != 2:
        raise UndeterminedError(f"a choice history needs two choices, the trials hold {result.tolist()}")
    answered = responded(table) & np.isin(chosen, result)
    return answered, np.where(answered, (chosen == result[1]).astype(float), np.nan)
