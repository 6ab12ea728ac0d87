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


@given(st.lists(st.integers(0, 3) | WHOLE, min_size=11, max_size=13), WHOLE, st.integers(1, 9) | WHOLE)
def test_sizes_of_agents_are_of_arrays_that_can_exist(shape, envs, longest):
    result = np.full(5, -7, np.int64)
    try:
        kernels.get("sizes")(np.array(shape, np.int64), 0, envs, longest, result)
    except ValueError:
        assert (result == -7).all()
    else:
        assert (result[:4] >= 0).all()
