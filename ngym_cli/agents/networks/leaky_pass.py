"""Leaky rate units over packed sequences with an explicit gradient, for devices where each call of torch is costly.

Automatic differentiation of a loop over time launches a dozen kernels per step and sums the gradient of the weights
step by step. Here a step is three calls, its gradient four, and the gradient of the weights is a single product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def run_leaky(
    drive: Tensor, weight: Tensor, initial: Tensor, counts: Sequence[int], alpha: float, activation: str
) -> Tensor:
    """Run a layer ``h' = h + alpha (f(W h + drive) - h)`` over packed sequences.

    Args:
        drive: input, bias and noise of each step (step, unit), packed.
        weight: recurrent weights (to, from).
        initial: first state of each sequence (sequence, unit).
        counts: number of sequences with each step, largest first.
        alpha: fraction of the way to the new value that one step goes.
        activation: "tanh", "relu" or "softplus".

    Returns:
        The activity after each step (step, unit).
    """
    activity: Tensor = _LeakyPass.apply(drive, weight, initial, list(counts), alpha, activation)
    return activity


def _rate(total: Tensor, activation: str) -> Tensor:
    if activation == "tanh":
        return torch.tanh(total)
    return torch.relu(total) if activation == "relu" else torch.nn.functional.softplus(total)


def _slope(rate: Tensor, activation: str) -> Tensor:
    """Derivative of the gain function where its value is `rate`."""
    if activation == "tanh":
        return 1 - rate * rate
    return (rate > 0).to(rate.dtype) if activation == "relu" else -torch.expm1(-rate)


class _LeakyPass(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, drive: Tensor, weight: Tensor, initial: Tensor, counts: list[int], alpha: float, activation: str
    ) -> Tensor:
        before, activity, rates = torch.empty_like(drive), torch.empty_like(drive), torch.empty_like(drive)
        transposed, state, begin = weight.t(), initial, 0
        for n in counts:
            steps = slice(begin, begin + n)
            before[steps] = state[:n]
            torch.addmm(drive[steps], before[steps], transposed, out=rates[steps])
            rates[steps] = _rate(rates[steps], activation)
            torch.lerp(before[steps], rates[steps], alpha, out=activity[steps])
            state, begin = activity[steps], begin + n
        ctx.save_for_backward(weight, before, rates)
        ctx.counts, ctx.alpha, ctx.activation = counts, alpha, activation
        return activity

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_activity: Tensor) -> tuple[Tensor | None, ...]:
        weight, before, rates = ctx.saved_tensors
        d_drive = _slope(rates, ctx.activation).mul_(ctx.alpha)
        d_state = d_activity.new_zeros(ctx.counts[0], weight.shape[1])
        end = len(d_activity)
        for n in reversed(ctx.counts):
            steps, carried = slice(end - n, end), d_state[:n]
            carried += d_activity[steps]
            d_drive[steps] *= carried
            carried.addmm_(d_drive[steps], weight, beta=1 - ctx.alpha)
            end -= n
        return d_drive, d_drive.t() @ before, d_state, None, None, None
