"""Training material: trials made in blocks, as seen by an agent that follows the ground truth, and weights of rows.

Most rows of most tasks ask for fixation (91 % in context-dependent decisions), and a network that always fixates is
then nearly right. By default the rows in which an answer is due share half of a trial's weight and all others share the
other half, however long either is; so every trial counts the same, whatever its task. Where the right answer is a
matter of time (produce an interval, detect a signal), the rows in which to wait and those in which to act again share
equally; without that, networks wait for ever.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.core import TrialEnv, TrialWrapper
from neurogym.envs.multi.instructions import index_by_name
from neurogym.messages.names import unknown
from neurogym.rules import Rule
from neurogym.state import capture, restore
from neurogym.stream import Frame, GroundTruthStream
from neurogym.trials import Trials
from neurogym.vector import layers
from ngym_cli.environments.trial_batch import begins, labels
from ngym_cli.errors import option


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


def check_weights(kind: str, weights: Mapping[str, object]) -> None:
    """Refuse weights that are not numbers of at least 0.

    Args:
        kind: word for the weighted things in the message.
        weights: weight by name.

    Raises:
        ValueError: names the first that cannot be used.
    """
    for name, weight in weights.items():
        if not isinstance(weight, Real) or not 0 <= float(weight) < inf:
            raise ValueError(f"the weight of {kind} {name} must be a number and must not be negative, got {weight}")


#: Rows made at a time: many, because a block costs as much as its number of tasks, and at most so many bytes.
ROWS_PER_BLOCK = 16_384
BYTES_PER_BLOCK = 64_000_000
#: Trials made at a time by a task that describes only one.
TRIALS_ONE_BY_ONE = 16

#: From trials and the rows of them that are kept (None: all) to the weight of each row.
Weigh = Callable[[Trials, np.ndarray | None], np.ndarray]


@dataclass(frozen=True)
class TrialBuffer:
    """Rows of consecutive trials.

    Attributes:
        ob: Observations, (rows, ...).
        gt: Ground truth, (rows,) or (rows, components).
        weight: Weight of each row in the loss, float32 (rows,).
        due: Whether an answer is due, bool (rows,).
        begins: Whether a session or block begins, where the state resets with these, bool (rows,).
        length: Rows of each trial, (trials,).
    """

    ob: np.ndarray
    gt: np.ndarray
    weight: np.ndarray
    due: np.ndarray
    begins: np.ndarray
    length: np.ndarray

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.gt)

    @property
    def total_weight(self) -> np.float32:
        """Sum of the weights of all rows.

        Raises:
            FloatingPointError: if it is 0, so that there is nothing to learn from.
        """
        total: np.float32 = self.weight.sum()
        if not total:
            raise FloatingPointError("no step of a batch has a weight above 0; change loss_weight or enlarge batches")
        return total

    def split(self, rows: int, trials: int) -> tuple[TrialBuffer, TrialBuffer]:
        """Split after the given number of rows, which belong to the given number of trials."""
        at = {name: trials if name == "length" else rows for name in vars(self)}
        return (
            TrialBuffer(**{name: column[: at[name]] for name, column in vars(self).items()}),
            TrialBuffer(**{name: column[at[name] :] for name, column in vars(self).items()}),
        )


def join(blocks: list[TrialBuffer]) -> TrialBuffer:
    """Concatenate batches of trials."""
    return (
        blocks[0]
        if len(blocks) == 1
        else TrialBuffer(**{name: np.concatenate([vars(block)[name] for block in blocks]) for name in vars(blocks[0])})
    )


def side_by_side(blocks: list[TrialBuffer]) -> TrialBuffer:
    """The first row of each part, then the second of each, and so on; shorter parts end with rows of zeros."""
    rows = max(map(len, blocks))
    columns = {name: [vars(block)[name] for block in blocks] for name in vars(blocks[0])}
    length = np.concatenate(columns.pop("length"))
    woven = {}
    for name, column in columns.items():
        filled = [
            np.concatenate([block, np.zeros((rows - len(block), *block.shape[1:]), block.dtype)]) for block in column
        ]
        woven[name] = np.stack(filled, 1).reshape(-1, *column[0].shape[1:])
    return TrialBuffer(**woven, length=length)


class TaskDraw:
    """Random choice of the task of each trial, in sessions of several tasks.

    Args:
        names: The tasks.
        weights: Name (or its middle part, "ctxdm1" of "yang19.ctxdm1-v0") to relative frequency; 1 for other tasks.
        per_batch: Draw a single task for a whole batch of trials instead of a task for each trial.

    Raises:
        ValueError: If a name is unknown, or a weight is not a number of at least 0.
    """

    def __init__(self, names: list[str], weights: Mapping[str, float], per_batch: bool):
        check_weights("task", weights)
        index = index_by_name(names)
        shares = np.ones(len(names))
        for name, weight in weights.items():
            if name not in index:
                raise ValueError(unknown("task", name, index))
            shares[index[name]] = weight
        if not shares.sum() > 0:
            raise ValueError("at least one task must have a weight above 0")
        self.names, self.per_batch = np.array(names), per_batch
        self.shares = shares / shares.sum()

    def __call__(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Names for n trials."""
        return self.names[rng.choice(len(self.names), n, p=self.shares)]


class TrialStream:
    """Endless session of an environment in which every action is correct, with the weight of each row.

    Args:
        env: A task with its wrappers; the stream works on a copy of it.
        seed: Of the session.
        weigh: Gives the weight of each row.
        keep_rows: Keep the rows after the answer. If not, a trial ends where the right answer ends it, as in a session;
            what wrappers show (last action, last reward) is only right then.
        draw: Selects the task of each trial, for environments of several tasks.
        block_rows: Rows to make at a time.
        unit: ``"session"`` or ``"block"`` if the state resets with these, else None.

    Raises:
        ValueError: If the task has no ground truth, its trials depend on what the agent does, or `weigh` refuses them.
    """

    def __init__(
        self,
        env: gym.Env,
        seed: int,
        weigh: Weigh,
        keep_rows: bool = True,
        draw: TaskDraw | None = None,
        block_rows: int = ROWS_PER_BLOCK,
        unit: str | None = None,
    ):
        check(env)
        self.env = copy.deepcopy(env)
        self.task: TrialEnv = self.env.unwrapped  # type: ignore[assignment]
        self.weigh, self.draw = weigh, draw
        self._right = GroundTruthStream(self.env, keep_rows)
        self._right.restart(seed)
        self.weigh(self._right.make(1).trials, None)
        self._right.forget()
        self._left: TrialBuffer | None = None
        self._now: np.ndarray | None = None  # the task of the batch at hand, if a batch has only one
        self._block_rows, self._n = block_rows, TRIALS_ONE_BY_ONE
        self._unit = unit
        self._label: tuple[object, ...] | None = None  # session or block of the last trial made

    # -- taking -------------------------------------------------------------------------------------------------------

    def trials(self, rows: int) -> TrialBuffer:
        """Return the next whole trials, as many as fit into `rows`, and at least a single trial."""
        if self.draw is not None and self.draw.per_batch:
            self._left, self._now = None, self.draw(1, self.task.np_random)
        left = self._at_least(rows + 1)
        ends = np.cumsum(left.length)
        n = max(1, int(np.searchsorted(ends, rows, side="right")))
        material, self._left = left.split(int(ends[n - 1]), n)
        return material

    @property
    def begins(self) -> bool:
        """Whether the next row is the first of a session or block."""
        if self._unit is None:
            return False
        self._left = self._at_least(1)
        return bool(self._left.begins[0])

    def rows(self, rows: int) -> TrialBuffer:
        """Return the next rows, regardless of trial boundaries; fewer if a session or block begins before the last.

        `length` is then not meaningful.
        """
        self._left = self._at_least(rows)
        later = np.flatnonzero(self._left.begins[1:rows])
        material, self._left = self._left.split(int(later[0]) + 1 if len(later) else rows, len(self._left.length))
        return material

    def _at_least(self, rows: int) -> TrialBuffer:
        blocks, have = ([], 0) if self._left is None else ([self._left], len(self._left))
        while have < rows:
            blocks.append(self._make())
            have += len(blocks[-1])
        return join(blocks)

    # -- making -------------------------------------------------------------------------------------------------------

    def _make(self) -> TrialBuffer:
        task = self.task
        if not self._right.makes_blocks:
            return join([self._material(self._right.make(1)) for _ in range(TRIALS_ONE_BY_ONE)])
        conditions = {}
        if self.draw is not None:
            conditions["task"] = (
                self.draw(self._n, task.np_random) if self._now is None else np.repeat(self._now, self._n)
            )
        frame = self._right.make(self._n, conditions)
        rows = min(self._block_rows, BYTES_PER_BLOCK // max(1, frame.trials.ob[0].nbytes))
        self._n = max(1, round(rows / max(1.0, float(frame.trials.length.mean()))))
        return self._material(frame)

    def _material(self, frame: Frame) -> TrialBuffer:
        trials, rows = frame.trials, frame.rows
        keep = None
        if len(rows) < trials.total:
            keep = np.zeros(trials.total, bool)
            keep[rows] = True
        weight, due = self.weigh(trials, keep)[rows], answer_rows(trials)[rows]
        return TrialBuffer(frame.ob, frame.gt, weight, due, self._beginnings(frame), frame.length)

    def _beginnings(self, frame: Frame) -> np.ndarray:
        """Whether a session or block begins with each row, bool (rows,)."""
        begin_here = np.zeros(len(frame.rows), bool)
        if self._unit is not None:
            named = labels(frame.trials.info, self._unit, len(frame.length))
            for label, first in zip(named, np.cumsum(frame.length) - frame.length, strict=True):
                begin_here[first] = self._label is not None and begins(self._unit, self._label, label)
                self._label = label
        return begin_here

    # -- continuing ---------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, object]:
        """Everything that the coming trials depend on, as plain data and arrays."""
        left = {} if self._left is None else dict(vars(self._left))
        return {"env": capture(self.env), "left": left, "n": self._n, "label": self._label, **self._right.state()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore the result of :meth:`state`."""
        restore(self.env, state["env"])
        left = {name: np.array(column) for name, column in state["left"].items()}
        self._left, self._n = TrialBuffer(**left) if left else None, int(state["n"])
        label = state["label"]
        self._label = None if label is None else tuple(label)
        self._right.set_state(state)


def check(env: gym.Env) -> None:
    """Refuse tasks that cannot be learned from ground truth.

    Raises:
        ValueError: with the reason in a single line.
    """
    task = env.unwrapped
    name = type(task).__name__
    if not isinstance(task, TrialEnv):
        raise ValueError(f"supervised learning needs a trial-based task; {name} is not one")
    adaptive = [type(w).__name__ for w in task.session.wrappers if w.hooks.follows_agent]
    adaptive += [name] if task.traits.follows_agent else []
    if adaptive:
        raise ValueError(
            f"supervised learning makes trials in advance, but those of {adaptive[0]} depend on the agent; "
            f"{option('--alg recurrent_ppo --set imitation=10')} shows the correct actions while the agent acts"
        )
    stepping = [
        type(layer).__name__ for layer in layers(env) if isinstance(layer, TrialWrapper) and layer.hooks.own_step
    ]
    if stepping:
        raise ValueError(f"supervised learning cannot show what {stepping[0]} shows: it acts on single steps")
