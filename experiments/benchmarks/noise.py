"""Which part of a batch of a Dataset are the normal numbers of its noise.

    OMP_NUM_THREADS=1 python -m experiments.benchmarks.noise [TASK]

Prints the processor time of a batch of 256 sequences of 22 steps, of the same batch without noise, and of as many bare
numbers of `numpy.random.Generator.standard_normal` in blocks as long as the task's; the best of several rounds each.
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np

from neurogym.utils.data import Dataset

ROUNDS, BATCHES = 7, 200


def milliseconds(call) -> float:
    """Processor time of one of 200 calls, best of 7 rounds."""
    best = np.inf
    for _ in range(ROUNDS):
        start = process_time()
        for _ in range(BATCHES):
            call()
        best = min(best, process_time() - start)
    return best / BATCHES * 1e3


def main(task: str = "yang19.dm1-v0") -> None:
    noisy = Dataset(task, batch_size=256, seq_len=22, seed=0)
    silent = Dataset(task, {"sigma": 0}, batch_size=256, seq_len=22, seed=0)
    for _ in range(BATCHES):
        noisy(), silent()
    batch = [noisy.sample() for _ in range(BATCHES)]
    rows = np.mean([np.count_nonzero(b.period == noisy.periods.index("stimulus")) for b in batch])
    channels = noisy.env.observation_space.shape[0] - 1  # all but the fixation cue
    block = noisy.envs[0].unwrapped.make_trials(400).rows("stimulus").index
    numbers, rng = int(rows * channels), np.random.Generator(np.random.PCG64(0))
    shape = (len(block), channels // 2)
    calls = numbers / (shape[0] * shape[1])
    bare = milliseconds(lambda: rng.standard_normal(shape, dtype=np.float32)) * calls
    print(f"{task}: {numbers} normal numbers a batch of 256 x 22 steps")
    print(
        f"batch {milliseconds(noisy):.2f} ms, without noise {milliseconds(silent):.2f} ms, bare numbers {bare:.2f} ms"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
