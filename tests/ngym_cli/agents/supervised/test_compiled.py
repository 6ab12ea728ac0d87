"""The compiled gradient of the loss is that of automatic differentiation."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from neurogym import kernels
from ngym_cli import processes
from ngym_cli.agents.networks import NETWORKS

RECURRENT = [name for name, spec in NETWORKS.items() if spec.recurrent and not spec.spatial]
TASKS = {"discrete": "ContextDecisionMaking-v0", "continuous": "ReachingDelayResponse-v0"}
pytestmark = pytest.mark.skipif(not kernels.available(), reason="no compiled functions are built")


def both_ways(model):
    """Gradient, numbers and the states carried on, compiled and by automatic differentiation, of one batch."""
    material, sequences = model.batch()
    state = model.rng.bit_generator.state
    carry = None if model.carried_state is None else tuple(array.clone() for array in model.carried_state)
    compiled, results = model.compiled, []
    for first in (compiled, None):
        model.compiled, model.rng.bit_generator.state = first, state
        model.carried_state = None if carry is None else tuple(array.clone() for array in carry)
        gradient, numbers = model.gradient(material, sequences)
        results.append((gradient.clone(), numbers, model.carried_state or ()))
    model.compiled = compiled
    return results


def compare(model):
    """Over some batches, between which the network learns."""
    assert model.compiled is not None
    for _ in range(3):
        (gradient, numbers, carry), (expected, same, known_carry) = both_ways(model)
        scale = max(1.0, expected.abs().max().item())
        torch.testing.assert_close(gradient / scale, expected / scale, atol=3e-6, rtol=1e-5)
        torch.testing.assert_close(numbers, same, atol=3e-6, rtol=1e-5)
        for ours, reference in zip(carry, known_carry, strict=True):
            torch.testing.assert_close(ours, reference, atol=3e-6, rtol=1e-5)
        model.policy.descend(expected, 1.0)


def noisy(network):
    return {"noise": 0.1} if "noise" in NETWORKS[network].defaults else {}


@pytest.mark.parametrize("batch_size", [1, 3, 50])  # less than a group of sequences, more than one
@pytest.mark.parametrize("reset", ["trial", "never"])
def test_batches_of_any_size(learner, reset, batch_size):
    for n in (1, 3):
        with nullcontext(processes.set_learning_threads(n)):
            compare(learner(reset=reset, batch_size=batch_size, seq_len=70))
    processes.set_learning_threads(1)


def test_room_grows_with_the_trials(learner):
    model = learner(batch_size=2, seq_len=10)
    compare(model)
    model.seq_len = 300
    compare(model)


def test_weights_that_have_no_part_in_it_stay(learner):
    model = learner(network_args={"shared": False})
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(1000)
    moved = {name for name, value in model.policy.state_dict().items() if not torch.equal(value, before[name])}
    assert moved and not any("critic" in name or "value" in name for name in moved)


def test_what_is_not_finite_is_told(learner):
    model = learner()
    with torch.no_grad():
        model.policy.action_net.bias.fill_(np.nan)
    with pytest.raises(FloatingPointError, match="not finite"):
        model.learn(1000)
