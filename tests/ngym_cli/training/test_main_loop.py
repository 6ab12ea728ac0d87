"""A run's folder: complete, consistent between its parts, and usable however the run ended."""

from __future__ import annotations

import json
import os
import re
import signal
import tomllib

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from neurogym import kernels
from ngym_cli import runs
from ngym_cli.agents import checkpoints
from ngym_cli.agents.defaults import read_config
from ngym_cli.config.model import from_dict, streams
from ngym_cli.environments.properties import inspect
from ngym_cli.errors import UserError
from ngym_cli.files.written import WRITTEN
from ngym_cli.runs import summary
from ngym_cli.runs.conditions import columns_of_performance
from ngym_cli.runs.trial_table import read_trials
from ngym_cli.training import main_loop, reporting
from ngym_cli.training.main_loop import Hooks, train
from ngym_cli.training.progress import Display

SMALL = {
    "task": "RDM-v0",
    "timing": {"stimulus": 300, "decision": 200},
    "n_envs": 8,
    "timesteps": 8192,
    "hyperparameters": {"n_steps": 256},
    "evaluation": {"every": 0, "trials": 50},
}


def curves(run_folder):
    """Return TensorBoard's scalars: tag to a dictionary of step to value."""
    events = EventAccumulator(str(run_folder), size_guidance={"scalars": 0, "images": 0})
    events.Reload()
    return {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}, events.Tags()


def test_the_folder_holds_what_the_house_plan_says(run_folder):
    for name in (
        "config.toml",
        "manifest.json",
        "model/weights.safetensors",
        "model/model.json",
        "eval/final/summary.json",
    ):
        assert (run_folder / name).is_file(), name
    assert list((run_folder / "trials").glob("part-*.parquet"))
    hidden = {path.name for path in run_folder.rglob(".*")}
    assert hidden <= {WRITTEN}, "temporary files were left"
    manifest = json.loads((run_folder / "manifest.json").read_text())
    assert manifest["status"] == "finished"
    assert manifest["seeds"] == streams(3)
    assert {"versions", "git", "machine", "command", "started", "ended", "wall_seconds"} <= set(manifest)
    final = json.loads((run_folder / "eval/final/summary.json").read_text())
    assert manifest["performance"] == final["performance"]
    assert manifest["trials"] == len(read_trials(run_folder / "trials")["trial"])


def test_every_default_is_spelled_out_in_the_config(run_folder):
    config = tomllib.loads((run_folder / "config.toml").read_text())
    assert config["timing"] == {"fixation": 100, "stimulus": 300, "delay": 0, "decision": 300}
    assert config["dt"] == 100
    assert config["rewards"]["abort"] == -0.1
    assert config["network"] == "lstm"
    assert config["reset_state"] in ("trial", "never")
    assert config["hyperparameters"]["n_steps"] == 256
    assert from_dict(config).to_toml() == (run_folder / "config.toml").read_text()


def test_tensorboard_equals_the_trial_table(run_folder):
    result, _tags = curves(run_folder)
    table = read_trials(run_folder / "trials")
    names = columns_of_performance(inspect(read_config(runs.RunFolder(run_folder))).conditions, table)
    assert names == ["coh"]
    points = sorted(result["behaviour/trials"])
    assert points[0] == 2048
    behaviour = [tag for tag in result if tag.startswith(("behaviour/", "responses/", "performance_by_"))]
    assert len(behaviour) >= 8 + 2 + 5
    labels = {"fixation": 0, "choice": [1, 2]}
    for begin, end in zip([0, *points], points, strict=False):
        rows = (table["step"] > begin) & (table["step"] <= end)
        expected = summary.scalars(
            {name: column[rows] for name, column in table.items()}, names, summary.action_names(labels)
        )
        expected["behaviour/trials"] = np.sum(table["step"] <= end)
        visible = {tag: result[tag][end] for tag in behaviour if end in result[tag]}
        assert visible == pytest.approx(expected, rel=1e-5)
    rows = table["step"] <= points[0]
    assert result["behaviour/performance"][points[0]] == pytest.approx(np.mean(table["performance"][rows]))
    assert result["behaviour/reward_per_trial"][points[0]] == pytest.approx(np.mean(table["reward"][rows]), rel=1e-5)
    assert result["performance_by_coh/51.2"][points[0]] == pytest.approx(
        np.mean(table["performance"][rows & (table["coh"] == 51.2)])
    )


def test_tensorboard_shows_losses_speed_evaluations_and_a_figure(run_folder):
    result, tags = curves(run_folder)
    assert {"train/policy_gradient_loss", "train/value_loss", "time/fps"} <= set(result)
    table = read_trials(run_folder / "trials")
    rows = table["step"] <= 2048
    assert result["rollout/ep_rew_mean"][2048] == pytest.approx(np.mean(table["reward"][rows]), rel=1e-5)
    assert result["rollout/ep_len_mean"][2048] == pytest.approx(np.mean(table["steps"][rows]), rel=1e-5)
    assert sorted(result)[:2] == ["behaviour/performance", "behaviour/reward_per_trial"]
    assert sorted(result["evaluation/performance"]) == [4096, 8192]
    final = json.loads((run_folder / "eval/final/summary.json").read_text())
    assert result["evaluation/performance"][8192] == pytest.approx(final["performance"])
    (image,) = tags["images"]
    assert image in ("figures/psychometric", "figures/conditions")  # the first that its answers allow
    assert "configuration/text_summary" in tags["tensors"]
    files = sorted(run_folder.glob("events.out.tfevents.*"))
    assert len(files) == 2
    alone = [EventAccumulator(str(path)).Reload().Tags() for path in files]
    assert not alone[0]["images"] and alone[0]["scalars"]  # TensorBoard reads the curves first
    assert alone[1]["images"] == [image] and not alone[1]["scalars"]


def test_each_curve_has_a_description(run_folder):
    events = EventAccumulator(str(run_folder)).Reload()
    described = {tag: events.SummaryMetadata(tag).summary_description for tag in events.Tags()["scalars"]}
    assert all(described.values()) and "Recorded by a callback." not in described.values(), described
    assert (
        described["responses/fixation_break_rate"] == "Share of trials with an action other than fixation in fixation."
    )
    assert "before decision" in described["responses/early_action_rate"]
    assert described["evaluation/performance_by_coh/0"].startswith("Evaluation on fresh trials")


def test_tensorboard_has_one_chart_for_the_values_of_a_condition(run_folder):
    from tensorboard.plugins.custom_scalar import layout_pb2

    events = EventAccumulator(str(run_folder)).Reload()
    layout = layout_pb2.Layout.FromString(events.Tensors("custom_scalars__config__")[0].tensor_proto.string_val[0])
    charts = {chart.title: chart.multiline.tag for category in layout.category for chart in category.chart}
    lines = {}  # a run has one colour
    for folder in (run_folder, *(run_folder / "curves").iterdir()):
        for tag in curves(folder)[1]["scalars"]:
            for title, rules in charts.items():
                if any(re.match(rule, tag) for rule in rules):
                    lines.setdefault(title, []).append((folder.name, tag))
    references = {"chance", "no-stimulus baseline", "ceiling"}
    levels = {f"coh={value}" for value in ("0", "6.4", "12.8", "25.6", "51.2")}
    for where in ("training", "evaluation"):
        names = [name for name, _ in lines[f"{where} by coh"]]
        assert set(names) == levels | references and len(names) == 8
    assert {tag for _, tag in lines["training and evaluation"]} == {
        *("behaviour/performance", "evaluation/performance", "reference/performance")
    }
    (chance,) = set(curves(run_folder / "curves" / "chance")[0]["reference/performance"].values())
    assert chance == pytest.approx(json.loads((run_folder / "manifest.json").read_text())["chance"])


def test_hyperparameters_begin_with_what_tells_runs_apart(run_folder):
    from tensorboard.plugins.hparams import plugin_data_pb2

    events = EventAccumulator(str(run_folder)).Reload()
    settings = plugin_data_pb2.HParamsPluginData.FromString(
        events.SummaryMetadata("_hparams_/experiment").plugin_data.content
    )
    names = [info.name for info in settings.experiment.hparam_infos]
    assert names[:4] == ["seed", "hyperparameters.learning_rate", "network", "units"]
    assert "task" in names and "timing.stimulus" in names
    assert not [name for name in names if name.startswith(("evaluation", "checkpoint"))]


@pytest.mark.usefixtures("last_figure")
@pytest.mark.parametrize(("task", "figure"), [("GoNogo-v0", "responses"), ("ContextDecisionMaking-v0", "conditions")])
def test_tensorboard_gets_the_figure_that_a_task_has(tmp_path, task, figure):
    run = train(from_dict({**SMALL, "task": task, "timing": {}, "timesteps": 2048, "alg": "ppo"}), tmp_path).run
    assert curves(run.path)[1]["images"] == [f"figures/{figure}"]


class Interrupting(Display):
    """Presses Ctrl-C when the first numbers appear."""

    def update(self, step, numbers):
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_ends_cleanly_with_a_usable_model(tmp_path, ngym):
    before = signal.getsignal(signal.SIGINT)
    hooks = Hooks(make_display=lambda *_: Interrupting())
    outcome = train(from_dict({**SMALL, "timesteps": 10**9}), tmp_path / "runs", "it", hooks=hooks)
    assert outcome.status == "interrupted"
    manifest = outcome.run.manifest()
    assert manifest["status"] == "interrupted"
    assert manifest["exit_reason"] == "SIGINT"
    assert manifest["steps"] < 10_000
    assert signal.getsignal(signal.SIGINT) is before
    assert len(read_trials(outcome.run.path / "trials")["trial"]) == manifest["trials"]
    assert ngym("eval", outcome.run.path, "--trials", "20").code == 0


FAILING = """
import neurogym as ngym

class Failing(ngym.envs.registration.entry("PerceptualDecisionMaking-v0")):
    def _new_trials(self, trials):
        super()._new_trials(trials)
        if self.num_tr > 100:
            raise RuntimeError("no more trials")
"""


def test_a_task_that_fails_during_training_leaves_an_honest_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FAILING.replace("self.num_tr > 100", "trials.rng.random() < 0.005"))
    with pytest.raises(UserError, match="no more trials"):
        train(from_dict({"task": "mine.py:Failing", "n_envs": 8, "timesteps": 200_000}), name="it")
    run = runs.find("it")
    assert run.manifest()["status"] == "failed"
    assert "no more trials" in run.manifest()["exit_reason"]
    assert run.manifest()["trials"] == len(read_trials(run.path / "trials").get("trial", ()))


def test_nothing_is_written_when_the_configuration_is_wrong(tmp_path):
    with pytest.raises(UserError):
        train(from_dict({**SMALL, "hyperparameters": {"n_steps": -5}}), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_run_in_numpy_and_torch_alone_is_the_same_loop(ngym, tmp_path):
    with kernels.use(kernels.PLAIN):
        process = ngym(
            "run", "--task", "RDM-v0", "--timesteps", 4096, "--n-envs", 8, "--eval-trials", 50, "--name", "plain"
        )
    assert process.code == 0
    manifest = json.loads(next(tmp_path.rglob("plain/manifest.json")).read_text())
    assert manifest["status"] == "finished" and manifest["machine"]["kernels"] == "plain"


@pytest.mark.parametrize("network", ["lstm", "gru", "ctrnn"])
def test_several_layers_with_rollouts_of_one_step(ngym, network):
    """A view of a state that was made without gradients once ended such a run."""
    arguments = "--network-arg layers=2 --set n_steps=1 --timesteps 64 --n-envs 8 --units 8 --eval-trials 4".split()
    assert ngym("run", "--task", "RDM-v0", "--network", network, *arguments).code == 0


def test_a_run_that_is_killed_while_it_is_built_is_listed_and_can_be_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(main_loop, "build_model", lambda *_: os._exit(9))
    pid = os.fork()
    if pid == 0:
        train(from_dict(SMALL), tmp_path / "runs", "killed")
    os.waitpid(pid, 0)
    monkeypatch.undo()
    (run,) = runs.find_all(tmp_path / "runs")
    assert run.manifest()["status"] == "crashed"
    assert main_loop.resume(run).status == "finished"
    assert run.manifest()["chance"] is not None


def test_a_learner_that_cannot_be_built_leaves_nothing(tmp_path, monkeypatch):
    def refuse(*_):
        raise UserError("refused")

    monkeypatch.setattr(main_loop, "build_model", refuse)
    with pytest.raises(UserError, match="refused"):
        train(from_dict(SMALL), tmp_path / "runs", "it")
    assert not (tmp_path / "runs").exists()


def test_a_smoke_test_resumes_nothing(ngym):
    refused = ngym("run", "--smoke", "--resume", "latest")
    assert refused.code == 2 and "--resume" in refused.err


def test_a_checkpoint_that_was_better_than_the_final_agent_is_offered(tmp_path):
    checkpoints.mark_best(tmp_path / checkpoints.CHECKPOINTS_FOLDER, tmp_path / "step_1000", 1_000, 0.95)
    line = reporting.better_checkpoint(tmp_path, {"performance": 0.87, "performance_ci": (0.80, 0.94)})
    assert line is not None and "0.950 at 1,000 steps" in line and f"ngym eval {tmp_path} --checkpoint best" in line
    assert reporting.better_checkpoint(tmp_path, {"performance": 0.87, "performance_ci": (0.80, 0.96)}) is None
    assert reporting.better_checkpoint(tmp_path, {"performance": 0.87}) is None  # a record without interval
    assert reporting.better_checkpoint(tmp_path / "none", {"performance": 0.87, "performance_ci": (0.80, 0.96)}) is None


@pytest.mark.parametrize("timesteps", [600, pytest.param(6_000, marks=pytest.mark.long)])
def test_any_run_is_evaluated_four_or_five_times(tmp_path, timesteps):
    config = from_dict({"task": "RDM-v0", "units": 8, "timesteps": timesteps})
    run = train(config, tmp_path).run
    assert len(run.manifest()["evaluations"]) in (4, 5)
    assert len(curves(run.path)[0]["evaluation/performance"]) in (4, 5)
