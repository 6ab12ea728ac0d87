"""A record with entries of other types is one line, and stands in the way of no other run."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ngym_cli import runs
from ngym_cli.errors import UserError
from ngym_cli.runs import managing, records
from ngym_cli.runs.trial_table import COLUMNS, read_trials, write_table
from ngym_cli.sweeps import status

GOOD = {
    "status": "finished",
    "task": "RDM-v0",
    "alg": "ppo",
    "network": "mlp",
    "seed": 3,
    "steps": 10,
    "trials": 4,
    "performance": 0.5,
    "performance_ci": [0.4, 0.6],
    "started": "2030-01-01T00:00:00+00:00",
    "config": {"units": 8},
    "process": {"host": "here", "pid": 3, "started": "5"},
    "machine": {"python": "3.12"},
    "versions": {"numpy": "2"},
    "seeds": {"network": 1},
    "resumed": [{"at": "2030-01-01T00:00:00+00:00", "step": 3}],
    "command": ["ngym"],
    "chance": None,
    "ceiling": 0.9,
    "ended": None,
    "exit_reason": "all steps taken",
    "git": None,
}
WRONG = [[1], {"a": 1}, "x", -1, 1.5, True, 10**400, [[]], {"pid": "x"}, [{"at": 3}], [None, None, None]]


def make(root, name, record):
    folder = root / "RDM-v0/ppo" / name
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(record if isinstance(record, str) else json.dumps(record))
    (folder / "config.toml").write_text('task = "RDM-v0"\n')
    return runs.RunFolder(folder)


@pytest.mark.parametrize("value", WRONG, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("entry", GOOD)
def test_a_wrong_entry_hinders_no_other_run(tmp_path, entry, value):
    good = make(tmp_path, "good", GOOD)
    for state in ("finished", "running"):
        record = {**GOOD, "status": state, entry: value}
        bad = make(tmp_path, f"bad-{state}", record)
        listed = [runs.describe(run) for run in runs.find_all(tmp_path)]
        assert {"good"} <= {row["name"] for row in listed if row["status"] == "finished"}
        assert runs.find("good", tmp_path) == good
        try:
            manifest = bad.manifest()
        except UserError as error:
            assert entry in str(error) and "\n" not in str(error)
            with pytest.raises(UserError):
                managing.between("good", bad.name, tmp_path)
        else:
            managing.between("good", bad.name, tmp_path)
            status.update_from_manifest({}, manifest)
            runs.refuse_if_running_elsewhere(bad, {**manifest, "status": "crashed"})


NONE = ["", "[]", "null", "3", '"x"', "{", '{"status": 3}', '{"status": "done"}', "\x00", "NaN"]


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_record_is_damaged(tmp_path, text):
    make(tmp_path, "good", GOOD)
    bad = make(tmp_path, "bad", text)
    with pytest.raises(UserError, match=r"damaged|manifest"):
        bad.manifest()
    assert sorted(runs.describe(run)["status"] for run in runs.find_all(tmp_path)) == ["damaged", "finished"]


def test_every_entry_of_a_real_summary_is_checked(run_folder, tmp_path):
    good = json.loads((run_folder / "eval/final/summary.json").read_text())
    records.read(run_folder / "eval/final/summary.json", records.Summary)
    refused = 0
    for entry in records.Summary.__annotations__:
        for value in ({"a": {}}, [[]], "x", object):
            (tmp_path / "summary.json").write_text(json.dumps({**good, entry: "\x1b[2J" if value is object else value}))
            try:
                records.read(tmp_path / "summary.json", records.Summary)
            except UserError as error:
                refused += 1
                assert "\n" not in str(error)
    assert refused > 3 * len(records.Summary.__annotations__) - 25


def table(n=4):
    columns = {name: np.zeros(n, kind or float) for name, kind in COLUMNS.items() if kind is not object}
    columns |= {name: np.array(["x"] * n, object) for name, kind in COLUMNS.items() if kind is object}
    return columns


KINDS = {
    "words": pa.array(["a", "b", "c", "d"]),
    "nested": pa.array([{"a": 1}] * 4),
    "bytes": pa.array([b"\xff"] * 4),
    "moments": pa.array(np.arange(4).astype("datetime64[s]")),
    "truth": pa.array([True] * 4),
    "lists": pa.array([[1]] * 4),
    "numbers": pa.array([1.5] * 4),
    "nothing": pa.nulls(4),
    "gaps": pa.array([1, None, 2, 3]),
    "map": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
    "decimal": pa.array([1, 2, 3, 4]).cast(pa.decimal128(30, 2)),
    "ragged": pa.array([[1], [1, 2], None, []]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*COLUMNS, "coh"])
def test_a_column_of_another_type_is_refused_or_read(tmp_path, name, kind):
    path = tmp_path / "trials.parquet"
    write_table(table(), path)
    uninterrupted = pq.read_table(path)
    at = uninterrupted.column_names.index(name) if name in uninterrupted.column_names else uninterrupted.num_columns
    columns = [uninterrupted.column(second) for second in uninterrupted.column_names]
    names = list(uninterrupted.column_names)
    columns[at : at + 1], names[at : at + 1] = [KINDS[kind]], [name]
    pq.write_table(pa.table(columns, names=names), path)
    try:
        result = read_trials(path)
    except UserError as error:
        assert "damaged trial table" in str(error) and "\n" not in str(error)
    else:
        assert len(result["trial"]) == 4


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_that_is_missing_is_named(tmp_path, name):
    path = tmp_path / "trials.parquet"
    write_table({key: value for key, value in table().items() if key != name}, path)
    with pytest.raises(UserError, match=f"column {name} is missing"):
        read_trials(path)
