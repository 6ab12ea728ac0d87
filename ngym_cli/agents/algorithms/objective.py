"""Objective of actor-critic learning with an explicit gradient, and the minibatches that it is computed on.

The objective acts on one number per step, so its time goes into the number of calls, and automatic differentiation
makes three times as many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ngym_cli.agents.algorithms.rollout import Packed, Rollout, Segments, pack
from ngym_cli.agents.networks.policy import Sequences

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


@dataclass(frozen=True)
class Minibatch:
    """Packed sequences with the actions, weights and targets of each step (step, ...).

    `weight` is 1 / steps, and 0 on steps that do not count, so that sums are means.
    """

    sequences: Sequences
    actions: Tensor
    weight: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


class Experience:
    """A rollout flattened over (time, environment), ready to be gathered into minibatches."""

    def __init__(self, rollout: Rollout, device: torch.device) -> None:
        self.rollout, self.device = rollout, device
        self.n_envs = rollout.rewards.shape[1]
        self.obs = rollout.obs.reshape(-1, *rollout.obs.shape[2:])
        self.actions = rollout.actions.reshape(-1, *rollout.actions.shape[2:])
        columns = (rollout.log_probs, rollout.advantages, rollout.returns, rollout.values, rollout.counts)
        self.columns = np.stack([np.asarray(column, np.float32).ravel() for column in columns])

    def minibatch(self, segments: Segments, normalize_advantage: bool) -> Minibatch | None:
        """Gather segments; None if no step of theirs counts."""
        packed = pack(segments.length, segments.first(self.n_envs), self.n_envs)
        columns = self.columns.take(packed.steps, axis=1)
        advantages, counts = columns[1], columns[4]
        n = float(counts.sum())
        if n == 0:
            return None
        if normalize_advantage and n > 1:
            advantages -= advantages.dot(counts) / n
            advantages /= np.sqrt((advantages * counts).dot(advantages) / (n - 1)) + 1e-8
        counts /= n  # now the weight of each step
        log_probs, advantages, returns, values, weight = self._tensor(columns)
        actions = self._tensor(self.actions.take(packed.steps, axis=0))
        return Minibatch(self._sequences(packed), actions, weight, log_probs, advantages, returns, values)

    def _sequences(self, packed: Packed) -> Sequences:
        begin, env = np.divmod(packed.first, self.n_envs)
        noise = [self._noise(part, packed.steps) for part in self.rollout.noise]
        state = tuple(self._tensor(part[begin, :, env].swapaxes(0, 1)) for part in self.rollout.states)
        return Sequences(self._tensor(self.obs.take(packed.steps, axis=0)), packed.counts.tolist(), state, noise)

    def _noise(self, noise: np.ndarray | None, steps: np.ndarray) -> Tensor | None:
        if noise is None:
            return None
        time, env = np.divmod(steps, self.n_envs)
        return self._tensor(noise[time, :, env])

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
