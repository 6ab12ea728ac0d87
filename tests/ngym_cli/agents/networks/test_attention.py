"""Recurrent attention: positions, the template, and the same agent in training and in action."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from ngym_cli.agents.networks import SPATIAL_CHANNELS
from ngym_cli.agents.networks.attention import TemplateAttention, build, place_positions
from ngym_cli.agents.networks.images import SpatialFront
from ngym_cli.agents.networks.policy import PackedSequences, RecurrentPolicy
from ngym_cli.errors import UserError

SPACE = spaces.Box(0, 255, (3, 100, 100), np.uint8)


def test_places_lie_on_a_grid_from_the_upper_left_or_on_a_line():
    corners = torch.tensor([[-2 / 3, 2 / 3], [0, 0], [2 / 3, -2 / 3]])
    torch.testing.assert_close(place_positions(9, True)[[0, 4, 8]], corners)
    assert place_positions(4, False)[:, 0].tolist() == [-0.75, -0.25, 0.25, 0.75]
    assert place_positions(3, True).shape == (3, 1)


def test_the_place_that_resembles_the_template_is_attended():
    torch.manual_seed(0)
    cell = TemplateAttention(9 * 4, 8, channels=4)
    seen = []
    cell.cell.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    features = 5 * torch.randn(1, 9, 4)
    with torch.no_grad():
        for place in range(9):
            cell.step(features.flatten(1), (torch.zeros(1, 8), torch.zeros(1, 8), features[:, place]))
            glimpse, position = seen[-1][0, :4], seen[-1][0, 4:6]
            torch.testing.assert_close(glimpse, features[0, place], atol=1e-2, rtol=0)
            torch.testing.assert_close(position / 4, cell.positions[place], atol=1e-2, rtol=0)


def test_an_object_that_is_seen_alone_is_written_into_the_template():
    cell = TemplateAttention(9 * 4, 8, channels=4, memory=1.0)
    features = torch.zeros(1, 9, 4)
    features[0, 4] = torch.tensor([1.0, 2.0, 3.0, 4.0])
    state = (torch.zeros(1, 8), torch.zeros(1, 8), torch.zeros(1, 4))
    with torch.no_grad():
        cell.gate.weight.zero_()
        for _ in range(20):
            state = cell.step(features.flatten(1), state)
    torch.testing.assert_close(state[2][0], features[0, 4], atol=1e-4, rtol=0)


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


@pytest.mark.parametrize("space", [SPACE, spaces.Box(-1, 1, (5,), np.float32)], ids=["images", "numbers"])
def test_an_agent_acts_as_it_learns(space):
    torch.manual_seed(0)
    policy = RecurrentPolicy(space, spaces.Box(-1, 1, (2,)), lambda _: 1e-3, network="attention", units=8)
    obs = np.stack([[space.sample() for _ in range(2)] for _ in range(4)])
    state, values = policy.initial_state(2), []
    actor = policy.actor()
    for step in obs:
        act, state = actor.act(step, state)
        values.append(act.values)
    start = tuple(torch.from_numpy(array) for array in policy.initial_state(2))
    sequences = PackedSequences(torch.from_numpy(obs.reshape(8, *space.shape)), [2] * 4, start)
    expected, _, _ = policy.evaluate_sequences(sequences, torch.zeros(8, 2))
    torch.testing.assert_close(torch.from_numpy(np.concatenate(values)), expected.detach(), atol=1e-4, rtol=1e-4)


def test_a_single_layer_reads_places():
    with pytest.raises(UserError, match="a single layer above an image, not 2"):
        build(9 * 4, 6, 2, channels=4)
    output, state = build(5, 6, 2)(torch.randn(3, 2, 5))
    assert output.shape == (3, 2, 6) and len(state) == 3
