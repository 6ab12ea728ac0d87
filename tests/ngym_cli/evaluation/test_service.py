"""``ngym eval`` on changed conditions, along training, perturbed, exported and beside animals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import ngym_cli as nc
from ngym_cli.evaluation.comparison import draw_side_by_side
from ngym_cli.figures.style import styled
from ngym_cli.runs.recordings import Recording
from ngym_cli.runs.summary import perturbations_in_words
from ngym_cli.runs.trial_table import read_trials

DATA = Path(__file__).parents[3] / "experiments" / "data"
MANY = ",".join(map(str, range(16)))
HISTORY = "pass_reward,pass_action"


@pytest.fixture
def run(run_folder, tmp_path):
    """A copy of the small run."""
    return shutil.copytree(run_folder, tmp_path / "run")


def summary(ngym, *arguments):
    return ngym("eval", *arguments, "--json").document


def test_changed_conditions_are_those_of_the_trials(ngym, run):
    result = summary(ngym, run, "--trials", "60", "--task-arg", "cohs=1/90", "--timing", "stimulus=500")
    (folder,) = [path for path in (run / "eval").iterdir() if "cohs" in path.name]
    table = read_trials(folder / "trials.parquet")
    assert set(table["coh"]) == {1, 90}
    assert set(table["period_stimulus"]) == {500}
    assert result["changes"]["task_args"] == {"cohs": [1, 90]}


def test_as_many_sessions_as_a_number_of_trials_fills(ngym, tmp_path):
    words = ("--task", "ChangingBandit-v0", "--timesteps", "300", "--units", "8", "--eval-trials", "150")
    assert ngym("run", *words, "--runs", tmp_path / "runs", "--name", "run").code == 0
    (run,) = (tmp_path / "runs").glob("*/*/run")
    assert json.loads((run / "eval" / "final" / "summary.json").read_text())["trials"] == 200
    result = summary(ngym, run, "--trials", "201", "--seed", "5")
    assert result["trials"] == 300 and result["trials_requested"] == 201
    assert "300 (201 requested; sessions and blocks are evaluated whole)" in ngym("eval", run, "--trials", "201").out
    assert summary(ngym, run, "--trials", "300", "--seed", "6")["trials_requested"] is None


def test_balanced_conditions_are_equally_frequent(ngym, run):
    result = summary(ngym, run, "--trials", "60", "--balanced")
    assert {row["trials"] for row in result["conditions"]} == {12}
    assert result["combinations"] == 10


def test_every_checkpoint_is_evaluated(ngym, run):
    result = summary(ngym, run, "--trials", "20", "--checkpoints", "all")
    assert [row["checkpoint"] for row in result] == sorted(row["checkpoint"] for row in result)
    steps = {int(path.name.removeprefix("step_")) for path in (run / "checkpoints").glob("step_*")}
    assert {row["checkpoint"] for row in result} == steps


def test_a_checkpoint_is_named_in_any_form_of_a_whole_number(ngym, run):
    first = min(int(path.name.removeprefix("step_")) for path in (run / "checkpoints").glob("step_*"))
    for word in (f"{first}", f"{first:_}", f"{first / 1e3}e3"):
        result = summary(ngym, run, "--trials", "20", "--checkpoints", word)
        assert [row["checkpoint"] for row in result] == [first]


def test_each_perturbation_is_an_evaluation_unless_they_act_together(ngym, run):
    flags = ("--trials", "20", "--lesion", "0.1", "--lesion", "units=3,7", "--noise", "0.5 period=stimulus")
    several = summary(ngym, run, *flags)
    words = ["lesion, 2 units", "lesion, 2 units", "noise 0.5, 16 units during stimulus"]
    assert [perturbations_in_words(each) for each in several] == words
    printed = ngym("eval", run, *flags).out
    assert all(each in printed for each in words) and len(printed.splitlines()) == 3
    together = summary(ngym, run, *flags, "--together")
    assert perturbations_in_words(together) == " and ".join(words)
    printed = ngym("eval", run, *flags, "--together", "--task-arg", "cohs=10/90").out
    assert f"changed: task_args cohs=[10, 90]; {' and '.join(words)}" in printed
    alone = nc.load(run).evaluate(20, lesion=[0.1, 0.2])
    assert [perturbations_in_words(each.summary) for each in alone] == ["lesion, 2 units", "lesion, 3 units"]
    assert "lesion, 3 units" in repr(alone[1])
    assert nc.load(run).evaluate(20, lesion=[0.1, 0.2], together=True).summary["perturbations"][1]["fraction"] == 0.2
    for flag in ("--name=x", "--together"):
        wrong = ngym("eval", run, *(flags if "name" in flag else ("--lesion", "0.1")), flag)
        assert wrong.code == 2 and "--together" in wrong.err


def test_units_of_highest_rank_are_lesioned_next_to_equally_many_random_ones(ngym, run):
    flags = ("--trials", "20", "--lesion")
    assert ngym("eval", run, "--trials", "20", "--record", "activity", "--name", "whole").code == 0
    variance = Recording(run / "eval" / "whole")["activity"].var(axis=0)
    first, again, other = (
        summary(ngym, run, *flags, "top:0.4:variance", "--seed", seed, "--overwrite") for seed in "001"
    )
    assert first["perturbations"] == again["perturbations"] and first["control"] == again["control"]
    assert first["perturbations"][0]["units"] == sorted(np.argsort(-variance)[:6].tolist())
    assert first["perturbations"][0]["by"] == "variance"
    control = first["control"]
    draws = [units for (units,) in control["draws"]]
    assert len({tuple(units) for units in draws}) == len(draws) == 10 and {len(set(units)) for units in draws} == {6}
    assert draws != [units for (units,) in other["control"]["draws"]]
    assert control["mean"]["value"] == pytest.approx(np.mean(control["performance"]))
    assert control["mean"]["low"] <= control["mean"]["value"] <= control["mean"]["high"]
    whole = json.loads((run / "eval" / "whole" / "summary.json").read_text())
    assert control["intact"] == pytest.approx(whole["performance"])
    drawn = summary(ngym, run, *flags, f"units={','.join(map(str, draws[0]))}")
    assert control["performance"][0] == pytest.approx(drawn["performance"])
    printed = ngym("eval", run, *flags, "top:0.4:variance").out
    assert "lesion, 6 units of highest variance" in printed
    assert "6 random units, mean of 10 draws" in printed and "intact" in printed
    several = ngym("eval", run, *flags, "top:0.4:selectivity", "--silence", "top:0.4:weight period=stimulus").out
    assert several.count("random units") == 2 and "silence, 6 units of highest weight during stimulus" in several
    assert (run / "eval" / "trials20-seed0-lesion-top-0.4-selectivity").is_dir()
    everything = summary(ngym, run, *flags, "top:1:weight")
    assert set(everything["control"]["performance"]) == {everything["performance"]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["--wrappers", f"{HISTORY},noise:std_noise=0.1"], ["--wrappers", f"{HISTORY},noise:std_noise=0.9"]),
        (["--lesion", "units=1,2,3,4,5,6,7"], ["--lesion", "units=1,2,3,4,5,6,8"]),
        (["--task-arg", "cohs=" + "11/" * 60 + "7"], ["--task-arg", "cohs=" + "11/" * 60 + "8"]),
        (
            ["--together", "--lesion", "0.1", *["--noise", f"0.5 units={MANY} period=stimulus"] * 4],
            ["--together", "--lesion", "0.2", *["--noise", f"0.5 units={MANY} period=stimulus"] * 4],
        ),
        (["--name", "x"], ["--checkpoints", "all", "--record", "actions", "--name", "x"]),
    ],
)
def test_different_evaluations_do_not_replace_each_other(ngym, run, first, second):
    before = {path.name for path in (run / "eval").iterdir()}
    for arguments in (first, second):
        summary(ngym, run, "--trials", "10", *arguments)
    assert len({path.name for path in (run / "eval").iterdir()} - before) >= 2
    again = ngym("eval", run, "--trials", "10", *second, "--seed", "3")
    assert again.code == (2 if "--name" in second else 0), again.err


@pytest.mark.usefixtures("one_figure")
def test_an_evaluation_of_one_trial_can_be_read_again(ngym, run):
    result = summary(ngym, run, "--trials", "1")
    assert result["reward_ci"] is None
    assert ngym("report", run).code == 0
    path = run / "eval" / "trials1-seed0" / "summary.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "reward_ci": [None, None]}))  # of earlier versions
    assert ngym("report", run).code == 0


@pytest.mark.parametrize("damaged", ["x", "[]", '{"recorded": 3}'])
def test_an_evaluation_with_a_damaged_summary_is_replaced(ngym, run, damaged):
    requested = (run, "--trials", "10", "--record", "actions")
    summary(ngym, *requested)
    (run / "eval" / "trials10-seed0" / "summary.json").write_text(damaged)
    assert summary(ngym, *requested)["recorded"] == ["actions"]


def test_several_runs_at_once(ngym, run, tmp_path):
    second = shutil.copytree(run, tmp_path / "second")
    result = summary(ngym, run, second, "--trials", "20", "--name", "both")
    assert [row["run"] for row in result] == [str(run), str(second)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--silence", "units=99"], "no unit 99; expected 0 to 15"),
        (["--silence", "units=1 period=dely"], "did you mean 'delay'"),
        (["--record", "activty"], "did you mean 'activity'"),
        (["--export", "nbw"], "did you mean 'nwb'"),
        (["--record", "spikes", "--spike-rate", "0"], "--spike-rate must be above 0 and at most 1,000, not 0"),
        (["--record", "activity", "--spike-rate", "20"], "add --record spikes"),
        (["--checkpoints", "77"], "unknown checkpoint"),
        (["--checkpoints", ""], "no value in ''"),
        (["--checkpoints", "1,024"], "a comma separates numbers"),
        (["--checkpoints", "75:78"], "unknown checkpoint '75'"),
        (["--compare", "x.csv"], "no such table of trials"),
        (["--compare", "x.csv", "--columns", "y.toml"], "no such configuration file"),
        (["period=delay"], "not a run"),
        (["--task-arg", "cohss=1"], "cohs"),
        (["--wrappers", "pass_reward"], "trained with"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(ngym, run, arguments, message):
    before = sorted(run.rglob("*"))
    result = ngym("eval", run, "--trials", "20", *arguments)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert sorted(run.rglob("*")) == before


def test_nwb_is_valid_and_holds_trials_periods_and_activity(ngym, run):
    pynwb = pytest.importorskip("pynwb", reason="pynwb is not installed (pip install 'ngym[nwb]')")
    result = summary(ngym, run, "--trials", "30", "--export", "nwb", "--name", "out")
    path = result["exports"][0]
    assert not pynwb.validate(path=path)
    table = read_trials(run / "eval" / "out" / "trials.parquet")
    with pynwb.NWBHDF5IO(path, "r") as file:
        session = file.read()
        assert np.array_equal(session.trials["coh"][:], table["coh"])
        assert set(session.intervals["periods"]["period"][:]) >= {"fixation", "stimulus", "decision"}
        series = session.processing["ecephys"]["activity"]
        assert series.data.shape == (int(table["steps"].sum()), 16)
        assert np.all(np.diff(series.timestamps[:]) > 0)


def test_padded_arrays_hold_every_step_with_conditions_and_spikes_of_known_rate(ngym, run):
    requested = "--trials 80 --record spikes --spike-rate 20 --export npz,nwb --name arrays".split()
    folder = Path(summary(ngym, run, *requested)["exports"][0]).parent
    table, recording = read_trials(folder / "trials.parquet"), Recording(folder)
    result = np.load(folder / "trials.npz", allow_pickle=False)
    mask = result["mask"]
    assert np.array_equal(mask.sum(axis=1), table["steps"]) and np.array_equal(result["condition_coh"], table["coh"])
    for name, recorded in {"activity": "activity", "inputs": "observations", "outputs": "logits"}.items():
        assert np.array_equal(result[name][mask], recording[recorded]) and not result[name][~mask].any()
    low, high = recording["activity"].min(axis=0), recording["activity"].max(axis=0)
    rates = 20 * (recording["activity"] - low) / (high - low)
    assert np.allclose(result["rates"][mask], rates, atol=1e-3)
    expected = rates.sum(axis=0) * recording.dt / 1000
    assert np.all(np.abs(result["spikes"][mask].sum(axis=0) - expected) < 5 * np.sqrt(expected) + 1)
    assert np.corrcoef(result["spikes"][mask].ravel(), rates.ravel())[0, 1] > 0.3
    with h5py.File(folder / "session.nwb") as file:
        assert len(file["units/spike_times"]) == result["spikes"].sum()
        assert np.allclose(file["units/gain"], 20 / (high - low)) and "spikes" not in file["processing/ecephys"]
    drawn = ("similarity", "--by", "coh", "--metric", "cka", "--json")
    plotted = ngym("plot", folder / "trials.npz", folder / "session.nwb", run, *drawn)
    assert plotted.code == 0, plotted.err


def test_padded_arrays_of_a_memoryless_agent_hold_inputs(ngym, tmp_path):
    requested = ("--task", "RDM-v0", "--alg", "a2c", "--timesteps", 400, "--n-envs", 2, "--name", "flat")
    assert ngym("run", *requested).code == 0
    result = json.loads(ngym("eval", "flat", "--trials", 20, "--export", "npz", "--json").out)
    arrays = np.load(result["exports"][0], allow_pickle=False)
    assert arrays["inputs"].shape[:2] == arrays["mask"].shape and "activity" not in arrays
    refused = ngym("eval", "flat", "--trials", 20, "--record", "spikes", "--name", "no")
    assert refused.code == 2 and "this agent has none" in refused.err


def test_beside_the_monkeys(ngym, run):
    data, columns = DATA / "roitman_shadlen_2002.csv", DATA / "roitman_shadlen_2002.toml"
    result = summary(ngym, run, "--trials", "200", "--compare", data, "--columns", columns)["comparison"]
    rows = {row["name"]: row for row in result["statistics"]}
    assert rows["accuracy"]["b"]["value"] == pytest.approx(0.8094, abs=1e-4)
    assert Path(result["figure"]).read_bytes().startswith(b"\x89PNG")
    assert result["distance"] > 0
    by_name = summary(ngym, run, "--trials", "200", "--compare", "roitman2002", "--name", "fractions")["comparison"]
    assert any("multiplied by 100" in note for note in by_name["notes"])
    fractions = {row["name"]: row for row in by_name["statistics"]}
    for name, row in rows.items():  # the table has fractions, the column file percent
        assert fractions[name]["b"]["value"] == pytest.approx(row["b"]["value"], rel=0.02, abs=1e-6), name


def test_a_comparison_without_reaction_times_has_no_empty_panel():
    coherence = np.tile([0.0, 12.8, 51.2], 60)
    table = {
        "coh": coherence,
        "ground_truth": np.tile([1.0, 2.0], 90),
        "choice": np.where(coherence > 0, np.tile([1.0, 2.0], 90), 1.0),
        "outcome": np.where((coherence > 0) | (np.arange(180) % 2 == 0), "correct", "error"),
    }
    with styled():
        figure = draw_side_by_side({"network": table, "animal": table})
    titles = [axes.get_title(loc="left").split(",")[0] for axes in figure.axes]
    assert titles == ["psychometric curve", "accuracy"]
    assert all(axes.containers for axes in figure.axes)  # points with intervals in each


def test_an_evaluation_that_holds_more_stays_beside_the_next_of_the_same_settings(ngym, run):
    """A second evaluation of the same name used to delete the recording without a word."""
    words, folder = ("eval", run, "--trials", "20"), run / "eval" / "trials20-seed0"
    assert ngym(*words, "--record", "activity").code == 0
    recorded = (folder / "activity.h5").read_bytes()
    assert ngym(*words).code == 0 and ngym(*words).code == 0
    assert (folder / "activity.h5").read_bytes() == recorded
    assert sorted(path.name for path in (run / "eval").glob("trials20*")) == [folder.name, f"{folder.name}-2"]
    assert ngym(*words, "--record", "activity,values", "--export", "csv").code == 0
    assert (folder / "trials.csv").is_file()
    assert ngym(*words, "--record", "activity").code == 0  # values and the table stay
    assert (run / "eval" / f"{folder.name}-2" / "activity.h5").is_file() and (folder / "trials.csv").is_file()
    refused = ngym(*words, "--name", folder.name)
    assert refused.code == 2 and "--overwrite" in refused.err
    assert ngym(*words, "--overwrite").code == 0
    assert not (folder / "activity.h5").exists()


def test_what_the_task_is_about_comes_first(ngym, run):
    result = summary(ngym, run, "--trials", "200", "--stochastic", "--name", "about")
    assert [row["id"] for row in result["measures"]][-2:] == ["slope", "lapses"]  # the PSE if 200 trials determine it
    text = ngym("eval", run, "--trials", "200", "--stochastic", "--name", "about", "--overwrite").out
    assert text.index("lapses") < text.index("performance")
    assert "chance among answers 0.5000" in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_an_animal_with_words_for_choices_needs_no_column_map(ngym, run):
    """Bias, lapses and history weights come from the code of ngym data; constant reaction times are left out."""
    data = DATA / "akrami_2018_rat_w053.csv"
    result = summary(ngym, run, "--trials", "300", "--stochastic", "--compare", data, "--name", "rat")["comparison"]
    rows = {row["name"]: row for row in result["statistics"]}
    described = json.loads(ngym("data", data, "--out", "none", "--json").out)["subjects"][0]
    assert rows["bias (logit)"]["b"] == pytest.approx(described["bias"])
    assert rows["weight of choice, 1 back"]["b"] == pytest.approx(described["history"]["choice, 1 back"])
    assert not [name for name in rows if "reaction time" in name]


def test_a_table_without_correctness_leaves_accuracy_out(ngym, run, tmp_path):
    rows = ["day,coh,side", *(f"{k % 3},{(-1) ** k * 25.6},{'right' if k % 5 else 'left'}" for k in range(120))]
    (tmp_path / "words.csv").write_text("\n".join(rows) + "\n")
    asked = ngym("eval", run, "--trials", "200", "--compare", tmp_path / "words.csv")
    assert asked.code == 2 and "--choice side --save-columns columns.toml" in asked.err
    assert ngym("data", tmp_path / "words.csv", "--choice", "side", "--save-columns", tmp_path / "c.toml").code == 0
    columns = ("--columns", tmp_path / "c.toml")
    result = summary(ngym, run, "--trials", "200", "--compare", tmp_path / "words.csv", *columns)["comparison"]
    names = [row["name"] for row in result["statistics"]]
    assert not any("accuracy" in name or "threshold" in name for name in names)
    assert any("neither correctness nor correct choices" in reason for reason in result["left_out"])


def test_a_table_that_cannot_be_compared_gets_one_line(ngym, run, tmp_path):
    (tmp_path / "a.csv").write_text("choice,correct\nleft,1\nright,perhaps\n")
    refused = ngym("eval", run, "--trials", "20", "--compare", tmp_path / "a.csv")
    assert refused.code == 2 and "column 'correct', row 2 (line 3): found 'perhaps', expected 0 or 1" in refused.err
    assert ngym("eval", run, "--columns", tmp_path / "a.toml").code == 2
