"""Declared response rules.

The ordinary rule of a trial (fixate here, answer there, rewards and costs) is declared, not programmed. It is
compiled into three tables with one row per step and one column per action: what the action earns, what it adds to
performance, and what it means. Stepping a trial, or a thousand, is then a look-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import inf

import numpy as np

from neurogym.trials.block import Trials
from neurogym.trials.events import ABORT, CORRECT, END, ERROR, MISS, NONE, OUTCOME, OUTCOMES, outcome_of
from neurogym.trials.rows import Rows, Tables, cells

__all__ = ["ABORT", "CORRECT", "END", "ERROR", "MISS", "NONE", "OUTCOME", "OUTCOMES", "Jump", "Rule"]

PAID = ("abort", "fail", "correct", "miss", "withhold")  #: events that rewards are given for


@dataclass(frozen=True)
class Jump:
    """Change of period that an action causes: the next step is the first one of another period.

    Attributes:
        period: Name, or names, of the periods in which the action has this effect.
        to: Name of the period that comes next, before or after this one; the same period begins again. None: the trial
            ends.
        action: The action, or several; None: any action.
        at_end: Whether the effect is limited to the last step of the period.
    """

    period: str | tuple[str, ...]
    to: str | None
    action: int | tuple[int, ...] | None = None
    at_end: bool = False


@dataclass(frozen=True)
class Rule:
    """Response rule of a task: periods of fixation and periods of response.

    * In the ``fixate`` periods any action but ``hold`` earns ``rewards["abort"]`` and ends the trial if the task's
      ``abort`` flag is set.
    * In the ``answer`` periods the first action but ``hold`` ends the trial: if it equals the ground truth of that row
      it earns ``rewards["correct"]`` and performance 1, else ``rewards["fail"]``.
    * A trial that runs out earns ``rewards["miss"]`` if an answer was needed; if the ground truth was to withhold, it
      earns ``rewards["withhold"]`` and performance 1.
    * Everywhere else actions are free. Rewards set with :meth:`Trials.set_action_reward` take precedence.
    * Periods follow each other as laid out, unless a jump is declared: an action then decides which period comes next.
      Later jumps take precedence over earlier ones, and the end of a trial over all.

    Attributes:
        fixate: Names of periods, or ``"*"`` for everything outside the answer periods.
        answer: Names of periods; None for the whole trial; empty if nothing is answered at one moment.
        hold: The action that means waiting; None if every action is an answer.
        jumps: Changes of period that actions cause.
        patience: Longest trial (ms) of a task with jumps: its last step is the last one of the layout.
    """

    fixate: tuple[str, ...] | str = ("fixation",)
    answer: tuple[str, ...] | None = ("decision",)
    hold: int | None = 0
    jumps: tuple[Jump, ...] = ()
    patience: float = inf

    def compile(self, trials: Trials, abort: bool) -> None:
        """Fill the fields ``reward``, ``performance`` and ``event`` of the trials, shape (rows, actions).

        With jumps also ``jump``, shape (rows, actions + 1): how many rows are skipped after each action, below 0 to go
        back; in the last column, how many if the last row of the trial is to come next.
        """
        tables = Tables(trials.total, trials.env.session.accepted_actions, self.hold)
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
            at = cells(where, columns, reward.shape[1])
            reward[at] = trials.by_row(pay, where, columns=True)
            performance[at] = gained = np.broadcast_to(
                trials.by_row(score, where, columns=True), (len(where.index), len(columns))
            )
            over = np.broadcast_to(trials.by_row(ends, where, columns=True), gained.shape)
            event[at] = np.where(over, outcome_of(gained) | END, NONE)

        if self.jumps:
            trials.fields["jump"] = self._skipped(trials, event)
        miss = None if self.answer == () else trials.reward("miss")
        tables.run_out(trials.offset + trials.length - 1, needed, miss, trials.reward("withhold"))
        if np.ndim(trials.bonus) or trials.bonus:
            reward += np.broadcast_to(trials.bonus, (trials.n,))[trials.rows().trial][:, None]
        trials.fields |= {"reward": reward, "performance": performance, "event": event}
        self.set_go(trials)

    def _skipped(self, trials: Trials, event: np.ndarray) -> np.ndarray:
        """Rows that are skipped after each action; where a jump ends the trial, the event says so."""
        every, n_actions = trials.rows(), event.shape[1]
        last = trials.length - 1
        skipped = np.zeros((trials.total, n_actions + 1), np.int64)
        skipped[every.index, n_actions] = last[every.trial] - 1 - every.step
        for jump in self.jumps:
            columns = np.arange(n_actions) if jump.action is None else np.atleast_1d(jump.action)
            if columns.min(initial=0) < 0 or columns.max(initial=0) >= n_actions:
                raise ValueError(f"the actions of a jump must be below {n_actions}, got {jump}")
            target = None if jump.to is None else np.minimum(trials.boundary(trials.starts, jump.to), last)
            for period in (jump.period,) if isinstance(jump.period, str) else jump.period:
                where = trials.rows(period)
                if jump.at_end:
                    where = Rows(*(column[where.step == trials.ends[period][where.trial] - 1] for column in where))
                if target is None:
                    event[cells(where, columns, n_actions)] |= END
                else:
                    skipped[cells(where, columns, n_actions + 1)] = (target[where.trial] - 1 - where.step)[:, None]
        return skipped

    def set_go(self, trials: Trials) -> None:
        """Set the onset of reaction times to the answer periods."""
        if trials.go is None and self.answer != ():
            if self.answer is None:
                trials.go, trials.go_period = np.zeros(trials.n, np.int64), "trial"
            else:
                first, *later = (trials.starts[name] for name in self.answer)
                trials.go = reduce(np.minimum, later, first.copy())
                trials.go_period = self.answer[0]
