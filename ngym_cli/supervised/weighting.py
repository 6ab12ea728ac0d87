"""How much each row of a trial counts in the loss.

Most rows of most tasks ask for fixation (91 % in context-dependent decisions), and a network that always fixates is
then nearly right. By default the rows in which an answer is due share half of a trial's weight and all others share the
other half, however long either is; so every trial counts the same, whatever its task.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from neurogym.trials import Trials
from neurogym.utils.names import unknown


def answer_rows(trials: Trials) -> np.ndarray:
    """Whether an answer is due, shape (rows,): the declared answer periods, else everything from the go cue on."""
    _, trial, step = trials.rows()
    periods = getattr(trials.env.rule, "answer", None)
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
        share: Fraction of a trial's weight on the rows in which an answer is due; None weighs all rows alike.
        by_period: Weights per row of named periods, in place of `share`; periods not named weigh 1, and 0 leaves one
            out. Where periods overlap the one named last counts.

    Raises:
        ValueError: If a period is unknown.
    """
    if by_period:
        weights = np.ones(trials.total, np.float32)
        for period, weight in by_period.items():
            if period not in trials.starts:
                raise ValueError(unknown("period", period, trials.starts))
            weights[trials.rows(period).index] = weight
        return weights
    if share is None:
        return np.ones(trials.total, np.float32)
    trial = trials.rows().trial
    used = np.ones(trials.total, bool) if keep is None else keep
    due = answer_rows(trials)
    n_due, n_other = (np.bincount(trial, kind & used, trials.n)[trial] for kind in (due, ~due))
    weights = np.where(due, share / np.maximum(n_due, 1), (1 - share) / np.maximum(n_other, 1))
    return weights.astype(np.float32)
