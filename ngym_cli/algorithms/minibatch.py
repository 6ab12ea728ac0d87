"""Minibatches of padded sequences as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ngym_cli.algorithms.rollout import Rollout
from ngym_cli.algorithms.segments import Padded, Segments, side_by_side
from ngym_cli.networks.policy import Sequences

ROWS = 8  # the number of sequences is filled up to a multiple of this, so that few kernel shapes occur


@dataclass(frozen=True)
class Minibatch:
    """Sequences in groups of similar length, and what belongs to each of their steps (step, ...).

    `weight` is 1 / steps, and 0 on padding, so that sums are means.
    """

    groups: list[Sequences]
    actions: Tensor
    weight: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    values: Tensor


class Experience:
    """A rollout flattened over (time, environment), ready to be gathered into minibatches."""

    def __init__(self, rollout: Rollout, device: torch.device) -> None:
        """See the class."""
        self.rollout, self.device = rollout, device
        self.n_envs = rollout.rewards.shape[1]
        self.obs = rollout.obs.reshape(-1, *rollout.obs.shape[2:])
        self.actions = rollout.actions.reshape(-1, *rollout.actions.shape[2:])
        columns = (rollout.log_probs, rollout.advantages, rollout.returns, rollout.values, rollout.counts)
        self.columns = np.stack([np.asarray(column, np.float32).ravel() for column in columns])

    def minibatch(self, segments: Segments, normalize_advantage: bool) -> Minibatch | None:
        """Gather segments; None if no step of theirs counts."""
        groups = side_by_side(segments, self.n_envs, ROWS)
        steps = np.concatenate([group.steps.ravel() for group in groups])
        log_probs, advantages, returns, values, counts = self.columns[:, steps]
        valid = np.concatenate([group.mask.ravel() for group in groups]) & (counts > 0)
        n_valid = int(np.count_nonzero(valid))
        if n_valid == 0:
            return None
        if normalize_advantage and n_valid > 1:
            known = advantages[valid]
            advantages = (advantages - known.mean()) / (known.std(ddof=1) + np.float32(1e-8))
        weight = valid.astype(np.float32) / n_valid
        columns = (self._tensor(array) for array in (weight, log_probs, advantages, returns, values))
        return Minibatch([self._sequences(group) for group in groups], self._tensor(self.actions[steps]), *columns)

    def _sequences(self, padded: Padded) -> Sequences:
        noise = [self._noise(part, padded.steps) for part in self.rollout.noise]
        state = tuple(self._tensor(part[padded.begin, :, padded.env].swapaxes(0, 1)) for part in self.rollout.states)
        return Sequences(self._tensor(self.obs[padded.steps]), state, noise)

    def _noise(self, noise: np.ndarray | None, steps: np.ndarray) -> Tensor | None:
        if noise is None:
            return None
        time, env = np.divmod(steps, self.n_envs)
        return self._tensor(noise[time, :, env].swapaxes(1, 2))

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
