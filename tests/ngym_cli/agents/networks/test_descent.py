"""A step on one vector of weights is the optimiser's step on each of them."""

import copy

import pytest
import torch
from torch import nn

from neurogym import kernels
from ngym_cli.agents.networks.descent import Descent


def both(optimizer, steps=30, between=lambda net, k: None, **options):
    """Weights after some steps with gradients clipped by torch, and after those of a descent."""
    torch.manual_seed(0)
    known = nn.Sequential(nn.Linear(7, 33), nn.Tanh(), nn.Linear(33, 5))
    ours = copy.deepcopy(known)
    path = Descent(list(ours.parameters()))
    theirs, mine = optimizer(known.parameters(), **options), optimizer([path.vector], **options)
    for k in range(steps):
        x = torch.randn(11, 7)
        known.zero_grad()
        (100 * known(x).square().mean()).backward()
        nn.utils.clip_grad_norm_(known.parameters(), 1.5)
        theirs.step()
        slopes = torch.autograd.grad(100 * ours(x).square().mean(), list(ours.parameters()))
        path.step(mine, torch.cat([slope.flatten() for slope in slopes]), 1.5)
        between(ours, k)
    return [torch.cat([part.flatten() for part in net.parameters()]) for net in (ours, known)], mine


@pytest.mark.parametrize(
    "optimizer, options",
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
def test_weights_go_where_torch_takes_them(optimizer, options, variant):
    (ours, known), _ = both(optimizer, **options)
    torch.testing.assert_close(ours, known, atol=1e-5, rtol=1e-5)


def test_without_compiled_functions_nothing_changes_but_the_speed(compiled):
    (compiled_path, _), state = both(torch.optim.Adam, lr=1e-2)
    with kernels.use(kernels.PLAIN):
        (in_torch, _), same = both(torch.optim.Adam, lr=1e-2)
    torch.testing.assert_close(compiled_path, in_torch, atol=1e-6, rtol=1e-5)
    for name, value in next(iter(same.state.values())).items():
        torch.testing.assert_close(next(iter(state.state.values()))[name], value, atol=1e-6, rtol=1e-4)


def test_weights_that_were_replaced_are_taken_up():
    def replace(net, k):
        net[0].weight.data = net[0].weight.data.clone()

    (ours, known), _ = both(torch.optim.Adam, between=replace, lr=1e-2)
    torch.testing.assert_close(ours, known, atol=1e-5, rtol=1e-5)
