"""Trees of plain data and arrays come back from JSON and safetensors as they were."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from safetensors.torch import load, save

from ngym_cli.agents.algorithms.training_state import SMALL, flatten_tree, join, restore_tree, split

KINDS = ["f8", "f4", "i8", "i4", "u1", "?"]
shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
vectors = st.sampled_from(KINDS).flatmap(lambda kind: arrays.arrays(kind, shapes))
words = arrays.arrays("U3", arrays.array_shapes(max_dims=2, max_side=3), elements=st.text("abc", max_size=3))
leaves = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(), st.text(max_size=3), vectors, words)
trees = st.recursive(
    leaves,
    lambda part: st.one_of(
        st.lists(part, max_size=4),
        st.dictionaries(st.text("abcd", min_size=1, max_size=3), part, max_size=4),
        st.lists(part, max_size=3).map(lambda items: np.fromiter(items, object, len(items))),
    ),
    max_leaves=12,
)


def same(a, b):
    if isinstance(a, np.ndarray):
        alike = isinstance(b, np.ndarray) and (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype == object:
            return alike and all(map(same, a.tolist(), b.tolist()))
        return alike and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and (a == b or (a != a and b != b))


def written_and_read(tree):
    tensors = {}
    rest = flatten_tree(tree, "env", tensors)
    joined, places = join(tensors)
    rest, places = json.loads(json.dumps([rest, places], allow_nan=False))
    read = load(save({name: value.contiguous().clone() for name, value in joined.items()}))
    return restore_tree(rest, split(read, places))


@settings(deadline=None)
@given(trees)
def test_any_tree_comes_back_as_it_was(tree):
    assert same(written_and_read(tree), tree)


def test_small_arrays_become_one_for_each_type_and_large_ones_stay():
    tree = [np.full(i % 3, i, kind) for i in range(300) for kind in ("f4", "i8")] + [np.arange(SMALL, dtype="i8")]
    tensors = {}
    flatten_tree(tree, "env", tensors)
    joined, places = join(tensors)
    assert len(joined) == 3 and len(places) == 600
    assert same(written_and_read(tree), tree)


def test_nothing_is_joined_in_nothing():
    assert join({}) == ({}, {}) and split({}, {}) == {}


@pytest.mark.parametrize("position", [["a", 3, [2]], ["a", -1, [2]], ["a", 0, [-1]], ["a", 0, [5]], ["a", 2**62, [0]]])
def test_a_part_outside_of_an_array_is_refused(position):
    with pytest.raises(ValueError, match="lies outside"):
        split({"a": torch.zeros(4)}, {"b": position})


@pytest.mark.parametrize("position", [["none", 0, [1]], ["a", "x", [1]], ["a", 0, ["x"]], ["a", 0.5, [1]], [], 3, None])
def test_places_that_make_no_sense_raise_what_is_told_as_damage(position):
    with pytest.raises((ValueError, TypeError, KeyError, IndexError)):
        split({"a": torch.zeros(4)}, {"b": position})
