"""The policy acts in NumPy as it is trained in torch, with every kind of space."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from ngym_cli.agents.networks import NETWORKS
from ngym_cli.agents.networks.policy import PackedSequences, RecurrentPolicy

RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]
VECTOR = spaces.Box(-np.inf, np.inf, (5,), np.float32)
IMAGE = spaces.Box(0, 255, (3, 40, 40), np.uint8)


def make(observations=VECTOR, actions=None, **kwargs):
    torch.manual_seed(0)
    actions = actions or spaces.Discrete(3)
    return RecurrentPolicy(observations, actions, lambda _: 1e-3, **{"units": 16, **kwargs})


def follow(policy, obs, starts, deterministic=False):
    rng, state, rows = np.random.default_rng(0), policy.initial_state(obs.shape[1]), []
    for x, start in zip(obs, starts, strict=True):
        actor = policy.actor().bind(rng, deterministic)
        act, state = actor.act(x, actor.restart(state, start))
        log_probs = actor.log_probs(act.logits, act.actions)
        rows.append((act.actions, act.values, log_probs, act.activity, act.logits))
    return [np.stack(column) for column in zip(*rows, strict=True)]


def recompute(policy, obs, chosen):
    """Values, log-probabilities and entropies of whole sequences (time, environment, ...)."""
    state = tuple(torch.from_numpy(array) for array in policy.initial_state(obs.shape[1]))
    sequences = PackedSequences(torch.from_numpy(obs).flatten(0, 1), [obs.shape[1]] * len(obs), state)
    return policy.evaluate_sequences(sequences, torch.from_numpy(chosen).flatten(0, 1))


@pytest.mark.parametrize("actions", [spaces.Discrete(3), spaces.Box(-1, 1, (2,), np.float32)])
@pytest.mark.parametrize("options", [{}, {"shared": False}, {"net_arch": [8], "layers": 2}])
@pytest.mark.parametrize("network", RECURRENT)
def test_acting_and_training_agree(network, options, actions):
    policy = make(actions=actions, network=network, **options)
    obs = np.random.default_rng(1).standard_normal((12, 6, 5), dtype=np.float32)
    chosen, values, log_probs, activity, logits = follow(policy, obs, np.zeros((12, 6), bool))
    assert activity.shape == (12, 6, 16)
    assert logits.shape == (12, 6, 3 if isinstance(actions, spaces.Discrete) else 2)
    again = recompute(policy, obs, chosen)
    np.testing.assert_allclose(values.ravel(), again[0].detach(), atol=1e-5)
    np.testing.assert_allclose(log_probs.ravel(), again[1].detach(), atol=1e-5)


@pytest.mark.parametrize("space", [IMAGE, spaces.Discrete(4)])
def test_images_and_discrete_observations(space):
    policy = make(space)
    obs = np.stack([[space.sample() for _ in range(4)] for _ in range(3)])
    chosen, values, log_probs, _, _ = follow(policy, obs, np.zeros((3, 4), bool))
    again = recompute(policy, obs, chosen)
    np.testing.assert_allclose(values.ravel(), again[0].detach(), atol=1e-5)
    np.testing.assert_allclose(log_probs.ravel(), again[1].detach(), atol=1e-5)


@pytest.mark.parametrize("shape", [(4, 6), (1, 1)])
def test_entropy_and_log_prob_are_torchs(shape):
    logits, actions = torch.randn(*shape, 3, requires_grad=True), torch.randint(3, shape)
    before = logits.detach().clone()
    policy = make()
    ours = policy.log_prob_and_entropy(logits, actions)
    assert torch.equal(logits, before)
    expected = torch.distributions.Categorical(logits=logits)
    reference = expected.log_prob(actions), expected.entropy()
    for a, b in zip(ours, reference, strict=True):
        torch.testing.assert_close(a, b)
        upstream = torch.randn_like(a)
        grads = [torch.autograd.grad(x, logits, upstream, retain_graph=True)[0] for x in (a, b)]
        torch.testing.assert_close(*grads)
    policy = make(actions=spaces.Box(-1, 1, (2,), np.float32))
    mean, actions = torch.randn(4, 6, 2), torch.randn(4, 6, 2)
    expected = torch.distributions.Normal(mean, policy.log_std.exp())
    log_prob, entropy = policy.log_prob_and_entropy(mean, actions)
    torch.testing.assert_close(log_prob, expected.log_prob(actions).sum(-1))
    torch.testing.assert_close(entropy, expected.entropy().sum(-1))


def test_actions_are_drawn_with_their_probabilities():
    policy = make()
    actor = policy.actor()
    logits = np.tile(np.log(np.array([0.7, 0.2, 0.1], np.float32)), (20_000, 1))
    actions = actor.choose(logits, actor.draw(logits.shape, np.random.default_rng(0)))
    np.testing.assert_allclose(np.bincount(actions) / 20_000, [0.7, 0.2, 0.1], atol=0.015)
    assert (actor.choose(logits, None) == 0).all()


def test_starts_reset_the_state():
    policy = make()
    obs = np.random.default_rng(1).standard_normal((4, 2, 5), dtype=np.float32)
    starts = np.zeros((4, 2), bool)
    starts[2, 0] = True
    values = follow(policy, obs, starts)[1]
    fresh = follow(policy, obs[2:], np.zeros((2, 2), bool))[1]
    plain = follow(policy, obs, np.zeros((4, 2), bool))[1]
    np.testing.assert_allclose(values[2:, 0], fresh[:, 0], rtol=1e-6)
    np.testing.assert_allclose(values[:, 1], plain[:, 1], rtol=1e-6)


def test_predict_in_the_manner_of_stable_baselines():
    policy = make(actions=spaces.Box(-0.01, 0.01, (2,), np.float32))
    actions, state = policy.predict(np.ones((3, 5), np.float32))
    assert actions.shape == (3, 2)
    assert np.abs(actions).max() <= 0.01
    single, _ = policy.predict(np.ones(5, np.float32), deterministic=True)
    assert single.shape == (2,)
    policy.predict(np.ones((3, 5), np.float32), state, np.array([True, False, False]))


def test_outputs_that_are_remembered_are_those_of_a_single_run():
    policy = make()
    state = tuple(torch.from_numpy(array) for array in policy.initial_state(2))
    first, second = (PackedSequences(torch.randn(6, 5), [2, 2, 2], state) for _ in range(2))
    with policy.remember_outputs():
        with torch.no_grad():
            assert not policy.outputs(first)[0].requires_grad
        logits, values = policy.outputs(first)
        assert policy.outputs(first)[0] is logits and logits.requires_grad
        assert not torch.equal(policy.outputs(second)[0], logits)
    gradient = policy.gradient(values.sum())
    policy.descend(gradient, 1.0)
    assert not torch.equal(policy.outputs(first)[1], values)
