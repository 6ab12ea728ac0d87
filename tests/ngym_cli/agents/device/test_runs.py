"""Runs on a GPU from the command line: learning, resuming, evaluating, recording and looking inside."""

import json

import pytest

from ngym_cli.agents.networks import NETWORKS
from ngym_cli.config.model import from_dict
from tests.ngym_cli.agents.device.conftest import needs_gpu
from tests.ngym_cli.conftest import BASE, QUICK
from tests.ngym_cli.sameness import resumed

pytestmark = needs_gpu

RUN = ("run", "--task", "RDM-v0", "--device", "cuda", "--timesteps", "1024", "--n-envs", "8", "--eval-trials", "50")
RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]
CELL = """
import torch
from torch import nn


class Minimal(nn.Module):
    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.inputs, self.gate = nn.Linear(input_size, hidden_size), nn.Linear(input_size, hidden_size)

    def forward(self, x, state):
        hold = torch.sigmoid(self.gate(x))
        after = hold * state + (1 - hold) * torch.tanh(self.inputs(x))
        return after, after
"""


def run(ngym, *flags):
    result = ngym(*RUN, "--units", "16", "--name", "made", *flags)
    assert result.code == 0, result.err
    return result.out + result.err


@pytest.mark.parametrize("network", RECURRENT)
def test_every_network_learns_and_acts(ngym, network):
    assert "training runs on cuda" in run(ngym, "--network", network)
    on_gpu = ngym("eval", "made", "--device", "cuda", "--trials", "100", "--record", "activity", "--json").document
    result = ngym("eval", "made", "--trials", "100", "--name", "cpu", "--json")
    assert json.loads(result.out)["performance"] == pytest.approx(on_gpu["performance"], abs=0.05)


@pytest.mark.parametrize(
    "flags",
    [
        ("--alg", "recurrent_a2c"),
        ("--alg", "reinforce"),
        ("--alg", "supervised", "--network", "gru"),
        ("--alg", "supervised", "--network", "ctrnn", "--network-arg", "noise=0.1"),
        ("--alg", "ppo"),
        ("--alg", "dqn"),
        ("--network", "ctrnn", "--network-arg", "rank=2"),
        ("--network", "gru", "--network-arg", "density=0.5", "--network-arg", "inhibitory=0.25"),
        ("--network-arg", "precision=bf16"),
    ],
    ids=" ".join,
)
def test_every_learner_and_constraint(ngym, flags):
    assert "training runs on cuda" in run(ngym, *flags) or flags[1] in ("ppo", "dqn")


@pytest.mark.parametrize("task", ["SpatialSuppressMotionImage-v0", "yang19"])
def test_images_and_several_tasks(ngym, task):
    flags = ("--alg", "supervised") if task == "yang19" else ()
    run(ngym, "--task", task, "--timesteps", "1024", "--eval-trials", "10", *flags)


def test_a_cell_of_the_user(ngym, tmp_path):
    (tmp_path / "cell.py").write_text(CELL)
    run(ngym, "--network", "cell.py:Minimal")


@pytest.mark.parametrize(
    "options",
    [{}, {"network": "ctrnn", "network_args": {"noise": 0.1}}, {"alg": "supervised", "network": "gru"}],
    ids=str,
)
def test_a_resumed_run_is_the_uninterrupted_one(tmp_path, options):
    alg = options.get("alg", "recurrent_ppo")
    config = from_dict({**BASE, "device": "cuda", "hyperparameters": QUICK[alg], **options})
    resumed(config, tmp_path, 4500)


def test_lesions_and_fixed_points(ngym):
    run(ngym, "--network", "gru")
    assert ngym("eval", "made", "--device", "cuda", "--lesion", "0.5", "--trials", "50").code == 0
    assert ngym("eval", "made", "--record", "activity", "--trials", "100", "--name", "points").code == 0
    assert ngym("plot", "made", "fixed-points", "trajectories", "--eval", "points").code == 0
