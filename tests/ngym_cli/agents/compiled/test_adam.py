"""A step on one vector of weights is the optimiser's step on each of them."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from neurogym import kernels
from ngym_cli.agents.networks.optimizer import Optimizer

VARIANTS = [name for name in kernels.runnable() if name != kernels.PLAIN]


def both(optimizer, steps=30, between=lambda net, k: None, **options):
    """Weights after some steps with gradients clipped by torch, and after those of a descent."""
    torch.manual_seed(0)
    expected = nn.Sequential(nn.Linear(7, 33), nn.Tanh(), nn.Linear(33, 5))
    ours = copy.deepcopy(expected)
    path = Optimizer(list(ours.parameters()))
    reference, actual = optimizer(expected.parameters(), **options), optimizer([path.vector], **options)
    for k in range(steps):
        x = torch.randn(11, 7)
        expected.zero_grad()
        (100 * expected(x).square().mean()).backward()
        nn.utils.clip_grad_norm_(expected.parameters(), 1.5)
        reference.step()
        slopes = torch.autograd.grad(100 * ours(x).square().mean(), list(ours.parameters()))
        path.step(actual, torch.cat([slope.flatten() for slope in slopes]), 1.5)
        between(ours, k)
    return [torch.cat([array.flatten() for array in net.parameters()]) for net in (ours, expected)], actual


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (torch.optim.Adam, {"lr": 1e-2, "eps": 1e-5, "fused": True}),
        (torch.optim.Adam, {"lr": 1e-2, "betas": (0.8, 0.95)}),
        (torch.optim.Adam, {"lr": 1e-2, "weight_decay": 0.1}),
        (torch.optim.Adam, {"lr": 1e-2, "amsgrad": True}),
        (torch.optim.RMSprop, {"lr": 1e-3, "alpha": 0.99}),
        (torch.optim.SGD, {"lr": 1e-2, "momentum": 0.9}),
    ],
    ids=str,
)
def test_weights_go_where_torch_takes_them(optimizer, options):
    (ours, expected), _ = both(optimizer, **options)
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(
    size=st.integers(1, 70),
    steps=st.integers(2, 8),
    rate=st.floats(1e-5, 1e-1),
    betas=st.tuples(st.floats(0.0, 0.99), st.floats(0.5, 0.9999)),
    eps=st.sampled_from([1e-8, 1e-5]),
    max_norm=st.sampled_from([0.5, 1e9]),
)
def test_every_variant_steps_as_torch_does(size, steps, rate, betas, eps, max_norm):
    generator = torch.Generator().manual_seed(size)
    gradients = torch.randn(steps, size, generator=generator)

    def after(variant):
        """Weights and moments after all steps."""
        optimizer = Optimizer([nn.Parameter(torch.zeros(size))])
        adam = torch.optim.Adam([optimizer.vector], lr=rate, betas=betas, eps=eps)
        with kernels.use(variant):
            for gradient in gradients:
                optimizer.step(adam, gradient, max_norm)
        return [optimizer.vector.detach(), *adam.state[optimizer.vector].values()]

    reference = after(kernels.PLAIN)
    for name in VARIANTS:
        for ours, expected in zip(after(name), reference, strict=True):
            torch.testing.assert_close(ours, expected, atol=1e-6, rtol=1e-4, msg=lambda m, name=name: f"{name}: {m}")


def test_weights_that_were_replaced_are_taken_up():
    def replace(net, k):
        net[0].weight.data = net[0].weight.data.clone()

    (ours, expected), _ = both(torch.optim.Adam, between=replace, lr=1e-2)
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)
