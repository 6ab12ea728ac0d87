"""Objective of actor-critic learning with an explicit gradient.

It acts on one number per step, so its time goes into the number of calls, and automatic differentiation makes three
times as many.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

STATISTICS = ("policy_gradient_loss", "value_loss", "entropy_loss", "approx_kl", "clip_fraction", "loss")
KL = STATISTICS.index("approx_kl")


class Objective(torch.autograd.Function):
    """-min(r A, clip(r) A) - c_H H + c_V (R - V)^2 averaged over steps, with r the ratio to the old probability.

    Takes log-probabilities, entropies and values (one per step); the old log-probabilities, advantages, returns and
    weights of the steps (summing to 1); clip range, c_H and c_V. Returns the loss and the numbers in `STATISTICS`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        log_probs: Tensor,
        entropies: Tensor,
        values: Tensor,
        old: Tensor,
        advantages: Tensor,
        returns: Tensor,
        weight: Tensor,
        clip: float,
        ent_coef: float,
        vf_coef: float,
    ) -> tuple[Tensor, Tensor]:
        """The loss, and the numbers in `STATISTICS`; the gradients are worked out on the way."""
        log_ratio = log_probs - old
        ratio = log_ratio.exp()
        inside = ratio.clamp(1 - clip, 1 + clip)
        gain, bounded = advantages * ratio, advantages * inside
        error = values - returns
        weighted_error = error * weight
        flat = weight.flatten()
        policy_loss = -flat.dot(torch.minimum(gain, bounded).flatten())
        value_loss = weighted_error.flatten().dot(error.flatten())
        entropy_loss = -flat.dot(entropies.flatten())
        kl = flat.dot((ratio - 1 - log_ratio).flatten())
        clipped = flat.dot((ratio != inside).to(weight.dtype).flatten())
        loss = policy_loss + ent_coef * entropy_loss + vf_coef * value_loss
        ctx.save_for_backward((gain <= bounded) * gain * weight, weight, weighted_error)
        ctx.coefficients = ent_coef, vf_coef
        numbers = torch.stack([policy_loss, value_loss, entropy_loss, kl, clipped, loss])
        ctx.mark_non_differentiable(numbers)
        return loss, numbers

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Return the explicit gradient: the clipped objective has a slope where the unclipped term is the smaller."""
        gain, weight, weighted_error = ctx.saved_tensors
        ent_coef, vf_coef = ctx.coefficients
        d_entropy = weight * (-ent_coef * grad) if ctx.needs_input_grad[1] else None
        return (-grad * gain, d_entropy, weighted_error * (2 * vf_coef * grad), *[None] * 7)
