"""Cutting and packing loses nothing, repeats nothing, and never spans a reset."""

import numpy as np
import pytest

from ngym_cli.algorithms.segments import cut, minibatches, pad, similar


@pytest.mark.parametrize("bptt", [None, 1, 4, 7, 100])
@pytest.mark.parametrize("rate", [0.0, 0.1, 1.0])
def test_every_step_is_in_exactly_one_sequence(bptt, rate):
    rng = np.random.default_rng(0)
    starts = rng.random((23, 9)) < rate
    segments = cut(starts, bptt)
    seen = np.zeros(23 * 9, int)
    for part in minibatches(segments, 4, rng):
        padded = pad(part, 9, multiple=8)
        assert padded.steps.shape[1] % 8 == 0
        np.add.at(seen, padded.steps[padded.mask], 1)
        inside = padded.mask.copy()
        inside[0] = False
        assert not starts.ravel()[padded.steps[inside]].any()
        assert (np.diff(padded.steps, axis=0)[padded.mask[1:]] == 9).all()
        assert bptt is None or len(padded.steps) <= bptt
    assert (seen == 1).all()


def test_minibatches_are_balanced_and_shuffled():
    segments = cut(np.random.default_rng(0).random((128, 64)) < 0.1)
    rng = np.random.default_rng(1)
    sizes = [[part.length.sum() for part in minibatches(segments, 4, rng)] for _ in range(3)]
    assert all(len(epoch) == 4 and max(epoch) - min(epoch) < 200 for epoch in sizes)
    assert sizes[0] != sizes[1]


def test_fewer_segments_than_minibatches():
    parts = list(minibatches(cut(np.zeros((8, 2), bool)), 5, np.random.default_rng(0)))
    assert sum(len(part) for part in parts) == 2
    assert all(len(part) for part in parts)


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_groups_of_similar_length_hold_every_sequence_in_fewer_cells(rate):
    length = cut(np.random.default_rng(0).random((128, 64)) < rate).length
    groups = similar(length)
    assert np.sort(np.concatenate(groups)).tolist() == list(range(len(length)))
    cells = sum(len(group) * length[group].max() for group in groups)
    assert length.sum() <= cells < 0.7 * len(length) * length.max()


def test_equal_lengths_stay_together():
    assert len(similar(np.full(30, 7))) == 1
