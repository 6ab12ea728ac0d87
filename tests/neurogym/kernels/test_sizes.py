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


@given(st.lists(st.integers(0, 3) | WHOLE, min_size=11, max_size=13), WHOLE, st.integers(1, 9) | WHOLE)
def test_sizes_of_agents_are_of_arrays_that_can_exist(shape, envs, longest):
    result = np.full(5, -7, np.int64)
    try:
        kernels.get("sizes")(np.array(shape, np.int64), 0, envs, longest, result)
    except ValueError:
        assert (result == -7).all()
    else:
        assert (result[:4] >= 0).all()
