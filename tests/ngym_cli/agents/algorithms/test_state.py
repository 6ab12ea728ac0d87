"""A resumed run is bit for bit the uninterrupted one, for every algorithm and network."""

import pytest
import torch

from ngym_cli.agents.algorithms import ALGORITHMS
from ngym_cli.agents.algorithms.training_state import load_training_state, training_state
from ngym_cli.agents.from_config import make_model
from ngym_cli.agents.networks import NETWORKS
from tests.ngym_cli.agents.algorithms.conftest import Snapshot

QUICK = {
    "dqn": {"learning_starts": 60, "buffer_size": 600, "batch_size": 16, "target_update_interval": 120},
    "qrdqn": {"learning_starts": 60, "buffer_size": 600, "batch_size": 16, "target_update_interval": 120},
}
CASES = [
    *[(name, None) for name, spec in ALGORITHMS.items() if not spec.supervised],
    *[("recurrent_ppo", name) for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial],
]


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize(("algorithm", "network"), CASES)
def test_resumed_equals_uninterrupted(recall, tmp_path, algorithm, network, reset):
    def build(env, seed):
        hyperparameters = QUICK.get(algorithm, {"n_steps": 10})
        options = {"noise": 0.1} if network in ("ctrnn", "ei_rnn") else {}
        if "batch_size" in ALGORITHMS[algorithm].defaults:
            hyperparameters = {"batch_size": 30, **hyperparameters}
        return make_model(algorithm, env, network, 8, options, hyperparameters, seed=seed, device="cpu")

    total = 720
    uninterrupted, snapshot = build(recall(reset=reset), seed=3), Snapshot(300, tmp_path)
    uninterrupted.learn(total, callback=snapshot)

    resumed = build(snapshot.env, seed=4)
    snapshot.restore(resumed)
    resumed.learn(total - snapshot.steps, reset_num_timesteps=False)

    (tensors, info), (tensors_again, info_again) = training_state(resumed), training_state(uninterrupted)
    assert tensors.keys() == tensors_again.keys()
    different = [name for name in tensors if not torch.equal(tensors[name], tensors_again[name])]
    assert different == []
    assert info == info_again


def test_a_state_of_another_model_is_refused(recall):
    model, another = (make_model("recurrent_ppo", recall(), "lstm", units, device="cpu") for units in (8, 16))
    with pytest.raises(ValueError, match="do not fit"):
        load_training_state(another, *training_state(model))


@pytest.mark.parametrize("change", ["shape", "index"])
def test_a_state_of_another_optimiser_is_refused(recall, change):
    """What an optimiser of each tensor kept cannot be that of the vector of all."""
    model = make_model("recurrent_ppo", recall(), "lstm", 8, None, {"n_steps": 10}, seed=0, device="cpu")
    model.learn(120)
    tensors, info = training_state(model)
    if change == "shape":
        tensors["optimizer/0/exp_avg"] = tensors["optimizer/0/exp_avg"][:-3].clone()
    else:
        tensors["optimizer/1/exp_avg"] = tensors["optimizer/0/exp_avg"]
        info["optimizer"]["entries"].append([1, "exp_avg"])
    with pytest.raises(ValueError, match="optimiser does not fit this model: exp_avg of weights"):
        load_training_state(model, tensors, info)
