"""What a task may keep in its attributes comes back as it was, or is refused by name."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import io
import itertools
import json
import pathlib
import random
import threading
import types
import uuid
from typing import Any, NamedTuple

import numpy as np
import pytest

import neurogym as ngym
from neurogym.state import CannotSave, capture, check, restore


class Colour(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass
class Walker:
    place: float
    seen: list[Any] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Setting:
    name: str


class Stack(list):
    pass


class Slotted:
    __slots__ = ("a", "b")


class Plain:
    pass


def slotted() -> Slotted:
    made = Slotted()
    made.a = {1, 2}
    return made


def counts() -> collections.defaultdict:
    made = collections.defaultdict(int)
    made["a"] += 3
    return made


def stack() -> Stack:
    made = Stack([1, 2])
    made.top = 2  # type: ignore[attr-defined]
    return made


def legacy(steps: int = 5) -> np.random.RandomState:
    made = np.random.RandomState(3)  # noqa: NPY002
    made.standard_normal(steps)
    return made


VALUES: dict[str, Any] = {
    "set": {1, 2, 3},
    "set of tuples": {(1, "a"), (2, "b")},
    "frozenset": frozenset({"a", "b"}),
    "deque": collections.deque([1, 2, 3], maxlen=3),
    "deque without end": collections.deque([[1], {2}]),
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"abc"),
    "path": pathlib.Path("a/b.txt"),
    "pure path": pathlib.PurePosixPath("/a"),
    "complex": 1 + 2j,
    "nan": float("nan"),
    "large integer": 2**200,
    "range": range(3, 9, 2),
    "slice": slice(1, None),
    "date": datetime.date(2020, 1, 2),
    "time": datetime.datetime(2020, 1, 2, 3, tzinfo=datetime.UTC),
    "duration": datetime.timedelta(days=1, microseconds=3),
    "decimal": decimal.Decimal("0.1"),
    "fraction": fractions.Fraction(1, 3),
    "uuid": uuid.UUID(int=5),
    "array.array": array.array("d", [1.5]),
    "Counter": collections.Counter("abca"),
    "OrderedDict": collections.OrderedDict([("b", 1), ("a", 2)]),
    "defaultdict": counts(),
    "read-only mapping": types.MappingProxyType({"a": [1]}),
    "UserDict": collections.UserDict({"a": 1}),
    "ChainMap": collections.ChainMap({"a": 1}, {"b": {2}}),
    "namespace": types.SimpleNamespace(a={1}, b=None),
    "keys that are no words": {(1, 2): "a", None: "b", 3.5: "c", frozenset({1}): "d"},
    "nested": {"a": [({1, 2}, collections.deque([b"x"]))], "b": {"c": {"d": {1}}}},
    "list with a set": [{1}, 2],
    "empty": [[], (), set(), {}, collections.deque()],
    "enum": Colour.RED,
    "named tuple": Point(1.0, 2.0),
    "list of named tuples": [Point(1.0, float("inf")), Point(3.0, 4.0)],
    "data class": Walker(1.5, [{1}]),
    "list of data classes": [Walker(1.5, [1]), Walker(2.5, [])],
    "frozen data class": Setting("a"),
    "list of one's own": stack(),
    "object with slots": slotted(),
    "words": np.array(["a", "bc"]),
    "complex array": np.array([1 + 2j]),
    "array of dates": np.array(["2020-01-01"], dtype="datetime64[D]"),
    "array of bytes": np.array([b"ab", b"c"]),
    "array of records": np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8", (1,))]),
    "array of objects": np.array([{1}, None], dtype=object),
    "array of large floats": np.ones(2, np.longdouble),
    "empty array": np.zeros((0, 3), np.float32),
    "scalar": np.float32(0.1),
    "random": random.Random(1),
    "RandomState": legacy(),
    "Generator": np.random.default_rng(2),
    "other generator": np.random.Generator(np.random.Philox(3)),
    "bit generator": np.random.MT19937(3),
    "list of generators": [np.random.default_rng(4), np.random.default_rng(5)],
    "partial": functools.partial(max, 3),
}


class Keeper(ngym.TrialEnv):
    """A task of one step that keeps something."""

    def __init__(self, kept: Any = None, dt: float = 100):
        super().__init__(dt=dt, timing={"fixation": 100})
        self.kept = kept
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


def look(value: Any) -> Any:
    """A value in a form that can be compared."""
    if isinstance(value, (random.Random, np.random.Generator, np.random.RandomState)):
        return type(value), [float(value.random()) for _ in range(5)]
    if isinstance(value, np.random.BitGenerator):
        return type(value), look(np.random.Generator(value))
    if isinstance(value, functools.partial):
        return value.func, value.args, value(2)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, [look(part) for part in value.tolist()]
    if isinstance(value, Slotted):
        return value.a, hasattr(value, "b")
    if isinstance(value, collections.deque):
        return list(value), value.maxlen
    if isinstance(value, list):
        return type(value), [look(part) for part in value], getattr(value, "top", None)
    if isinstance(value, collections.defaultdict):
        return dict(value), value.default_factory
    if isinstance(value, float | np.floating):
        return type(value), repr(value)
    if isinstance(value, Walker):
        return value.place, look(value.seen)
    return type(value), value


@pytest.mark.parametrize("name", VALUES)
def test_an_attribute_comes_back_as_it_was(name: str) -> None:
    env = keeping(VALUES[name])
    other = keeping(functools.partial(max, 9) if name == "partial" else None)
    restore(other, capture(env))
    assert look(other.kept) == look(env.kept)


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
    ],
    ids=["lock", "file", "iterator", "count", "generator", "nested lock", "masked array"],
)
def test_what_cannot_be_saved_is_refused_by_name(value: Any) -> None:
    with pytest.raises(CannotSave, match=r"^attribute Keeper\.kept.*state_dict") as caught:
        capture(keeping(value))
    assert "\n" not in str(caught.value)


def test_functions_and_classes_stay_what_the_constructor_made_them() -> None:
    env, other = keeping([len, dict, lambda: 1]), keeping([max, list, lambda: 2])
    restore(other, capture(env))
    assert other.kept[:2] == [max, list] and other.kept[2]() == 2


def test_one_object_in_two_places_is_one_object_again() -> None:
    shared: list[Any] = [1]
    rng = np.random.default_rng(1)
    env = keeping({"a": shared, "b": [shared, rng], "rng": rng, "task": None})
    env.kept["task"] = env
    other = keeping(None)
    restore(other, capture(env))
    kept = other.kept
    assert kept["a"] is kept["b"][0] and kept["b"][1] is kept["rng"] and kept["task"] is other


def test_a_helper_draws_from_the_generator_of_the_task_after_resuming() -> None:
    def make() -> Keeper:
        env = Keeper()
        env.reset(seed=1)
        env.kept = types.SimpleNamespace(rng=env.np_random, normal=env.np_random.normal)
        return env

    env, other = make(), make()
    env.kept.normal(size=3)
    restore(other, capture(env))
    one = [env.kept.normal(), env.np_random.random(), env.kept.rng.random()]
    assert one == [other.kept.normal(), other.np_random.random(), other.kept.rng.random()]


def test_children_of_a_generator_go_on_counting() -> None:
    env, other = keeping(np.random.default_rng(1)), keeping(None)
    env.kept.spawn(3)
    restore(other, capture(env))
    assert env.kept.spawn(1)[0].random() == other.kept.spawn(1)[0].random()


def test_a_space_that_was_drawn_from_goes_on() -> None:
    env, other = keeping(None), keeping(None)
    env.action_space.seed(5)
    restore(other, capture(env))
    assert [env.action_space.sample() for _ in range(9)] == [other.action_space.sample() for _ in range(9)]


class Says(Keeper):
    """Says itself what there is to save."""

    def state_dict(self) -> dict[str, Any]:
        return {"place": self.kept.tell(), "seen": {1, 2}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.kept.seek(state["place"])
        self.seen = state["seen"]


def test_a_task_can_say_itself_what_there_is_to_save() -> None:
    env, other = Says(io.StringIO("abcdef")), Says(io.StringIO("abcdef"))
    env.reset(seed=1)
    other.reset(seed=2)
    env.kept.read(4)
    env.own = {3}  # type: ignore[attr-defined]
    restore(other, capture(env))
    assert other.kept.read() == "ef" and other.seen == {1, 2} and other.own == {3}  # type: ignore[attr-defined]


def test_what_an_object_says_of_itself_is_all_that_is_saved() -> None:
    class Counted:
        def __init__(self) -> None:
            self.lock, self.count = threading.Lock(), 0

        def state_dict(self) -> dict[str, Any]:
            return {"count": self.count}

        def load_state_dict(self, state: dict[str, Any]) -> None:
            self.count = state["count"]

    env, other = keeping(Counted()), keeping(Counted())
    env.kept.count = 7
    restore(other, capture(env))
    assert other.kept.count == 7


def test_check_finds_what_cannot_be_put_back() -> None:
    class Inner:  # not to be found by its name
        pass

    env = Keeper()
    env.reset(seed=1)
    check(Keeper, env)
    env.kept = [Inner()]
    with pytest.raises(CannotSave, match=r"Keeper\.kept\[0\]"):
        check(Keeper, env)


def test_the_state_is_json_and_arrays() -> None:
    def plain(tree: Any) -> None:
        if isinstance(tree, dict):
            for key, part in tree.items():
                assert isinstance(key, str)
                plain(part)
        elif isinstance(tree, (list, tuple)):
            for part in tree:
                plain(part)
        elif isinstance(tree, np.ndarray):
            assert tree.dtype.kind in "biufU"
        else:
            json.dumps(tree)

    plain(capture(keeping(VALUES)))
