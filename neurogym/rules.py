"""Declared response rules.

The ordinary rule of a trial (fixate here, answer there, this costs, that pays) is declared, not programmed. It is
compiled into three tables with one row per step and one column per action: what the action earns, what it adds to
performance, and what it means. Stepping a trial, or a thousand, is then a look-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from neurogym.trials.block import Trials
from neurogym.trials.events import ABORT, CORRECT, END, ERROR, MISS, NONE, OUTCOME, OUTCOMES
from neurogym.trials.row_arrays import cells
from neurogym.trials.rows import Tables

__all__ = ["ABORT", "CORRECT", "END", "ERROR", "MISS", "NONE", "OUTCOME", "OUTCOMES", "Rule"]


@dataclass(frozen=True)
class Rule:
    """When to fixate, when to answer.

    * In the ``fixate`` periods any action but ``hold`` earns ``rewards["abort"]`` and ends the trial if the task's
      ``abort`` flag is set.
    * In the ``answer`` periods the first action but ``hold`` ends the trial: if it equals the ground truth of that row
      it earns ``rewards["correct"]`` and performance 1, else ``rewards["fail"]``.
    * A trial that runs out earns ``rewards["miss"]`` if an answer was needed; if the ground truth was to withhold, it
      earns ``rewards["withhold"]`` and performance 1.
    * Everywhere else actions are free. What :meth:`Trials.pay` says takes precedence.

    Attributes:
        fixate: Names of periods, or ``"*"`` for everything outside the answer periods.
        answer: Names of periods; None for the whole trial; empty if nothing is answered at one moment.
        hold: The action that means waiting; None if every action is an answer.
    """

    fixate: tuple[str, ...] | str = ("fixation",)
    answer: tuple[str, ...] | None = ("decision",)
    hold: int | None = 0

    def compile(self, trials: Trials, abort: bool) -> None:
        """Fill the fields ``reward``, ``performance`` and ``event`` of the trials, shape (rows, actions)."""
        tables = Tables(trials.total, int(trials.env.action_space.n), self.hold)
        reward, performance, event = tables.reward, tables.performance, tables.event
        answer, needed = trials.rows(self.answer), np.zeros(trials.n, bool)
        fixate = trials.rows(None if self.fixate == "*" else self.fixate)  # what is answered takes precedence
        tables.respond(fixate, trials.reward("abort"), ABORT | (END if abort else NONE))
        tables.respond(answer, trials.reward("fail"), ERROR | END)
        if trials.has_gt:
            tables.answer(answer, trials.gt, trials.reward("correct"), needed)

        for period, action, pay, score, ends in trials.payments:
            where = trials.rows(period)
            columns = np.atleast_1d(action)
            place = cells(where, columns, reward.shape[1])
            reward[place] = trials.by_row(pay, where, columns=True)
            performance[place] = gained = np.broadcast_to(
                trials.by_row(score, where, columns=True), (len(where.index), len(columns))
            )
            event[place] = np.where(gained >= 0.5, CORRECT, ERROR) | END if ends else NONE

        miss = None if self.answer == () else trials.reward("miss")
        tables.run_out(trials.offset + trials.length - 1, needed, miss, trials.reward("withhold"))
        if np.ndim(trials.bonus) or trials.bonus:
            reward += np.broadcast_to(trials.bonus, (trials.n,))[trials.rows().trial][:, None]
        trials.fields.update(reward=reward, performance=performance, event=event)
        self.set_go(trials)

    def set_go(self, trials: Trials) -> None:
        """Let reaction times count from the answer periods."""
        if trials.go is None and self.answer != ():
            if self.answer is None:
                trials.go, trials.go_period = np.zeros(trials.n, np.int64), "trial"
            else:
                first, *others = (trials.starts[name] for name in self.answer)
                trials.go = reduce(np.minimum, others, first.copy())
                trials.go_period = self.answer[0]
