"""Declared response rules.

The ordinary rule of a trial (fixate here, answer there, this costs, that pays) is declared, not programmed. It is
compiled into three tables with one row per step and one column per action: what the action earns, what it adds to
performance, and what it means. Stepping a trial, or a thousand, is then a look-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neurogym.trials import Rows, Trials

NONE, CORRECT, ERROR, ABORT, MISS = range(5)
OUTCOMES = np.array(["none", "correct", "error", "abort", "miss"], dtype=object)
END = 8  #: added to an event that ends the trial


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
        actions = int(trials.env.action_space.n)
        rows = trials.rows()
        answer = self._answer_rows(trials)
        fixate = self._fixate_rows(trials, answer)
        earned, meant = np.zeros(trials.total), np.zeros(trials.total, np.uint8)  # by any action but hold
        earned[fixate.index] = trials.reward("abort")[fixate.trial]
        meant[fixate.index] = ABORT | (END if abort else 0)
        earned[answer.index] = trials.reward("fail")[answer.trial]
        meant[answer.index] = ERROR | END
        reward: Any = np.repeat(earned, actions).reshape(-1, actions)
        event: Any = np.repeat(meant, actions).reshape(-1, actions)
        performance = np.zeros((trials.total, actions))
        if self.hold is not None:
            reward[:, self.hold] = event[:, self.hold] = 0

        needed = np.zeros(trials.n, bool)
        if len(answer.index) and trials.has_gt:
            target = trials.gt[answer.index]
            right = np.ones(len(target), bool) if self.hold is None else target != self.hold
            cells: Any = (answer.index[right], target[right])
            reward[cells] = trials.reward("correct")[answer.trial[right]]
            performance[cells] = 1.0
            event[cells] = CORRECT | END
            needed[answer.trial[right]] = True

        for period, action, pay, score, ends in trials.payments:
            where = trials.rows(period)
            columns = np.atleast_1d(action)
            cells = trials._cells(where, columns)
            reward[cells] = trials._spread(pay, where, width=True)
            performance[cells] = gained = np.broadcast_to(
                trials._spread(score, where, width=True), (len(where.index), len(columns))
            )
            event[cells] = np.where(gained >= 0.5, CORRECT, ERROR) | END if ends else NONE

        last = trials.offset + trials.length - 1
        running = event[last] < END
        if self.answer != ():
            timeout = np.where(needed, trials.reward("miss"), trials.reward("withhold"))
            reward[last] += np.where(running, timeout[:, None], 0.0)
            performance[last] += running & ~needed[:, None]
            event[last] = np.where(running, np.where(needed, MISS, CORRECT)[:, None] | END, event[last])
        else:
            event[last] = np.where(running, END, event[last])

        if np.any(trials.bonus):
            reward += np.broadcast_to(trials.bonus, (trials.n,))[rows.trial][:, None]
        trials.fields.update(reward=reward, performance=performance, event=event)
        self._set_go(trials)

    def _answer_rows(self, trials: Trials) -> Rows:
        return trials.rows(self.answer)

    def _fixate_rows(self, trials: Trials, answer: Rows) -> Rows:
        if self.fixate != "*":
            return trials.rows(self.fixate)
        outside = np.ones(trials.total, bool)
        outside[answer.index] = False
        return Rows(*(column[outside] for column in trials.rows()))

    def _set_go(self, trials: Trials) -> None:
        if trials.go is None and self.answer != ():
            if self.answer is None:
                trials.go, trials.go_period = np.zeros(trials.n, np.int64), "trial"
            else:
                trials.go = np.min([trials.starts[name] for name in self.answer], axis=0)
                trials.go_period = self.answer[0]
