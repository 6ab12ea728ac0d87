"""A drawn sample of rows is made again and compared with the spread of the seeds."""

from __future__ import annotations

import pytest

from experiments.records import __main__ as program
from experiments.records import sample
from experiments.records.record import Record
from ngym_cli import runs

SMALL = {"task": "GoNogo-v0", "units": 4, "timesteps": 100, "n_envs": 2, "evaluation": {"every": 0, "trials": 4}}


@pytest.fixture
def record(tmp_path):
    """A record of three quick items, one that takes hours, and one of a single seed; numbers are as the item says."""
    made = {"right": 0.62, "wrong": 0.9, "broken": None, "hours": 0.62, "single": 0.62}
    record = Record(
        name="it",
        what="a record",
        file=tmp_path / "results.json",
        items=lambda: list(made),
        make=lambda item, seed: {"performance": made[item] * 1.0},
    )
    seeds = {str(seed): {"performance": 0.6 + seed / 100, "cpu_seconds": 2.0} for seed in range(3)}
    hours = {seed: {**row, "cpu_seconds": 7200.0} for seed, row in seeds.items()}
    record.write({"right": seeds, "wrong": seeds, "broken": seeds, "hours": hours, "single": {"0": seeds["0"]}})
    return record


def test_rows_are_drawn_that_are_quick_and_have_a_spread(record):
    drawn = sample.draw({"it": record}, 10, seed=1)
    assert {item for _, item, _ in drawn} == {"right", "wrong", "broken"} and len(set(drawn)) == len(drawn) == 9
    assert sample.draw({"it": record}, 2, seed=1) == drawn[:2]
    assert {tuple(sample.draw({"it": record}, 2, seed)) for seed in range(9)} != {tuple(drawn[:2])}


def test_a_number_outside_the_spread_of_the_seeds_is_reported(record, capsys):
    before = record.file.read_bytes()
    assert program.sampled({"it": record}, 9, draw=0) == 6
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in lines) == ["DIFFERS"] * 3 + ["FAILS"] * 3 + ["agrees"] * 3
    verdicts = {"right": "agrees", "wrong": "DIFFERS", "broken": "FAILS"}
    assert all(line.split()[0] == verdicts[line.split("/")[1].split(",")[0]] for line in lines)
    assert record.file.read_bytes() == before


def test_seeds_without_spread_allow_a_hundredth():
    kept = [{"performance": 1.0}] * 3
    assert sample.compare({"performance": 0.991}, kept)[0].agrees
    assert not sample.compare({"performance": 0.98}, kept)[0].agrees


def test_numbers_without_a_spread_are_not_compared():
    assert sample.compare({"claim": 0.5, "other": None}, [{"claim": 0.5}, {"claim": None}, {}]) == []


def test_a_row_of_a_run_is_trained_again(tmp_path):
    record = Record(
        name="it",
        what="a record of runs",
        file=tmp_path / "results.json",
        items=lambda: ["a"],
        make=lambda item, seed, folder: {"performance": runs.RunFolder(folder).manifest()["config"]["timesteps"]},
        run=lambda item: SMALL,
    )
    record.write({"a": {str(seed): {"performance": 100, "cpu_seconds": 1.0} for seed in range(3)}})
    assert sample.again(record, "a", 1) == [("performance", 100.0, 99.0, 101.0)]
