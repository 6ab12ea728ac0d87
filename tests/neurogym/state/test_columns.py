"""Arrays of objects come back as they were, and few arrays say what they hold."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import neurogym as ngym
from neurogym.state import capture, restore
from neurogym.state.values import packed, unpacked


class Keeper(ngym.TrialEnv):
    """A task that keeps something and never begins a trial."""

    def __init__(self, kept: Any = None):
        super().__init__()
        self.observation_space = ngym.spaces.Box(-1, 1, name={"fixation": 0})
        self.action_space = ngym.spaces.Discrete(2)
        self.kept = kept


def column(items: list[Any]) -> np.ndarray:
    made = np.empty(len(items), object)
    for i, item in enumerate(items):
        made[i] = item
    return made


def same(a: Any, b: Any) -> bool:
    """Whether two values are of one type, and equal to the bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and all(map(same, a.ravel().tolist(), b.ravel().tolist()))
        alike = (a.dtype, a.shape, a.flags.writeable) == (b.dtype, b.shape, b.flags.writeable)
        return alike and a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float | np.floating):
        return np.asarray(a).tobytes() == np.asarray(b).tobytes()
    return bool(a == b)


def there_and_back(value: Any) -> Any:
    """What a task keeps, after its state has been put into another one."""
    other = Keeper()
    restore(other, capture(Keeper(value)))
    return other.kept


KINDS = ["f8", "f4", "i8", "i4", "u1", "?", "c16", "U3", "M8[s]"]
vectors = st.sampled_from(KINDS).flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
)
vectors_alike = st.sampled_from(KINDS[:6]).flatmap(
    lambda kind: st.lists(arrays.arrays(kind, st.integers(0, 4)), min_size=1, max_size=6)
)
simple = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.floats(width=32).map(np.float32),
    st.integers(-9, 9).map(np.int64),
    vectors,
)
items = st.recursive(simple, lambda part: st.one_of(st.lists(part, max_size=3), st.tuples(part, part)), max_leaves=6)
columns = st.one_of(
    st.lists(items, max_size=6),
    vectors_alike,
    st.lists(st.floats(), max_size=6),
    st.lists(st.integers(), max_size=6),
    st.lists(st.text(max_size=2), max_size=6),
    st.lists(st.floats(width=32).map(np.float32), max_size=6),
)


@given(columns, st.data())
def test_any_column_comes_back_as_it_was(values: list[Any], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(values), max_size=6)) if values else []
    kept = column(values + again)
    assert same(there_and_back(kept), kept)


@given(columns, st.data())
def test_items_that_are_one_object_are_one_object_again(values: list[Any], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(values), max_size=6)) if values else []
    others = data.draw(st.permutations(values))
    before, kept, after = there_and_back((others[:1], column(values + again), others))
    places = {id(item): i for i, item in enumerate(values)}
    for item, found in zip(again, kept[len(values) :], strict=True):
        if isinstance(item, list | np.ndarray):
            assert found is kept[places[id(item)]]
    for item, found in zip(others[:1] + others, before + after, strict=True):
        if isinstance(item, list | np.ndarray):
            assert found is kept[places[id(item)]]


def test_a_column_that_holds_itself_and_one_of_two_axes_come_back() -> None:
    kept = np.empty((2, 2), object)
    kept[0, 0], kept[1, 1] = kept, np.ones(2)
    found = there_and_back(kept)
    assert found.shape == (2, 2) and found[0, 0] is found and same(found[1, 1], kept[1, 1])


def test_arrays_that_cannot_be_written_to_stay_so() -> None:
    fixed = [np.ones(2), np.ones(3)]
    for array in fixed:
        array.flags.writeable = False
    assert [a.flags.writeable for a in there_and_back(column(fixed))] == [False, False]
    assert [a.flags.writeable for a in there_and_back(column([*fixed, np.ones(2)]))] == [False, False, True]


def size(tree: Any) -> int:
    """Entries of a tree of plain data, each array one."""
    if isinstance(tree, dict):
        return 1 + sum(map(size, tree.values()))
    return 1 + sum(map(size, tree)) if isinstance(tree, list | tuple) else 1


@pytest.mark.parametrize(
    "make",
    [
        lambda i: np.arange(i % 4),
        float,
        int,
        lambda i: np.float64(i),
        lambda i: ("left", "right")[i % 2],
        lambda i: np.ones((i % 3, 2), np.float32),
    ],
    ids=["vectors", "floats", "integers", "scalars", "words", "matrices"],
)
def test_a_long_column_takes_no_more_entries_than_a_short_one(make: Any) -> None:
    short, long = (size(capture(Keeper(column([make(i) for i in range(n)])))) for n in (6, 3000))
    assert short == long


def test_a_few_objects_that_recur_are_saved_once_each() -> None:
    few = [(0, 1), (0, 1, 2)]
    short, long = (size(capture(Keeper(column([few[i % 2] for i in range(n)])))) for n in (6, 3000))
    assert short == long


def test_what_earlier_versions_wrote_is_read() -> None:
    env, other = Keeper(column([1])), Keeper()
    state = capture(env)
    old = state["attributes"]["kept"]
    vector = {"__kind__": "array", "value": np.ones(2), "fixed": False, "number": 900}
    values = ["a", None, vector, {"__kind__": "same", "number": 900}]
    state["attributes"]["kept"] = {"__kind__": "objects", "shape": [4], "values": values, "number": old["number"]}
    restore(other, state)
    assert other.kept[:2].tolist() == ["a", None] and other.kept[2] is other.kept[3]
    assert other.kept[2].tolist() == [1, 1]


PACKED = {"of": "array", "value": np.ones(3), "fixed": False, "number": 800}


@pytest.mark.parametrize(
    "change",
    [
        {"places": np.array([0, 5])},
        {"places": np.array([0, -1])},
        {"shape": [7]},
        {"packed": {**PACKED, "shapes": np.array([[1], [1]])}},
        {"packed": {**PACKED, "shapes": np.array([[-1], [4]])}},
        {"packed": {"of": "letters", "value": np.ones(2)}},
    ],
    ids=["place too large", "place below 0", "shape", "numbers missing", "negative length", "unknown"],
)
def test_a_damaged_column_is_refused(change: dict[str, Any]) -> None:
    twice = [np.ones(1), np.ones(2)]
    state = capture(Keeper(column([*twice, *twice])))
    kept = state["attributes"]["kept"]
    assert "packed" in kept and "places" in kept
    kept.update(change)
    with pytest.raises(ValueError, match="does not fit"):
        restore(Keeper(), state)


def test_what_is_packed_is_json_and_arrays() -> None:
    found = packed([np.ones(2, np.float32), np.zeros(0, np.float32)])
    assert found is not None
    json.dumps({name: part for name, part in found.items() if not isinstance(part, np.ndarray)})
    assert all(map(same, unpacked(found), [np.ones(2, np.float32), np.zeros(0, np.float32)]))
    assert packed([1, 2**70]) is None and packed([1, 2.0]) is None and packed(["a", "b"]) is None
