"""Summary measures of a task: each task declares measures, which evaluations report first.

A task declares ``metadata["measures"] = ("detection",)``, names in `MEASURES`. Each function takes the trial table of
an evaluation and returns a few `Measure`; trials without the necessary columns give none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from neurogym.analysis import from_trials
from neurogym.analysis.intervals import clusters, mean_interval
from neurogym.analysis.outcomes import d_prime
from neurogym.analysis.results import Estimate, UndeterminedError
from neurogym.analysis.trial_tables import (
    MissingColumnsError,
    TrialData,
    as_table,
    in_sequence,
    n_trials,
    numbers,
    require,
    responded,
    select,
)
from neurogym.array_types import BoolArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Measure(Estimate):
    """Summary measure of behaviour in a task: an estimate, with a 95 % interval where one is known.

    Attributes:
        id: name, as in ``weber_fraction``.
        label: what it is called in print.
        unit: "" for numbers and proportions.
        of: trials behind it.
    """

    id: str
    label: str
    unit: str = ""
    of: int = 0


def measures(names: Iterable[str], data: TrialData, sure: int = 3) -> list[Measure]:
    """Compute the named measures from trials.

    Args:
        names: names in `MEASURES`, as a task declares them.
        data: trial table of an evaluation.
        sure: the action that takes the sure option, where there is one.
    """
    functions: dict[str, Callable[[TrialData], list[Measure]]] = {**MEASURES, "wagering": partial(wagering, sure=sure)}
    rows: list[Measure] = []
    for name in names:
        try:
            rows += [each for each in functions[name](data) if np.isfinite(each.value)]
        except (MissingColumnsError, ValueError):
            continue  # too few trials, one choice only, or a column that this variant of the task does not have
    return rows


def _from(id_: str, label: str, estimate: Estimate, of: int, unit: str = "") -> Measure:
    return Measure(**vars(estimate), id=id_, label=label, unit=unit, of=int(of))


def _proportion(id_: str, label: str, rows: BoolArray, among: BoolArray, linked: IntArray | None) -> Measure:
    estimate = mean_interval(rows, linked, among=among)
    return _from(id_, label, estimate, int(among.sum()))


def psychometric(data: TrialData) -> list[Measure]:
    """Return point of subjective equality, slope and lapses of choices against signed strength."""
    fit = from_trials.psychometric(data, n_boot=0)
    lapses = fit.guess.value + fit.lapse.value
    return [
        _from("pse", "PSE", fit.threshold, fit.n, "%"),
        _from("slope", "slope", fit.slope, fit.n, "per %"),
        Measure(lapses, id="lapses", label="lapses", of=fit.n),
    ]


def reaction(data: TrialData) -> list[Measure]:
    """Return the mean reaction time, and how much faster the strongest stimuli are answered than the weakest."""
    table = require(data, "outcome", "rt", "coh")
    rt = numbers(table["rt"])
    rows = responded(table) & np.isfinite(rt)
    rt, strength, linked = rt[rows], np.abs(numbers(table["coh"])[rows]), clusters(select(table, rows))

    def mean(among: BoolArray) -> Estimate:
        return mean_interval(rt, linked, bounded=False, among=among)

    at_weakest, at_strongest = strength == strength.min(), strength == strength.max()
    weak, strong = mean(at_weakest), mean(at_strongest)
    difference = Estimate.normal(weak.value - strong.value, float(np.hypot(weak.se, strong.se)))
    return [
        _from("reaction_time", "mean reaction time", mean(np.ones(len(rt), bool)), len(rt), "ms"),
        _from("speed_up", "faster when strong", difference, int((at_weakest | at_strongest).sum()), "ms"),
    ]


def detection(data: TrialData) -> list[Measure]:
    """Return hits, false alarms and d' of tasks in which 1 is to respond and 0 to withhold."""
    table = require(data, "ground_truth", "choice", "outcome")
    table = select(table, table["outcome"].astype(str) != "abort")
    due = numbers(table["ground_truth"]) > 0
    acted = (numbers(table["choice"]) > 0) & (~due | (table["outcome"].astype(str) == "correct"))
    if not due.any() or due.all():
        raise UndeterminedError("hits and false alarms need trials of both kinds")
    prime = d_prime((acted & due).sum(), due.sum(), (acted & ~due).sum(), (~due).sum())
    linked = clusters(table)
    return [
        _proportion("hits", "hits", acted, due, linked),
        _proportion("false_alarms", "false alarms", acted, ~due, linked),
        Measure(prime, id="d_prime", label="d'", of=len(due)),
    ]


def interval(data: TrialData) -> list[Measure]:
    """Return slope, bias and Weber fraction of produced against target intervals.

    Where several gains are cued, each has its own.
    """
    table = from_trials.counted_from_cue(require(data, "production", "rt", "outcome"))
    gains = np.unique(numbers(table["gain"])) if "gain" in table else np.zeros(0)
    if len(gains) < 2:
        return _reproduction(table)
    pieces = {f"{gain:g}": select(table, numbers(table["gain"]) == gain) for gain in gains}
    return [
        replace(each, id=f"{each.id}_{gain}", label=f"{each.label} at gain {gain}")
        for gain, piece in pieces.items()
        for each in _reproduction(piece)
    ]


def _reproduction(table: Mapping[str, np.ndarray]) -> list[Measure]:
    if len(np.unique(numbers(table["production"]))) < 2:
        raise UndeterminedError("the slope of reproduction needs two intervals")
    fit = from_trials.interval_reproduction(table, n_boot=200)
    n = int(fit.produced.n.sum())
    return [
        _from("slope", "slope", fit.slope, n),
        _from("bias", "bias", fit.bias, n, "ms"),
        _from("weber_fraction", "Weber fraction", fit.weber_fraction, n),
    ]


def wagering(data: TrialData, sure: int = 3) -> list[Measure]:
    """Return the probability of the sure option, and the gain in accuracy when the option is waived."""
    result = from_trials.wagering(data, sure=sure, n_boot=200)
    n = int(result.sure.n.sum())
    return [
        _from("sure", "P(sure)", result.p_sure, n),
        _from("advantage", "accuracy gained by waiving", result.advantage, n),
    ]


def two_step(data: TrialData) -> list[Measure]:
    """Return the probabilities of staying after each kind of trial, and the index of model-based control."""
    result = from_trials.two_step(data)
    words = {name: name.replace("_", ", ") for name in result.stay}
    stays = [
        _from(f"stay_{name}", f"P(stay) {words[name]}", estimate, result.n[name])
        for name, estimate in result.stay.items()
    ]
    return [*stays, _from("model_based", "model-based index", result.model_based, sum(result.n.values()))]


def bandit(data: TrialData) -> list[Measure]:
    """Return the expected reward lost per trial against always taking the best arm, and how often that was taken.

    The expected reward of arm k is in the column ``value{k}``, or its probability in ``p{k}``.
    """
    table, session = in_sequence(data)
    found = from_trials.options(table)
    if not found.in_reward:
        raise MissingColumnsError("the trial table has no column with the expected reward of each arm (value0 or p0)")
    regret = np.array([found.loss[session == each].mean() for each in np.unique(session)])
    each = Estimate.mean(regret) if len(regret) > 1 else Estimate(float(regret[0]), np.nan, np.nan, np.nan)
    return [
        _from("regret", "regret per trial", each, len(found.loss)),
        _proportion("best_arm", "P(best arm)", found.loss <= 1e-12, np.ones(len(found.loss), bool), clusters(table)),
    ]


def switching(data: TrialData) -> list[Measure]:
    """Return how often the better option is chosen, and win-stay and lose-shift by reward."""
    table = require(data, "choice", "outcome", "ground_truth", "reward")
    right = numbers(table["choice"]) == numbers(table["ground_truth"])
    result = from_trials.win_stay_lose_shift(data, won="reward")
    return [
        _proportion("better", "P(better option)", right, responded(table), clusters(table)),
        _from("win_stay", "win-stay", result.win_stay, result.n_win),
        _from("lose_shift", "lose-shift", result.lose_shift, result.n_lose),
    ]


def indifference(data: TrialData) -> list[Measure]:
    """Return the relative value of A in units of B."""
    result = from_trials.indifference_point(data, n_boot=200)
    return [_from("relative_value", "value of A in B", result.relative_value, n_trials(as_table(data)))]


def context(data: TrialData) -> list[Measure]:
    """Return the weights of relevant and of irrelevant evidence on the choice."""
    result = from_trials.context_use(data)
    rows = n_trials(as_table(data))
    return [
        _from("relevant", "weight of relevant evidence", result.relevant, rows),
        _from("irrelevant", "weight of irrelevant evidence", result.irrelevant, rows),
    ]


def cue_combination(data: TrialData) -> list[Measure]:
    """Return the precision for each modality and for both together, compared with the optimal combination.

    Precision is the standard deviation of a cumulative Gaussian without lapses; the choice is that of the higher rate.
    """
    if "rate" in (table := require(data, "modality", "choice", "outcome")):
        result = from_trials.cue_combination(table, choices=(2, 1), signed="rate", lapse=0.0, n_boot=200)
    else:
        result = from_trials.cue_combination(table, lapse=0.0, n_boot=200)
    rows = n_trials(as_table(data))
    return [
        *(_from(f"sigma_{name}", f"sigma, {name}", each, result.fits[name].n) for name, each in result.sigma.items()),
        _from("optimal_sigma", "sigma that single modalities allow", result.optimal_sigma, rows),
        _from("sigma_ratio", "sigma of both over that", result.ratio, rows),
    ]


def history(data: TrialData) -> list[Measure]:
    """Return the weight of past transitions after correct and after error trials, and the reset after errors."""
    strength = "coh" if "coh" in require(data, "choice", "outcome") else None
    result = from_trials.choice_history(data, strength)
    correct, error = result.after_correct.n, result.after_error.n
    return [
        _from("after_correct", "weight of transitions after correct", result.transition_after_correct, correct),
        _from("after_error", "weight of transitions after errors", result.transition_after_error, error),
        _from("reset_index", "reset index", result.reset_index, correct + error),
    ]


#: What a task can declare.
MEASURES: dict[str, Callable[[TrialData], list[Measure]]] = {
    "psychometric": psychometric,
    "reaction": reaction,
    "detection": detection,
    "interval": interval,
    "wagering": wagering,
    "two_step": two_step,
    "bandit": bandit,
    "switching": switching,
    "indifference": indifference,
    "context": context,
    "cue_combination": cue_combination,
    "history": history,
}
