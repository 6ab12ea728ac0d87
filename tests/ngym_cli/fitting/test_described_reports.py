"""``ngym data`` of tables of continuous reports."""

import json

import numpy as np
import pytest

import ngym_cli as nc


def reports(n=600, ring=360.0, guesses=0.2, seed=0, shift=0.0):
    """Reports on a circle with a standard deviation of a twentieth of it, and uniform guesses."""
    rng = np.random.default_rng(seed)
    target = rng.uniform(-ring / 2, ring / 2, n) + shift
    report = np.where(rng.random(n) < guesses, rng.uniform(0, ring, n), target + rng.normal(0, ring / 20, n))
    return {"target": target, "response": (report - shift + ring / 2) % ring - ring / 2 + shift}


@pytest.mark.parametrize(
    ("ring", "shift", "words"),
    [pytest.param(180.0, 90.0, "180 degrees", marks=pytest.mark.long), (2 * np.pi, 0.0, "6.28 radians")],
)
def test_bias_precision_and_guesses_are_those_of_the_reports(ring, shift, words):
    sizes = np.repeat([1, 4], 400)
    one, four = reports(400, ring, 0.05, shift=shift), reports(400, ring, 0.5, 1, shift)
    table = {name: np.concatenate([one[name], four[name]]) for name in one}
    found = nc.data({**table, "set_size": sizes, "subject": np.ones(800, int)})
    assert words in found.reports.on and found.reports.columns["size"] == "set_size"
    for size, guesses in (("1", 0.05), ("4", 0.5)):
        each = found.reports.groups["1", size]
        assert each.guess_rate.value == pytest.approx(guesses, abs=0.06) and abs(each.bias.value) < ring / 60
        assert each.precision.value == pytest.approx(ring / 20, rel=0.25)
    assert [row["size"] for row in found.rows] == ["all", "1", "4"]


@pytest.mark.parametrize(("step", "n", "ring"), [(15, 12, 180), (60, 6, 360), (np.pi / 4, 8, 2 * np.pi), (1, 4, None)])
def test_few_targets_with_equal_steps_fill_a_circle(step, n, ring):
    target = np.tile(step * np.arange(n), 20)
    report = target + np.random.default_rng(0).normal(0, 0.1, len(target))
    found = nc.data({"target_ori": target, "report_ori": report, "load": np.arange(len(target)) % 3 + 2}).reports
    assert found.columns == {"target": "target_ori", "report": "report_ori", "subject": None, "size": "load"}
    assert found.ring == (ring and pytest.approx(ring))


def test_intervals_lie_on_a_line_and_each_subject_has_a_row():
    rng = np.random.default_rng(0)
    sample = rng.choice([500, 700, 900], 200)
    table = {
        "sub": np.repeat([1, 2], 100),
        "sample_interval": sample,
        "produced_interval": sample + rng.normal(20, 50, 200),
    }
    found = nc.data(table)
    assert found.reports.ring is None and {who for who, _ in found.reports.groups} == {"all", "1", "2"}
    each = found.reports.groups["all", "all"]
    assert each.bias.value == pytest.approx(20, abs=12) and each.guess_rate is None


@pytest.mark.usefixtures("in_process")
def test_the_command_prints_draws_and_refuses(ngym, tmp_path):
    import pandas as pd

    pd.DataFrame({**reports(100), "rt": np.ones(100)}).to_csv(tmp_path / "wheel.csv", index=False)
    result = ngym("data", "wheel.csv")
    assert result.code == 0 and "continuous reports on a circle of 360 degrees" in result.out, result.err
    assert (tmp_path / "figures" / "wheel" / "reports.png").is_file()
    document = json.loads(ngym("data", "wheel.csv", "--json", "--out", "none").out)
    assert document["ring"] == 360 and document["groups"][0]["trials"] == 100
    result = ngym("data", "wheel.csv", "--out", "none", "--save-columns", "c.toml")
    assert result.code == 2 and result.err.count("\n") == 1 and not (tmp_path / "c.toml").exists()
    result = ngym("fit", "wheel.csv")
    assert result.code == 2 and "found no column of choices" in result.err
    pd.DataFrame({**reports(100), "angle": np.arange(100)}).to_csv(tmp_path / "two.csv", index=False)
    result = ngym("data", "two.csv")
    assert result.code == 2 and "target and angle may both be the target of response" in result.err
    few = pd.DataFrame(reports(50))
    few["target"], few["response"] = few["target"].where(few.index < 28), few["response"].where(few.index >= 22)
    few.to_csv(tmp_path / "few.csv", index=False)
    result = ngym("data", "few.csv")
    assert result.code == 2 and "expected 10 continuous reports or more" in result.err
