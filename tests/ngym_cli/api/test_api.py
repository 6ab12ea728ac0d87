"""The Python interface has the names and words of the command line, and classes become references."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib.figure
import pandas as pd
import pytest

import ngym_cli as nc
from ngym_cli.api import keywords, references
from ngym_cli.config.fields import options_of
from ngym_cli.sweeps.recipe import SweepRequest
from ngym_cli.training.request import RunRequest
from tests.ngym_cli.api.notebook import html

PARTS = """
import gymnasium as gym
import ngym_cli as nc
from torch import nn


class Gain(gym.ObservationWrapper):
    def __init__(self, env, gains: list[float] = (1.0,)):
        super().__init__(env)

    def observation(self, observation):
        return observation


class Mine(nc.Cell):
    def __init__(self, inputs, units, gain: float = 1.0):
        super().__init__(inputs, units)
        self.gain, self.read, self.recur = gain, nn.Linear(inputs, units), nn.Linear(units, units)

    def step(self, x, state):
        return ((self.read(x) + self.gain * self.recur(state[0])).tanh(),)


class Bonus(nc.RecurrentA2C):
    def __init__(self, policy, env, bonus: float = 0.1, **kwargs):
        super().__init__(policy, env, **kwargs)
"""
SCRIPT = (
    PARTS
    + """
if {guarded}:
    run = nc.train(network=Mine, timesteps=500, units=4, name="script", progress=False)
    print(run.config.network, repr(run))
"""
)


@pytest.fixture
def user_parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("parts.py").write_text(PARTS)
    from ngym_cli.config.extensions import import_file

    return import_file(Path("parts.py"))


def quick(**more):
    return nc.train("RDM-v0", timesteps=800, units=8, progress=False, **more)


def test_objects_train_evaluate_and_draw(user_parts):
    wrappers = ["pass_reward", (user_parts.Gain, {"gains": [1, 2]})]
    more = {"network_args": {"gain": 0.5}, "hyperparameters": {"bonus": 0.3}, "name": "first"}
    run = quick(wrappers=wrappers, network=user_parts.Mine, alg=user_parts.Bonus, **more)
    config = run.config
    assert (config.network, config.alg) == ("parts.py:Mine", "parts.py:Bonus")
    assert [entry.name for entry in config.wrappers] == ["pass_reward", "parts.py:Gain"]
    assert config.wrappers[1].args == {"gains": [1, 2]} and config.hyperparameters["bonus"] == 0.3
    assert isinstance(run.trials, pd.DataFrame) and len(run.trials) == run.manifest()["trials"]
    assert len(run.evaluations[0].trials) == run.evaluations[0].summary["trials"]
    result = run.evaluate(60, task_args={"cohs": [4, 20]})
    assert set(result.trials["coh"]) <= {4.0, 20.0} and result.summary["trials"] == 60
    assert isinstance(result.plot("learning"), matplotlib.figure.Figure)
    Path("rat.csv").write_text("coh,choice,correct\n" + "6.4,0,1\n6.4,1,0\n51.2,1,1\n" * 20)
    compared = run.evaluate(20, compare="rat.csv", name="beside")
    statistics = compared.comparison.plot()
    assert [axes.get_xlabel() for axes in compared.plot().axes] == [axes.get_xlabel() for axes in statistics.axes]
    neighbour = compared.summary
    assert neighbour["trials"] == 20 and neighbour["comparison"]["data"] == "rat.csv"
    assert run.report("page.html") == Path("page.html")
    assert "finished" in repr(run) and "\n" not in repr(run)
    assert "<table>" in html(run) and "<img" in html(run) and "<table>" in html(result)
    assert repr(nc.load("first")) == repr(run) and nc.load("first").act(run.make_env().reset(seed=0)[0])[0] in (0, 1, 2)
    assert "(parts.py:Mine) on RDM-v0, 800 steps" in repr(nc.load("first").agent)


def test_without_pandas_tables_are_arrow(user_parts, monkeypatch):
    import pyarrow as pa

    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(quick().trials, pa.Table)


def test_sweep(user_parts, request):
    base = {"task": "RDM-v0", "timesteps": 400, "units": 4}
    result = nc.sweep(base, network=["gru", user_parts.Mine], seed=[3], workers=1)
    table = result.results
    assert sorted(zip(table["network"], table["seed"], strict=True)) == [("gru", 3), ("parts.py:Mine", 3)]
    assert len(result.settings) == 2 and len(result.runs) == 2 and "2 of 2" in repr(result)
    request.getfixturevalue("in_process")  # the workers have shown that they find the class
    together = [("units", "hyperparameters.n_steps")]
    again = nc.sweep(result.runs[0], units=[4, 5], hyperparameters={"n_steps": [16, 32]}, zip=together, workers=1)
    assert list(again.results["n_steps"]) == [16, 32] and list(again.results["units"]) == [4, 5]
    shutil.rmtree(again.runs[0].path)
    (again.path / "errors").mkdir(exist_ok=True)
    (again.path / "errors" / "00000.txt").write_text("its process died")
    assert [run.config.units for run in nc.Sweep(again.path).runs] == [5]


@pytest.mark.parametrize(
    ("base", "arguments", "message"),
    [
        (None, {"seed": []}, "seed: the list is empty"),
        (5, {"seed": [0, 1]}, "base: expected a dictionary"),
        (None, {"units": [4, 8], "zip": [("units",)]}, "two parameters or more"),
        (None, {"units": [4, 8], "zip": [("units", "learning_rate")]}, "'hyperparameters.learning_rate' has no list"),
        ("elsewhere.toml", {}, "unknown launcher 'moon'"),
    ],
)
def test_sweeps_refuse_what_the_command_refuses(user_parts, base, arguments, message):
    Path("elsewhere.toml").write_text("[grid]\nseed = [0, 1]\n[launch]\non = 'moon'\n")
    with pytest.raises(nc.UserError, match=message):
        nc.sweep(base, **arguments)
    assert not Path("sweeps").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"network": "lsmt"}, "unknown network 'lsmt'; did you mean 'lstm'?"),
        ({"hyperparameters": 3}, "expected a dictionary"),
        ({"network": 3}, "expected a name or a class"),
        ({"network": type("Inner", (), {"__qualname__": "f.<locals>.Inner"})}, "at the top level"),
        ({"wrappers": {"pass_reward": {}}}, "expected a name or a class"),
        ({"wrappers": [("pass_reward", 5)]}, "arguments of wrapper pass_reward: expected a dictionary"),
        ({"stages": ["RDM-v0"]}, "stages: expected a dictionary"),
        ({"timing": {"stimulus": len}}, "expected numbers, words, lists and dictionaries"),
    ],
)
def test_errors_are_exceptions_with_the_same_words(user_parts, arguments, message):
    with pytest.raises(nc.UserError) as error:
        quick(**arguments)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not Path("runs").exists() or not list(Path("runs").rglob("manifest.json"))


def test_functions_take_every_option_of_the_command_line():
    parameters = {*inspect.signature(nc.train).parameters, *nc.train.options}
    assert {option.name for option in options_of(RunRequest)} - parameters == {
        *("resume", "smoke", "dry_run", "print_config", "as_json"),
    }
    assert inspect.signature(nc.train).parameters["progress"].default is True
    assert "Units per layer. Default: 64." in nc.train.__doc__
    evaluate = [*inspect.signature(nc.Run.evaluate).parameters, *nc.Run.evaluate.options]
    assert evaluate[:4] == ["self", "trials", "checkpoints", "progress"]
    assert {"deterministic", "lesion", "timing", "compare_activity", "overwrite"} < set(evaluate)
    assert not {"run", "trust"} & set(evaluate)
    assert "fitted_subject" in nc.simulate.options


def test_callbacks_are_a_list_for_a_run_and_for_each_run_of_a_sweep():
    assert keywords.settings_of({"callbacks": "mine.py:Stop"}) == {"callbacks": ["mine.py:Stop"]}
    assert keywords.request_of(SweepRequest, {"callbacks": ["mine.py:Stop"]}).varied == {
        "callbacks": [["mine.py:Stop"]]
    }
    assert keywords.settings_of({"stages": [{"task": "RDM-v0"}]}) == {"stages": [{"task": "RDM-v0"}]}


def test_stages_of_python_have_criteria_and_parts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    stages = [{"performance": 0.5, "window": 9, "timing": {"stimulus": 300}}, {"name": "last"}]
    run = nc.train("RDM-v0", timesteps=300, units=4, stages=stages, progress=False)
    assert [stage["name"] for stage in run.manifest()["stages"]][:1] == ["1"]
    with pytest.raises(nc.UserError, match=r"did you mean 'stages\.0\.performance'"):
        nc.train("RDM-v0", stages=[{"performanc": 0.5}])


def test_built_in_classes_have_their_own_names():
    from neurogym.wrappers import PassReward
    from ngym_cli.agents.networks.gated import GRU

    assert references.reference_of("network", GRU) == "gru"
    assert references.reference_of("algorithm", nc.RecurrentA2C) == "recurrent_a2c"
    assert references.reference_of("wrapper", PassReward) == "pass_reward"


@pytest.mark.parametrize(
    ("guarded", "message"), [("__name__ == '__main__'", "script.py:Mine"), ("True", "put what it does below")]
)
def test_script(tmp_path, guarded, message):
    (tmp_path / "script.py").write_text(SCRIPT.format(guarded=guarded))
    process = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert message in process.stdout + process.stderr


def test_sweep_from_a_script_without_a_guard(tmp_path):
    (tmp_path / "script.py").write_text(
        "import ngym_cli as nc\n"
        "print(nc.sweep({'task': 'RDM-v0', 'timesteps': 200, 'units': 4}, seed=range(1), workers=1))\n"
    )
    process = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert process.stdout.count("1 of 1 runs done") == 1 and process.returncode == 0


def test_dir_is_complete_and_importing_is_light():
    assert {"train", "sweep", "load", "reproduce", "resume", "Cell", "UserError"} <= set(dir(nc))
    program = "import sys, ngym_cli; print([name for name in ('torch', 'pandas', 'matplotlib') if name in sys.modules])"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert process.stdout.strip() == "[]"
