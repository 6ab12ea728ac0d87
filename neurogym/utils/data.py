"""Batches for supervised learning: observations and, at every step, the right action."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from neurogym.utils.streams import FIELDS, Stream

AHEAD = 2048  #: steps that each sequence's stream makes ahead at least, unless cache_len says otherwise


class Batch(NamedTuple):
    """A batch with what belongs to it; all arrays are the caller's own.

    Time comes first, or the batch with ``batch_first``.
    """

    inputs: np.ndarray  #: observations, shape (time, batch, *observation shape)
    targets: np.ndarray  #: right actions, shape (time, batch, *action shape)
    mask: np.ndarray  #: 1 in rows of trials, 0 in padding, shape (time, batch)
    period: np.ndarray  #: position in ``dataset.periods`` of the row's period, -1: none, shape (time, batch)
    starts: np.ndarray  #: whether a trial begins with the row, shape (time, batch)
    trials: list[dict[str, Any]]  #: with ``aligned``: record of each sequence's trial, else empty


class Dataset:
    """Make batches of sequences from a task, wrappers included, without end.

    By default a sequence is a window of an endless stream of trials, which goes on in the next batch. With ``aligned``
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
        env_kwargs: Mapping[str, Any] | None = None,
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
        rows = cache_len if cache_len is not None else max(AHEAD, 100_000 // size // batch_size)
        self.periods: list[str] = []
        self._streams = [Stream(each, rows, self.periods) for each in self.envs]
        order = (batch_size, self.seq_len) if batch_first else (self.seq_len, batch_size)
        self.inputs_shape = [*order, *ob_shape]
        self.target_shape = [*order, *(self.env.action_space.shape or ())]
        self._i_batch = 0
        self.seed(seed)

    def seed(self, seed: int | None = None) -> None:
        """Start all streams again from ``seed``; None: from the operating system."""
        self._entropy = np.random.SeedSequence(seed).entropy
        self._started = False
        self._given: dict[str, Any] = {}
        self._i_batch = 0

    def _start(self, *key: int) -> None:
        """Begin every stream; equal keys give equal streams."""
        seeds = np.random.SeedSequence(self._entropy, spawn_key=key).generate_state(self.batch_size)
        for stream, one in zip(self._streams, seeds, strict=True):
            stream.restart(int(one))

    # -- batches ------------------------------------------------------------------------------------------------------

    def sample(self, **kwargs: Any) -> Batch:
        """The next batch.

        Args:
            **kwargs: Conditions of the trials; streams begin anew when they change.
        """
        if not self._started:
            self._start(0)
            self._started = True
        if repr(kwargs) != repr(self._given):
            self._given = kwargs
            for stream in self._streams:
                stream.clear()
        return self._aligned(kwargs) if self.aligned else self._window(kwargs)

    def _window(self, given: dict[str, Any]) -> Batch:
        taken = [stream.take(self.seq_len, given) for stream in self._streams]  # type: ignore[arg-type]
        axis = 0 if self.batch_first else 1
        inputs, targets, period, starts = (np.stack([rows[name] for rows in taken], axis) for name in FIELDS)
        return Batch(inputs, targets, np.ones(starts.shape, np.float32), period, starts, [])

    def _aligned(self, given: dict[str, Any]) -> Batch:
        taken = [stream.take_trial(given) for stream in self._streams]
        longest = max(len(rows["starts"]) for rows, _ in taken)
        length = longest if self.seq_len is None else self.seq_len
        if longest > length:
            raise ValueError(f"a trial has {longest} steps, more than seq_len = {length}")
        first, _ = taken[0]
        padded = {
            name: np.full((self.batch_size, length, *first[name].shape[1:]), -1 if name == "period" else 0).astype(
                first[name].dtype
            )
            for name in FIELDS
        }
        mask = np.zeros((self.batch_size, length), np.float32)
        for b, (rows, _) in enumerate(taken):
            mask[b, : len(rows["starts"])] = 1
            for name in FIELDS:
                padded[name][b, : len(rows[name])] = rows[name]
        inputs, targets, period, starts = (self._ordered(padded[name]) for name in FIELDS)
        return Batch(inputs, targets, self._ordered(mask), period, starts, [record for _, record in taken])

    def _ordered(self, array: np.ndarray) -> np.ndarray:
        return array if self.batch_first else np.ascontiguousarray(np.swapaxes(array, 0, 1))

    def __call__(self, **kwargs: Any) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and targets of the next batch; see :meth:`sample`."""
        batch = self.sample(**kwargs)
        return batch.inputs, batch.targets

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The object itself."""
        return self

    def __next__(self) -> tuple[np.ndarray, np.ndarray]:
        """The next batch, until ``max_batch`` of them; then another pass can begin."""
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
        """Batch ``i`` of a fixed sequence of batches: the same whenever, and in whichever process, it is asked for.

        Raises:
            IndexError: If the pass has fewer batches.
        """
        if not 0 <= i < self.max_batch:
            raise IndexError(f"there are {self.max_batch} batches, none at {i}")
        self._start(1, i)
        self._started = False
        batch = self._aligned({}) if self.aligned else self._window({})
        return batch.inputs, batch.targets


def _copies(env: str | gym.Env, kwargs: dict[str, Any], n: int) -> list[gym.Env]:
    if isinstance(env, str):
        from neurogym.envs.registration import make

        return [make(env, **kwargs) for _ in range(n)]
    if not isinstance(env, gym.Env):
        raise TypeError(f"a Dataset needs the id of a task or an environment, not {env!r}")
    return [copy.deepcopy(env) for _ in range(n)]
