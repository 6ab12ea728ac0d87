"""The learner: exact, resumable, the same loss as computed step by step, and it learns."""

import time

import numpy as np
import pytest
import torch

import neurogym as ngym
from neurogym.envs.multi import make_multi
from ngym_cli import processes
from ngym_cli.agents.algorithms.training_state import training_state
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.agents.supervised.material import TrialStream
from tests.ngym_cli.agents.algorithms.conftest import Snapshot

RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]


def weights(model):
    return {name: value.clone() for name, value in model.policy.state_dict().items()}


def equal(single, another):
    return single.keys() == another.keys() and all(torch.equal(single[name], another[name]) for name in single)


@pytest.mark.parametrize("network", RECURRENT)
@pytest.mark.parametrize("reset", ["trial", "never"])
def test_the_same_seed_gives_the_same_weights(learner, network, reset):
    options = {"noise": 0.1} if network in ("ctrnn", "ei_rnn") else {}
    built = [
        learner(network=network, reset=reset, seed=seed, wrappers=["pass_action"], network_args=options)
        for seed in (1, 1, 2)
    ]
    for model in built:
        model.learn(2000)
    assert equal(weights(built[0]), weights(built[1])) and not equal(weights(built[0]), weights(built[2]))


@pytest.mark.parametrize("reset", ["trial", "never"])
def test_the_result_is_the_same_for_any_number_of_threads(learner, reset, monkeypatch):
    monkeypatch.setattr(processes, "WORTH_SHARING", 1)  # as it pays for larger networks only
    results = []
    for n in (1, 2, 5):
        model = learner(reset=reset, units=40)
        processes.set_learning_threads(n)
        try:
            model.learn(1500)
        finally:
            processes.set_learning_threads(1)
        results.append(weights(model))
    assert all(equal(results[0], another) for another in results[1:])


@pytest.mark.parametrize(("reset", "several"), [("trial", False), ("never", False), ("trial", True)])
def test_resumed_equals_uninterrupted(learner, tmp_path, reset, several):
    make = (lambda: make_multi("RDM-v0+GoNogo-v0")) if several else None
    uninterrupted, snapshot = learner(reset=reset, seed=3, make=make), Snapshot(1500, tmp_path)
    uninterrupted.learn(4000, callback=snapshot)
    resumed = learner(reset=reset, seed=4, make=make)
    resumed.set_env(snapshot.env)
    snapshot.restore(resumed)
    resumed.learn(4000 - snapshot.steps, reset_num_timesteps=False)
    (tensors, info), (again, info_again) = training_state(resumed), training_state(uninterrupted)
    assert resumed.num_timesteps == uninterrupted.num_timesteps
    assert [name for name in tensors if not torch.equal(tensors[name], again[name])] == []
    sessions, sessions_again = info.pop("own"), info_again.pop("own")  # with cached attributes
    assert info == info_again and sessions.keys() == sessions_again.keys()
    for _ in range(3):
        (material, _), (expected, _) = resumed.batch(), uninterrupted.batch()
        for name, column in vars(expected).items():
            np.testing.assert_array_equal(vars(material)[name], column, err_msg=name)


def test_a_saved_model_goes_on(learner, tmp_path):
    model = learner()
    model.learn(500)
    model.save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model", env=model.env)
    assert equal(weights(model), weights(loaded)) and loaded.loss_weight == model.loss_weight
    loaded.learn(500)
    assert not equal(weights(model), weights(loaded))
    with pytest.raises(ValueError, match="load the model with env"):
        type(model).load(tmp_path / "model")


@pytest.mark.parametrize("network", RECURRENT)
def test_loss_and_gradients_equal_a_step_by_step_reference(learner, network):
    model = learner("ContextDecisionMaking-v0", network=network)
    material, sequences = model.batch()
    gradient, (loss, *_) = model.gradient(material, sequences)
    parameters = dict(model.policy.named_parameters())
    arrays = gradient.split([p.numel() for p in parameters.values()])
    results = {name: array.view_as(p) for (name, p), array in zip(parameters.items(), arrays, strict=True)}
    reference, at = 0.0, 0
    net = model.policy.networks[0]
    for length in material.length:
        state = net.initial_state(1)
        for t in range(at, at + length):
            rates, state = net(torch.from_numpy(material.ob[t])[None, None], state)
            log_probs = model.policy.action_net(rates[0, 0]).log_softmax(-1)
            reference = reference - float(material.weight[t]) * log_probs[int(material.gt[t])]
        at += length
    reference = reference / float(material.weight.sum())
    reference.backward()
    assert loss.item() == pytest.approx(reference.item(), abs=1e-5)
    for name, grad in results.items():
        expected = parameters[name].grad
        assert torch.allclose(grad, torch.zeros_like(grad) if expected is None else expected, atol=2e-5), name


def test_where_the_state_never_resets_batches_follow_each_other(learner):
    model = learner(reset="never")
    again = [TrialStream(stream.env, 0, stream.weigh, keep_rows=False) for stream in model.streams]
    for stream, copied in zip(model.streams, again, strict=True):
        copied.set_state(stream.state())
    batches = [model.batch()[0] for _ in range(3)]
    for i, copied in enumerate(again):
        joined = np.concatenate([batch.ob[i::8] for batch in batches])
        assert np.array_equal(joined, copied.rows(120).ob)
    before = tuple(array.clone() for array in model.carried_state)
    model.gradient(*model.batch())
    assert not torch.equal(before[0], model.carried_state[0])


def test_steps_are_counted_as_they_are_learned_from(learner):
    model = learner("ContextDecisionMaking-v0")
    model.learn(3000)
    assert 3000 <= model.num_timesteps < 3000 + 8 * 40
    assert model.updates >= 3000 // (8 * 40)


@pytest.mark.parametrize(
    ("network", "option", "size"),
    [("ctrnn", "l2_rate", 10), ("ctrnn", "l1_rate", 3), ("ei_rnn", "l2_weight", 50), ("ei_rnn", "l1_weight", 10)],
)
def test_penalties_make_rates_and_weights_smaller(learner, network, option, size):
    free, covered = learner(network=network), learner(network=network, **{option: size})
    for model in (free, covered):
        model.learn(15_000)
    sizes = []
    for model in (free, covered):
        net, material = model.policy.networks[0], model.batch()[0]
        rates = net(torch.from_numpy(material.ob)[:, None])[0]
        matrix = net.recurrent_weight(0) if "weight" in option else rates
        sizes.append(matrix.abs().mean().item())
    assert sizes[1] < 0.8 * sizes[0]


def test_continuous_actions_are_learned_by_squared_error(learner, performance):
    model = learner("ReachingDelayResponse-v0", batch_size=16, seq_len=100)
    before = performance(model, 300)
    model.learn(100_000)
    assert performance(model, 300) > before + 0.1
    assert model.policy.log_std.exp().max() < 0.9


def test_settings_that_make_no_sense_are_refused(learner):
    for settings, message in [
        ({"answer_share": 1.0}, "answer_share"),
        ({"draw": "row"}, "unknown draw 'row'"),
        ({"seq_len": 0}, "seq_len"),
        ({"task_weight": {"go": 2}}, "several tasks"),
        ({"task": "Bandit-v0"}, "no ground truth"),
        ({"loss_weight": {"decision": -1}}, "must not be negative"),
        ({"loss_weight": {"decision": "much"}}, "period decision must be a number .* got much"),
        ({"loss_weight": {"decision": np.inf}}, "must be a number .* got inf"),
        ({"loss_weight": {"decide": 1}}, "decide.*decision"),
    ]:
        with pytest.raises(ValueError, match=message):
            learner(**settings)


def test_a_batch_in_which_nothing_counts_is_told(learner):
    model = learner(loss_weight=dict.fromkeys(("fixation", "stimulus", "delay", "decision"), 0))
    with pytest.raises(FloatingPointError, match="no step of a batch has a weight above 0"):
        model.learn(1000)


def test_weights_that_have_no_part_in_it_stay(learner):
    model = learner(network_args={"shared": False})
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(1000)
    moved = {name for name, value in model.policy.state_dict().items() if not torch.equal(value, before[name])}
    assert moved and not any("critic" in name or "value" in name for name in moved)


def test_making_trials_takes_a_small_part_of_the_time(learner):
    model = learner(units=64, batch_size=16, seq_len=100)
    make, spent = model.batch, []

    def timed():
        began = time.process_time()
        created = make()
        spent.append(time.process_time() - began)
        return created

    model.batch = timed
    began = time.process_time()
    model.learn(60 * 1600)
    assert sum(spent) < 0.25 * (time.process_time() - began)


@pytest.mark.slow
@pytest.mark.parametrize("network", RECURRENT)
def test_every_network_learns_random_dots(learner, performance, network):
    model = learner(network=network, units=64, batch_size=16, seq_len=100)
    model.learn(1_200_000)
    ceiling = ngym.make("PerceptualDecisionMaking-v0").unwrapped.ceiling()["performance"]
    assert performance(model, 5000) > 0.95 * ceiling


@pytest.mark.slow
def test_intervals_are_produced(learner, performance):
    model = learner("ReadySetGo-v0", units=64, batch_size=16, seq_len=100)
    model.learn(1_600_000)
    assert performance(model, 2000) > 0.95


@pytest.mark.slow
def test_one_network_learns_twenty_tasks(learner, performance):
    model = learner(make=lambda: make_multi("yang19", dim_ring=2), units=128, batch_size=32, seq_len=100, n_updates=10)
    model.learn(3_200_000)
    assert performance(model, 10_000) > 0.97
