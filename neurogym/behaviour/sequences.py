"""Choices after outcomes: stay probabilities of bandits and two-step tasks, and learning over sessions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neurogym.analysis.intervals import mean_interval, members_of, rows_of
from neurogym.analysis.regression import fit_weights
from neurogym.analysis.results import Curve, Estimate, Result
from neurogym.array_types import BoolArray, FloatArray
from neurogym.behaviour.table import Behaviour

FEWEST_PAIRS = 20  #: pairs of trials below which nothing is estimated


@dataclass(frozen=True)
class StayNumbers(Result):
    """Probability of the same choice as in the trial before.

    Attributes:
        after_win: after a reward above the middle of all rewards (or a correct choice).
        after_loss: after another outcome.
        win: meaning of a win.
    """

    after_win: Estimate | None
    after_loss: Estimate | None
    win: str = ""


@dataclass(frozen=True)
class TwoStepNumbers(Result):
    """Numbers of a two-step task (Daw et al. 2011, 10.1016/j.neuron.2011.02.027).

    Attributes:
        common: share of common transitions: of the first choice to the state that mostly follows it.
        common_by_session: share of these transitions in each session.
        stay: probability of the same first choice after common and rare transitions, rewarded and unrewarded.
        regression: weights (logit) on staying of reward, transition and their product, each coded -1 and 1.
    """

    common: Estimate
    common_by_session: Curve
    stay: dict[str, Estimate]
    regression: dict[str, Estimate]


def wins_of(table: Behaviour) -> FloatArray:
    """Return 1 for a win and 0 for another outcome, nan where it is unknown or there was no answer."""
    reward, known = _outcomes(table)
    return np.where(known, (reward > _middle(reward[known])).astype(float), np.nan)


def meaning_of_win(table: Behaviour) -> str:
    """Return which outcomes count as wins, in words."""
    reward, known = _outcomes(table)
    roles = table.roles
    if roles and not {"reward", "gain"} & set(roles):
        return f"a correct choice ({roles.get('correct') or roles.get('ground_truth')})"
    name = roles.get("reward") or "+".join(str(roles[role]) for role in ("gain", "loss") if role in roles) or "reward"
    if len(np.unique(reward[known])) == 2:
        return f"{name} {reward[known].max():g}, not {reward[known].min():g}"
    return f"{name} above {_middle(reward[known]):g}, the middle of its range"


def _outcomes(table: Behaviour) -> tuple[FloatArray, BoolArray]:
    reward = table.join("reward")
    return reward, np.isfinite(reward) & (table.join("choice") >= 0)


def _middle(values: FloatArray) -> float:
    return 0.5 * float(values.min() + values.max()) if values.size else 0.0


def _pairs(table: Behaviour) -> tuple[BoolArray, np.ndarray]:
    """Return which trials follow an answered trial of the same session and are answered, and the staying."""
    choice, session = table.join("choice"), table.session_numbers()
    follows = np.append(False, (session[1:] == session[:-1]) & (choice[1:] >= 0) & (choice[:-1] >= 0))
    return follows, np.append(False, choice[1:] == choice[:-1]).astype(float)


def stay_numbers(table: Behaviour) -> StayNumbers | None:
    """Return the stay probabilities after wins and losses, or None without outcomes."""
    follows, stay = _pairs(table)
    before = np.append(np.nan, wins_of(table)[:-1])
    rows = follows & np.isfinite(before)
    if rows.sum() < FEWEST_PAIRS or len(np.unique(before[rows])) < 2:
        return None
    groups = table.interval_groups(rows)
    win = before[rows] == 1
    after_win, after_loss = (mean_interval(stay[rows], groups, among=mask) for mask in (win, ~win))
    return StayNumbers(after_win, after_loss, meaning_of_win(table))


def two_step_numbers(table: Behaviour) -> TwoStepNumbers | None:
    """Return the numbers of a two-step task, or None without second stages."""
    state, choice = table.join("state"), table.join("choice")
    reached = (state >= 0) & (choice >= 0)
    if reached.sum() < FEWEST_PAIRS or len(table.choices) != 2 or len(np.unique(state[reached])) != 2:
        return None
    session = table.session_numbers()
    same = state == choice
    common = same if same[reached].mean() >= 0.5 else ~same
    shares = [
        mean_interval(common.astype(float), None, among=reached & (session == k)) for k in range(len(table.sessions))
    ]
    counts = np.bincount(session[reached], minlength=len(table.sessions))
    by_session = Curve.estimates(np.arange(1, len(shares) + 1), shares, counts)
    share = mean_interval(common[reached].astype(float), table.interval_groups(reached))
    follows, stay = _pairs(table)
    win = np.append(np.nan, wins_of(table)[:-1])
    rows = follows & np.isfinite(win) & np.append(False, reached[:-1])
    usual = np.append(False, common[:-1])
    groups = table.interval_groups(rows) if rows.any() else None
    probabilities = {}
    for kind, transition in (("common", usual), ("rare", ~usual)):
        for outcome, hit in (("rewarded", 1.0), ("unrewarded", 0.0)):
            among = transition[rows] & (win[rows] == hit)
            if among.any():
                probabilities[f"{kind}, {outcome}"] = mean_interval(stay[rows], groups, among=among)
    regression = _regression(win[rows], usual[rows], stay[rows]) if len(probabilities) == 4 else {}
    return TwoStepNumbers(share, by_session, probabilities, regression)


def _regression(win: FloatArray, common: BoolArray, stay: FloatArray) -> dict[str, Estimate]:
    reward, transition = 2 * win - 1, 2.0 * common - 1
    x = np.stack([np.ones(len(win)), reward, transition, reward * transition], 1)
    if len(np.unique(stay)) < 2:
        return {}
    weights, information = fit_weights(x, stay.astype(int), 2, np.full(4, 10.0))
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    names = ("stay", "reward", "transition", "reward x transition")
    return {name: Estimate.normal(w, se) for name, w, se in zip(names, weights[1], errors, strict=True)}


def learning_curve(table: Behaviour) -> Curve | None:
    """Return accuracy by the number of the session, averaged over subjects; None for one session or without it."""
    import pandas as pd

    correct, choice = table.join("correct"), table.join("choice")
    subjects = pd.Series([each.subject for each in table.sessions])
    numbers = subjects.groupby(subjects).cumcount().to_numpy() + 1
    if numbers.max() < 2 or not np.isfinite(correct).any():
        return None
    number = numbers[table.session_numbers()]
    rows = np.isfinite(correct) & (choice >= 0)
    x = np.unique(number[rows])
    groups = table.session_numbers()[rows] if subjects.nunique() > 1 else None
    means = [mean_interval(correct[rows][part], rows_of(groups, part)) for part in members_of(number[rows])]
    return Curve.estimates(x, means, np.bincount(number[rows])[x])
