"""Weight of each row of a trial in the loss.

Most rows of most tasks ask for fixation (91 % in context-dependent decisions), and a network that always fixates is
then nearly right. By default the rows in which an answer is due share half of a trial's weight and all others share the
other half, however long either is; so every trial counts the same, whatever its task. Where the right answer is a
matter of time (produce an interval, detect a signal), the rows in which to wait and those in which to act again share
equally; without that, networks wait for ever.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from neurogym.messages.names import unknown
from neurogym.rules import Rule
from neurogym.trials import Trials


def answer_rows(trials: Trials) -> np.ndarray:
    """Whether an answer is due, bool (rows,): the declared answer periods, else everything from the go cue on."""
    _, trial, step = trials.rows()
    rule: Rule | None = trials.env.rule
    periods = None if rule is None else rule.answer
    due = np.zeros(trials.total, bool)
    if periods:
        due[trials.rows(periods).index] = True
        return due
    return due if trials.go is None else step >= trials.go[trial]


def row_weights(
    trials: Trials,
    keep: np.ndarray | None = None,
    share: float | None = 0.5,
    by_period: Mapping[str, float] | None = None,
) -> np.ndarray:
    """The weight of each row, float32 (rows,).

    Args:
        trials: A block that is ready to be stepped.
        keep: Rows that are used at all, bool (rows,); default all.
        share: Fraction of a trial's weight on the rows in which an answer is due, and of theirs on those in which to
            act, in trials in which it is also right to wait; None weighs all rows alike.
        by_period: Weights per row of named periods, in place of `share`; periods not named weigh 1, and 0 leaves one
            out. Where periods overlap the one named last counts.

    Raises:
        ValueError: If a period is unknown.
    """
    weights = np.ones(trials.total, np.float32)
    if by_period:
        for period, weight in by_period.items():
            if period not in trials.starts:
                raise ValueError(unknown("period", period, trials.starts))
            weights[trials.rows(period).index] = weight
        return weights
    if share is None:
        return weights
    rule: Rule | None = trials.env.rule
    due, hold = answer_rows(trials), None if rule is None else rule.hold
    waiting = trials.gt == hold if hold is not None and trials.gt.ndim == 1 else ~due
    kinds = ~due, due & ~waiting, due & waiting
    trial = trials.rows().trial
    n_other, n_act, n_wait = (
        np.bincount(trial, kind if keep is None else kind & keep, trials.n)[trial] for kind in kinds
    )
    when = (n_act > 0) & (n_wait > 0)
    act = np.where(when, share * share / np.maximum(n_act, 1), share / np.maximum(n_act, 1))
    wait = np.where(when, share * (1 - share) / np.maximum(n_wait, 1), share / np.maximum(n_wait, 1))
    return np.select(kinds, [(1 - share) / np.maximum(n_other, 1), act, wait]).astype(np.float32)
