"""The script that measures learners on a GPU, tried on the CPU with tiny networks."""

import json

import pytest

from experiments.benchmarks import gpu
from ngym_cli import processes
from ngym_cli.agents.algorithms.sb3 import Learner


@pytest.fixture
def result(monkeypatch, tmp_path):
    monkeypatch.setattr(Learner, "on_device", None)
    path = tmp_path / "gpu.json"
    monkeypatch.setattr("sys.argv", ["gpu", "--device", "cpu", "--tiny", "--out", str(path)])
    try:
        gpu.main()
    finally:
        processes.set_learning_threads(1)
    return json.loads(path.read_text())


@pytest.mark.long
def test_everything_is_measured_and_stated(result):
    assert result["left_out"] == []
    for row in result["grid"]:
        contestants = ["ours", "kernel", "ours_cpu", *(["contrib"] if row["network"] == "lstm" else [])]
        assert all(row[name] > 0 for name in contestants)
    assert set(result["ways"]) == {"usual", "padded", "bf16", "without graphs"} and all(result["ways"].values())
    assert all(row["ours"] > 0 and row["ours_cpu"] > 0 for row in result["supervised"])
    assert all(
        numbers["loss"] < 1e-5 and numbers["gradient"] < 1e-4 for numbers in result["parity with the CPU"].values()
    )
    assert set(result["same seed twice"].values()) == {0.0}
    ratios = list(result["goals"].values())
    assert all(ratio > 0 for ratio in ratios[:3])
    assert [row["units"] for row in result["crossovers"]] == [8, 8, 8]


def test_what_takes_too_long_is_left_out():
    budget = gpu.Budget(total=100.0, each=5.0)
    budget.rates["ours"] = 10.0
    assert budget.speed("large", "ours", 1000.0, lambda: pytest.fail("it was run")) is None
    assert budget.left_out == ["large"]


def test_the_case_of_the_goals_comes_first():
    cases = gpu.order(gpu.CELLS, gpu.UNITS, gpu.ENVIRONMENTS, gpu.MAIN)
    assert cases[0] == gpu.MAIN and len(set(cases)) == len(cases) == 36
    assert cases[1] == ("lstm", 64, 64) and cases[-1] == ("ctrnn", 2048, 4096)
