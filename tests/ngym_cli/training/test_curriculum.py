"""Stages of training: in order, by criterion, recorded, refused where they do not fit, resumed exactly."""

from __future__ import annotations

import io
import json
import tomllib

import numpy as np
import pytest

from ngym_cli.agents.defaults import prepare, read_config
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.config.model import from_dict
from ngym_cli.environments.properties import inspect
from ngym_cli.errors import UserError
from ngym_cli.runs.trial_table import read_trials
from ngym_cli.training.curriculum import Curriculum, stages_of
from ngym_cli.training.curves import Evaluator
from ngym_cli.training.main_loop import Hooks, train
from ngym_cli.training.prepare import new_run
from ngym_cli.training.progress import Display, LiveDisplay
from tests.ngym_cli.sameness import resumed

STAGES = [
    {"name": "clear", "trials": 300, "task_args": {"cohs": [51.2]}},
    {"name": "late", "trials": 300, "timing": {"delay": 200}, "wrappers": "random_ground_truth:p=1/0,pass_reward"},
    {"rewards": {"fail": -0.5}},
]
BASE = {
    "task": "RDM-v0",
    "wrappers": "pass_reward",
    "timing": {"stimulus": 300},
    "n_envs": 8,
    "units": 16,
    "timesteps": 9000,
    "hyperparameters": {"n_steps": 64},
    "evaluation": {"every": 4000, "trials": 40},
    "seed": 5,
    "stages": STAGES,
}


class Heard(Display):
    """Keeps what a run says."""

    def __init__(self):
        self.said, self.numbers = [], []

    def say(self, text):
        self.said.append(text)

    def update(self, step, numbers):
        self.numbers.append(numbers)


def course(*stages, **more):
    config, properties = prepare(from_dict({**BASE, **more, "stages": list(stages)}))
    return Curriculum(stages_of(config, properties))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    heard = Heard()
    result = train(
        from_dict(BASE), tmp_path_factory.mktemp("staged"), "run", hooks=Hooks(make_display=lambda *_: heard)
    )
    return result.run, heard


def test_trials_are_of_their_stage(run):
    table = read_trials(run[0].path / "trials")
    assert sorted(set(table["stage"])) == [1, 2, 3]
    assert np.all(np.diff(table["stage"]) >= 0)
    single, two, three = ({name: values[table["stage"] == k] for name, values in table.items()} for k in (1, 2, 3))
    assert set(single["coh"]) == {51.2}
    assert len(set(two["coh"])) == len(set(three["coh"])) == 5
    assert set(single["period_delay"]) == set(three["period_delay"]) == {0}
    assert set(two["period_delay"]) == {200}
    assert set(two["ground_truth"]) == {0}
    assert min(three["reward"]) <= -0.5 < min(single["reward"])
    first = {env: rows["prev_outcome"][rows["env"] == env][0] for rows in (single, two, three) for env in range(8)}
    assert set(first.values()) == {None}  # sessions begin anew


def test_the_record_says_when_and_why(run):
    stages = run[0].manifest()["stages"]
    assert [stage["name"] for stage in stages] == ["clear", "late", "3"]
    assert [stage["ended"] is None for stage in stages] == [False, False, True]
    assert stages[0]["trials"] >= 300
    assert stages[1]["from_trial"] == stages[0]["trials"]
    assert 0 < stages[1]["from_step"] < stages[2]["from_step"] < run[0].manifest()["steps"]


def test_stages_are_shown(run):
    assert sum("now stage" in text for text in run[1].said) == 2
    visible = [numbers["stage"] for numbers in run[1].numbers]
    assert list(dict.fromkeys(visible)) == ["stage 1 of 3: clear", "stage 2 of 3: late", "stage 3 of 3"]
    from rich.console import Console

    page = io.StringIO()
    console = Console(file=page, force_terminal=True, width=200, highlight=False, color_system=None)
    display = LiveDisplay(console, 9000, {})
    display.start()
    display.update(1000, run[1].numbers[0])
    display.stop()
    assert "stage 1 of 3: clear, performance" in page.getvalue()


def test_configuration_round_trip_and_evaluation_of_the_last_stage(run, ngym):
    config = read_config(run[0])
    data = tomllib.loads((run[0].path / "config.toml").read_text())
    assert data["stages"][0] == {"name": "clear", "trials": 300, "window": 500, "task_args": {"cohs": [51.2]}}
    assert prepare(config)[0].to_toml() == config.to_toml()
    assert config.in_stage(-1).rewards["fail"] == -0.5
    assert config.in_stage(0).wrappers == config.wrappers
    conditions = ngym("eval", run[0].path, "--trials", "30", "--json").document["conditions"]
    assert {row["value"] for row in conditions if row["condition"] == "coh"} > {0, 51.2}


@pytest.mark.parametrize(
    "alg", ["supervised", *(pytest.param(each, marks=pytest.mark.long) for each in ("recurrent_ppo", "dqn"))]
)
def test_resumed_within_a_stage_equals_uninterrupted(tmp_path, alg):
    quick = {"recurrent_ppo": {"n_steps": 64}, "supervised": {"batch_size": 8, "seq_len": 32, "n_updates": 2}}
    different = quick.get(alg, {"learning_starts": 500, "buffer_size": 2000, "train_freq": 16})
    config = from_dict({**BASE, "alg": alg, "hyperparameters": different, "checkpoint": {"every": 1500}})
    if alg == "supervised":
        config = config.model_copy(update={"stages": [s.model_copy(update={"trials": 20}) for s in config.stages[:2]]})
    both = resumed(config, tmp_path, lambda whole: min(4500, whole["steps"] // 2))
    keep = ("stage", "from_step", "from_trial", "ended")
    first, second = ([{k: row[k] for k in keep} for row in each.manifest()["stages"]] for each in both)
    assert first == second and len(first) >= 2


def test_the_last_criterion_ends_the_run(tmp_path):
    config = from_dict({**BASE, "stages": [{"trials": 100}, {"trials": 100}], "timesteps": 50_000})
    result = train(config, tmp_path, "run").run.manifest()
    assert result["status"] == "finished"
    assert "stage 2 of 2 ended: " in result["exit_reason"]
    assert result["steps"] < 20_000
    assert all(stage["ended"] for stage in result["stages"])


def test_performance_over_the_last_trials():
    followed = course({"performance": 0.8, "window": 100, "trials": 1000}, {})
    followed.take(np.ones(99))
    assert followed.ended() is None  # the window is not full
    followed.take(np.zeros(30))
    assert followed.ended() is None
    followed.take(np.ones(81))
    assert followed.ended() == "performance 0.810 over the last 100 trials"
    followed.advance("because", 10, 210, 1.0)
    assert followed.is_last and followed.trials == 0 and followed.ended() is None
    again = course({"performance": 0.8, "window": 100, "trials": 1000}, {})
    again.set_state(json.loads(json.dumps(followed.state())))
    assert again.record() == followed.record() and again.stage.number == 2


def test_another_task_with_the_same_spaces():
    second = {"task": "PerceptualDecisionMakingDelayResponse-v0", "trials": 10}
    stages = course(second, {}, task_args={"dim_ring": 2}).stages
    assert [stage.config.task for stage in stages] == [second["task"], "RDM-v0"]
    assert stages[0].config.task_args == {}  # those of the first task do not apply
    assert stages[1].config.task_args["dim_ring"] == 2


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([{"name": "x"}, {}], "stage x never ends"),
        ([{"trials": 5, "wrappers": "pass_reward,pass_action"}, {}], r"observation space is Box\(5,\)"),
        ([{"trials": 5, "task": "GoNogo-v0"}, {}], "stage 1: .*action space is 2 choices"),
        ([{"trials": 5, "timing": {"delya": 3}}, {}], "stage 1: .*did you mean 'delay'"),
        ([{"trials": 5, "dt": 20}, {}], "dt is the same in all stages"),
        ([{"trials": 0}], "stages.0.trials"),
        ([{"trialss": 5}], "did you mean 'stages.0.trials'"),
        ([{"performance": 1.5}], "stages.0.performance"),
        ([{"trials": 5, "wrappers": "pass_rewardd"}], "did you mean"),
    ],
)
def test_stages_that_do_not_fit_are_refused_before_the_start(tmp_path, stages, message):
    with pytest.raises(UserError, match=message):
        train(from_dict({**BASE, "stages": stages}), tmp_path, "run")
    assert not list(tmp_path.iterdir())


def test_memory_is_kept_if_any_stage_needs_it():
    config = from_dict({**BASE, "stages": [{"trials": 5}, {"wrappers": "side_bias:probs=0.2/0.8,pass_reward"}]})
    assert prepare(config)[0].reset_state == "never"
    assert not inspect(config).history_dependent


def test_code_in_a_stage_is_not_trusted():
    from ngym_cli.config.trust import references

    assert references(from_dict({"stages": [{"task": "evil.py:Task"}]})) == ["evil.py:Task"]


def test_an_evaluation_can_be_of_the_task_of_each_stage():
    arguments = {**BASE, "task": "yang19.go-v0", "wrappers": "", "timing": {}, "alg": "recurrent_a2c", "units": 4}
    resolved = new_run(from_dict({**arguments, "stages": [{"trials": 9}, {"task": "yang19.dm1-v0"}]}))
    stages = resolved.stages
    policy = build_model(resolved.config, build_venv(stages[0].config, 1)).policy
    evaluator = Evaluator(None, resolved, lambda: policy, None, Display())
    first, last = (evaluator.on_fresh_trials(5, 0, stage=stage) for stage in (stages[0], None))
    assert set(first.table["task"]) == {"yang19.go-v0"} and "coh1_mod1" not in first.table
    assert set(last.table["task"]) == {"yang19.dm1-v0"} and "coh1_mod1" in last.table
