"""Outside data: the two monkeys of Roitman & Shadlen 2002 meet their published numbers; tables are compared."""

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from neurogym import analysis
from neurogym.analysis import from_trials
from neurogym.analysis.animals import comparison
from neurogym.analysis.results import Estimate

DATA = Path(__file__).parents[3] / "experiments" / "data"


@pytest.fixture(scope="module")
def monkeys():
    columns = tomllib.loads((DATA / "roitman_shadlen_2002.toml").read_text())
    return analysis.load_trials(DATA / "roitman_shadlen_2002.csv", columns)


def test_monkeys_accuracy_and_reaction_times(monkeys):
    assert len(monkeys["coh"]) == 6149
    accuracy = [round(r.accuracy.value, 3) for r in analysis.rates(monkeys, "coh")]
    assert accuracy == [0.500, 0.642, 0.777, 0.941, 0.995, 1.000]
    assert [round(r.mean.value) for r in analysis.reaction_times(monkeys, "coh")] == [826, 820, 775, 684, 543, 423]


@pytest.mark.parametrize(("monkey", "threshold", "slope"), [(None, 7.39, 1.29), (1, 8.24, 1.44), (2, 6.74, 1.20)])
def test_monkeys_psychometric_function(monkeys, monkey, threshold, slope):
    table = monkeys if monkey is None else analysis.select(monkeys, monkeys["env"] == monkey)
    fit = from_trials.psychometric(table, model="weibull", lapse=0.0, n_boot=50)
    assert fit.threshold.value == pytest.approx(threshold, abs=0.006)
    assert fit.slope.value == pytest.approx(slope, abs=0.006)
    assert fit.strength_at(0.816) == pytest.approx(threshold, abs=0.02)
    assert fit.threshold.value in fit.threshold and fit.threshold.se < 0.5


def test_monkeys_diffuse_to_a_bound(monkeys):
    fit = from_trials.chronometric(monkeys, n_boot=20)
    assert np.abs(fit.predict(fit.reaction_time.x) - fit.reaction_time.value).max() < 40
    assert 200 < fit.residual_time.value < 450


def test_monkeys_differ_from_each_other_but_not_from_themselves(monkeys):
    first, two = (analysis.select(monkeys, monkeys["env"] == m) for m in (1, 2))
    half = np.arange(len(first["coh"])) % 2 == 0
    same = analysis.compare(analysis.select(first, half), analysis.select(first, ~half), n_boot=50)
    different = analysis.compare(first, two, n_boot=50)
    names = {c.name for c in different}
    assert {"accuracy", "reaction time", "81.6 % threshold", "diffusion bound", "accuracy at coh 6.4"} <= names
    assert "win-stay" not in names
    assert analysis.distance(same) < 2 < analysis.distance(different)
    threshold = next(c for c in different if c.name == "81.6 % threshold")
    assert threshold.difference.low > 0 and threshold.distance > 2


def test_a_map_renames_scales_and_recodes(tmp_path):
    file = tmp_path / "mouse.csv"
    file.write_text("side,rt_s,good,contrast\nL,0.5,1,0.1\nR,0.25,0,0.2\nL,1,0,0.2\n")
    columns = {
        "choice": {"column": "side", "values": {"L": 1, "R": 2}},
        "rt": {"column": "rt_s", "scale": 1000},
        "performance": "good",
        "coh": {"column": "contrast", "scale": 100, "offset": 1},
        "task": {"constant": "mouse"},
    }
    table = analysis.load_trials(file, columns, in_order=True)
    assert table["rt"].tolist() == [500, 250, 1000] and table["coh"].tolist() == [11, 21, 21]
    assert table["ground_truth"].tolist() == [1, 1, 2] and table["outcome"].tolist() == ["correct", "error", "error"]
    assert table["prev_choice"].tolist() == [None, 1, 2]
    assert table["prev_outcome"].tolist() == [None, "correct", "error"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"performance": "nothing"}, "no column 'nothing'; the file has side, good"),
        ({"choice": "side"}, "neither outcome nor performance"),
        ({"performance": {"column": "good", "factor": 2}}, "unknown key factor"),
        ({"choice": {"column": "side", "values": {"L": 1}}, "performance": "good"}, "no value for R"),
    ],
)
def test_a_wrong_map_is_explained(tmp_path, columns, message):
    file = tmp_path / "mouse.csv"
    file.write_text("side,good\nL,1\nR,0\n")
    with pytest.raises(ValueError, match=message):
        analysis.load_trials(file, columns)


def test_the_same_observer_is_about_one_standard_error_away():
    rng = np.random.default_rng(0)

    def session():
        strength = rng.choice([0, 6.4, 12.8, 25.6], 600)
        right = rng.choice([1, 2], 600)
        correct = rng.random(600) < 0.5 + 0.5 * (1 - np.exp(-strength / 10))
        choice, outcome = np.where(correct, right, 3 - right), np.where(correct, "correct", "error")
        return analysis.with_previous(
            {"coh": strength, "choice": choice, "outcome": outcome, "rt": rng.gamma(9, 50, 600)}
        )

    compared = [c for _ in range(5) for c in analysis.compare(session(), session(), n_boot=50)]
    assert 0.7 < np.sqrt(np.nanmean(np.square([c.distance for c in compared]))) < 1.3
    assert not any(c.name.startswith("diffusion") for c in compared)


def test_importing_the_package_imports_no_analysis():
    heavy = ("scipy", "sklearn", "statsmodels", "pandas", "torch")
    code = f"import sys, neurogym, neurogym.analysis; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
    for name in analysis.__all__:
        assert getattr(analysis, name) is not None
    assert callable(analysis.rates) and callable(analysis.wagering) and callable(analysis.two_step)


def test_an_estimate_that_never_varied_has_no_distance():
    same = comparison("threshold", Estimate.percentile(409.6, np.full(50, 409.6)), Estimate.fixed(33.0))
    assert np.isnan(same.distance) and same.difference.value == pytest.approx(376.6)
    assert Estimate.percentile(1.0, [2.0, 3.0, 4.0]).low <= 1.0
