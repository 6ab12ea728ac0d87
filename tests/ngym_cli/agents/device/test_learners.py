"""Learners on a device do what compiled learners do, to rounding."""

import contextlib

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch.nn.utils import parameters_to_vector

from ngym_cli.agents.algorithms.training_state import training_state
from ngym_cli.agents.device.rollout import DeviceRollout
from ngym_cli.agents.from_config import make_model
from ngym_cli.agents.networks import NETWORKS
from tests.ngym_cli.agents.algorithms.conftest import Snapshot
from tests.ngym_cli.agents.conftest import Recall

RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]
TASKS = {"discrete": "ContextDecisionMaking-v0", "continuous": "ReachingDelayResponse-v0"}


class RecallImage(Recall):
    """The cue and the answer's time as grey images of 36 x 36 pixels."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.observation_space = spaces.Box(0, 255, (1, 36, 36), np.uint8)

    def _obs(self):
        levels = np.where(self.age == 0, 80 * self.cue, 40 * (self.left == 1)).astype(np.uint8)
        images = np.zeros((self.num_envs, 1, 36, 36), np.uint8)
        images[:, 0, :18] = levels[:, None, None]
        return images


def build(env, network="lstm", algorithm="recurrent_ppo", units=12, network_args=None, **hyperparameters):
    options = {"inhibitory": 0.34} if network == "ei_rnn" else {}
    settings = {"n_steps": 20, **hyperparameters}
    return make_model(
        algorithm, env, network, units, {**options, **(network_args or {})}, settings, seed=0, device="cpu"
    )


def vector(model):
    return parameters_to_vector(model.policy.parameters()).detach().clone()


def compare(on_device, make, n_rollouts=3, tolerance=1e-4):
    """Rollouts and weights of equal learners, compiled or in torch, and on a device."""
    results = []
    for context in (contextlib.nullcontext, on_device):
        with context():
            model = make()
            model.learn(n_rollouts * model.n_steps * model.n_envs)
            results.append((model.rollout_buffer, vector(model)))
    (reference, weights), (rollout, on_device_weights) = results
    assert isinstance(rollout, DeviceRollout) and not isinstance(reference, DeviceRollout)
    np.testing.assert_allclose(rollout.actions, reference.actions, atol=tolerance)
    for name in ("values", "log_probs", "advantages", "returns", "rewards"):
        ours, expected = getattr(rollout, name), getattr(reference, name)
        np.testing.assert_allclose(ours, expected, atol=tolerance, err_msg=name)
    for ours, expected in zip(rollout.carried_states, reference.carried_states, strict=True):
        np.testing.assert_allclose(ours, expected, atol=tolerance)
    assert rollout.silent_units() == reference.silent_units()
    torch.testing.assert_close(on_device_weights, weights, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("network", RECURRENT)
def test_rollouts_and_weights_are_those_of_the_compiled_learner(on_device, recall, network, reset):
    compare(on_device, lambda: build(recall(reset=reset), network, batch_size=50, n_epochs=2))


@pytest.mark.parametrize(
    "options",
    [
        {"network_args": {"layers": 2}},
        {"network_args": {"shared": False}},
        {"network_args": {"shared": False, "critic_reads": "activity"}},
        {"network_args": {"readout": [8]}},
        {"network_args": {"density": 0.5, "inhibitory": 0.25}, "network": "gru"},
        {"network_args": {"rank": 2}, "network": "ctrnn"},
        {"bptt": 3},
        {"algorithm": "reinforce"},
        {"algorithm": "recurrent_a2c"},
        {"clip_range_vf": 0.05},
        {"l2_rate": 0.1, "l1_weight": 0.01},
    ],
    ids=str,
)
def test_agents_and_objectives_of_every_kind(on_device, recall, options):
    compare(on_device, lambda: build(recall(reset=False), **options))


@pytest.mark.parametrize("box", [True, 2])
def test_continuous_actions(on_device, recall, box):
    compare(on_device, lambda: build(recall(box=box)))


def test_environments_that_are_cut_off(on_device, recall):
    compare(on_device, lambda: build(recall(reset=False, limit=3)))


def test_images_are_kept_once(on_device):
    compare(on_device, lambda: build(RecallImage(), batch_size=60, n_epochs=2, n_steps=30))
    with on_device():
        model = build(RecallImage(), n_steps=30)
        model.learn(model.n_steps * model.n_envs)
    assert len(model.rollout_buffer.images.images()) <= 4


def test_before_a_step_the_probability_ratio_of_a_noisy_network_is_one(on_device, recall):
    with on_device():
        model = build(recall(), "ctrnn", network_args={"noise": 0.5}, n_epochs=1)
        model.learn(model.n_steps * model.n_envs)
        rollout = model.rollout_buffer
        before = rollout.log_probs.copy()
        model.learning_rate, model.lr_schedule = 0.0, lambda _: 0.0
        model.learn(model.n_steps * model.n_envs, reset_num_timesteps=False)
        assert not np.allclose(before, rollout.log_probs)
        assert model.logger.name_to_value["train/clip_fraction"] == 0
        assert model.logger.name_to_value["train/approx_kl"] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("n_parts", [2, 5])
def test_a_minibatch_in_parts_has_the_same_gradient(on_device, recall, n_parts):
    with on_device():
        model = build(recall(reset=False), "gru", ent_coef=0.02, l2_rate=0.1)
        model.learn(model.n_steps * model.n_envs)
        segments = next(iter(model.minibatches()))
        (gradient, numbers), results = model.gradients()(segments), []
        model.split.n_parts = n_parts
        results = model.gradients()(segments)
    torch.testing.assert_close(results[0], gradient, atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(results[1], numbers, atol=1e-6, rtol=1e-4)


def test_a_batch_that_is_too_large_is_split_with_one_line(on_device, recall, caplog):
    with on_device():
        model = build(recall(reset=False))
        loss, sizes = model.loss, []

        def limited(batch):
            sizes.append(len(batch.weight))
            if len(batch.weight) > 45:
                raise torch.cuda.OutOfMemoryError("out of memory")
            return loss(batch)

        model.loss = limited
        model.learn(2 * model.n_steps * model.n_envs)
    assert [record.getMessage() for record in caplog.records] == [
        "a batch is too large for the memory of the device; it is split into 2",
        "a batch is too large for the memory of the device; it is split into 4",
    ]
    assert max(sizes[3:]) <= 45


@pytest.mark.parametrize("network", ["lstm", "ctrnn"])
def test_a_resumed_run_is_the_uninterrupted_one(on_device, recall, tmp_path, network):
    args = {"noise": 0.1} if network == "ctrnn" else {}
    with on_device():
        uninterrupted, snapshot = build(recall(reset=False), network, network_args=args), Snapshot(300, tmp_path)
        uninterrupted.learn(720, callback=snapshot)
        resumed = build(snapshot.env, network, network_args=args)
        snapshot.restore(resumed)
        resumed.learn(720 - snapshot.steps, reset_num_timesteps=False)
        (tensors, info), (tensors_again, info_again) = training_state(resumed), training_state(uninterrupted)
    assert [name for name in tensors if not torch.equal(tensors[name], tensors_again[name])] == []
    assert info == info_again


def test_products_in_bf16_are_near_those_in_single_precision(on_device, recall):
    gradients = {}
    with on_device():
        for precision in ("single", "bf16"):
            model = build(recall(), "gru", network_args={"precision": precision})
            model.lr_schedule = lambda _: 0.0
            model.learn(model.n_steps * model.n_envs)
            gradients[precision], _ = model.gradients()(next(iter(model.minibatches())))
    single, half = gradients["single"], gradients["bf16"]
    assert not torch.equal(single, half)
    assert torch.nn.functional.cosine_similarity(single, half, dim=0) > 0.99


@pytest.mark.parametrize("actions", TASKS)
@pytest.mark.parametrize("reset", ["trial", "never"])
@pytest.mark.parametrize("network", RECURRENT)
def test_supervised_learning_is_that_of_the_compiled_learner(on_device, learner, network, reset, actions):
    results = []
    for context in (contextlib.nullcontext, on_device):
        with context():
            args = {"inhibitory": 0.34} if network == "ei_rnn" else {}
            model = learner(TASKS[actions], network=network, reset=reset, network_args=args, n_updates=3)
            model.learn(3000)
            results.append(vector(model))
    torch.testing.assert_close(results[1], results[0], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("reset", ["trial", "never"])
def test_a_supervised_run_that_is_resumed_is_the_uninterrupted_one(on_device, learner, tmp_path, reset):
    with on_device():
        uninterrupted, snapshot = learner(reset=reset, n_updates=3), Snapshot(1500, tmp_path)
        uninterrupted.learn(4000, callback=snapshot)
        resumed = learner(reset=reset, n_updates=3, seed=5)
        resumed.set_env(snapshot.env)
        snapshot.restore(resumed)
        resumed.learn(4000 - snapshot.steps, reset_num_timesteps=False)
    assert torch.equal(vector(resumed), vector(uninterrupted))


@pytest.mark.parametrize("reset", ["trial", "never"])
@pytest.mark.parametrize("network", ["gru", "ctrnn"])
def test_a_supervised_batch_in_parts_has_the_same_gradient(on_device, learner, network, reset):
    noise = {"noise": 0.1} if network == "ctrnn" else {}
    with on_device():
        model = learner(reset=reset, network=network, network_args=noise, l2_rate=0.2, l1_weight=0.1)
        material, sequences = model.batch()
        state, carried, results = model.rng.bit_generator.state, model.carried_state, []
        for n_parts in (1, 3):
            model.rng.bit_generator.state, model.carried_state, model.split.n_parts = state, carried, n_parts
            results.append((*model.gradient(material, sequences), model.carried_state))
    (gradient, numbers, after), (in_parts, numbers_in_parts, after_parts) = results
    torch.testing.assert_close(in_parts, gradient, atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(numbers_in_parts, numbers, atol=1e-6, rtol=1e-4)
    for ours, expected in zip(after_parts or (), after or (), strict=True):
        torch.testing.assert_close(ours, expected)
