"""Batches of fresh trials for supervised learning: whole trials, or the next steps of several sessions."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from neurogym.envs.multi import ScheduleEnvs
from ngym_cli.agents.sequences import Sequences
from ngym_cli.agents.supervised.material import TaskDraw, TrialBuffer, TrialStream, Weigh, check, side_by_side
from ngym_cli.environments.trial_batch import STRETCHES, batch_of, trials_of

BLOCK_ROWS = 4096  #: rows that a session makes at a time, at least


class SampledBatch(NamedTuple):
    """Batch of trials.

    Attributes:
        material: steps of the trials; the first step of all sessions comes before the second.
        sequences: of the material.
        begins: sessions whose state is reset before the batch, bool (session,); empty where no state is carried over.
    """

    material: TrialBuffer
    sequences: Sequences
    begins: np.ndarray


class BatchSampler:
    """Makes batches from streams of trials.

    Args:
        venv: a batch of trial-based environments (`TrialVecEnv`); copies of the first make the trials.
        rng: source of the seeds of the streams.
        batch_size: sequences in a batch.
        seq_len: steps of each.
        weigh: gives the weight of each row in the loss.
        task_weight: how often the trials of named tasks are drawn (others 1), for environments of several tasks.
        draw: whether the task is drawn for each "trial" or each "batch".

    Attributes:
        streams: a session for each sequence where the state is carried over, otherwise a single session.
    """

    def __init__(
        self,
        venv: VecEnv,
        rng: np.random.Generator,
        batch_size: int,
        seq_len: int,
        weigh: Weigh,
        task_weight: Mapping[str, float],
        draw: str,
    ) -> None:
        self.batch_size, self.seq_len = batch_size, seq_len
        reset, env = trials_of(venv).reset_state, batch_of(venv).envs[0]
        self.carried = reset != "trial"
        check(env)
        tasks = None
        if isinstance(env.unwrapped, ScheduleEnvs):
            names = [env.unwrapped.names[i] for i in env.unwrapped.presented]
            tasks = TaskDraw(names, task_weight, draw == "batch")
        elif task_weight:
            raise ValueError(f"task_weight needs several tasks, but there is only {type(env.unwrapped).__name__}")
        size = batch_size * seq_len
        rows = max(2 * seq_len, BLOCK_ROWS) if self.carried else size if draw == "batch" else 8 * size
        seeds = rng.integers(2**31, size=batch_size if self.carried else 1)
        unit = reset if reset in STRETCHES else None
        self._thread, self._pending = ThreadPoolExecutor(1, "trials made ahead"), list[Future[SampledBatch]]()
        self.streams = [TrialStream(env, int(seed), weigh, not self.carried, tasks, rows, unit) for seed in seeds]

    def sample(self) -> SampledBatch:
        """Return the next batch, which may have been made ahead."""
        return self._pending.pop().result() if self._pending else self._make()

    def make_ahead(self) -> None:
        """Begin to make the next batch, by the same calls as without."""
        if not self._pending:
            self._pending.append(self._thread.submit(self._make))

    def _make(self) -> SampledBatch:
        if not self.carried:
            material = self.streams[0].trials(self.batch_size * self.seq_len)
            sequences = Sequences.in_a_row(material.length.astype(np.int64))
            return SampledBatch(material, sequences, np.zeros(0, bool))
        begins = np.array([stream.begins for stream in self.streams])
        blocks = [stream.rows(self.seq_len) for stream in self.streams]
        sequences = Sequences(np.arange(self.batch_size), np.array([len(block) for block in blocks]), self.batch_size)
        return SampledBatch(side_by_side(blocks), sequences, begins)
