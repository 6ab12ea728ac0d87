"""An agent acts the same whether its weights are read with or without torch; commands do without where they can."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from neurogym import kernels
from ngym_cli.agents.acting import Actor
from ngym_cli.agents.defaults import prepare, read_config
from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.agents.saving import WEIGHTS, load_policy, save_model
from ngym_cli.agents.trained import load_to_act
from ngym_cli.config.model import from_dict
from ngym_cli.errors import UserError
from ngym_cli.evaluation import fresh_trials
from ngym_cli.runs import MODEL, RunFolder

RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]
LARGER = ({"layers": 2, "shared": False}, {"readout": [8, 6]})
pytestmark = pytest.mark.skipif(not kernels.available(), reason="networks step in torch without compiled loops")
AFTER = """
import json, sys
from ngym_cli.__main__ import main
sys.argv = ["ngym", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("LOADED", sorted({"torch", "stable_baselines3"} & set(sys.modules)))
"""


@pytest.fixture
def untrained_run(tmp_path):
    """Makes the files of an untrained agent that loading it needs."""

    def make(task, network, args, alg="recurrent_ppo"):
        arguments = {"task": task, "alg": alg, "network": network, "network_args": args}
        config, properties = prepare(from_dict(arguments))
        save_model(build_model(config, build_venv(config, 1)), config, tmp_path / MODEL)
        return RunFolder(tmp_path), config, properties

    return make


def test_evaluations_and_figures_do_without_torch(run_folder, tmp_path):
    folder = shutil.copytree(run_folder, tmp_path / "run")
    _without_torch(tmp_path, "eval", str(folder), "--trials=60", "--record=activity")
    _without_torch(tmp_path, "plot", str(folder), "psth", "fixed-points")


def _without_torch(cwd, *words):
    command = [sys.executable, "-c", AFTER, json.dumps(words)]
    process = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert process.returncode == 0, process.stderr
    assert "LOADED []" in process.stdout


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize(
    ("task", "network", "args"),
    [
        ("RDM-v0", "lstm", {}),
        ("RDM-v0", "rnn", {"activation": "relu"}),
        ("RDM-v0", "ctrnn", {"activation": "softplus"}),
        ("ReachingDelayResponse-v0", "lstm", {}),
        ("ReachingDelayResponse-v0", "gru", {"readout": [8]}),
        ("RDM-v0", "ctrnn", {"activation": "tanh", "tau": 50.0, "noise": 0.1}),
        ("RDM-v0", "ei_rnn", {"density": 0.5, "noise": 0.1}),
        *(("RDM-v0", network, args) for network in RECURRENT for args in LARGER),
    ],
)
def test_trials_are_the_same_to_the_bit(untrained_run, task, network, args, deterministic):
    run, config, properties = untrained_run(task, network, args)
    actor, steps = load_to_act(run, config)
    policy, expected_steps = load_policy(run, config)
    assert isinstance(actor, Actor) and steps == expected_steps
    settings = fresh_trials.EvaluationSettings(60, 3, deterministic, measured=False)
    ours, another = (fresh_trials.evaluate(each, config, properties, settings).table for each in (actor, policy))
    assert ours.keys() == another.keys()
    for name, values in ours.items():
        np.testing.assert_array_equal(values, another[name], err_msg=name)


@pytest.mark.parametrize(
    ("task", "alg", "network"),
    [("RDM-v0", "ppo", "mlp"), ("SpatialSuppressMotionImage-v0", "recurrent_ppo", "lstm")],
)
def test_others_act_in_torch(untrained_run, task, alg, network):
    run, config, _ = untrained_run(task, network, {}, alg)
    assert not isinstance(load_to_act(run, config)[0], Actor)


@pytest.mark.parametrize(
    ("network", "tensor"), [("gru", "bias_hh_l0"), ("ei_rnn", "mask_l0"), ("ei_rnn", "sign"), ("ctrnn", "weight_ih_l0")]
)
def test_a_file_that_lacks_a_tensor_is_one_line(untrained_run, network, tensor):
    run, config, _ = untrained_run("RDM-v0", network, {})
    path = run.path / MODEL / WEIGHTS
    tensors = load_file(path)
    del tensors[f"lstm_actor.{tensor}"]
    save_file(tensors, path)
    with pytest.raises(UserError, match=tensor) as results:
        load_to_act(run, config)
    assert "\n" not in str(results.value)


@pytest.mark.parametrize("saved", [0, 5, 500, -40])
def test_a_truncated_file_is_one_line(run_folder, tmp_path, saved):
    folder = shutil.copytree(run_folder, tmp_path / "run")
    weights = folder / MODEL / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:saved])
    run = RunFolder(folder)
    with pytest.raises(UserError, match=WEIGHTS) as results:
        load_to_act(run, read_config(run))
    assert "\n" not in str(results.value)
