"""Ground truth that depends on the ground truth of the trial before."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import permutations, product
from typing import Annotated, Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from neurogym.ceilings.effects import Effect, unknown
from neurogym.ceilings.processes import BlockProcess
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Range
from neurogym.trials import Info, Trials
from neurogym.wrappers import transitions
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.sampling import BlockClock, choices_of, probability_rows, restrict

ERROR_RULES = ("reset",)
MAX_CHOICES = 3  #: for which all random contexts can be listed
UpToThree = Annotated[int, Range(1, 3, whole=True)]


class TrialHistory(TrialWrapper):
    """Draw the ground truth from a Markov chain whose transition matrix changes from block to block.

    The trial's record has the index of its block as ``trial_history_block`` (a label for random contexts) and the
    matrix as ``probs``. The history is that of the right choices, not of the agent's.

    Args:
        env: A task with choices.
        probs: Probability of the preferred transition, or one transition matrix (choices, choices), or one per block
            (blocks, choices, choices); row: last ground truth, column: next.
        block_dur: Trials in a block, ``(low, high)``, or a probability; see :class:`SideBias`. None: one endless block.
        num_blocks: With a number as ``probs``: 1 repeating, 2 ascending and repeating, 3 also descending.
        blk_ch_prob: Probability that a block ends at a trial, in place of ``block_dur``.
        rand_blcks: With a number as ``probs``: every block has a random context.
        balanced_probs: Whether a random context prefers each choice equally often.
        contexts: Names of contexts in place of ``num_blocks``: ``repeating``, ``alternating``, ``ascending``,
            ``descending``.
        after_error: What follows a trial that was not correct: None: nothing special; ``"reset"``: block and last
            choice are drawn again; or ``probs`` that hold after errors.

    Attributes:
        curr_block: Block of the current trial.
        drawn: Block, matrix and generation of each trial made last.

    Raises:
        AttributeError: If the task has no choices.
        ValueError: If a matrix or duration is malformed or a context unknown.
    """

    metadata = WrapperInfo(
        doi="10.1038/s41467-020-14824-w",
        order="inside variable_nch and schedule_attr; no other wrapper that decides the ground truth",
        measures=("history",),
    )
    hooks = Hooks(changes=("conditions", "record"), history_dependent=True, follows_agent=True)
    state: ClassVar[tuple[str, ...]] = ("prev", "drawn", "_erred", "_active", "_clock", "_block", "_matrix")
    accepts = ("probs", "sel_chs")
    decides = ("ground_truth",)
    generation = 0
    _key = "trial_history"

    def __init__(
        self,
        env: gym.Env,
        probs: Any = 0.8,
        block_dur: Any = 200,
        num_blocks: UpToThree = 2,
        blk_ch_prob: float | None = None,
        rand_blcks: bool = False,
        balanced_probs: bool = True,
        contexts: Sequence[str] | str | None = None,
        after_error: ArrayLike | None = None,
    ):
        self.choices = choices_of(env, type(self).__name__)
        self.n_ch = len(self.choices)
        named = [("repeating",), ("ascending", "repeating"), ("ascending", "repeating", "descending")][num_blocks - 1]
        if contexts is not None:
            named = (contexts,) if isinstance(contexts, str) else tuple(contexts)
        self.probs, self.rand_blcks, self.balanced_probs = probs, rand_blcks, balanced_probs
        if rand_blcks and np.ndim(probs) != 0:
            raise ValueError("rand_blcks needs one number as probs, the probability of the preferred transition")
        self.tr_mats = transitions.matrices(probs, self.n_ch, named)
        self.after_error = after_error
        self.hooks = self.hooks.replace(follows_agent=after_error is not None)
        self._error_mats = None
        if isinstance(after_error, str) and after_error not in ERROR_RULES:
            raise ValueError(f"after_error must be 'reset', None or transition probabilities, got {after_error!r}")
        if after_error is not None and not isinstance(after_error, str):
            self._error_mats = transitions.matrices(after_error, self.n_ch, named)
        duration = block_dur if blk_ch_prob is None else blk_ch_prob
        self.block_dur = duration
        self._clock = None if duration is None else BlockClock(duration)
        self._active: Any = None
        super().__init__(env)
        self.start_session()

    @property
    def curr_block(self) -> Any:
        """Block of the current trial."""
        return self.task.trial.get(f"{self._key}_block", self._block)

    def effect_on_ceiling(self) -> Effect:
        """Effect of blocks with known transitions, in fixed or random order."""
        if self.after_error is not None:
            return unknown("what comes next depends on the agent's errors")
        matrices, clock = self.tr_mats, self._clock
        if self.rand_blcks:
            if self.n_ch > MAX_CHOICES:
                return unknown(f"random contexts are followed for up to {MAX_CHOICES} choices")
            targets = (
                permutations(range(self.n_ch)) if self.balanced_probs else product(range(self.n_ch), repeat=self.n_ch)
            )
            matrices = np.stack([transitions.preferring(np.array(each), float(self.probs)) for each in targets])
        n = len(matrices)
        following = np.full((n, n), 1 / n) if self.rand_blcks else np.roll(np.eye(n), 1, axis=1)
        if clock is None:  # the first block has no end
            return Effect("ground truth", process=BlockProcess(matrices, np.eye(n), hazard=0.0 if n == 1 else 1e-12))
        return Effect("ground truth", process=BlockProcess(matrices, following, *clock.lengths))

    def trial_ended(self, info: Info) -> None:
        """Note whether the trial was an error."""
        self._erred = info["outcome"] != "correct"

    def start_session(self) -> None:
        """Begin a block, and a history, at random."""
        rng = self.task.np_random
        self._active, self._erred = None, False
        self.prev = int(rng.integers(self.n_ch))
        if self._clock is not None:
            self._clock.start(rng)
        self._first_block()

    # -- blocks -------------------------------------------------------------------------------------------------------

    def _first_block(self) -> None:
        self._block: Any = int(self.task.np_random.integers(len(self.tr_mats)))
        self._matrix = self.tr_mats[self._block]
        if self.rand_blcks:
            self._next_block()

    def _next_block(self) -> None:
        """Set ``_block`` and ``_matrix`` to the next block: the following block, or a random context."""
        if self.rand_blcks:
            targets = transitions.random_targets(self.task.np_random, self.n_ch, self.balanced_probs)
            self._block, self._matrix = transitions.label(targets), transitions.preferring(targets, float(self.probs))
        else:
            self._block = (self._block + 1) % len(self.tr_mats)
            self._matrix = self.tr_mats[self._block]

    def _after_error(self) -> np.ndarray | None:
        """The matrix that holds if the last trial was an error; a reset happens here."""
        if self.after_error is None or not self._erred:
            return None
        if self.after_error == "reset":
            self._first_block()
            self.prev = int(self.task.np_random.integers(self.n_ch))
            return None
        assert self._error_mats is not None
        return self._error_mats[min(self._block, len(self._error_mats) - 1)]

    # -- hooks --------------------------------------------------------------------------------------------------------

    def plan(self, n: int, conditions: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Draw blocks and ground truth."""
        rng = self.task.np_random
        rest = {name: value for name, value in conditions.items() if name != "probs"}
        requested = probability_rows(conditions["probs"], n) if "probs" in conditions else None
        begins = np.zeros(n, bool) if self._clock is None else self._clock.changes(n, rng)
        error, chance, selected = self._after_error(), rng.random(n).tolist(), conditions.get("sel_chs")
        index, generations = np.empty(n, np.int64), np.empty(n, np.int64)
        blocks, used = np.empty(n, dtype=object), np.empty((n, self.n_ch, self.n_ch))
        edges: list[list[float]] = []  # of the present matrix
        for k, new_block in enumerate(begins.tolist()):
            if new_block:
                self._next_block()
            active = self._active if selected is None else tuple(selected[k])
            if new_block or not edges or requested is not None or active != self._active:
                matrix = requested[k] if requested is not None else self._matrix if error is None else error
                if selected is not None:
                    matrix = self._among(active, matrix)
                edges = np.cumsum(matrix, axis=1).tolist()
                blocks[k:], used[k:], generations[k:] = self._block, matrix, self.generation
            row = edges[self.prev]
            index[k] = self.prev = bisect_right(row, chance[k] * row[-1])
        self.drawn = blocks if isinstance(self._block, str) else blocks.astype(np.int64), used, generations
        return {**rest, "ground_truth": self.choices[index]}

    def _among(self, active: tuple[Any, ...], matrix: np.ndarray) -> np.ndarray:
        """Return the matrix among the choices in play; when these change, draw block and last choice again."""
        if self._active is not None and active != self._active:
            self._first_block()
            self.prev = int(self.task.np_random.choice(np.flatnonzero(np.isin(self.choices, active))))
            matrix = self._matrix
        self._active = active
        return restrict(matrix, self.choices, [active] * self.n_ch)

    def revise(self, trials: Trials) -> None:
        """Record block and matrix, and continue the history from the ground truth of the final trials."""
        trials.info[f"{self._key}_block"], trials.info["probs"], _ = self.drawn
        if "ground_truth" in trials.info:
            index = np.flatnonzero(self.choices == trials.info["ground_truth"][-1])
            self.prev = int(index[0]) if len(index) else self.prev


class TrialHistoryV2(TrialHistory):
    """Draw the ground truth from a Markov chain with a single transition matrix, without blocks.

    Blocks come from a ``ScheduleAttr`` outside that schedules ``probs``.

    Args:
        env: A task with choices.
        probs: Transition matrix (choices, choices); row: last ground truth, column: next. Default uniform.

    Raises:
        AttributeError: If the task has no choices.
        ValueError: If the matrix has another shape or a row is not a distribution.
    """

    _key = "trial_history_v2"

    def __init__(self, env: gym.Env, probs: ArrayLike | None = None):
        n = len(choices_of(env, "TrialHistoryV2"))
        matrix = np.full((n, n), 1 / n) if probs is None else np.asarray(probs, dtype=float)
        if matrix.shape != (n, n):
            raise ValueError(f"probs must be a matrix ({n}, {n}), one row and column per choice; got {matrix.shape}")
        super().__init__(env, matrix, block_dur=None)


class TrialHistory_NAlt(TrialHistory):  # noqa: N801 - NeuroGym's name
    """Draw the ground truth from a Markov chain in two contexts.

    This is :class:`TrialHistory` under the argument names of the version for N alternatives.

    Args:
        env: A task with choices.
        n_ch: Number of choices in use; the first ``n_ch``.
        tr_prob: Probability of the preferred transition.
        block_dur: Trials in a block.
        blk_ch_prob: Probability that a block ends at a trial, in place of ``block_dur``.
        trans: ``"CW"``: ascending and descending; ``"RepAlt"``: ascending and repeating.

    Raises:
        ValueError: If ``trans`` is neither or the task has fewer choices.
    """

    _key = "trial_history_nalt"

    def __init__(
        self,
        env: gym.Env,
        n_ch: int | None = None,
        tr_prob: float = 0.8,
        block_dur: Any = 200,
        blk_ch_prob: float | None = None,
        trans: str = "CW",
    ):
        contexts = {"CW": ("ascending", "descending"), "RepAlt": ("ascending", "repeating")}
        if trans not in contexts:
            raise ValueError(f"trans must be 'CW' or 'RepAlt', got {trans!r}")
        total = len(choices_of(env, "TrialHistory_NAlt"))
        n = total if n_ch is None else n_ch
        if not 2 <= n <= total:
            raise ValueError(f"n_ch must lie between 2 and the task's {total} choices, got {n_ch!r}")
        inner = transitions.matrices(tr_prob, n, contexts[trans])
        full = np.zeros((len(inner), total, total))
        full[:, :n, :n], full[:, n:, :n] = inner, 1 / n
        super().__init__(env, full, block_dur, blk_ch_prob=blk_ch_prob)


class TrHReset(TrialHistory):
    """Draw the ground truth from a Markov chain in a repeating and an alternating block, which an error resets.

    This is ``after_error="reset"`` of :class:`TrialHistory`.

    Args:
        env: A task with choices.
        rep_prob: Probability of a repetition in each block.
        block_dur: Trials in a block.
    """

    _key = "trhreset"

    def __init__(self, env: gym.Env, rep_prob: Sequence[float] = (0.2, 0.8), block_dur: Any = 200):
        n = len(choices_of(env, "TrHReset"))
        blocks = np.stack([transitions.context("repeating", n, float(p)) for p in rep_prob])
        super().__init__(env, blocks, block_dur, after_error="reset")


class Persistence(TrialHistory):
    """Repeat the last ground truth with a given probability.

    This is :class:`TrialHistory` with a single repeating block.

    Args:
        env: A task with choices.
        probs: Probability of a repetition; the other choices share the rest.
    """

    _key = "persistence"

    def __init__(self, env: gym.Env, probs: float = 0.8):
        super().__init__(env, float(probs), block_dur=None, num_blocks=1)
