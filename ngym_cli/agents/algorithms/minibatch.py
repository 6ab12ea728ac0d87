"""Minibatches of packed sequences as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ngym_cli.agents.algorithms.rollout import Rollout
from ngym_cli.agents.algorithms.segments import Packed, Segments, pack
from ngym_cli.agents.networks.policy import Sequences


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
