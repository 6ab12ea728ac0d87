"""Passes for devices: leaky units with an explicit gradient, and single steps of gated units."""

import pytest
import torch

from neurogym import kernels
from ngym_cli.agents.networks import find_network
from ngym_cli.agents.networks.leaky import run_leaky

COUNTS = [5, 5, 4, 2, 1]


@pytest.mark.parametrize("activation", ["tanh", "relu", "softplus"])
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_the_gradient_of_leaky_units_is_that_of_finite_differences(activation, alpha):
    torch.manual_seed(0)
    drive, weight, initial = (
        torch.randn(*shape, dtype=torch.double, requires_grad=True) for shape in ((sum(COUNTS), 4), (4, 4), (5, 4))
    )
    leaves = (drive, weight, initial)
    assert torch.autograd.gradcheck(lambda *inputs: run_leaky(*inputs, COUNTS, alpha, activation), leaves)


@pytest.mark.parametrize(("name", "options"), [("rnn", {}), ("ctrnn", {"activation": "softplus"}), ("ei_rnn", {})])
def test_leaky_networks_in_few_calls_are_those_in_many(name, options):
    torch.manual_seed(0)
    network = find_network(name).load()(3, 10, 2, **options)
    network.noise = 0.2
    seq, noise, state = torch.randn(sum(COUNTS), 3), torch.randn(sum(COUNTS), 2, 10), (torch.randn(2, 5, 10),)
    results = []
    with kernels.use(kernels.PLAIN):
        for run in (network.in_torch, network.in_few_calls):
            activity, (last,) = run(seq, COUNTS, state, noise)
            slopes = torch.autograd.grad(activity.square().sum() + last.sum(), list(network.parameters()))
            results.append([activity, last, *slopes])
    for ours, expected in zip(*results, strict=True):
        torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_a_step_of_a_layer_is_a_step_of_the_network(name):
    torch.manual_seed(0)
    network = find_network(name).load()(3, 10, 2)
    x, state = torch.randn(6, 3), tuple(torch.randn(2, 6, 10) for _ in range(network.n_states))
    uninterrupted, by_layer = network.one_step(x, state), super(type(network).__mro__[1], network).one_step(x, state)
    torch.testing.assert_close(uninterrupted[0], by_layer[0])
    for ours, expected in zip(by_layer[1], uninterrupted[1], strict=True):
        torch.testing.assert_close(ours, expected)
