"""The compiled agent acts and learns as the one in NumPy and torch does."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from neurogym import kernels
from ngym_cli import processes
from ngym_cli.agents.algorithms.compiled_learner import CompiledLearner
from ngym_cli.agents.algorithms.objective import STATISTICS
from ngym_cli.agents.algorithms.recurrent_ppo import RecurrentPPO
from ngym_cli.agents.from_config import make_model
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.agents.networks.passes import obstacle
from ngym_cli.agents.networks.policy import RecurrentPolicy
from ngym_cli.agents.sequences import cut, minibatches

CLIPPED, VALUE_LOSS = STATISTICS.index("clip_fraction"), STATISTICS.index("value_loss")
RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]
pytestmark = pytest.mark.skipif(not kernels.available(), reason="no compiled functions are built")


def build(env, network="lstm", algorithm="recurrent_ppo", units=21, network_args=None, **hyperparameters):
    noisy = {"noise": 0.1} if "noise" in NETWORKS[network].defaults else {}
    options = {**noisy, **(network_args or {})}
    return make_model(algorithm, env, network, units, options, {"n_steps": 24, **hyperparameters}, seed=0, device="cpu")


def move(policy, scale=0.3):
    """Away from the rollout's weights, so that some ratios and values are clipped."""
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += scale * torch.randn_like(parameter)


def compare(model, segments):
    """Gradient and numbers by automatic differentiation, and compiled; returns the numbers."""
    (expected, numbers), (compiled, same) = (
        model.gradients()(segments),
        model.compiled.gradient(segments, model.coefficients()),
    )
    scale = max(1.0, expected.abs().max().item())
    torch.testing.assert_close(compiled / scale, expected / scale, atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(same, numbers, atol=2e-6, rtol=1e-5)
    return numbers.tolist()


def test_steps_that_do_not_count_are_not_learned_from(recall):
    model = build(recall(), algorithm="reinforce")
    model.learn(model.n_steps * model.n_envs)
    rollout, segments = model.rollout_buffer, cut(model.rollout_buffer.starts[:-1])
    assert 0 < rollout.counts.sum() < rollout.counts.size
    compare(model, segments)
    rollout.counts[:] = False
    assert model.compiled.gradient(segments, model.coefficients()) is None


@pytest.mark.parametrize("readout", [[8], {"pi": [8, 4]}, {"vf": [5]}], ids=str)
def test_read_outs_may_differ_and_have_rectified_units(recall, readout):
    kind = {"network": "gru", "units": 21, "net_arch": readout, "activation_fn": torch.nn.ReLU}
    model = RecurrentPPO("RecurrentPolicy", recall(), policy_kwargs=kind, n_steps=24, seed=0, device="cpu")
    model.learn(model.n_steps * model.n_envs)
    move(model.policy)
    compare(model, cut(model.rollout_buffer.starts[:-1]))


def test_images_are_learned_from_by_automatic_differentiation():
    image = spaces.Box(0, 255, (3, 36, 36), np.uint8)
    policy = RecurrentPolicy(image, spaces.Discrete(3), lambda _: 1e-3, units=8)
    assert obstacle(policy)


@pytest.mark.parametrize("target_kl", [None, 1e-4])
@pytest.mark.parametrize("network", RECURRENT)
def test_an_epoch_in_one_call_is_what_its_minibatches_are_one_by_one(recall, network, target_kl, monkeypatch):
    results, logged = [], []
    for uninterrupted in (True, False):
        if not uninterrupted:
            monkeypatch.setattr(CompiledLearner, "apply", lambda *_: None)
        logged.append([])
        model = build(recall(), network, n_epochs=3, batch_size=50, learning_rate=3e-3, target_kl=target_kl)
        for _ in range(3):
            model.learn(model.n_steps * model.n_envs)
            logged[-1].append({name: model.logger.name_to_value[f"train/{name}"] for name in STATISTICS})
        results.append(torch.nn.utils.parameters_to_vector(model.policy.parameters()))
        logged[-1].append(model.updates)
    assert torch.equal(*results)
    assert len(logged[0]) == 4 and logged[0] == logged[1]
    assert (logged[0][-1] < 9) == (target_kl is not None)


def test_a_minibatch_without_a_step_that_counts_is_passed_over(recall):
    model = build(recall(reset=False), n_epochs=2, batch_size=24)
    model.learn(model.n_steps * model.n_envs)
    rollout, learner = model.rollout_buffer, model.compiled
    arrays = minibatches(cut(rollout.starts[:-1]), model.n_envs, np.random.default_rng(0))
    first = arrays[0]
    rollout.counts[:, first.first % first.stride] = False
    before = torch.nn.utils.parameters_to_vector(model.policy.parameters()).clone()
    assert len(learner.apply([first], model.coefficients(), np.inf, 1.0)) == 0
    assert torch.equal(before, torch.nn.utils.parameters_to_vector(model.policy.parameters()))
    assert len(learner.apply(arrays, model.coefficients(), np.inf, 1.0)) == len(arrays) - 1


def test_an_update_that_was_never_led_keeps_no_thread_waiting(recall, monkeypatch):
    processes.set_learning_threads(2)
    try:
        model = build(recall())
        for _ in range(2):
            model.learn(model.n_steps * model.n_envs)
        learn = model.compiled.agent.functions["gradient"]

        def interrupted(**arguments):
            if arguments["rank"] == 0:
                raise KeyboardInterrupt
            return learn(**arguments)

        monkeypatch.setitem(model.compiled.agent.functions, "gradient", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.learn(model.n_steps * model.n_envs)
        monkeypatch.setitem(model.compiled.agent.functions, "gradient", learn)
        model.learn(model.n_steps * model.n_envs)  # the other thread is free
    finally:
        processes.set_learning_threads(1)
