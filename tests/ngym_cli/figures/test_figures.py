"""Every figure is drawn from the trials of a task that calls for it, and says why it cannot be of others."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from pyarrow import parquet

import ngym_cli
from ngym_cli import runs
from ngym_cli.evaluation import service
from ngym_cli.evaluation.request import EvalRequest, Perturbations
from ngym_cli.evaluation.summary_text import print_evaluation
from ngym_cli.figures import conditions, files, requests, weights
from ngym_cli.figures.behaviour import psychometric_axes
from ngym_cli.figures.evidence import strength_by_modality
from ngym_cli.figures.population import population
from ngym_cli.figures.registry import FIGURES
from ngym_cli.figures.source import Series
from ngym_cli.figures.style import FigureUnavailableError, new_figure, styled
from ngym_cli.figures.wording import Wording
from ngym_cli.files.writing import write_json
from ngym_cli.runs.trial_table import read_trials
from tests.ngym_cli.figures.made_up import TASKS, made_up_run


@pytest.mark.parametrize("task", TASKS)
def test_the_task_gives_its_figures_with_units_and_numbers(task, made_up):
    """That each of them can be drawn is said by `test_contract`."""
    figures = TASKS[task][1]
    seen = requests.view([str(made_up(task))], Path("runs"))
    rows = {row["id"]: row for row in requests.available(seen)}
    for name in ("learning", *figures):
        assert rows[name]["available"], rows[name]["reason"]
    assert all(row["default"] for name, row in rows.items() if name in figures and name != "history")
    before = dict(matplotlib.rcParams)
    figure = requests.drawn(seen, FIGURES[figures[0]]).figure
    assert dict(matplotlib.rcParams) == before
    words = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]
    assert all(axes.get_xlabel() or axes.get_xticklabels() for axes in figure.axes)
    assert all(axes.get_ylabel() for axes in figure.axes[:1])
    assert any("n = " in word or "sessions" in word or "reversals" in word for word in words)


def test_what_cannot_be_drawn_says_why(run_folder):
    seen = requests.view([str(run_folder)], Path("runs"))
    rows = {row["id"]: row for row in requests.available(seen)}
    assert "no column context" in rows["context"]["reason"]
    assert "--record activity" in rows["psth"]["reason"]
    assert "2 runs" in rows["similarity"]["reason"]
    assert "--checkpoints all" in rows["development"]["reason"]
    with pytest.raises(FigureUnavailableError, match="neither numbers nor places on a ring"):
        FIGURES["reports"].draw(seen)
    with pytest.raises(FigureUnavailableError, match="no column wager"):
        FIGURES["wagering"].draw(seen)


def test_figures_of_activity_are_written_in_the_format_and_style_that_are_named(ngym, recorded_run, tmp_path):
    names = ["kernel", "psth", "trajectories", "selectivity"]
    written = ("--format", "svg", "--style", "paper", "--json", "--out", tmp_path)
    rows = ngym("plot", recorded_run, *names, *written).document
    assert [Path(row["path"]).read_text()[:5] for row in rows] == ["<?xml"] * len(names)


@pytest.mark.parametrize("active", [2, 0])
def test_silent_units_are_not_drawn(active, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run")
    lesion = ["units=" + ",".join(map(str, range(active, 16)))]
    perturbations = Perturbations(lesion=lesion)
    wanted = EvalRequest(trials=60, deterministic=False, record=("activity",), perturbations=perturbations)
    assert list(service.evaluate([str(run)], tmp_path, wanted))
    figure, reason, _ = requests.drawn(requests.view([str(run)], tmp_path), FIGURES["psth"])
    if not active:
        assert reason == "no unit's activity differs between the conditions"
        return
    units = [axes.get_ylabel() for axes in figure.axes if axes.get_ylabel()]
    assert sorted(units) == ["unit 0 (a.u.)", "unit 1 (a.u.)"]


def test_a_recording_that_a_figure_needs_is_made_once(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run")
    listed = {row["id"]: row for row in json.loads(ngym("plot", run, "--list", "--json").out)}
    assert listed["psth"]["available"] and listed["psth"]["default"]
    assert not listed["development"]["default"]  # whose checkpoints are recorded on request
    first = ngym("plot", run, "psth", "--json")
    assert first.code == 0 and first.err.count("\n") == 1 and "eval/recording" in first.err.replace("\\", "/")
    again = ngym("plot", run, "trajectories", "kernel", "--json")
    assert again.code == 0 and not again.err
    assert requests.view([str(run)], Path("runs")).first.main().folder.name == "final"
    assert "no activity recorded" in ngym("plot", run, "psth", "--eval", "final").err


def test_a_recording_that_lacks_a_quantity_is_not_used(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run")
    assert ngym("eval", run, "--trials", "40", "--record", "rewards", "--name", "rewards").code == 0
    assert "recorded activity, observations" in ngym("plot", run, "psth").err


def test_any_number_of_populations_is_compared(ngym, run_folder, recorded_run, tmp_path):
    second = shutil.copytree(run_folder, tmp_path / "other")
    requested = ("similarity", "--by", "coh", "--metric", "dsa,input-dsa,cka", "--json")
    (row,) = ngym("plot", recorded_run, recorded_run, second, *requested).document
    table = parquet.read_table(Path(row["path"]).with_suffix(".parquet")).to_pandas()
    assert not row["left_out"] and len(table["distance"]) == 3 * 6
    assert set(table["first"]) == {"run (1)", "run (2)", "other"}
    same = (table["first"] == "run (1)") & (table["second"] == "run (2)") & table["metric"].isin(["dsa", "cka"])
    assert (table["distance"][same] < table["floor"][same] + 0.1).all()


def test_runs_of_one_name_under_different_algorithms_are_told_apart(run_folder, recorded_run, tmp_path):
    other = shutil.copytree(run_folder, tmp_path / "other" / recorded_run.name)
    wanted = EvalRequest(trials=100, seed=7, deterministic=False, record=("activity", "observations"))
    assert list(service.evaluate([str(other)], other.parent, wanted))
    seen = requests.view([str(recorded_run), str(other)], tmp_path)
    first, second = (population(seen, seen.recorded_of(source)) for source in seen.sources)
    assert len(first.activity) != len(second.activity) and len(second.activity) == 100
    assert population(seen, seen.recorded_of(seen.sources[1])) is second, "cached"
    assert not any(isinstance(key, str) for key in seen.memory)


def test_python_compares_runs_as_the_command_does(ngym, recorded_run, tmp_path):
    drawn = ngym("plot", recorded_run, recorded_run, "similarity", "--by", "coh", "--metric", "cka", "--json")
    (row,) = json.loads(drawn.out)
    result = ngym_cli.compare([ngym_cli.load(recorded_run), recorded_run], metric="cka", by="coh")
    saved = parquet.read_table(Path(row["path"]).with_suffix(".parquet")).to_pandas()
    assert result.table.equals(saved)
    assert len(result.plot().axes) >= 3 and result.left_out == {}
    assert repr(result) == "<Comparison of run (1), run (2) by cka>"
    with pytest.raises(ngym_cli.UserError, match="needs 2 runs or more"):
        ngym_cli.compare(recorded_run)
    with pytest.raises(ngym_cli.UserError, match="unknown metric 'ckaa'; did you mean 'cka'"):
        ngym_cli.compare([recorded_run, recorded_run], metric=["ckaa"])


def test_dynamics_under_any_input_are_figures_and_tables(ngym, recorded_run):
    requested = "fixed-points flow modes --input 0 --input fixation=1 --axes output0,pc2 --json".split()
    drawn = ngym("plot", recorded_run, *requested)
    assert drawn.code == 0, drawn.err
    tables = [
        parquet.read_table(Path(row["path"]).with_suffix(".parquet")).to_pandas() for row in json.loads(drawn.out)
    ]
    assert all(set(table["input"]) == {"input 0", "input fixation=1"} for table in tables)
    points, field, modes = tables
    assert points["basin"].between(0, 1).all() and (points["speed"] <= 1e-4).all()
    units = len([name for name in points if name.startswith("h")])
    assert len(modes) == len(points) * units == len(points) * len(modes["right_real"][0]) and len(field) == 2 * 21**2
    table = ngym_cli.load(recorded_run).table("fixed-points", input=[0, "fixation=1"])
    assert np.allclose(table["speed"], points["speed"]) and ngym_cli.load(recorded_run).system.units == units


def test_attractors_are_counted_by_learner_and_figures_of_one_run_say_so(ngym, recorded_run, tmp_path):
    other = shutil.copytree(recorded_run, tmp_path / "other")
    attractors, points = ngym(
        "plot", recorded_run, other, "attractors", "fixed-points", "--input", 0, "--json"
    ).document
    table = parquet.read_table(Path(attractors["path"]).with_suffix(".parquet")).to_pandas()
    assert table["name"].tolist() == [recorded_run.name, "other"] and table["attractor"].nunique() == 1
    named = parquet.read_table(Path(points["path"]).with_suffix(".parquet")).to_pandas()
    assert set(named["attractor"]) <= set(table["attractor"])
    assert "attractors compares several" in points["left_out"]["other"]


@pytest.mark.parametrize(
    ("requested", "words"),
    [
        (("flow", "--axes", "pc1"), "takes two axes"),
        (("flow", "--axes", "pc1,pc1"), "parallel"),
        (("flow", "--axes", "pc1,outptu0"), "unknown axis 'outptu0'; expected pc1 to pc"),
        (("flow", "--input", "fixtaion=1"), "did you mean 'fixation'"),
        (("modes", "--input", "1,2"), "got 2"),
        (("bifurcation", "--input", "0"), "two inputs with --input"),
    ],
)
def test_dynamics_that_cannot_be_drawn_say_why_before_the_search(ngym, recorded_run, requested, words, monkeypatch):
    monkeypatch.delattr("ngym_cli.figures.dynamics_data.attractors_of_sets")
    result = ngym("plot", recorded_run, *requested)
    assert result.code == 2 and words in result.err and result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("requested", "words"),
    [
        (("--metric", "dsb"), "unknown metric 'dsb'; did you mean 'dsa'?"),
        (("--across", "perod"), "did you mean 'period'?"),
        (("--across", "layer"), "has a single layer"),
        (("none.nwb",), "no file none.nwb"),
        ((), "needs 2 runs or more"),
    ],
)
def test_what_cannot_be_compared_says_why(ngym, recorded_run, requested, words):
    result = ngym("plot", recorded_run, *requested, "similarity")
    assert result.code == 2 and words in result.err and result.err.count("\n") == 1


def test_several_runs_are_put_together(ngym, run_folder, tmp_path):
    folders = [shutil.copytree(run_folder, tmp_path / name) for name in ("one", "two", "three")]
    (row,) = ngym("plot", *folders, "learning", "--compare", "network", "--json", "--out", tmp_path / "f").document
    assert Path(row["path"]).name == "learning-one-vs-two-vs-three-compare-network.png"
    seen = requests.view([str(folder) for folder in folders], Path("runs"), compare="network")
    (series,) = seen.series
    assert len(series.members) == 3
    alone = read_trials(folders[0] / "eval" / "final" / "trials.parquet")
    assert len(np.unique(series.table["env"])) == 3 * len(np.unique(alone["env"]))


def test_no_comparison_overwrites_another(ngym, run_folder, made_up, tmp_path):
    first, two = (shutil.copytree(run_folder, tmp_path / "runs" / name) for name in ("one", "two"))
    again = shutil.copytree(run_folder, tmp_path / "elsewhere" / "two")
    requested = (
        (first, "conditions"),
        (first, two, "conditions"),
        (first, again, "conditions"),
        (two, first, "conditions"),
        (first, two, "conditions", "--compare", "network"),
        (first, "conditions", "--by", "coh"),
        (first, two, made_up("GoNogo-v0"), "conditions", "--by", "task"),
    )
    drawn = [json.loads(ngym("plot", *words, "--json", "--out", tmp_path / "f").out)[0]["path"] for words in requested]
    assert len(set(drawn)) == len(requested)
    assert Path(drawn[1]).name == "conditions-one-vs-two.png"


def test_a_run_that_cannot_be_fitted_is_named(ngym, made_up, tmp_path):
    graded, second = made_up("RDM-v0"), made_up("GoNogo-v0")
    second = shutil.copytree(second, tmp_path / "other")
    (row,) = ngym("plot", graded, second, "psychometric", "--json", "--out", tmp_path).document
    assert list(row["left_out"]) == ["other"] and "no coherence" in row["left_out"]["other"]
    seen = requests.view([str(graded), str(second)], Path("runs"))
    with styled():
        figure = FIGURES["psychometric"].draw(seen)
    words = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]
    assert any(word.startswith("other is not drawn") for word in words)
    assert "other" in ngym("plot", graded, second, "psychometric", "--out", tmp_path / "again").out


@pytest.mark.parametrize("levels", [2, 5])
def test_a_function_is_fitted_only_where_the_strengths_determine_it(levels):
    rng = np.random.default_rng(0)
    rate = np.resize(np.linspace(-4, 4, levels), 400)
    second = rng.random(400) < 1 / (1 + np.exp(-rate))
    outcome = np.where(second == (rate > 0), "correct", "error")
    trials = {"trial": np.arange(400), "rate": rate, "choice": 1.0 + second, "outcome": outcome}
    with styled():
        figure, axes = new_figure()
        psychometric_axes(axes, [Series("agent", "black", rows=trials)])
    (words,) = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    fitted = levels > 2
    assert ("PSE" in words) == fitted and ("two strengths, no function fitted" in words) != fitted
    assert ("fit" in axes.get_title(loc="left")) == fitted


def test_choices_are_drawn_by_the_remembered_stimulus_for_each_order_of_the_two(made_up):
    """Both stimuli always differ by the same amount: a curve against the difference had two points."""
    seen = requests.view([str(made_up("DelayComparison-v0", {}))], Path("runs"))
    with styled():
        figure = FIGURES["psychometric"].draw(seen)
        conditions_figure = FIGURES["conditions"].draw(seen)
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert [word.partition(",")[0] for word in words] == ["v2 > v1", "v2 < v1"]
    table = seen.trials
    for container, larger in zip(figure.axes[0].containers, (True, False), strict=True):
        x, y = container[0].get_data()
        rows = ((table["v2"] > table["v1"]) == larger) & np.isin(table["outcome"], ("correct", "error"))
        assert x.tolist() == np.unique(table["v1"][rows]).tolist()
        assert np.allclose(y, [np.mean(table["choice"][rows & (table["v1"] == v)] == 2) for v in x])
    assert conditions_figure.axes[0].get_xlabel() == "first value"
    assert len(conditions_figure.axes[0].get_xticks()) == 7


def test_a_figure_that_fails_stands_in_no_others_way(ngym, made_up, monkeypatch, tmp_path):
    def broken(view):
        raise IndexError("index 0 is out of bounds")

    def breaks(figure):
        monkeypatch.setattr(figure, "spec", dataclasses.replace(figure.spec, function=broken))

    breaks(conditions.conditions)
    rows = {row["id"]: row for row in ngym("plot", made_up("GoNogo-v0"), "--json", "--out", tmp_path).document}
    assert rows["learning"]["path"] and rows["responses"]["path"]
    breaks(conditions.responses)
    rows = {
        row["id"]: row for row in json.loads(ngym("plot", made_up("GoNogo-v0"), "--json", "--out", tmp_path / "b").out)
    }
    assert rows["responses"]["path"] is None and "IndexError" in rows["responses"]["reason"]
    refused = ngym("plot", made_up("GoNogo-v0"), "responses", "--out", tmp_path / "c")
    assert refused.code == 2 and "IndexError" in refused.err and "Traceback" not in refused.err


def test_trials_of_one_step_are_declined_with_the_reason(ngym, tmp_path):
    arguments = ("--task", "Bandit-v0", "--timesteps", 512, "--n-envs", 4, "--set", "n_steps=64", "--name", "b")
    assert ngym("run", *arguments).code == 0
    assert ngym("eval", "b", "--trials", 40, "--record", "activity,observations").code == 0
    over_time = ("psth", "trajectories", "decoding", "examples")
    rows = {row["id"]: row for row in ngym("plot", "b", "learning", "session", *over_time, "--json").document}
    for name in over_time:
        assert "single step" in rows[name]["reason"]
    assert rows["learning"]["path"] and rows["session"]["path"]


def test_a_run_without_an_evaluation_still_shows_its_learning(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run")
    shutil.rmtree(run / "eval")
    rows = requests.available(requests.view([str(run)], tmp_path))
    assert {"learning", "examples"} <= {row["id"] for row in rows if row["available"] and row["default"]}
    assert ngym("plot", run, "learning", "examples").code == 0


def test_each_condition_has_its_own_ceiling(made_up):
    seen = requests.view([str(made_up("RDM-v0"))], Path("runs"))
    result = conditions.of_values(seen.first, "coh", [0, 51.2])
    assert result == pytest.approx([0.5, 1.0], abs=1e-3)
    assert conditions.of_values(seen.first, "nothing", [1]) == [None]


def test_the_learning_curve_says_what_it_draws(run_folder):
    seen = requests.view([str(run_folder)], Path("runs"))
    along = seen.first.manifest["evaluations"]
    assert [row["step"] for row in along] == sorted({row["step"] for row in along}) and len(along) > 1
    with styled():
        figure = FIGURES["learning"].draw(seen)
    words = " ".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))
    assert "training, drawn actions" in words and "evaluation, most probable actions" in words
    assert "ceiling 0.845" in words and "chance" in words
    (points,) = [c for c in figure.axes[0].containers if "evaluation" in c.get_label()]
    assert list(points.lines[0].get_xdata()) == [row["step"] for row in along]


def test_stages_are_marked_on_the_learning_curve(made_up, tmp_path):
    run = shutil.copytree(made_up("RDM-v0"), tmp_path / "run")
    manifest = json.loads((run / runs.MANIFEST).read_text())
    stages = [{"stage": 1, "name": "clear", "from_step": 0}, {"stage": 2, "name": "all coherences", "from_step": 5000}]
    write_json(run / runs.MANIFEST, {**manifest, "stages": stages})
    with styled():
        figure = FIGURES["learning"].draw(requests.view([str(run)], Path("runs")))
    assert {"clear", "all coherences"} <= {text.get_text() for text in figure.axes[0].texts}


def test_strength_is_that_of_each_modality():
    columns = {"modality": ["both", "first"], "coh": [50, 50], "coh_1": [30.0, 50], "coh_2": [20.0, 0]}
    table = {name: np.array(values) for name, values in columns.items()}
    assert strength_by_modality(table).tolist() == [25, 50]


def test_a_perturbed_evaluation_is_drawn_beside_the_intact_one(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run")
    assert ngym("eval", run, "--trials", "50", "--lesion", "0.5").code == 0
    assert ngym("eval", run, "--trials", "20", "--checkpoints", "all").code == 0
    seen = requests.view([str(run)], Path("runs"))
    assert [series.label for series in seen.series] == ["intact", "lesion, 8 units"]
    assert ngym("plot", run, "conditions").code == 0
    assert ngym("plot", run, "conditions", "--eval", "trials50-seed0-lesion-0.5").code == 0


def test_the_report_needs_nothing_else(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run<b>")
    result = ngym("report", run)
    assert result.code == 0, result.err
    page = (run / "report.html").read_text()
    assert "run&lt;b&gt;" in page and "run<b>" not in page
    assert "<script" not in page
    assert all(word.startswith('"data:image/') for word in page.split("src=")[1:])
    assert all(path.startswith(("#", "data:")) for path in re.findall(r'(?:src|href)="([^"]*)"', page))
    assert "<svg" in page and page.count("<img") <= 1
    links, identifiers = re.findall(r'<a href="#([^"]*)"', page), re.findall(r'\bid="([^"]*)"', page)
    assert len(set(identifiers)) == len(identifiers) and set(links) <= set(identifiers) and "learning" in links
    seed = json.loads((run / runs.MANIFEST).read_text())["seeds"]["network"]
    assert str(seed) in page and f"{seed:,}" not in page
    assert page.count("learning_rate") == 1  # the configuration stands there once
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", page)
    assert "training steps" in texts and "performance" in texts  # found by a search and read aloud
    widths = [float(width) for width in re.findall(r'<svg style="width: ([0-9.]*)rem"', page)]
    boxes = [float(box) for box in re.findall(r'viewBox="0 0 ([0-9.]*) ', page)]
    assert len({round(width / box, 3) for width, box in zip(widths, boxes, strict=True)}) == 1  # one size of type
    assert "performance of an agent that draws every action at random" in page
    for words in ("Performance by condition", "Provenance", "[timing]", "learning_rate", 'id="learning"'):
        assert words in page


@pytest.mark.usefixtures("one_figure")
def test_the_report_has_the_numbers_of_the_terminal(ngym, made_up, tmp_path):
    run = shutil.copytree(made_up("RDM-v0"), tmp_path / "run")
    measures = json.loads((run / "eval" / "final" / "summary.json").read_text())["measures"]
    assert {"slope", "lapses"} <= {row["label"] for row in measures}
    assert ngym("report", run).code == 0
    page = (run / "report.html").read_text()
    for row in measures:
        assert f"{row['value']:.3g}" in page and f"</b>{row['label']}" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["psychometrik"], "did you mean 'psychometric'"),
        (["psychometric", "--style", "papper"], "did you mean 'paper'"),
        (["psychometric", "--compare", "algo"], "did you mean 'alg'"),
        (["conditions", "--by", "cohh"], "no column cohh"),
        (["conditions", "--eval", "finl"], "did you mean 'final'"),
        (["context"], "no column context"),
    ],
)
def test_wrong_words_are_refused(ngym, run_folder, tmp_path, arguments, message):
    result = ngym("plot", run_folder, *arguments, "--out", tmp_path / "figures")
    assert result.code == 2
    assert message in result.err


def test_context_is_drawn_where_there_is_only_one(tmp_path):
    run = made_up_run(tmp_path / "run", "ContextDecisionMaking-v0", {"task_args": {"impl_context_modality": 1}})
    figure = requests.drawn(requests.view([str(run)], Path("runs")), FIGURES["context"]).figure
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Modality 1, irrelevant",
        "Modality 2, relevant",
        "Weights in context 2",
    ]


def test_the_telling_figure_is_the_task_s_own(made_up):
    for task, name in (("DawTwoStep-v0", "stay"), ("RDM-v0", "chronometric"), ("PostDecisionWager-v0", "wagering")):
        assert requests.best_figure(runs.find(str(made_up(task))))[0] == name


def test_forgetting_shows_each_task_along_training(ngym, run_folder, tmp_path):
    common = ("--n-envs", 4, "--units", 8, "--timesteps", 3000, "--eval-every", 1024, "--eval-trials", 20)
    assert (
        ngym("run", "--task", "RDM-v0+GoNogo-v0", "--schedule", "sequential_block:20", *common, "--name", "a").code == 0
    )
    manifest = json.loads((tmp_path / "runs/RDM-v0+GoNogo-v0/recurrent_ppo/a/manifest.json").read_text())
    for row in manifest["evaluations"]:
        assert row["tasks"].keys() == {"RDM-v0", "GoNogo-v0"}
        assert all(low <= value <= high for value, low, high in row["tasks"].values())
    assert ngym("plot", "a", "forgetting").code == 0
    refused = ngym("plot", run_folder, "forgetting")
    assert refused.code == 2 and "two evaluations or more of several tasks" in refused.err


def test_forgetting_shows_the_tasks_of_all_stages(ngym, tmp_path):
    stages = '[[stages]]\ntrials = 40\n[[stages]]\ntask = "yang19.dm1-v0"\n'
    (tmp_path / "stages.toml").write_text('task = "yang19.go-v0"\n' + stages)
    common = ("--n-envs", 8, "--units", 8, "--timesteps", 6000, "--eval-every", 2000, "--eval-trials", 20)
    process = ngym("run", "--config", tmp_path / "stages.toml", *common, "--name", "a")
    assert process.code == 0, process.err
    (path,) = (tmp_path / "runs").glob("*/*/a/manifest.json")
    manifest = json.loads(path.read_text())
    assert len(manifest["stages"]) == 2 and len(manifest["evaluations"]) >= 2
    for row in manifest["evaluations"]:
        assert row["tasks"].keys() == {"yang19.go-v0", "yang19.dm1-v0"}
        assert row["tasks"]["yang19.dm1-v0"] == [row["performance"], *row["performance_ci"]]
    assert ngym("plot", "a", "forgetting", "--out", tmp_path / "drawn").code == 0


def test_conditions_without_a_value_share_one_colour_in_any_order():
    from ngym_cli.figures.population import condition_styles

    of = [1.0, float("nan"), 2.0, float("nan"), 3.0]
    conditions = tuple({"task": task, "coh": value} for task, value in zip("aabab", of, strict=True))
    looks = [look["color"] for look in condition_styles(conditions, Wording({}))]
    assert looks[1] == looks[3] and len(set(looks)) == 4


def test_accuracies_below_one_half_lie_within_the_panel(made_up):
    drawn = requests.drawn(requests.view([str(made_up("RDM-v0"))], Path("runs")), FIGURES["chronometric"]).figure
    _, right = drawn.axes
    heights = np.concatenate([line.get_ydata() for line in right.lines])
    assert heights.min() > right.get_ylim()[0]
    assert right.get_title("left").lower().startswith(("accuracy", "same diffusion"))


@pytest.mark.parametrize("position", range(3))
def test_a_misspelt_figure_is_named_at_any_position(ngym, made_up, position, tmp_path):
    words = [made_up("RDM-v0"), "learning"]
    words.insert(position, "psychometrc")
    result = ngym("plot", *words, "--out", tmp_path / "out")
    assert result.code == 2
    assert "unknown figure or run 'psychometrc'; did you mean 'psychometric'?" in result.err
    assert not (tmp_path / "out").exists()


def test_evaluations_recorded_without_an_interval_are_drawn_and_printed(made_up, tmp_path):
    run = runs.RunFolder(shutil.copytree(made_up("RDM-v0"), tmp_path / "run"))
    run.update(evaluations=[{"step": step, "trials": 100, "performance": 0.8} for step in (100, 2000)])
    summary = json.loads((run.path / "eval" / "final" / "summary.json").read_text(encoding="utf-8"))
    assert requests.drawn(requests.view([str(run.path)], tmp_path), FIGURES["learning"]).reason is None
    print_evaluation({key: value for key, value in summary.items() if key != "performance_ci"})


def test_weights_that_few_trials_do_not_determine_are_counted_or_the_figure_is_refused(tmp_path):
    """An interval of thousands of log odds hid all other weights."""
    reasons, words = [], ""
    for trials in (200, 400, 800):
        run = made_up_run(tmp_path / str(trials), "DawTwoStep-v0", {}, trials=trials)
        try:
            with styled():
                figure = FIGURES["history"].draw(requests.view([str(run)], tmp_path, pair="1,2"))
        except FigureUnavailableError as error:
            reasons.append(str(error))
            continue
        assert max(abs(end) for axes in figure.axes for end in axes.get_ylim()) < 40
        words += " ".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))
    assert reasons and all("do not determine the weights of past" in reason for reason in reasons)
    assert re.search(r"do not determine them:\s\d+ of the weights", words)


def test_open_intervals_leave_the_axes_as_they_are(tmp_path):
    """A sigma without an upper end made an axis of 1e308."""
    run = made_up_run(
        tmp_path / "run", "MultiSensoryIntegration-v0", TASKS["MultiSensoryIntegration-v0"][0], trials=300
    )
    with styled():
        figure = FIGURES["cues"].draw(requests.view([str(run)], tmp_path))
    assert all(np.abs(axes.get_ylim()).max() < 1e5 for axes in figure.axes)


def test_development_records_the_activity_of_all_checkpoints(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run")
    (row,) = ngym("plot", run, "development", "--json").document
    table = parquet.read_table(Path(row["path"]).with_suffix(".parquet")).to_pandas()
    kept = sorted(int(path.name.removeprefix("step_")) for path in (run / "checkpoints").glob("step_*"))
    final = json.loads((run / runs.MANIFEST).read_text())["steps"]
    assert table["step"].tolist() == sorted({*kept, final})
    assert (table["dimension"] >= 1).all() and table["selectivity"].between(0, 1).all()
    assert table["similarity"].between(0, 1.0000001).all() and table["similarity"].iloc[-1] == pytest.approx(1)
    assert not ngym("plot", run, "development", "--json").err  # the recordings are there


def test_weights_are_those_of_the_network_by_selectivity_next_to_modules(recorded_run):
    seen = requests.view([str(recorded_run)], Path("runs"))
    with styled():
        figure = FIGURES["weights"].draw(seen)
    found = weights.weights_of(seen.first)
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    recurrent, inputs, outputs, spectrum, connections, correlation = panels
    for axes, expected in ((recurrent, found.recurrent), (inputs, found.inputs), (outputs, found.outputs)):
        assert np.allclose(np.sort(np.asarray(axes.images[0].get_array()), None), np.sort(expected, None))
    order = [int(np.argmin(np.abs(found.inputs - row).sum(axis=1))) for row in inputs.images[0].get_array()]
    assert np.allclose(recurrent.images[0].get_array(), found.recurrent[np.ix_(order, order)])
    assert np.allclose(spectrum.lines[1].get_xdata(), np.linalg.eigvals(found.recurrent).real)
    assert "module" in connections.get_title("left") and "agreement" in correlation.get_xlabel()


def test_figures_over_time_have_named_periods_and_one_entry_without_evidence(recorded_run):
    seen = requests.view([str(recorded_run)], Path("runs"))
    for name in ("psth", "trajectories", "selectivity"):
        with styled():
            figure = FIGURES[name].draw(seen)
        assert "stimulus" in {text.get_text() for axes in figure.axes for text in axes.texts}, name
        if name in ("psth", "trajectories"):
            words = [text.get_text().replace("\n", " ") for legend in figure.legends for text in legend.get_texts()]
            assert [word for word in words if "coherence 0\u00a0%" in word] == ["coherence 0\u00a0%"]


def test_units_in_legends_are_written_as_they_are(tmp_path):
    """The space between number and unit does not break, and was written as an escape."""
    with styled():
        figure, axes = new_figure()
        axes.set_title(Wording({}).phrase("coh", 6.4))
        axes.set_xlabel(Wording({}).phrase("measure", 800.0) + "\nsecond line")
        files.save_figure(figure, tmp_path / "figure.svg")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", (tmp_path / "figure.svg").read_text(encoding="utf-8"))
    assert "coherence 6.4\u00a0%" in texts and "measured interval 800 ms" in texts


def test_regions_of_a_connectome_are_named_where_weights_are_shown(tmp_path, ngym):
    names = ("V1", "MT", "LIP", "PFC")
    (tmp_path / "c.csv").write_text(",".join(names) + "\n0,.2,.1,0\n.5,0,.3,.1\n0,.4,0,.2\n.1,0,.5,0\n")
    words = ("--task", "RDM-v0", "--network", "ctrnn", "--timesteps", "400", "--eval-trials", "20")
    words += ("--network-arg", f"connectome={tmp_path / 'c.csv'}", "--runs", tmp_path / "runs", "--name", "run")
    assert ngym("run", *words).code == 0
    (run,) = (tmp_path / "runs").glob("*/*/run")
    assert ngym("eval", run, "--trials", "40", "--record", "activity").code == 0
    with styled():
        figure = FIGURES["weights"].draw(requests.view([str(run)], tmp_path / "runs"))
    recurrent = figure.axes[0]
    for axis in (recurrent.get_xticklabels(), recurrent.get_yticklabels(), figure.axes[1].get_yticklabels()):
        assert [text.get_text() for text in axis] == list(names)
    drawn = recurrent.images[0].get_array()
    assert drawn[0, 0] == drawn[0, 3] == drawn[2, 0] == 0 and drawn[1, 0] != 0


def test_performance_over_sparsity_and_pruning_of_a_network_that_has_learned(tmp_path, ngym):
    words = ("--task", "RDM-v0", "--units", "16", "--timesteps", "4000", "--checkpoint-every", "1000", "--keep", "9")
    words += ("--eval-trials", "20", "--runs", tmp_path / "runs")
    assert ngym("run", *words, "--name", "whole").code == 0
    (whole,) = (tmp_path / "runs").glob("*/*/whole")
    pruned = ngym("run", *words, "--name", "run", "--init-from", whole, "--prune", "magnitude:0.8:by=3000")
    assert pruned.code == 0 and "except" not in pruned.out + pruned.err
    (run,) = (tmp_path / "runs").glob("*/*/run")
    assert ngym("eval", run, "--trials", "20", "--checkpoints", "all").code == 0
    with styled():
        figure = FIGURES["development"].draw(requests.view([str(run)], tmp_path / "runs"))
    (panel,) = [axes for axes in figure.axes if "pruned" in axes.get_xlabel()]
    steps = sorted(int(path.name[5:]) for path in (run / "checkpoints").glob("step_*"))
    expected = [0.8 * (1 - (1 - min(step / 3000, 1)) ** 3) for step in steps]
    assert np.allclose(panel.lines[0].get_xdata(), expected) and len(expected) > 2


@pytest.mark.parametrize(("angle", "words"), [(0.0, "0"), (np.pi, "π"), (np.pi / 2, "0.5 π"), (5.23599, "1.67 π")])
def test_angles_are_multiples_of_pi(angle, words):
    assert Wording({}).value("sample_theta", angle) == words
