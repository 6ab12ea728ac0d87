"""Evaluations, comparisons and sweeps as objects: arrays with named axes, figures, one honest line each."""

from __future__ import annotations

import shutil

import matplotlib.figure
import numpy as np
import pytest

import ngym_cli as nc
from tests.ngym_cli.api.notebook import html


@pytest.fixture(scope="module")
def run(run_folder, tmp_path_factory):
    return nc.Run(shutil.copytree(run_folder, tmp_path_factory.mktemp("results") / "run"))


@pytest.fixture(scope="module")
def recorded(run):
    return run.evaluate(60, record=["activity", "values"], timing={"stimulus": ["uniform", [200, 600]]}, name="kept")


def test_activity_has_named_axes_and_no_values_after_the_end(recorded):
    activity, values = recorded.activity, recorded.recording("values")
    assert activity.axes == ("time", "trials", "units") and activity.shape[1:] == (60, 16)
    assert values.axes == ("time", "trials") and values.shape == activity.shape[:2]
    lengths = np.isfinite(activity[:, :, 0]).sum(axis=0)
    assert len(set(lengths)) > 1 and activity.shape[0] == lengths.max()
    assert activity.time[1] == 100 and "60 trials, 16 units" in repr(activity)
    assert np.nanmean(activity, axis=1).shape == (activity.shape[0], 16)
    aligned = activity.aligned("decision")
    trial = int(np.argmax(lengths))
    onset = int(activity.onsets["decision"][trial] / 100)
    zero = int(np.flatnonzero(aligned.time == 0)[0])
    np.testing.assert_array_equal(aligned[zero, trial], activity[onset, trial])
    np.testing.assert_array_equal(aligned[zero - onset, trial], activity[0, trial])
    with pytest.raises(nc.UserError, match="did you mean 'decision'"):
        activity.aligned("decison")
    with pytest.raises(nc.UserError, match="record='activity'"):
        _ = nc.Run(recorded.folder.parent.parent).evaluations[0].activity


def test_a_quantity_that_was_not_recorded_is_named_with_how_to_record_it(recorded):
    with pytest.raises(nc.UserError, match="logits was not recorded, only activity, values, observations; evaluate"):
        recorded.recording("logits")
    with pytest.raises(nc.UserError, match="unknown recorded quantity 'valus'; did you mean 'values'"):
        recorded.recording("valus")


def test_one_line_has_interval_references_and_fixation_breaks(run, recorded):
    for text in (repr(run), repr(recorded)):
        assert "\n" not in text and "ceiling" in text and "[" in text, text
    for each, result in ((recorded, recorded.summary), (run, run.evaluations[0].summary)):
        assert f"fixation breaks {result['fixation_break_rate']:.2%} of trials (in fixation)" in repr(each)
        assert f"{result['early_action_rate']:.2%} act before decision" in repr(each)
        assert "fixation_break_rate" in html(each) and "early_action_rate" in html(each)
    assert set(recorded.conditions["condition"]) == {"coh"}
    assert (recorded.conditions["performance_low"] <= recorded.conditions["performance"]).all()


def test_the_best_figure_is_drawn_and_all_are_listed_with_reasons(run, recorded):
    assert isinstance(recorded.plot(), matplotlib.figure.Figure)
    figures = run.figures.set_index("id")
    assert figures.loc["learning", "available"] and not figures.loc["forgetting", "available"]
    assert "two evaluations or more" in figures.loc["forgetting", "reason"]


def test_a_comparison_has_numbers_and_a_figure(run):
    reference = run.evaluations[0].trials
    compared = run.evaluate(60, compare=reference, name="compared")
    comparison = compared.comparison
    assert "standard errors" in repr(compared) and "standard errors" in repr(comparison)
    table = comparison.table.set_index("statistic")
    assert {"agent", "agent_low", "data", "difference", "standard_errors"} <= set(table.columns)
    assert table.loc["accuracy", "agent"] == pytest.approx(compared.performance)
    assert isinstance(comparison.plot(), matplotlib.figure.Figure) and "<img" in html(compared)
    assert run.evaluations[0].comparison is None


def test_a_run_has_a_summary_a_row_of_a_table_and_a_learning_curve(run):
    import pandas as pd

    assert run.summary["performance"] == run.performance and run.summary["conditions"]
    table = pd.DataFrame([run.to_dict(), run.to_dict()])
    assert list(table["performance"]) == [run.performance] * 2 and table["seed"].nunique() == 1
    assert {"task", "alg", "network", "units", "hyperparameters.learning_rate", "steps", "ceiling"} <= set(table)
    curve = run.learning_curve
    training = curve[curve["source"] == "training"]
    assert training["trials"].sum() == len(run.trials) and (training["step"].diff().dropna() > 0).all()
    mean = (training["performance"] * training["trials"]).sum() / training["trials"].sum()
    assert mean == pytest.approx(run.trials["performance"].mean())
    evaluated = curve[curve["source"] == "evaluation"]
    assert evaluated["performance"].iloc[-1] == run.performance


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("history", "learning_curve"), ("predict", "act"), ("save", "path"), ("performace", "performance")],
)
def test_an_unknown_attribute_names_the_nearest(run, recorded, name, nearest):
    with pytest.raises(AttributeError, match=f"Run has no attribute '{name}'; did you mean '{nearest}'"):
        getattr(run, name)
    with pytest.raises(AttributeError, match="Evaluation has no attribute 'sumary'; did you mean 'summary'"):
        _ = recorded.sumary
    assert not hasattr(run, "_repr_png_") and not hasattr(run, "xyzzy")


def test_a_recording_of_activity_has_what_its_figures_need(run):
    evaluation = run.evaluate(30, record="activity", seed=11, progress=False)
    reasons = dict(zip(evaluation.figures["id"], evaluation.figures["reason"], strict=True))
    del reasons["similarity"], reasons["recording"]  # need another run, or a recording of neurons
    assert not any("record" in str(reason) for reason in reasons.values()), reasons
    assert evaluation.summary["recorded"] == ["activity", "observations"]


def test_several_values_of_a_run_name_the_function_that_takes_them():
    for arguments in ({"seed": [0, 1]}, {"units": range(3)}, {"network": ["lstm", "gru"]}):
        ((name, values),) = arguments.items()
        with pytest.raises(nc.UserError, match=rf"{name}: a run has one, not {len(values)}; ngym_cli.sweep\({name}="):
            nc.train("RDM-v0", **arguments)
