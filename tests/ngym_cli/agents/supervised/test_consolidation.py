"""Elastic weight consolidation: importance is the curvature of the loss, weights are kept, stages resume exactly."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ngym_cli.agents.algorithms.objective import Consolidation
from ngym_cli.config.model import from_dict
from ngym_cli.errors import UserError
from ngym_cli.training.main_loop import train
from tests.ngym_cli.sameness import curves, resumed

BASE = {
    "task": "RDM-v0",
    "task_args": {"cohs": [51.2]},
    "n_envs": 8,
    "units": 16,
    "stages": [{"trials": 40}, {"task_args": {"cohs": [-51.2]}}],  # against the motion
    "evaluation": {"every": 0, "trials": 300},
    "checkpoint": {"every": 1500},
}
SIZES = {
    "supervised": {"batch_size": 8, "seq_len": 60, "n_updates": 6, "n_steps": 32, "final_rate": 1.0},
    "recurrent_ppo": {"n_steps": 64},
}


class Linear(torch.nn.Module):
    """Policy with two weights."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, -1.0]))

    def gradient(self, loss):
        return torch.autograd.grad(loss, self.weight)[0]


def test_the_penalty_is_the_quadratic_approximation_of_earlier_losses():
    policy = Linear()
    saved = Consolidation(policy, 3.0)
    assert not saved
    saved.end_stage(policy.weight @ torch.tensor(row) for row in ([1.0, 0.0], [3.0, 0.0]))  # mean squares 5, 0
    with torch.no_grad():
        policy.weight += torch.tensor([2.0, 7.0])
    slope, penalty = saved()
    assert slope.tolist() == [3 * 5 * 2, 0] and penalty == 0.5 * 3 * 5 * 2**2
    saved.end_stage(policy.weight @ torch.tensor(row) for row in ([0.0, 2.0],))  # the next stage counts as much
    again = Consolidation(policy, 3.0)
    again.set_state(saved.state())
    with torch.no_grad():
        policy.weight += 1
    assert saved()[0].tolist() == again()[0].tolist() == [15, 12]


@pytest.mark.parametrize("reset", ["trial", "never"])
def test_importance_is_the_curvature_of_the_loss(learner, reset):
    model = learner("ContextDecisionMaking-v0", network="rnn", units=4, reset=reset, consolidation=1.0)
    model.learn(8000)
    model.end_stage()
    sizes = [piece.numel() for piece in model.policy.parameters()]
    position = [name for name, _ in model.policy.named_parameters()].index("action_net.bias")
    results = np.split(model.consolidation.state()["importance"], np.cumsum(sizes)[:-1])[position]
    expected = torch.zeros(3)
    for _ in range(40):  # of the biases of the answers: the mean of p (1 - p)
        material, sequences = model.batch()
        share = torch.from_numpy(material.weight * (len(sequences) / material.weight.sum()))
        stride, carry = (8, model.carried_state) if reset == "never" else (1, None)
        for k, first in enumerate(sequences.first):
            rows = first + stride * np.arange(sequences.length[k])
            state = model.policy.networks[0].initial_state(1) if carry is None else (carry[0][:, k : k + 1],)
            rates, _ = model.policy.networks[0](torch.from_numpy(material.ob[rows])[:, None], state)
            probs = model.policy.action_net(rates[:, 0]).softmax(-1).detach()
            expected += share[rows] @ (probs * (1 - probs)) / (40 * len(sequences))
        model.gradient(material, sequences)
    assert results == pytest.approx(expected.numpy(), rel=0.35)


def config(alg, strength, **more):
    return from_dict({**BASE, "alg": alg, "hyperparameters": {**SIZES[alg], "consolidation": strength}, **more})


def test_supervised_learning_keeps_an_earlier_task(tmp_path):
    free = train(config("supervised", 0.0, timesteps=30_000), tmp_path, "free").run.manifest()
    covered = train(config("supervised", 1e5, timesteps=30_000), tmp_path, "held").run.manifest()
    assert covered["performance"] < 0.5 < 0.9 < free["performance"]  # of the second task, against the first


@pytest.mark.parametrize("alg", SIZES)
def test_an_interrupted_run_is_the_same(tmp_path, alg):
    def late(whole):
        return (whole["stages"][1]["from_step"] + whole["steps"]) // 2

    whole, _ = resumed(config(alg, 100.0, timesteps=16_000), tmp_path, late)
    penalties = np.array(curves(whole.path)["train/penalty_loss"])
    assert penalties[-1, 1] > 0


@pytest.mark.parametrize("alg", SIZES)
def test_consolidation_without_stages_is_refused(tmp_path, alg):
    with pytest.raises(UserError, match=r"consolidation protects .* expected \[\[stages\]\]"):
        train(config(alg, 10.0, timesteps=16_000, stages=[]), tmp_path, "run")
