"""Every figure is drawn from the trials of a task that calls for it, and says why it cannot be of others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from ngym_cli import runs
from ngym_cli.agents import from_config
from ngym_cli.config import from_dict
from ngym_cli.environments import stack
from ngym_cli.evaluation import fresh_trials
from ngym_cli.figures import requests
from ngym_cli.figures.registry import FIGURES
from ngym_cli.figures.style import Unavailable, styled
from ngym_cli.files.writing import write_json, write_text
from ngym_cli.runs.trial_table import TrialRecorder, read_trials, write_table

NO_MEMORY = {"alg": "ppo", "reset_state": "never"}
TASKS = {
    "RDM-v0": ({"wrappers": "reaction_time"}, ("psychometric", "chronometric", "conditions", "history")),
    "ContextDecisionMaking-v0": ({"task_args": {"use_expl_context": True}}, ("context", "conditions")),
    "MultiSensoryIntegration-v0": ({"task_args": {"modalities": ["both", "first", "second"]}}, ("cues",)),
    "PostDecisionWager-v0": ({}, ("wagering",)),
    "EconomicDecisionMaking-v0": ({}, ("indifference",)),
    "ReadySetGo-v0": ({}, ("interval",)),
    "TwoStep-v0": ({}, ("stay",)),
    "DawTwoStep-v0": ({}, ("stay",)),
    "ChangingBandit-v0": ({"task_args": {"n": 3, "session": 20}}, ("regret",)),
    "ReversalLearning-v0": ({"task_args": {"block_dur": [10, 12]}}, ("reversal",)),
}


def made_up_run(folder: Path, task: str, settings: dict, trials: int = 1200) -> Path:
    """A run folder with trials of an agent that mostly waits and else answers at random."""
    config, facts = stack.resolve(from_dict({"task": task, **NO_MEMORY, **settings}))
    venv = stack.build_venv(config, 16)
    venv.seed(1)
    venv.reset()
    recorder = TrialRecorder(None, task, facts.dt, 16, facts.rt_from)
    rng = np.random.default_rng(0)
    steps = 0
    done = 0
    while done < trials:
        actions = rng.integers(venv.action_space.n, size=16)
        if facts.labels["action"].get("fixation") == 0:
            actions = np.where(rng.random(16) < 0.6, 0, actions)
        venv.step(actions)
        steps += 16
        if venv.finished is not None:
            recorder.add(venv.finished, steps)
            done += len(venv.finished["env"])
    table = recorder.collect()
    found = fresh_trials.summarise(table, facts)
    found.update(deterministic=False, seed=0, model_steps=steps, trials=len(table["trial"]))
    folder.mkdir(parents=True)
    write_text(folder / runs.CONFIG, from_config.complete(config, facts).to_toml())
    manifest = {"status": "finished", "task": task, "alg": "ppo", "network": "mlp", "seed": 0, "started": runs.now()}
    manifest |= {"chance": facts.chance, "ceiling": (facts.ceiling or {}).get("performance"), "steps": steps}
    write_json(folder / runs.MANIFEST, manifest | {"trials": len(table["trial"])})
    write_table(table, folder / runs.TRIALS / "part-000000.parquet")
    write_table(table, folder / "eval" / "final" / "trials.parquet")
    write_json(folder / "eval" / "final" / "summary.json", found)
    return folder


@pytest.fixture(scope="module", params=TASKS)
def case(request, tmp_path_factory):
    """A made-up run of each task, and the figures that it must give."""
    settings, figures = TASKS[request.param]
    return made_up_run(tmp_path_factory.mktemp("made") / "run", request.param, settings), figures


def test_the_task_gives_its_figures(case, tmp_path):
    folder, figures = case
    seen = requests.view([str(folder)], Path("runs"))
    rows = {row["id"]: row for row in requests.available(seen)}
    for name in ("learning", *figures):
        assert rows[name]["available"], rows[name]["reason"]
        before = dict(matplotlib.rcParams)
        (row,) = requests.draw(seen, [name], out=tmp_path)
        assert Path(row["path"]).read_bytes().startswith(b"\x89PNG")
        assert dict(matplotlib.rcParams) == before
    assert all(row["default"] for name, row in rows.items() if name in figures and name != "history")


def test_axes_say_their_units_and_numbers(case):
    folder, figures = case
    seen = requests.view([str(folder)], Path("runs"))
    with styled():
        figure = FIGURES[figures[0]].draw(seen)
    words = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]
    assert all(axes.get_xlabel() or axes.get_xticklabels() for axes in figure.axes)
    assert all(axes.get_ylabel() for axes in figure.axes[:1])
    assert any("n = " in word or "sessions" in word or "reversals" in word for word in words)


def test_what_cannot_be_drawn_says_why(run_folder):
    seen = requests.view([str(run_folder)], Path("runs"))
    rows = {row["id"]: row for row in requests.available(seen)}
    assert "no column context" in rows["context"]["reason"]
    assert "--record activity" in rows["psth"]["reason"]
    assert "two runs" in rows["similarity"]["reason"]
    assert "--checkpoints all" in rows["development"]["reason"]
    with pytest.raises(Unavailable, match="no column wager"):
        FIGURES["wagering"].draw(seen)


def test_the_population_is_drawn_once_it_is_recorded(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "one")
    other = shutil.copytree(run_folder, tmp_path / "two")
    for folder, seed in ((run, 0), (other, 1)):
        arguments = ("--trials", "300", "--record", "activity,observations", "--seed", seed)
        assert ngym("eval", folder, *arguments, "--stochastic").code == 0
    names = ["kernel", "psth", "trajectories", "decoding", "selectivity", "fixed-points", "examples"]
    drawn = ngym("plot", run, *names, "--format", "svg", "--style", "paper", "--json")
    assert drawn.code == 0, drawn.err
    assert all(Path(row["path"]).read_text().startswith("<?xml") for row in json.loads(drawn.out))
    similar = ngym("plot", run, other, "similarity", "--by", "coh", "--json")
    assert similar.code == 0, similar.err


def test_several_runs_are_put_together(ngym, run_folder, tmp_path):
    folders = [shutil.copytree(run_folder, tmp_path / name) for name in ("one", "two", "three")]
    found = ngym("plot", *folders, "learning", "conditions", "--compare", "network", "--json", "--out", tmp_path / "f")
    assert found.code == 0, found.err
    assert [Path(row["path"]).name for row in json.loads(found.out)] == ["learning-3-runs.png", "conditions-3-runs.png"]
    seen = requests.view([str(folder) for folder in folders], Path("runs"), compare="network")
    (series,) = seen.series
    assert len(series.members) == 3
    alone = read_trials(folders[0] / "eval" / "final" / "trials.parquet")
    assert len(np.unique(series.table["env"])) == 3 * len(np.unique(alone["env"]))


def test_a_perturbed_evaluation_is_drawn_beside_the_intact_one(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run")
    assert ngym("eval", run, "--trials", "50", "--lesion", "0.5").code == 0
    assert ngym("eval", run, "--trials", "50", "--checkpoints", "all").code == 0
    seen = requests.view([str(run)], Path("runs"))
    assert [series.label for series in seen.series] == ["intact", "lesion, 32 units"]
    assert ngym("plot", run, "conditions", "development").code == 0
    assert ngym("plot", run, "conditions", "--eval", "trials50-seed0-lesion-0.5").code == 0


def test_the_report_needs_nothing_else(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "run<b>")
    result = ngym("report", run)
    assert result.code == 0, result.err
    page = (run / "report.html").read_text()
    assert "run&lt;b&gt;" in page and "run<b>" not in page
    assert "<script" not in page
    assert all(part.startswith('"data:image/') for part in page.split("src=")[1:])
    for words in ("Performance by condition", "Provenance", "[timing]", "learning_rate", 'id="learning"'):
        assert words in page


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
