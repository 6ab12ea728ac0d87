"""Sizes are checked before arithmetic: compiled functions refuse what no array can hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurogym import kernels

pytestmark = pytest.mark.skipif(not kernels.available(), reason="no compiled functions are built")
LARGEST = np.iinfo(np.int64).max
WHOLE = st.integers(-LARGEST - 1, LARGEST)


@given(st.lists(st.tuples(WHOLE, WHOLE, WHOLE), min_size=1, max_size=4), st.integers(0, 8))
def test_rows_of_trials_of_any_start_and_end(trials, room):
    offset, start, end = (np.array(column, np.int64) for column in zip(*trials, strict=True))
    result = [np.full(room, -7, np.int64) for _ in range(3)]
    if sum(max(0, b - a) for _, a, b in trials) == room:
        kernels.get("rows")(offset, start, end, *result)
        assert result[2].tolist() == [s for _, a, b in trials for s in range(a, b)]
    else:
        with pytest.raises(ValueError, match="one place for each row"):
            kernels.get("rows")(offset, start, end, *result)
        assert all((piece == -7).all() for piece in result)


def test_rows_whose_lengths_add_up_to_more_than_any_integer():
    start, end = np.full(4, -(2**62), np.int64), np.full(4, 2**62, np.int64)
    empty = np.empty(0, np.int64)
    with pytest.raises(ValueError, match="one place for each row"):
        kernels.get("rows")(np.zeros(4, np.int64), start, end, empty, empty.copy(), empty.copy())


@given(WHOLE, WHOLE)
def test_packed_sizes_are_those_of_integers_without_bound(depth, columns):
    ask = kernels.get("packed_size")
    width = ask(1, 1)
    exact = depth * -(-columns // width) * width
    if depth < 0 or columns < 0 or exact * 4 > LARGEST:
        with pytest.raises(ValueError, match=r"negative size|too large"):
            ask(depth, columns)
    elif depth * (columns // width + 1) * width * 4 <= LARGEST:
        assert ask(depth, columns) == exact


@pytest.mark.parametrize("counts", [[2, 2**62, 2**62], [1, -1], [2, 2, 1]])
def test_sequences_that_are_not_packed_are_refused(counts):
    steps, units, features = 4, 2, 1
    single = np.float32
    weight = np.zeros((units, units + features + 1), single)
    rows, gates, h = np.zeros((steps, 4), single), np.zeros((steps, units), single), np.zeros((steps, units), single)
    panels = np.zeros(kernels.get("packed_size")(4, units), single)
    with pytest.raises(ValueError, match="not packed"):
        kernels.get("forward")(
            2,
            1.0,
            0,
            2,
            np.array(counts, np.int64),
            np.zeros((steps, features), single),
            None,
            weight,
            np.zeros((2, units), single),
            None,
            rows,
            gates,
            None,
            None,
            h,
            panels,
        )
