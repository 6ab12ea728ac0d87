"""Cutting and packing loses nothing, repeats nothing, and never spans a reset."""

import itertools

import numpy as np
import pytest

from ngym_cli.agents.sequences import cut, minibatches


@pytest.mark.parametrize("bptt", [None, 1, 4, 7, 100])
@pytest.mark.parametrize("rate", [0.0, 0.1, 1.0])
def test_every_step_is_in_exactly_one_sequence(bptt, rate):
    rng = np.random.default_rng(0)
    starts = rng.random((23, 9)) < rate
    segments = cut(starts, bptt)
    seen = np.zeros(23 * 9, int)
    for array in minibatches(segments, 4, rng):
        packed = array.pack()
        np.add.at(seen, packed.steps, 1)
        times = np.split(packed.steps, np.cumsum(packed.counts)[:-1])
        assert (times[0] == packed.first).all()
        for before, after in itertools.pairwise(times):
            assert not starts.ravel()[after].any()
            assert (after - before[: len(after)] == 9).all()
        assert bptt is None or len(times) <= bptt
    assert (seen == 1).all()


def test_minibatches_are_balanced_and_shuffled():
    segments = cut(np.random.default_rng(0).random((128, 64)) < 0.1)
    rng = np.random.default_rng(1)
    sizes = [[array.length.sum() for array in minibatches(segments, 4, rng)] for _ in range(3)]
    assert all(len(epoch) == 4 and max(epoch) - min(epoch) < 200 for epoch in sizes)
    assert sizes[0] != sizes[1]


def test_fewer_segments_than_minibatches():
    arrays = list(minibatches(cut(np.zeros((8, 2), bool)), 5, np.random.default_rng(0)))
    assert sum(len(array) for array in arrays) == 2
    assert all(len(array) for array in arrays)
