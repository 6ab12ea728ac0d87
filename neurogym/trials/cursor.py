"""Position of a session, and the trials made in advance."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from neurogym.spaces import Action
from neurogym.trials.block import Trials

FIRST_BLOCK, GROWTH = 8, 8  #: trials made ahead after a reset, and how many times more each time thereafter
BLOCK_BYTES = 3 << 19  #: memory for the most that are made ahead, within these limits:
FEWEST_ROWS, MOST_BLOCK_ROWS = 1024, 8192


class Cursor:
    """Position of a session: a block of trials, a trial of the block, and a row of the trial.

    Attributes:
        block: The block; None before there is a trial.
        trial: The trial, counted in the block.
        first: First row of the trial in the block, ``end`` the row after its last.
        row: The row that the agent acts on.
        ob: Observations of the block, shape (rows, ...); ``gt`` its ground truth, None if there is none.
        tables: Events, rewards and performance gains of actions, each (rows, actions); None without a rule.
        jump: Rows that are skipped after each action (see :meth:`neurogym.rules.Rule.compile`); None without jumps.
        skipped: Rows that were skipped in the trial so far; steps that were taken are rows less these.
    """

    def __init__(self) -> None:
        self.leave()

    def leave(self) -> None:
        """Reset the cursor."""
        self.block: Trials | None = None
        self.trial = self.first = self.row = self.end = 0
        self.ob: Any = None
        self.gt: np.ndarray | None = None
        self._alone: Trials | None = None
        self.tables: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self.jump: Any = None
        self.skipped = 0

    def __getstate__(self) -> dict[str, object]:
        """A copy has nothing of other sessions, with which trials may have been made together."""
        if self.block is None or self.block.owners is None:
            return self.__dict__.copy()
        alone = Cursor()
        alone.enter(self.alone(), 0, self.step, self.end - self.first)
        alone.skipped = self.skipped
        return alone.__dict__

    def enter(self, block: Trials, trial: int, step: int = 0, length: int | None = None) -> None:
        """Go to a step of a trial, which ends after ``length`` steps if it was told to end sooner."""
        self.block = block
        fields = block.fields
        self.ob, self.gt = fields["ob"], fields["gt"] if block.has_gt else None
        event = fields.get("event")
        self.tables = None if event is None else (event, fields["reward"], fields["performance"])
        self.jump = fields.get("jump")
        self.go_on(trial)
        self.row += step
        self.end = self.end if length is None else self.first + length

    def go_on(self, trial: int) -> None:
        """Move to the first row of another trial of the same block."""
        block: Trials = self.block  # type: ignore[assignment]
        self.trial, self._alone = trial, None
        self.first = self.row = first = block.offset.item(trial)
        self.end, self.skipped = first + block.length.item(trial), 0

    @property
    def step(self) -> int:
        """Step within the trial."""
        return self.row - self.first

    def jump_from(self, row: int, action: Action, most: float) -> None:
        """Move to the row that follows an action; to the last one before the trial gets longer than ``most`` steps."""
        late = row - self.first - self.skipped + 2 >= most
        skipped = self.jump.item(row, -1 if late else action)
        self.skipped += skipped
        self.row = row + 1 + skipped

    @property
    def at_end(self) -> bool:
        """Whether the row is the last of the trial."""
        return self.row + 1 >= self.end

    def field(self, name: str) -> Any:
        """Value of a per-step field of the block at the current row."""
        return self.block.fields[name][self.row]  # type: ignore[union-attr]

    def alone(self) -> Trials:
        """Current trial as a block of one trial that shares the arrays of the block."""
        if self._alone is None:
            assert self.block is not None
            is_single = self.block.n == 1 and self.block.offset.item(0) == 0
            self._alone = self.block if is_single else self.block.part(self.trial, 1)
        return self._alone


class PrefetchedTrials:
    """Trials of a session that were made in advance: few after a reset, later many at a time.

    Attributes:
        block: The trials; None if there are none.
        next: The next of them.
        before: State of the session before they were made, as plain data (see :mod:`neurogym.state`).
        is_stale: Whether trials that have not begun must be remade.
        size: Number of trials in the next block; ``most`` the most in any block (0: not known yet).
        last_drop: Stands for the last time that those of any session were to be, since a parameter had changed: while
            it is the same object, none has changed.
    """

    last_drop: ClassVar[object] = object()

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Restart with a small number of trials."""
        self.block: Trials | None = None
        self.before: dict[str, Any] | None = None
        self.next, self.size, self.most, self.is_stale = 0, FIRST_BLOCK, 0, False

    def drop(self) -> None:
        """Discard the trials that have not begun; the next block has the same size."""
        self.is_stale, PrefetchedTrials.last_drop = True, object()

    @property
    def is_used_up(self) -> bool:
        """Whether no trial is left."""
        return self.block is None or self.is_stale or self.next >= self.block.n

    def take(self, block: Trials, before: dict[str, Any] | None) -> None:
        """Take the next block, made from a state of the session."""
        self.block, self.before, self.next, self.is_stale = block, before, 0, False
        if not self.most:  # judged once, so that it does not matter which blocks were seen later
            self.most = _trials_that_fit(block)
        self.size = min(GROWTH * self.size, self.most)

    def clear(self) -> None:
        """Discard all trials, so that the next trial begins a new block."""
        self.block = self.before = None
        self.next, self.is_stale = 0, True


def has_trials(env: gym.Env) -> bool:
    """Whether the innermost environment is made of trials."""
    return isinstance(getattr(getattr(env.unwrapped, "session", None), "cursor", None), Cursor)


def _trials_that_fit(block: Trials) -> int:
    """Number of trials like the trials of a block to make in advance."""
    rows = np.clip(BLOCK_BYTES / (block.nbytes / block.total), FEWEST_ROWS, MOST_BLOCK_ROWS)
    return max(1, int(rows * block.n / block.total))
