"""Categorical distribution over few actions, with an explicit gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Categorical(torch.autograd.Function):
    """Log-probability of the actions taken (...,) and entropy (...,) from action preferences (..., action)."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities of ``actions`` and entropies."""
        by_action = logits.flatten(0, -2).t().contiguous()  # sums over few actions are slow along the last axis
        chosen = actions.reshape(1, -1).long()
        by_action -= by_action.amax(0)
        probs = by_action.exp()
        total = probs.sum(0)
        probs /= total
        log_probs = by_action.sub_(total.log_())
        entropy = -(probs * log_probs).sum(0)
        ctx.save_for_backward(probs, log_probs, entropy, chosen)
        ctx.shape = logits.shape
        return log_probs.gather(0, chosen).view(actions.shape), entropy.view(actions.shape)

    @staticmethod
    def backward(ctx: Any, d_log_prob: Tensor, d_entropy: Tensor | None) -> tuple[Tensor, None]:
        """With p the probabilities: d log p(a) = 1(a) - p, d H = -p (log p + H)."""
        probs, log_probs, entropy, chosen = ctx.saved_tensors
        d_log_prob = d_log_prob.reshape(1, -1)
        slope = -d_log_prob
        if d_entropy is not None:
            slope = slope - (log_probs + entropy) * d_entropy.reshape(1, -1)
        d_logits = (probs * slope).scatter_add_(0, chosen, d_log_prob)
        return d_logits.t().reshape(ctx.shape), None
