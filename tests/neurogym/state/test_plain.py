"""Attributes that are plain data come back as they were; everything else is refused by name."""

import collections
import copy
import enum
import io
import itertools
import json
import pathlib
import random
import threading
import types
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import neurogym as ngym
from neurogym.state import CannotSave, capture, check, restore


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(int):
    """A number of a class of its own."""


class Walker:
    state = ("position", "seen")

    def __init__(self, position: float = 0.0):
        self.position, self.seen, self.lock = position, [position], threading.Lock()


VALUES: dict[str, Any] = {
    "set": {1, 2, 3},
    "set of tuples": {(1, "a"), (2, "b")},
    "frozenset": frozenset({"a", "b"}),
    "deque": collections.deque([[1], {2}]),
    "nan": float("nan"),
    "large integer": 2**200,
    "keys that are no words": {(1, 2): "a", None: "b", 3.5: "c", frozenset({1}): "d"},
    "nested": {"a": [({1, 2}, collections.deque(["x"]))], "b": {"c": {"d": {1}}}},
    "empty": [[], (), set(), {}, collections.deque()],
    "words": np.array(["a", "bc"]),
    "array of objects": np.array([{1}, None], dtype=object),
    "empty array": np.zeros((0, 3), np.float32),
    "scalar": np.float32(0.1),
    "Generator": np.random.default_rng(2),
    "other generator": np.random.Generator(np.random.Philox(3)),
    "list of generators": [np.random.default_rng(4), np.random.default_rng(5)],
}


class Keeper(ngym.TrialEnv):
    """A task of one step that keeps something."""

    def __init__(self, saved: Any = None, dt: float = 100):
        super().__init__(dt=dt, timing={"fixation": 100})
        self.kept = saved
        self.observation_space = ngym.spaces.Box(-1, 1, name={"fixation": 0})
        self.action_space = ngym.spaces.Discrete(2)

    def _new_trial(self, **kwargs: Any) -> dict[str, Any]:
        self.add_period("fixation")
        self.set_groundtruth(0)
        return {}

    def _step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.ob_now, 0.0, False, False, {"new_trial": True}


def keeping(value: Any) -> Keeper:
    env = Keeper()
    env.reset(seed=1)
    env.kept = value
    return env


def resumed(value: Any, created: Any = None) -> Any:
    """What a task keeps, after its session has been continued in a task whose constructor keeps ``made``."""
    second = keeping(created)
    restore(second, capture(keeping(value)))
    return second.kept


def comparable(value: Any) -> Any:
    if isinstance(value, np.random.Generator):
        return type(value), [float(value.random()) for _ in range(5)]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.flags.writeable, [comparable(item) for item in value.tolist()]
    if isinstance(value, list | tuple | collections.deque):
        return type(value), [comparable(item) for item in value]
    if isinstance(value, float | np.floating):
        return type(value), repr(value)
    return type(value), value


@pytest.mark.parametrize("name", VALUES)
def test_an_attribute_comes_back_as_it_was(name: str) -> None:
    result = resumed(VALUES[name])
    assert comparable(result) == comparable(VALUES[name])


numbers = st.sampled_from(["f8", "f4", "i8", "i4", "u1", "?", "U3"]).flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
)
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), numbers)
trees = st.recursive(
    leaves,
    lambda part: st.one_of(
        st.lists(part, max_size=3), st.tuples(part, part), st.dictionaries(st.text(max_size=2), part, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(trees)
def test_any_tree_of_plain_data_comes_back_as_it_was(tree: Any) -> None:
    assert repr(resumed(tree)) == repr(tree)


@given(st.lists(st.lists(st.integers(), max_size=2), min_size=1, max_size=4), st.data())
def test_values_that_are_one_object_are_one_object_again(values: list[Any], data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=6))
    first, again = resumed((values, [values[position] for position in places]))
    assert all(result is first[position] for result, position in zip(again, places, strict=True))


@pytest.mark.parametrize(
    "value",
    [
        threading.Lock(),
        io.StringIO("a"),
        iter([1, 2]),
        itertools.count(),
        (i for i in range(3)),
        [1, {"a": threading.Lock()}],
        np.ma.masked_array([1], [True]),
        np.array([1 + 2j]),
        np.random.default_rng(1).normal,
        random.Random(1),
        types.SimpleNamespace(a=1),
        Level(7),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_saved_is_refused_by_name(value: Any) -> None:
    with pytest.raises(CannotSave, match=r"^attribute Keeper\.kept.*state = \(") as caught:
        capture(keeping(value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "other"),
    [(max, min), (Colour.BLUE, Colour.RED), (range(3), range(4)), (pathlib.Path("a"), pathlib.Path("b"))],
)
def test_constants_stay_what_the_constructor_made_them(value: Any, other: Any) -> None:
    assert resumed([value], [value]) == [value]
    with pytest.raises(ValueError, match=r"Keeper\.kept is .*, but the constructor makes "):
        resumed(value, other)


def test_a_function_of_the_constructor_is_the_one_of_the_new_task() -> None:
    assert resumed([lambda: 1], [lambda: 2])[0]() == 2


@pytest.mark.parametrize(
    "value",
    [collections.defaultdict(int, {"a": 3}), collections.Counter("abca"), collections.OrderedDict(b=1, a=2)],
)
def test_dictionaries_of_other_classes_need_one_of_the_class_from_the_constructor(value: Any) -> None:
    created = copy.copy(value)
    created.clear()
    result = resumed(value, created)
    assert result == value and type(result) is type(value)
    with pytest.raises(ValueError, match="constructor"):
        resumed(value, None)


def test_of_an_object_that_the_constructor_made_the_listed_attributes_are_filled() -> None:
    walker = Walker(3.5)
    walker.seen.append({1})
    created = Walker()
    result = resumed(walker, created)
    assert result is created and result.position == 3.5 and result.seen == [3.5, {1}]


def test_a_generator_in_two_places_is_one_generator_again() -> None:
    env, second = keeping(None), keeping(None)
    env.kept, second.kept = {"rng": env.np_random, "task": env}, {"task": second}
    env.kept["rng"].normal(size=3)
    restore(second, capture(env))
    assert second.kept["rng"] is second.np_random and second.kept["task"] is second
    assert env.np_random.random() == second.kept["rng"].random()


def test_children_of_a_generator_go_on_counting() -> None:
    rng = np.random.default_rng(1)
    rng.spawn(3)
    result = resumed(rng)
    assert rng.spawn(1)[0].random() == result.spawn(1)[0].random()


class Reader(Keeper):
    """Lists a property as state: the place in a stream."""

    state = ("place",)

    @property
    def place(self) -> int:
        return self.kept.tell()

    @place.setter
    def place(self, value: int) -> None:
        self.kept.seek(value)


def test_a_property_with_a_setter_can_be_state() -> None:
    env, second = Reader(io.StringIO("abcdef")), Reader(io.StringIO("abcdef"))
    env.reset(seed=1)
    second.reset(seed=2)
    env.kept.read(4)
    restore(second, capture(env))
    assert second.kept.read() == "ef"


class Counting(Keeper):
    """Lists one of the two attributes that change."""

    state = ("seen",)

    def start_session(self) -> None:
        self.seen = self.missed = 0

    def trial_ended(self, info: dict[str, Any]) -> None:
        self.seen, self.missed = self.seen + 1, self.missed + 1


def test_what_changes_without_being_listed_is_refused_by_name() -> None:
    env = Counting(threading.Lock())
    env.reset(seed=1)
    env.step(0)
    with pytest.raises(CannotSave, match=r"^attribute Counting\.missed changes during trials, but .*state = \("):
        check(Counting, env)


class Remembering(Keeper):
    """Lists one of the two attributes that change as trials are made."""

    state = ("drawn",)
    drawn = 0

    def _new_trial(self, **kwargs: Any) -> dict[str, Any]:
        self.drawn += 1
        self.durations.append(self.dt)
        return super()._new_trial(**kwargs)

    def start_session(self) -> None:
        self.durations: list[float] = []


def test_what_changes_as_trials_are_made_without_being_listed_is_refused_by_name() -> None:
    env = Remembering(threading.Lock())
    env.reset(seed=1)
    with pytest.raises(CannotSave, match=r"^attribute Remembering\.durations changes during trials"):
        check(lambda: Remembering(threading.Lock()), env)


def test_check_finds_what_cannot_be_put_back() -> None:
    env = Keeper()
    env.reset(seed=1)
    check(Keeper, env)
    env.kept = [Walker()]
    with pytest.raises(CannotSave, match=r"Keeper\.kept\[0\] is a Walker that the constructor does not make"):
        check(Keeper, env)


def test_the_state_is_json_and_arrays() -> None:
    def plain(tree: Any) -> None:
        if isinstance(tree, dict):
            for key, piece in tree.items():
                assert isinstance(key, str)
                plain(piece)
        elif isinstance(tree, (list, tuple)):
            for piece in tree:
                plain(piece)
        elif isinstance(tree, np.ndarray):
            assert tree.dtype.kind in "biufU"
        else:
            json.dumps(tree)

    plain(capture(keeping(VALUES)))
