"""Anything that is written down becomes what JSON has."""

import dataclasses
import json
import pathlib

import numpy as np
import pytest

from neurogym.analysis import Estimate
from neurogym.messages.plain_data import is_plain, plain


@dataclasses.dataclass
class Point:
    x: float
    names: tuple[str, ...]


CASES = [
    (Point(float("inf"), ("a",)), {"x": None, "names": ["a"]}),
    ({"points": [Point(1.0, ())]}, {"points": [{"x": 1.0, "names": []}]}),
    (np.float32(0.5), 0.5),
    (np.array([[1, 2]]), [[1, 2]]),
    (np.array(3), 3),
    ((1, "a", None, True), [1, "a", None, True]),
    (float("nan"), None),
    (np.array([np.inf, 1.0]), [None, 1.0]),
    ({1: range(2)}, {"1": [0, 1]}),
    ({"b", "a"}, ["a", "b"]),
    (pathlib.PurePosixPath("a/b"), "a/b"),
    (Estimate.fixed(1), {"value": 1.0, "low": 1.0, "high": 1.0, "se": 0.0}),
    ([Estimate.fixed(1)], [{"value": 1.0, "low": 1.0, "high": 1.0, "se": 0.0}]),
]


@pytest.mark.parametrize(("value", "expected"), CASES, ids=lambda value: type(value).__name__)
def test_values_become_plain_data(value, expected):
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


def test_what_can_be_written_as_it_is():
    assert is_plain([1, ("a", 2.5), True]) and not is_plain([1, {}]) and not is_plain(None)
