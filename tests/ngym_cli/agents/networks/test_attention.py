"""Recurrent attention: the template, the units of attention, and the same agent in training and in action."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from ngym_cli.agents.networks import SPATIAL_CHANNELS
from ngym_cli.agents.networks.attention import TemplateAttention, build
from ngym_cli.agents.networks.images import SpatialFront
from ngym_cli.agents.networks.policy import PackedSequences, RecurrentPolicy
from ngym_cli.errors import UserError

SPACE = spaces.Box(0, 255, (3, 100, 100), np.uint8)


def zero_state(cell):
    return tuple(torch.zeros(1, size) for size in cell.state_sizes)


def test_the_place_that_resembles_the_template_is_attended():
    torch.manual_seed(0)
    cell = TemplateAttention(9 * 4, 20, channels=4)
    features = 5 * torch.randn(1, 9, 4)
    with torch.no_grad():
        for place in range(9):
            activity, memory, _ = zero_state(cell)
            after, *_ = cell.step(features.flatten(1), (activity, memory, features[:, place]))
            expected = torch.nn.functional.one_hot(torch.tensor([place]), 9).float()
            torch.testing.assert_close(after[:, 11:].exp(), expected, atol=1e-2, rtol=0)


def test_an_object_that_is_seen_alone_is_written_into_the_template_over_several_steps():
    cell = TemplateAttention(9 * 4, 20, channels=4, template=10.0)
    features = torch.zeros(1, 9, 4)
    features[0, 4] = torch.tensor([1.0, 2.0, 3.0, 4.0])
    state = zero_state(cell)
    with torch.no_grad():
        state = cell.step(features.flatten(1), state)
        torch.testing.assert_close(state[2], 0.1 * features[:, 4])
        for _ in range(100):
            state = cell.step(features.flatten(1), state)
    torch.testing.assert_close(state[2], features[:, 4], atol=1e-3, rtol=0)


def test_a_single_step_does_not_replace_the_template():
    cell = TemplateAttention(9 * 4, 20, channels=4, template=10.0)
    with torch.no_grad():
        cell.gate.bias.fill_(100.0)  # the gate is open
        *_, template = cell.step(torch.ones(1, 36), zero_state(cell))
    torch.testing.assert_close(template, torch.full((1, 4), 0.2))


def test_features_of_a_place_move_with_the_image():
    torch.manual_seed(0)
    front = SpatialFront(SPACE)
    assert front.features_dim == 9 * SPATIAL_CHANNELS
    images = torch.zeros(2, 3, 100, 100)
    images[0, 0, 16:32, 16:32] = images[1, 0, 16:32, 64:80] = 1.0
    with torch.no_grad():
        left, right = front(images).unflatten(1, (9, SPATIAL_CHANNELS))
    change = (left - right).norm(dim=1)
    assert change[[0, 2]].min() > 10 * change[6:].max()


@pytest.mark.parametrize("places", [None, 5])
def test_an_agent_acts_as_it_learns(places):
    torch.manual_seed(0)
    options = {"network": "attention", "units": 16, "places": places}
    policy = RecurrentPolicy(SPACE, spaces.Box(-1, 1, (2,)), lambda _: 1e-3, **options)
    with torch.no_grad():
        policy.action_net.weight.normal_()
    obs = np.stack([[SPACE.sample() for _ in range(2)] for _ in range(4)])
    state, means, values = policy.initial_state(2), [], []
    actor = policy.actor()
    for step in obs:
        act, state = actor.act(step, state)
        means.append(act.logits)
        values.append(act.values)
    start = tuple(torch.from_numpy(array) for array in policy.initial_state(2))
    sequences = PackedSequences(torch.from_numpy(obs.reshape(8, *SPACE.shape)), [2] * 4, start)
    with torch.no_grad():
        expected = policy.outputs(sequences)
    for result, tensor in zip((means, values), expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(np.concatenate(result)), tensor, atol=1e-4, rtol=1e-4)


def test_an_agent_that_has_not_learned_prefers_what_it_attends_to():
    torch.manual_seed(0)
    policy = RecurrentPolicy(SPACE, spaces.Box(-1, 1, (2,)), lambda _: 1e-3, network="attention", units=64, places=9)
    corners = {(-0.5, 0.5): 0, (0.5, 0.5): 2, (-0.5, -0.5): 6, (0.5, -0.5): 8}
    with torch.no_grad():
        for (x, y), place in corners.items():
            activity = torch.randn(64).tanh()
            activity[-9:] = torch.full((9,), -3.0).scatter(0, torch.tensor(place), -0.5)
            (response,), _ = policy.heads([activity[None]])
            assert response[0] * x > 0 and response[1] * y > 0


@pytest.mark.parametrize(
    ("space", "options"),
    [(spaces.Box(-1, 1, (1,)), {}), (spaces.Box(-1, 1, (2,)), {"net_arch": [8]})],
    ids=["one component", "further layers"],
)
def test_responses_that_are_no_places_of_the_image_begin_without_preference(space, options):
    policy = RecurrentPolicy(SPACE, space, lambda _: 1e-3, network="attention", units=16, places=9, **options)
    assert policy.action_net.weight.abs().max() < 0.02


def test_unsuitable_sizes_are_refused():
    with pytest.raises(UserError, match="a single layer, not 2"):
        build(9 * 4, 20, 2, channels=4)
    with pytest.raises(UserError, match=r"more units than the image has places \(9\), not 9"):
        build(9 * 4, 9, 1, channels=4)
