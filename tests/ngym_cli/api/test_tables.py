"""Tables in memory: descriptions, fits and comparisons as objects, the same as from files."""

from __future__ import annotations

import shutil

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest

import ngym_cli as nc
from ngym_cli.api.trained import Run
from tests.neurogym.behaviour import laboratories
from tests.ngym_cli.api.notebook import html

FORMS = {
    "DataFrame": lambda frame: frame,
    "dict of arrays": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "list of dicts": lambda frame: frame.to_dict("records"),
}


@pytest.fixture
def frame(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    d = laboratories.detection(np.random.default_rng(3), trials=100)
    choice = np.where(d.missed, None, np.where(d.right, "right", "left"))
    return pd.DataFrame(
        {"mouse": d.subject, "session": d.session, "contrast": d.signed, "choice": choice, "correct": d.correct}
    )


def test_every_form_of_a_table_gives_the_same_description(frame):
    frame.to_csv("mice.csv", index=False)
    expected = nc.data("mice.csv").to_dict()
    for convert in FORMS.values():
        described = nc.data(convert(frame)).to_dict()
        assert described["subjects"] == expected["subjects"] and described["roles"] == expected["roles"]


def test_a_description_is_a_table_a_figure_and_a_column_file(frame):
    mice = nc.data(frame)
    assert list(mice.table["subject"]) == ["all", "0", "1"] and {"pse", "pse_low", "accuracy"} <= set(mice.table)
    assert mice.table["pse"][0] == mice.subjects[0].pse.value
    assert isinstance(mice.plot(), matplotlib.figure.Figure)
    assert "400 trials" in repr(mice) and "<table>" in html(mice)
    mice.save_columns("mice.toml")
    assert nc.data(frame, columns="mice.toml").to_dict()["subjects"] == mice.to_dict()["subjects"]
    with pytest.raises(nc.UserError, match=r"psychometrics.*psychometric"):
        mice.plot("psychometrics")
    with pytest.raises(nc.UserError, match="allows psychometric"):
        mice.plot("confidence")


def test_a_fit_has_scores_parameters_predictions_and_a_figure(frame):
    fit = nc.fit(frame, model=["logistic"], folds=2)
    assert fit.models == ["logistic", "bias"] and next(iter(fit.scores["model"])) == "logistic"
    parameters = fit.parameters.query("model == 'logistic' and subject == '1'").set_index("parameter")
    assert parameters.loc["contrast", "value_low"] < parameters.loc["contrast", "value"]
    assert len(fit.predictions) == 400 and "P(right) logistic" in fit.predictions
    assert isinstance(fit.plot("likelihood"), matplotlib.figure.Figure)
    assert fit["scores"]["logistic"] == fit.record["scores"]["logistic"] and "logistic" in repr(fit)
    assert nc.fit(frame, model=["logistic"], folds=2, name=fit.path.name)["scores"] == fit["scores"]  # not fitted again
    assert set(fit.compare(fit)["model"]) == {"logistic", "bias"}
    with pytest.raises(nc.UserError, match="DataFrame"):
        nc.fit(3)


def test_a_fit_predicts_and_scores_other_trials(frame, tmp_path):
    fit = nc.fit(frame, model=["logistic", "logistic:history=1"], folds=2, name="f")
    rows = fit.predict(frame[frame["mouse"] == 1], "logistic")
    assert list(rows["subject"].unique()) == ["1"] and np.allclose(rows["P(left)"] + rows["P(right)"], 1)
    contrast = frame[frame["mouse"] == 1]["contrast"].to_numpy()
    assert np.corrcoef(contrast, rows["P(right)"])[0, 1] > 0.8
    right = frame["choice"] == "right"
    only = fit.predict(frame[(frame["mouse"] == 1) & right], "logistic")  # the other choice may be missing
    assert np.allclose(only["P(right)"], rows["P(right)"][right[frame["mouse"] == 1].to_numpy()])
    scores = fit.score(frame).set_index("model")
    tested = nc.fit(frame, model=["logistic"], folds=1, test=frame, name="g")["test_scores"]["logistic"]
    assert scores.loc["logistic", "log_likelihood"] == pytest.approx(tested["log_likelihood"]["value"])
    with pytest.raises(nc.UserError, match="subject"):
        fit.predict(frame.assign(mouse=7))
    with pytest.raises(nc.UserError, match=r"choices .*expected"):
        fit.predict(frame.assign(choice=frame["choice"].str.upper()))
    figures = fit.figures.set_index("id")
    assert figures.loc["likelihood", "available"] and "glm-hmm" in figures.loc["states", "reason"]
    assert "folds=1" in nc.Fit("g").notes[0] and "folds=1" in html(nc.Fit("g"))
    opened = nc.load("f")
    assert isinstance(opened, nc.Fit) and opened.name == "f" and opened.models == fit.models


def test_values_of_a_learner_before_each_trial_follow_its_rule():
    rng = np.random.default_rng(0)
    choice = rng.integers(0, 2, 120)
    table = {"choice": choice, "reward": (rng.random(120) < np.where(choice, 0.8, 0.2)).astype(float)}
    fit = nc.fit(table, model=["q-learning"], folds=1)
    rows, alpha = fit.predict(table, "q-learning"), fit["models"]["q-learning"]["parameters"]
    q, chosen = rows[["q 0", "q 1"]].to_numpy(), np.eye(2)[choice]
    (alpha,) = (each["alpha"]["value"] for each in alpha.values())
    assert not q[0].any() and q[60, 1] > q[60, 0]
    assert np.allclose(q[1:], (q + alpha * chosen * (table["reward"][:, None] - q))[:-1])


def test_an_evaluation_is_compared_with_a_frame_and_curves_rise_whatever_the_coding(frame, run_folder, tmp_path):
    run = Run(shutil.copytree(run_folder, tmp_path / "run"))  # other tests read the shared run
    columns = {"coh": frame["contrast"].abs(), "choice": frame["choice"], "correct": frame["correct"]}
    result = run.evaluate(300, compare=pd.DataFrame(columns), name="frame", overwrite=True).summary["comparison"]
    reverse = {**columns, "choice": frame["choice"].map({"left": "R", "right": "L"})}
    again = run.evaluate(300, compare=pd.DataFrame(reverse), name="reverse", overwrite=True).summary["comparison"]
    rows, different = ({row["name"]: row["b"]["value"] for row in each["statistics"]} for each in (result, again))
    assert rows["accuracy"] == different["accuracy"] and "multiplied by 100" in " ".join(result["notes"])
    assert any("threshold" in name for name in rows)


def test_a_pair_of_numbers_counts_as_the_strength_of_a_comparison(frame, run_folder, tmp_path):
    pair = {"s1": 0.5 - frame["contrast"] / 2, "s2": 0.5 + frame["contrast"] / 2}
    table = pd.DataFrame({**pair, "choice": frame["choice"], "correct": frame["correct"]})
    result = Run(shutil.copytree(run_folder, tmp_path / "run")).evaluate(300, compare=table).summary["comparison"]
    assert "difference of s1, s2" in " ".join(result["notes"])
    assert any("threshold" in row["name"] for row in result["statistics"])


def test_a_stimulus_of_two_categories_is_no_strength_of_a_comparison(frame, run_folder, tmp_path):
    category = np.where(frame["contrast"] >= 0, 1, -1)
    table = pd.DataFrame({"stimulus": category, "choice": frame["choice"], "correct": frame["correct"]})
    result = Run(shutil.copytree(run_folder, tmp_path / "run")).evaluate(300, compare=table).summary["comparison"]
    assert any("category, without a graded strength" in reason for reason in result["left_out"])
    assert not any("multiplied" in note or "compared with coh" in note for note in result["notes"])
    names = {row["name"] for row in result["statistics"]}
    assert "accuracy" in names and not names & {"PSE", "81.6 % threshold", "bias (logit)", "lapses, low end"}
