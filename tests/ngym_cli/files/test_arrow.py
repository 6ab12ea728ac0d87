"""Columns become Arrow arrays as Arrow itself would make them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from ngym_cli.files import arrow


def objects(*items):
    column = np.empty(len(items), object)
    column[:] = items
    return column


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        *(np.arange(11).astype(kind) for kind in ("i4", "i8", "u1", "f4", "f8")),
        np.array([1.5, np.nan, -np.inf, np.nan]),
        np.arange(13) % 3 == 0,
        np.arange(24.0).reshape(8, 3)[:, ::2],
        np.zeros(0),
        np.zeros((0, 3)),
        objects("word", None, "größer", ""),
        objects("word", "other"),
        objects(None, None),
        objects(1, None, 3),
        objects([1, 2], [3], None),
        np.array(["a", "bcd"]),
    ],
    ids=lambda values: f"{values.dtype}{values.shape}",
)
def test_columns_are_those_of_arrow(values, gaps):
    if values.ndim > 1:
        expected = pa.array([row.tolist() for row in values], pa.list_(pa.float64()))
    elif values.dtype == object:
        expected = pa.array(list(values))
    else:
        expected = pa.array(values, from_pandas=gaps)
    result = arrow.column(values, gaps)
    result.validate(full=True)
    assert result.type == expected.type and result.null_count == expected.null_count
    assert str(result.to_pylist()) == str(expected.to_pylist())


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5, None, float("nan"), 4.0, None, 2.0]),
        pa.array([1, 2, None, 4, 5, None], pa.int32()),
        pa.array([1, 2, 3, 4, 5, 6]),
        pa.array([1.0, None, 2.0, 3.0, 4.0, 5.0], pa.float32()),
        pa.array([True, False, True, True, False, False]),
        pa.array([], pa.int64()),
        pa.nulls(6),
        pa.array(["a", None, "b", "a", None, "c"]).dictionary_encode(),
    ],
    ids=lambda column: f"{column.type}{column.null_count}",
)
def test_columns_are_read_as_by_arrow(column, pieces):
    chunked = pa.chunked_array([column.slice(len(column) * k // pieces, len(column) // pieces) for k in range(pieces)])
    words = pa.types.is_dictionary(column.type)  # of which Arrow's own mistakes the gaps for the last word
    result, expected = arrow.values_of(chunked), np.array(chunked.to_pylist()) if words else chunked.to_numpy()
    assert result.dtype == expected.dtype and result.flags.writeable
    np.testing.assert_array_equal(result, expected)


def test_words_and_numbers_that_are_mixed_become_words():
    assert arrow.column(objects("a", 1, None)).to_pylist() == ["a", "1", None]


def test_a_table_is_written_and_read_without_pandas(tmp_path):
    program = f"""
import sys
from pathlib import Path
import numpy as np
from ngym_cli.runs.trial_recorder import TrialRecorder
from ngym_cli.runs.trial_table import read_trials
recorder = TrialRecorder(Path({str(tmp_path)!r}), "RDM-v0", 100, 2)
trials = {{"env": np.arange(2), "coh": np.array([0.5, np.nan]), "why": np.array(["a", "b"], object)}}
recorder.add(trials, 2)
recorder.flush()
assert len(read_trials(Path({str(tmp_path)!r}))["trial"]) == 2
sys.exit("pandas" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
