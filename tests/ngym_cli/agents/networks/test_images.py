"""Images are seen through a small convolutional network, and equal ones are computed once."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from gymnasium import spaces

from ngym_cli.agents.algorithms import SMALLEST_IMAGE
from ngym_cli.agents.loading import StepModule
from ngym_cli.agents.networks.images import REMEMBERED, ConvolutionalFront, FeatureCache, distinct
from ngym_cli.agents.networks.policy import RecurrentPolicy

SPACE = spaces.Box(0, 255, (3, 40, 40), np.uint8)


@pytest.fixture
def images():
    different = np.random.default_rng(0).integers(0, 256, (4, *SPACE.shape), np.uint8)
    return different[[0, 1, 0, 0, 2, 1, 3, 3]]


@pytest.fixture
def policy():
    torch.manual_seed(0)
    return RecurrentPolicy(SPACE, spaces.Discrete(3), lambda _: 1e-3, units=8)


@pytest.fixture
def computed(policy):
    """Numbers of images that the front end of the policy was given, call by call."""
    seen = []
    policy.features_extractor.register_forward_hook(lambda _, given, __: seen.append(len(given[0])))
    return seen


def test_every_image_is_led_back_to_the_first_that_equals_it(images):
    first, index = distinct(images)
    assert first.tolist() == [0, 1, 4, 6]
    assert np.array_equal(images[first][index], images)


def test_equal_images_are_computed_once_with_the_features_that_each_has_alone(policy, computed, images):
    together = policy.features(torch.from_numpy(images))
    assert computed == [4]
    alone = torch.cat([policy.features(torch.from_numpy(images[k : k + 1])) for k in range(len(images))])
    assert torch.allclose(together, alone, atol=1e-6)
    together.sum().backward()
    assert all(array.grad is not None for array in policy.features_extractor.parameters())


def test_an_agent_that_acts_remembers_what_it_has_seen_until_its_weights_change(policy, computed, images):
    actor = policy.actor()
    features = actor.features(images)
    assert np.array_equal(actor.features(images[::-1]), features[::-1]) and sum(computed) == 4
    with torch.no_grad():
        policy.features_extractor.linear[0].bias += 1
    assert not np.allclose(policy.actor().features(images), features)


def test_what_is_remembered_does_not_grow_without_end():
    computed = []
    seen = FeatureCache(lambda images: computed.append(len(images)) or images.astype(float))
    chunks = [np.arange(k * REMEMBERED // 2, (k + 1) * REMEMBERED // 2)[:, None] for k in range(5)]
    for images in chunks:
        assert np.array_equal(seen(images), images)
    computed.clear()
    seen(chunks[-1])
    assert not computed, "the latest images are remembered"
    seen(chunks[0])
    assert sum(computed) == len(chunks[0]), "the first ones are not"


def test_a_pattern_of_little_contrast_is_told_from_its_negative_as_one_of_much_contrast_is():
    torch.manual_seed(1)
    front = ConvolutionalFront(SPACE, 32)
    wave = torch.sin(torch.arange(40) * 0.8).expand(1, 3, 40, 40)
    separate = {}
    for contrast in (1.0, 0.05):
        light, dark = (front(0.5 + sign * contrast / 2 * wave) for sign in (1, -1))
        separate[contrast] = float((light - dark).detach().norm())
    assert separate[0.05] > 0.3 * separate[1.0] > 0
    assert torch.isfinite(front(torch.zeros(1, *SPACE.shape))).all()


def test_the_smallest_image_has_features():
    shape = (1, SMALLEST_IMAGE, SMALLEST_IMAGE)
    assert ConvolutionalFront(spaces.Box(0, 255, shape, np.uint8), 5)(torch.rand(2, *shape)).shape == (2, 5)


def test_an_exported_step_sees_each_image_whatever_is_equal_among_those_it_was_traced_with(policy, images):
    module = StepModule(policy)
    traced = torch.jit.trace(module, module.example(2), check_trace=False)
    settings = torch.from_numpy(images[:5]), *(array.expand(-1, 5, -1).contiguous() for array in module.example(1)[1:])
    for ours, reference in zip(module(*settings), traced(*settings), strict=True):
        torch.testing.assert_close(ours, reference)
