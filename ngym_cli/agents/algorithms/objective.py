"""Objective of PPO over packed sequences, with an explicit gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ngym_cli.agents.networks.policy import PackedSequences

STATISTICS = ("policy_gradient_loss", "value_loss", "entropy_loss", "approx_kl", "clip_fraction", "loss")
KL = STATISTICS.index("approx_kl")


class LossCoefficients(NamedTuple):
    """Coefficients of the objective that is maximised; see `Objective`.

    Attributes:
        normalize: scale advantages to mean 0 and standard deviation 1 over the sequences of a minibatch.
        clip: largest counted deviation of the probability ratio from 1.
        clip_range_vf: largest change of values from the old values; infinite for no limit.
        ent_coef: weight of the entropy.
        vf_coef: weight of the error of values.
    """

    normalize: bool
    clip: float
    clip_range_vf: float
    ent_coef: float
    vf_coef: float


class Objective(torch.autograd.Function):
    """-min(r A, clip(r) A) - c_H H + c_V (R - V)^2 averaged over steps, with r the ratio to the old probability.

    Takes log-probabilities, entropies and values (one per step), a `Minibatch` and `LossCoefficients`. Returns the loss
    and the numbers in `STATISTICS`. The gradient is explicit: the objective acts on one number per step, so its time
    goes into the number of calls, and automatic differentiation makes three times as many.
    """

    @staticmethod
    def forward(
        ctx: Any, log_probs: Tensor, entropies: Tensor, values: Tensor, batch: Minibatch, coefficients: LossCoefficients
    ) -> tuple[Tensor, Tensor]:
        """The loss, and the numbers in `STATISTICS`; the gradients are worked out on the way."""
        weight, log_ratio = batch.weight, log_probs - batch.log_probs
        ratio = log_ratio.exp()
        inside = ratio.clamp(1 - coefficients.clip, 1 + coefficients.clip)
        gain, bounded = batch.advantages * ratio, batch.advantages * inside
        error = values - batch.returns
        weighted_error = error * weight
        flat = weight.flatten()
        policy_loss = -flat.dot(torch.minimum(gain, bounded).flatten())
        value_loss = weighted_error.flatten().dot(error.flatten())
        entropy_loss = -flat.dot(entropies.flatten())
        kl = flat.dot((ratio - 1 - log_ratio).flatten())
        clipped = flat.dot((ratio != inside).to(weight.dtype).flatten())
        loss = policy_loss + coefficients.ent_coef * entropy_loss + coefficients.vf_coef * value_loss
        ctx.save_for_backward((gain <= bounded) * gain * weight, weight, weighted_error)
        ctx.coefficients = coefficients
        numbers = torch.stack([policy_loss, value_loss, entropy_loss, kl, clipped, loss])
        ctx.mark_non_differentiable(numbers)
        return loss, numbers

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Return the explicit gradient: the clipped objective has a slope where the unclipped term is the smaller."""
        gain, weight, weighted_error = ctx.saved_tensors
        d_entropy = weight * (-ctx.coefficients.ent_coef * grad) if ctx.needs_input_grad[1] else None
        return -grad * gain, d_entropy, weighted_error * (2 * ctx.coefficients.vf_coef * grad), None, None


@dataclass(frozen=True)
class Minibatch:
    """Packed sequences with the actions, weights and targets of each step (step, ...).

    `weight` is 1 / steps, and 0 on steps that do not count, so that sums are means.
    """

    sequences: PackedSequences
    actions: Tensor
    weight: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor
