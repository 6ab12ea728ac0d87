"""Population code of continuous actions: encoding, decoding, the loss, and the agreement of all three."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from ngym_cli.agents.networks.places import PlaceCode
from ngym_cli.errors import UserError

SPACES = [
    spaces.Box(-1, 1, (1,)),
    spaces.Box(np.array([-1.0, 0.0]), np.array([1.0, 10.0])),
    spaces.Box(-2, 2, (3,)),
]


@pytest.mark.parametrize("space", SPACES, ids=["line", "plane", "volume"])
def test_a_response_is_decoded_from_its_shares(space):
    code = PlaceCode(4, space, 5)
    space.seed(0)
    responses = torch.tensor(np.stack([space.low, space.high, *(space.sample() for _ in range(50))]), dtype=torch.float)
    shares = code.encode(responses)
    torch.testing.assert_close(shares.sum(-1), torch.ones(52))
    torch.testing.assert_close(code.decode((shares + 1e-12).log()), responses, atol=1e-5, rtol=0)


def test_responses_beyond_the_grid_are_at_its_edge():
    code = PlaceCode(4, SPACES[0], 5)
    assert code.encode(torch.tensor([[3.0], [-3.0]])).argmax(-1).tolist() == [4, 0]


def test_one_of_two_likely_responses_is_chosen_not_their_mean():
    code = PlaceCode(4, spaces.Box(-1, 1, (1,)), 9)
    probabilities = torch.full((9,), 1e-9)
    probabilities[1], probabilities[7] = 0.4, 0.6
    torch.testing.assert_close(code.decode(probabilities.log()), torch.tensor([0.75]))


def test_the_loss_is_least_at_the_shares_of_the_response():
    torch.manual_seed(0)
    code = PlaceCode(4, SPACES[1], 4)
    response = torch.tensor([[0.2, 3.0]])
    shares = code.encode(response)
    entropy = -torch.xlogy(shares, shares).sum(-1)
    torch.testing.assert_close(code.losses((shares + 1e-12).log(), response), entropy, atol=1e-5, rtol=0)
    assert (code.losses(torch.randn(100, 16), response) > entropy).all()


def test_the_response_follows_attention_to_the_same_part_of_the_image():
    code = PlaceCode(3 + 6, SPACES[1], 9)
    code.follow(rows=2, columns=3)
    with torch.no_grad():
        for place in range(6):
            activity = torch.zeros(9)
            activity[3:] = -20.0
            activity[3 + place] = 0.0
            preferred = code.centers[code.preferences(activity).softmax(-1) > 0.01]
            row, column = divmod(place, 3)
            (x, y), width, height = preferred.mean(0), 2 / 3, 10 / 2
            assert -1 + column * width <= x <= -1 + (column + 1) * width
            assert 10 - (row + 1) * height <= y <= 10 - row * height  # the first row of an image is the highest


def test_attention_to_an_image_tells_no_response_of_another_number_of_components():
    with pytest.raises(ValueError, match="responses have 1 components, not 2"):
        PlaceCode(9, SPACES[0], 9).follow(rows=3, columns=3)


@pytest.mark.parametrize(
    "space", [spaces.Discrete(3), spaces.Box(-np.inf, np.inf, (2,))], ids=["discrete", "no bounds"]
)
def test_a_grid_needs_bounded_continuous_actions(space):
    with pytest.raises(UserError, match="not continuous with bounds"):
        PlaceCode(4, space, 5)


def test_a_grid_has_a_largest_size():
    with pytest.raises(UserError, match="a grid of 3 axes has more than 4,096 places"):
        PlaceCode(4, SPACES[2], 17)
