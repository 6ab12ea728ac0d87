"""Batches for supervised learning: observations and, at every step, the right action."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import gymnasium as gym
import numpy as np

from neurogym.envs.registration import make
from neurogym.stream import Frame, GroundTruthStream
from neurogym.trials import Info

#: Minimum number of steps that each sequence's stream makes ahead, unless cache_len is given, ...
AHEAD = 4096
POOL_BYTES = 1 << 27  #: ... but not more than fit into this memory for all sequences


class SupervisedBatch(NamedTuple):
    """Batch of inputs with targets, mask and periods; all arrays belong to the caller.

    Time comes first, or the batch with ``batch_first``.
    """

    inputs: np.ndarray  #: observations, shape (time, batch, *observation shape)
    targets: np.ndarray  #: right actions, shape (time, batch, *action shape)
    mask: np.ndarray  #: 1 in rows of trials, 0 in padding, shape (time, batch)
    period: np.ndarray  #: position in ``dataset.periods`` of the row's period, -1: none, shape (time, batch)
    starts: np.ndarray  #: whether a trial begins with the row, shape (time, batch)
    trials: list[Info]  #: with ``aligned``: record of each sequence's trial, else empty


class Dataset:
    """Endless batches of sequences from a task, wrappers included.

    By default a sequence is a window of an endless stream of trials that continues in the next batch. With ``aligned``
    it is one whole trial, padded with zeros. Batches follow from ``seed``: take other seeds for training and for
    testing.

    Call the object, or iterate over it, for ``(inputs, targets)``; :meth:`sample` gives masks, period labels and
    records, too. ``dataset[i]`` is batch i of a fixed sequence of batches, independent of all others, so that a PyTorch
    ``DataLoader(dataset, batch_size=None, num_workers=...)`` works with it.

    Args:
        env: Id of a task, or an environment (which is copied).
        env_kwargs: Arguments of the task, with an id.
        batch_size: Sequences in a batch.
        seq_len: Steps of a sequence. Default 1000; with ``aligned`` the longest trial of the batch.
        max_batch: Batches in one pass of the iterator; None: endless.
        batch_first: Whether the batch comes before time.
        cache_len: Steps that each sequence's stream makes ahead.
        seed: Seed of all streams; None: from the operating system.
        aligned: Whether every sequence is one trial.

    Attributes:
        env: An environment like those that make the batches, for the caller's own use.
        envs: The environments that make the batches.
        periods: Names of periods, see :class:`Batch`.

    Raises:
        TypeError: If ``env`` is neither an id nor an environment.
        ValueError: If a size is not positive, or the task has no ground truth.

    Example:
        >>> dataset = Dataset("PerceptualDecisionMaking-v0", batch_size=16, seq_len=100, seed=0)
        >>> inputs, targets = dataset()
        >>> inputs.shape, targets.shape
        ((100, 16, 3), (100, 16))
    """

    def __init__(
        self,
        env: str | gym.Env,
        env_kwargs: Mapping[str, object] | None = None,
        batch_size: int = 1,
        seq_len: int | None = None,
        max_batch: float | None = np.inf,
        batch_first: bool = False,
        cache_len: int | None = None,
        seed: int | None = None,
        aligned: bool = False,
    ):
        if batch_size < 1 or (seq_len is not None and seq_len < 1):
            raise ValueError(f"batch_size and seq_len must be at least 1, got {batch_size!r} and {seq_len!r}")
        self.batch_size, self.batch_first, self.aligned = batch_size, batch_first, aligned
        self.max_batch = np.inf if max_batch is None else max_batch
        self.seq_len = 1000 if seq_len is None and not aligned else seq_len
        self.env, *self.envs = _copies(env, dict(env_kwargs or {}), batch_size + 1)
        ob_shape = self.env.observation_space.shape or ()
        size = int(np.prod(ob_shape)) + int(np.prod(self.env.action_space.shape or (1,)))
        fitting = max(256, POOL_BYTES // (4 * size) // batch_size)
        rows = min(max(AHEAD, 100_000 // size // batch_size), fitting) if cache_len is None else cache_len
        self.periods: list[str] = []
        self._streams = [GroundTruthStream(each) for each in self.envs]
        self._rows = RowBuffer(batch_size, aligned)
        self._ahead, self._length_guess = rows, np.full(batch_size, 16.0)
        order = (batch_size, self.seq_len) if batch_first else (self.seq_len, batch_size)
        self.inputs_shape = [*order, *ob_shape]
        self.target_shape = [*order, *(self.env.action_space.shape or ())]
        self._i_batch = 0
        self.seed(seed)

    def seed(self, seed: int | None = None) -> None:
        """Start all streams again from ``seed``; None: from the operating system."""
        self._entropy = np.random.SeedSequence(seed).entropy
        self._started = False
        self._conditions: dict[str, object] = {}
        self._i_batch = 0

    def _start(self, *key: int) -> None:
        """Begin every stream; equal keys give equal streams."""
        seeds = np.random.SeedSequence(self._entropy, spawn_key=key).generate_state(self.batch_size)
        for stream, number in zip(self._streams, seeds, strict=True):
            stream.restart(int(number))
        self._rows.clear()
        self._length_guess[:] = 16.0

    # -- batches ------------------------------------------------------------------------------------------------------

    def sample(self, **kwargs: object) -> SupervisedBatch:
        """The next batch.

        Args:
            **kwargs: Conditions of the trials; streams restart when conditions change.
        """
        self._ask_for(kwargs)
        window = self._next()
        columns = {name: window.take(name) for name in ("inputs", "targets", "period", "starts")}
        columns["period"] = columns["period"].astype(np.int64)
        return SupervisedBatch(**columns, mask=window.inside.astype(np.float32), trials=window.records)

    def _ask_for(self, conditions: dict[str, object]) -> None:
        """Set the conditions of the next trials."""
        self._start_once()
        if repr(conditions) != repr(self._conditions):
            self._conditions = conditions
            self._rows.clear()

    def _start_once(self) -> None:
        if not self._started:
            self._start(0)
            self._started = True

    def _cache(self, **kwargs: object) -> None:
        """Remake the next batch, for scripts that changed ``envs`` or request conditions.

        Args:
            **kwargs: Conditions of these trials; later ones have none.
        """
        self._start_once()
        self._rows.clear()
        self._stock(kwargs)
        self._conditions = {}

    def _stock(self, conditions: dict[str, object]) -> None:
        """Make trials until the buffer suffices for the next batch."""
        rows = self._rows
        for b in np.flatnonzero(rows.lacks(None if self.aligned else self.seq_len)).tolist():
            while rows.lacks(None if self.aligned else self.seq_len, b):
                rows.append(b, *self._make(b, conditions))

    def _next(self) -> Window:
        """Next window, or next trial, of each sequence."""
        self._stock(self._conditions)
        rows = self._rows
        records: list[Info] = []
        if self.aligned:
            count, records = rows.next_trials()
            length = int(count.max()) if self.seq_len is None else self.seq_len
            if count.max() > length:
                raise ValueError(f"a trial has {count.max()} steps, more than seq_len = {length}")
        else:
            length = int(self.seq_len)  # type: ignore[arg-type]
            count = np.full(self.batch_size, length)
        return rows.next_window(count, length, self.batch_first, records)

    def _make(self, b: int, conditions: dict[str, object]) -> tuple[dict[str, np.ndarray], Frame]:
        """More rows of a sequence."""
        n = int(np.clip(np.ceil(self._ahead / self._length_guess[b]), 1, 512))
        frame = self._streams[b].make(n, conditions)
        self._length_guess[b] = max(1.0, float(frame.length.mean()))
        starts = np.zeros(len(frame.rows), bool)
        starts[np.cumsum(frame.length) - frame.length] = True
        return {"inputs": frame.ob, "targets": frame.gt, "period": self._labels(frame), "starts": starts}, frame

    def _labels(self, frame: Frame) -> np.ndarray:
        """Position in ``periods`` of the period of each row."""
        labels = np.full(frame.trials.total, -1, np.int16)
        for name in frame.trials.starts:
            if name not in self.periods:
                self.periods.append(name)
            labels[frame.trials.rows(name).index] = self.periods.index(name)
        return labels if frame.rows is frame.trials.rows().index else labels[frame.rows]

    def __call__(self, **kwargs: object) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and targets of the next batch; see :meth:`sample`."""
        self._ask_for(kwargs)
        window = self._next()
        return window.take("inputs"), window.take("targets")

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The object itself."""
        return self

    def __next__(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the next batch; after ``max_batch`` batches a new pass can begin."""
        if self._i_batch >= self.max_batch:
            self._i_batch = 0
            raise StopIteration
        self._i_batch += 1
        return self()

    def __len__(self) -> int:
        """Batches in a pass.

        Raises:
            TypeError: If there is no end.
        """
        if not np.isfinite(self.max_batch):
            raise TypeError("a Dataset without max_batch has no length")
        return int(self.max_batch)

    def __bool__(self) -> bool:
        """Always true."""
        return True

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Batch ``i`` of a fixed sequence of batches, independent of time and process.

        Raises:
            IndexError: If the pass has fewer batches.
        """
        if not 0 <= i < self.max_batch:
            raise IndexError(f"there are {self.max_batch} batches, none at {i}")
        self._start(1, i)
        self._started, self._conditions = False, {}
        window = self._next()
        return window.take("inputs"), window.take("targets")


class RowBuffer:
    """Buffer of rows of several sequences.

    Args:
        sequences: How many.
        keeps_trials: Whether they are taken trial by trial.
    """

    def __init__(self, sequences: int, keeps_trials: bool):
        self.keeps_trials = keeps_trials
        self._pools: dict[str, np.ndarray] = {}
        self._capacity = 0
        self._used, self._filled = np.zeros((2, sequences), np.int64)
        self.clear()

    def clear(self) -> None:
        """Discard all rows."""
        self._used[:] = self._filled[:] = 0
        self._trials: list[deque[tuple[Frame, int]]] = [deque() for _ in self._used]  # those whose rows are waiting

    def lacks(self, rows: int | None, b: int | slice = slice(None)) -> np.ndarray:
        """Whether sequences (default: each) have fewer rows; None: not a whole trial."""
        return self._filled[b] - self._used[b] < (1 if rows is None else rows)

    def append(self, b: int, rows: dict[str, np.ndarray], frame: Frame) -> None:
        """Append the rows of whole trials to sequence ``b``."""
        left, more = slice(int(self._used[b]), int(self._filled[b])), len(rows["starts"])
        needed = left.stop - left.start + more
        if needed > self._capacity:
            self._grow(int(1.25 * needed), rows)
        for name, values in rows.items():
            row = self._pools[name][b]
            row[: left.stop - left.start] = row[left].copy()
            row[left.stop - left.start : needed] = values
        self._used[b], self._filled[b] = 0, needed
        if self.keeps_trials:
            self._trials[b].extend((frame, k) for k in range(len(frame.length)))

    def _grow(self, capacity: int, like: dict[str, np.ndarray]) -> None:
        for name, values in like.items():
            pool = np.zeros((len(self._used), capacity, *values.shape[1:]), values.dtype)
            if name in self._pools:
                pool[:, : self._capacity] = self._pools[name]
            self._pools[name] = pool
        self._capacity = capacity

    def next_trials(self) -> tuple[np.ndarray, list[Info]]:
        """Rows and records of the next trial of each sequence."""
        trials = [waiting.popleft() for waiting in self._trials]
        return np.array([frame.length[k] for frame, k in trials]), [frame.trials.record(k) for frame, k in trials]

    def next_window(self, count: np.ndarray, length: int, batch_first: bool, records: list[Info]) -> Window:
        """So many rows of each sequence, which are used up; filled up to a length."""
        step = np.arange(length)
        at = (np.arange(len(count)) * self._capacity + self._used)[:, None] + step
        inside = step < count[:, None]
        self._used += count
        return Window(self._pools, at, inside, records) if batch_first else Window(self._pools, at.T, inside.T, records)


class Window(NamedTuple):
    """Positions of a batch's rows in the pools."""

    pools: dict[str, np.ndarray]  #: rows that are waiting, name to shape (sequences, capacity, ...)
    at: np.ndarray  #: places in the flattened pools, in the shape of the batch
    inside: np.ndarray  #: whether there is a row, likewise
    records: list[Info]  #: of each sequence's trial, where it is one

    def take(self, name: str) -> np.ndarray:
        """Values of a column, padded with zeros (periods: -1)."""
        pool = self.pools[name]
        flat = pool.reshape(-1, *pool.shape[2:])
        if self.inside.all():
            return flat.take(self.at, axis=0)
        rows = flat.take(np.where(self.inside, self.at, 0), axis=0)
        rows[~self.inside] = -1 if name == "period" else 0
        return rows


def _copies(env: str | gym.Env, kwargs: Mapping[str, object], n: int) -> list[gym.Env]:
    if isinstance(env, str):
        return [make(env, **kwargs) for _ in range(n)]
    if not isinstance(env, gym.Env):
        raise TypeError(f"a Dataset needs the id of a task or an environment, not {env!r}")
    return [copy.deepcopy(env) for _ in range(n)]
