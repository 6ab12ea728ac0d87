"""Columns that tell trials apart, their values, and the trials of each condition."""

from __future__ import annotations

import numpy as np
import pytest

from ngym_cli.config.values import Range
from ngym_cli.runs.conditions import columns_by_default, columns_of_performance, conditions_of


def test_there_is_one_condition_without_evidence():
    table = {"ground_truth": np.tile([1, 2], 6), "coh": np.repeat([0.0, 6.4, 51.2], 4)}
    conditions = conditions_of(table, ["ground_truth", "coh"])
    assert conditions.levels[0] == {"coh": 0.0}
    assert conditions.levels[1:] == tuple({"ground_truth": t, "coh": c} for t in (1, 2) for c in (6.4, 51.2))
    assert (conditions.index[:4] == 0).all() and (conditions.index >= 0).all()


def test_many_numbers_are_put_into_ranges_in_order():
    conditions = conditions_of({"angle": np.linspace(-1, 1, 600)}, ["angle"])
    assert conditions.in_ranges and len(conditions.levels) == 6
    assert np.bincount(conditions.index).tolist() == [100] * 6 and (np.diff(conditions.index) >= 0).all()
    assert isinstance(conditions.levels[0]["angle"], Range) and conditions.levels[0]["angle"] == "-1 to -0.67"


def test_without_columns_there_is_one_condition():
    conditions = conditions_of({"choice": np.arange(5)})
    assert conditions.levels == ({},) and conditions.index.tolist() == [0] * 5


def test_trials_without_a_value_have_no_condition():
    conditions = conditions_of(
        {"a": np.array([1.0, np.nan, 2.0, 2.0]), "b": np.array(["x", "y", None, "x"], object)}, ["a", "b"]
    )
    assert conditions.index.tolist() == [0, -1, -1, 1]
    assert conditions.levels == ({"a": 1.0, "b": "x"}, {"a": 2.0, "b": "x"})
    assert conditions.at_least(2).levels == ()


@pytest.mark.parametrize(
    ("declared", "columns", "expected"),
    [
        ({"ground_truth": (1, 2), "vpair": [(1, 2)]}, {"ground_truth": 2, "v1": 7, "v2": 7}, ["v1"]),
        ({"ground_truth": (1, 2), "coh": (0, 5)}, {"ground_truth": 2, "coh": 5}, ["ground_truth", "coh"]),
        ({"ground_truth": (1, 2), "sample": ()}, {"ground_truth": 2, "sample": 400}, ["sample"]),
        ({"ground_truth": ()}, {"ground_truth": 400}, ["ground_truth"]),
        ({"context": (0, 1)}, {"ground_truth": 16, "context": 2}, ["context"]),
        ({}, {"distance": 300}, ["distance"]),
        ({}, {}, ["choice"]),
    ],
)
def test_the_remembered_stimulus_comes_first(declared, columns, expected):
    table = {name: np.arange(800) % n for name, n in columns.items()} | {"choice": np.arange(800) % 2.0}
    assert columns_by_default(declared, table) == expected


def test_performance_is_broken_down_by_the_remembered_stimulus_too():
    table = {"v1": np.arange(70) % 7, "delay": np.arange(70) % 2, "ground_truth": np.arange(70) % 2}
    assert columns_of_performance({"delay": (0, 1)}, table) == ["v1", "delay"]
