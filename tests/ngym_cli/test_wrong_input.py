"""A user's mistake gives one line with the nearest valid name, exit code 2 and no half-made run folder."""

from __future__ import annotations

import shutil

import pytest

RUN = ["run", "--task", "RDM-v0"]
TASK_FILES = {
    "syntax.py": "class Mine(:\n",
    "import_error.py": "import no_such_module\n",
    "name_error.py": "import neurogym as ngym\nclass Mine(ngym.TrialEnv):\n    x = undefined\n",
    "in_trial.py": (
        "import neurogym as ngym\n"
        "class Mine(ngym.TrialEnv):\n"
        "    def __init__(self, dt=100):\n"
        "        super().__init__(dt=dt)\n"
        "        self.observation_space = ngym.spaces.Box(-1, 1, shape=(1,))\n"
        "        self.action_space = ngym.spaces.Discrete(2)\n"
        "    def new_trial(self, **kwargs):\n"
        "        return 1 / 0\n"
    ),
    "not_a_task.py": "class Mine:\n    pass\n",
}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["bogus"], "bogus"),
        (["run", "--tsk", "RDM-v0"], "--task"),
        (["run", "--task", "RDM-v9"], "did you mean 'RDM-v"),
        (["eval", "--simulate", "RDM-v0", "--record", "activity"], "--record is for evaluations of trained networks"),
        (["eval", "--simulate", "RDM-v0", "--lesion", "units=0"], "--lesion is for evaluations of trained networks"),
        (["eval", "--simulate", "RDM-v0", "--export", "nwb"], "--export is for evaluations of trained networks"),
        (["eval", "--simulate", "RDM-v0", "--balanced"], "--balanced is for evaluations of trained networks"),
        (["eval", "--task-stimuli", "coh"], "--task-stimuli requires --simulate TASK"),
        (["run", "--task", "GoNoGoo-v0"], "did you mean 'GoNogo-v0'"),
        ([*RUN, "--wrappers", "pas_reward"], "did you mean 'pass_reward'"),
        ([*RUN, "--wrappers", "reaction_time:urgencyy=1"], "did you mean 'urgency'"),
        ([*RUN, "--wrappers", "pass_reward:oops"], "name:key=value"),
        ([*RUN, "--wrappers", "pass_reward:env=1"], "unknown argument"),
        ([*RUN, "--alg", "recurent_ppo"], "did you mean 'recurrent_ppo'"),
        ([*RUN, "--network", "lstn"], "did you mean 'lstm'"),
        ([*RUN, "--alg", "ppo", "--network", "lstm"], "ppo"),
        (["run", "--task", "ReachingDelayResponse-v0", "--alg", "dqn"], "Box"),
        ([*RUN, "--set", "learning_rte=1"], "did you mean 'learning_rate'"),
        ([*RUN, "--set", "learning_rate=fast"], "must be a number"),
        ([*RUN, "--set", "n_steps=1.5"], "whole number"),
        ([*RUN, "--alg", "ppo", "--network", "mlp", "--set", "n_steps=8-inf"], "must be a number"),
        ([*RUN, "--timesteps", "100", "--set", "n_steps=none"], "n_steps"),
        ([*RUN, "--set", "learning_rate"], "NAME=VALUE"),
        ([*RUN, "--timesteps", "100", "--callback", "mine.py:Mine"], "no such callback file"),
        ([*RUN, "--set", "gamma=1", "--set", "gamma=2"], "twice"),
        ([*RUN, "--network-arg", "layerz=2"], "did you mean 'layers'"),
        ([*RUN, "--task-arg", "sgma=1"], "did you mean 'sigma'"),
        ([*RUN, "--timing", "stimulos=100"], "did you mean 'stimulus'"),
        ([*RUN, "--timing", "stimulus=unifrm:1:2"], "did you mean 'uniform'"),
        ([*RUN, "--timing", "stimulus=uniform:5"], "low, high"),
        ([*RUN, "--timing", "stimulus=-100"], "0 ms or more"),
        ([*RUN, "--timing", "stimulus=choice:-1:5"], "0 ms or more"),
        ([*RUN, "--timing", "stimulus=nan"], "stimulus"),
        ([*RUN, "--reward", "corect=1"], "did you mean 'correct'"),
        ([*RUN, "--reward", "correct=lots"], "correct"),
        ([*RUN, "--dt", "-20"], "dt"),
        ([*RUN, "--dt", "0"], "dt"),
        ([*RUN, "--dt", "nan"], "dt"),
        ([*RUN, "--seed", "-1"], "seed"),
        ([*RUN, "--units", "0"], "units"),
        ([*RUN, "--n-envs", "many"], "--n-envs: 'many' is not a whole number"),
        ([*RUN, "--reset-state", "sometimes"], "--reset-state"),
        ([*RUN, "--reset-state", "session"], "report no sessions; expected auto, trial or never"),
        ([*RUN, "--reset-state", "block"], "report no blocks; expected auto, trial or never"),
        ([*RUN, "--device", "abacus"], "abacus"),
        ([*RUN, "--name", "../outside"], "plain folder name"),
        ([*RUN, "--name", "latest"], "is reserved for the newest"),
        ([*RUN, "--config", "missing.toml"], "missing.toml"),
        (["run", "--task", "missing.py:Mine"], "missing.py"),
        (["run", "--task", "no_such_package.tasks:Mine"], "no_such_package"),
        (["eval", "runs/nothing"], "no such run"),
        (["eval", "latest"], "no runs"),
        (["plot", "latest"], "no runs"),
        (["plot", "latest", "learnin"], "did you mean 'learning'"),
        (["info", "pass_rewad"], "did you mean 'pass_reward'"),
        (["info", "pass_reward", "--figure", "trial.png"], "pass_reward is not a task but of kind wrapper"),
        (["info", "recurrent_ppo", "--dt", "20"], "settings and --figure are for tasks"),
        (["info", "gone.py:Two"], "no such file: gone.py"),
        (["list", "taks"], "did you mean 'tasks'"),
        (["list", "tasks", "--tag", "timin"], "did you mean 'timing'"),
        (["list", "algs", "--tag", "timing"], "--tag"),
    ],
)
def test_one_line_and_code_2(ngym, tmp_path, arguments, says):
    result = ngym(*arguments)
    _check(result, says)
    assert not list(tmp_path.iterdir())


def _check(result, says):
    assert result.code == 2, result
    lines = result.err.strip().splitlines()
    assert lines[-1].startswith("ngym: ")
    assert len(lines) == 1 or lines[0].startswith(("training ", "recorded "))
    assert says in lines[-1]
    assert "Traceback" not in result.err
    assert not result.out


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("syntax.py", "SyntaxError"),
        ("import_error.py", "no_such_module"),
        ("name_error.py", "line 3"),
        ("in_trial.py", "line 8"),
        ("not_a_task.py", "not a trial-based task"),
    ],
)
def test_broken_task_of_the_user(ngym, tmp_path, file, says):
    (tmp_path / file).write_text(TASK_FILES[file])
    _check(ngym("run", "--task", f"{file}:Mine"), says)
    assert not (tmp_path / "runs").exists()


def test_unknown_class_in_a_file_names_the_nearest(ngym, tmp_path):
    (tmp_path / "mine.py").write_text("class MyTask:\n    pass\n")
    _check(ngym("run", "--task", "mine.py:MyTsk"), "did you mean 'MyTask'")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tsk = 'RDM-v0'", "did you mean 'task'"),
        ("[evaluation]\nevry = 1", "did you mean 'evaluation.every'"),
        ("units = 'many'", "units"),
        ("timing = 3", "timing"),
        ("task = [", "cannot read"),
        ("[timing]\nstimulus = 'unifom:1:2'", "did you mean 'uniform'"),
    ],
)
def test_wrong_configuration_file(ngym, tmp_path, text, says):
    (tmp_path / "run.toml").write_text(text)
    _check(ngym("run", "--config", "run.toml"), says)
    assert not (tmp_path / "runs").exists()


def test_an_existing_run_is_not_overwritten_unasked(ngym, run_folder, tmp_path):
    shutil.copytree(run_folder, tmp_path / "runs/RDM-v0/recurrent_ppo/shared")
    _check(ngym(*RUN, "--name", "shared"), "--overwrite")
    assert (tmp_path / "runs/RDM-v0/recurrent_ppo/shared/model").is_dir()


def test_a_damaged_run_is_listed_as_such(ngym, run_folder, tmp_path):
    run = shutil.copytree(run_folder, tmp_path / "runs/RDM-v0/recurrent_ppo/broken")
    (run / "manifest.json").write_text("{")
    result = ngym("list", "runs")
    assert result.code == 0
    assert "damaged" in result.out
