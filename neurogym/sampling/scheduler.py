"""Schedules: which of n conditions comes next.

A schedule is called without arguments and returns the next index. ``seed`` and ``reset`` restart its stream.
The sequences are those of NeuroGym: schedules without blocks leave condition ``start`` with their first call, those
with blocks stay in it for a block.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.messages.names import unknown


def another(rng: np.random.Generator, present: int, n: int) -> int:
    """Random condition of ``n`` other than the present condition, if there are several."""
    if n == 1:
        return 0
    condition = int(rng.integers(n - 1))
    return condition + (condition >= present)


class BaseSchedule:
    """Base class of schedules.

    Args:
        n: Number of conditions.
        start: Index from which the sequence sets out.

    Attributes:
        i: Present condition.
        total_count: Calls since the last reset.
        count: Calls since the present block began.

    Raises:
        ValueError: If ``n`` is not a positive integer or ``start`` is not a condition.
    """

    state = ("rng", "i", "total_count", "count")

    def __init__(self, n: int, start: int = 0):
        if int(n) != n or n < 1:
            raise ValueError(f"a schedule needs a positive number of conditions, got {n!r}")
        if not 0 <= start < n:
            raise ValueError(f"start must be one of the {n} conditions 0 to {n - 1}, got {start!r}")
        self.n, self.start = int(n), int(start)
        self.rng = np.random.default_rng()
        self.total_count = self.count = 0
        self.i = self.start

    def seed(self, seed: int | None = None) -> None:
        """Start the random stream again from ``seed``."""
        self.rng = np.random.default_rng(seed)

    def reset(self) -> None:
        """Restart the sequence at ``start``; the random stream continues."""
        self.total_count = self.count = 0
        self.i = self.start

    def next(self) -> int:
        """Return the condition after the present condition."""
        raise NotImplementedError(f"{type(self).__name__} must define next()")

    def __call__(self) -> int:
        """Move on and return the condition."""
        self.i = self.next()
        self.total_count += 1
        return self.i

    def draw(self, n: int) -> np.ndarray:
        """The next ``n`` conditions, shape (n,)."""
        return np.array([self() for _ in range(n)], dtype=np.int64)

    @property
    def shares(self) -> np.ndarray:
        """Long-run frequency of each condition, shape (n,)."""
        return np.full(self.n, 1 / self.n)


class SequentialSchedule(BaseSchedule):
    """Conditions in sequence: ``start + 1``, ``start + 2``, ... modulo n."""

    def next(self) -> int:
        """Return the condition after the present condition."""
        return (self.i + 1) % self.n


class RandomSchedule(BaseSchedule):
    """Any of the other conditions, equally likely: no condition comes twice in a row (two alternate)."""

    def next(self) -> int:
        """Return the condition after the present condition."""
        return another(self.rng, self.i, self.n)


class IndependentSchedule(BaseSchedule):
    """Every condition equally likely on every call, or with probabilities ``p``.

    Args:
        n: Number of conditions.
        p: Probability of each; default uniform.

    Raises:
        ValueError: If ``p`` is not a distribution over n conditions.
    """

    def __init__(self, n: int, p: Sequence[float] | None = None):
        super().__init__(n)
        self.p = np.full(self.n, 1 / self.n) if p is None else np.asarray(p, dtype=float)
        if self.p.shape != (self.n,) or np.any(self.p < 0) or not abs(self.p.sum() - 1) <= 1e-8:
            raise ValueError(f"p must be {self.n} probabilities that sum to 1, got {p!r}")

    @property
    def shares(self) -> np.ndarray:
        """Long-run frequency of each condition: the given probabilities."""
        return self.p

    def next(self) -> int:
        """Return the condition after the present condition."""
        return int(self.rng.choice(self.n, p=self.p))

    def draw(self, n: int) -> np.ndarray:
        """The next ``n`` conditions, shape (n,)."""
        drawn = self.rng.choice(self.n, size=n, p=self.p)
        self.i, self.total_count = int(drawn[-1]), self.total_count + n
        return drawn


class _BlockSchedule(BaseSchedule):
    """Stays in condition i for ``block_lens[i]`` calls; a subclass also inherits the schedule of conditions."""

    def __init__(self, n: int, block_lens: Sequence[int], start: int = 0):
        super().__init__(n, start)
        if len(block_lens) != self.n:
            raise ValueError(f"{self.n} conditions need {self.n} block lengths, got {len(block_lens)}")
        if any(int(length) != length or length < 1 for length in block_lens):
            raise ValueError(f"block lengths must be positive integers, got {list(block_lens)!r}")
        self.block_lens = [int(length) for length in block_lens]

    def next(self) -> int:
        """Return the condition after the present condition."""
        if self.count >= self.block_lens[self.i]:
            self.count = 0
            self.i = super().next()
        self.count += 1
        return self.i

    @property
    def shares(self) -> np.ndarray:
        """Long-run frequency of each condition: proportional to block lengths."""
        return np.array(self.block_lens) / sum(self.block_lens)


class SequentialBlockSchedule(_BlockSchedule, SequentialSchedule):
    """Blocks of condition 0, 1, ... in a cycle.

    Args:
        n: Number of conditions.
        block_lens: Calls in a block of each condition.
        start: Condition of the first block.

    Raises:
        ValueError: If there is not one positive length for each condition.
    """


class RandomBlockSchedule(_BlockSchedule, RandomSchedule):
    """Blocks of conditions, each followed by a random other condition.

    Args:
        n: Number of conditions.
        block_lens: Calls in a block of each condition.
        start: Condition of the first block.

    Raises:
        ValueError: If there is not one positive length for each condition.
    """


class OnceSchedule(SequentialBlockSchedule):
    """Blocks of condition 0, 1, ...; the last block never ends.

    Args:
        n: Number of conditions.
        block_lens: Calls in a block of each condition; that of the last one has no effect and may be left out.
    """

    def __init__(self, n: int, block_lens: Sequence[int]):
        lengths = list(block_lens)
        super().__init__(n, [*lengths, 1] if len(lengths) == n - 1 else lengths)

    @property
    def shares(self) -> np.ndarray:
        """Long-run frequency of each condition: only the last condition remains."""
        return np.eye(self.n)[-1]

    def next(self) -> int:
        """Return the condition after the present condition: the next block, or the last condition again."""
        return max(self.i, super().next())  # after the last condition the cycle would begin again


def schedule_from(text: str, n: int) -> BaseSchedule:
    """Make a schedule over ``n`` conditions from its name.

    Args:
        text: ``random`` (independent, equally likely), ``norepeat`` (never the same twice), ``sequential``,
            ``block:100`` (blocks of 100 in random order) or ``sequential_block:100``.
        n: Number of conditions.

    Raises:
        ValueError: If there is no such schedule or the block length is missing or not positive.

    Example:
        >>> schedule_from("sequential", 3).draw(4)
        array([1, 2, 0, 1])
    """
    name, _, length = text.partition(":")
    plain = {"random": IndependentSchedule, "norepeat": RandomSchedule, "sequential": SequentialSchedule}
    blocks = {"block": RandomBlockSchedule, "sequential_block": SequentialBlockSchedule}
    if name in plain and not length:
        return plain[name](n)
    if name in blocks:
        if not length.isdecimal() or int(length) < 1:
            raise ValueError(f"schedule {name!r} needs a block length in trials, as in '{name}:100', got {text!r}")
        return blocks[name](n, [int(length)] * n)
    raise ValueError(unknown("schedule", text, [*plain, *(f"{b}:100" for b in blocks)]))
