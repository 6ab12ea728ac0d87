"""Rollout as time-major arrays, filled in place: (time, environment, ...), and minibatches gathered from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from ngym_cli.agents.algorithms.objective import Minibatch, silent_units
from ngym_cli.agents.compiled.network import ArrayState
from ngym_cli.agents.networks.base import RecurrentNetwork, to_device
from ngym_cli.agents.networks.policy import PackedSequences
from ngym_cli.agents.sequences import PackedSteps, Sequences

LOOK_EVERY = 4  #: steps between those that silent units are counted in


class Rollout:
    """Steps of a batch of environments, with the recurrent states before each step.

    Row t of `states` is the state that step t started from (zero where `starts` is true), so any step can begin a
    training sequence. Row `n_steps` is where the next rollout begins.

    Attributes:
        obs: (time, environment, ...) as the environments gave it.
        actions: (time, environment) or (time, environment, action), before clipping.
        logits: action preferences or means (time, environment, action).
        rewards: float32 (time, environment).
        starts: bool (time + 1, environment); the state is zeroed before this step, and no value flows back over it.
        ends: bool (time, environment), a trial ended with this step, whether the state resets or not.
        states: one array (time + 1, layer, environment, unit) for each state array of each network.
        noise: recurrent noise of each network, or None.
        values, log_probs, advantages, returns: float32 (time, environment).
        counts: bool (time, environment), the steps that are learned from.
        correct: int (time, environment), correct actions; zeros unless the learner imitates these.
    """

    def __init__(
        self,
        n_steps: int,
        n_envs: int,
        obs: np.ndarray,
        n_logits: int,
        discrete: bool,
        networks: list[RecurrentNetwork],
    ) -> None:
        shape = (n_steps, n_envs)
        self.obs = np.empty((n_steps, *obs.shape), np.float32 if obs.dtype == np.float64 else obs.dtype)
        self.logits = np.empty((*shape, n_logits), np.float32)
        self.actions = np.empty(shape, np.int64) if discrete else np.empty_like(self.logits)
        self.rewards = np.empty(shape, np.float32)
        self.starts = np.ones((n_steps + 1, n_envs), bool)
        self.ends = np.zeros(shape, bool)
        sizes = [(network.num_layers, n_envs, size) for network in networks for size in network.state_sizes]
        self.states = [np.zeros((n_steps + 1, *size), np.float32) for size in sizes]
        self.noise: list[np.ndarray | None] = [None] * len(networks)
        self.values, self.log_probs = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.advantages, self.returns = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.counts = np.ones(shape, bool)
        self.correct = np.zeros(shape, np.int64)

    @property
    def n_steps(self) -> int:
        """Steps in the rollout."""
        return len(self.rewards)

    def state(self, t: int) -> ArrayState:
        """Views of all states before step t."""
        return tuple(array[t] for array in self.states)

    def mark_starts(self, t: int, starts: np.ndarray) -> None:
        """Zero the states of step t where `starts` is true."""
        self.starts[t] = starts
        if self.starts[t].any():
            for array in self.states:
                array[t][:, self.starts[t]] = 0

    @property
    def carried_states(self) -> list[np.ndarray]:
        """States before the next rollout (layer, environment, unit)."""
        return [array[-1] for array in self.states]

    @carried_states.setter
    def carried_states(self, states: Sequence[np.ndarray]) -> None:
        for array, carried in zip(self.states, states, strict=True):
            array[-1] = carried

    def silent_units(self) -> int:
        """Number of units of the actor's top layer that are never active."""
        return silent_units(self.states[0][1::LOOK_EVERY, -1])

    def experience(self, device: torch.device) -> Experience:
        """Return the rollout as minibatches on a device need it."""
        return Experience(self, device)

    def carry_over(self) -> None:
        """Start from the final states of the last rollout."""
        for array in self.states:
            array[0] = array[-1]

    def estimate_advantages(
        self, last_values: np.ndarray, gamma: float, gae_lambda: float, inter_trial_discount: float
    ) -> None:
        """Generalised advantage estimation (Schulman et al. 2016, arXiv:1506.02438); nothing flows over a start.

        Args:
            last_values: (environment,), of the state after the last step.
            gamma: discount from one step to the next.
            gae_lambda: share that is passed to the previous step.
            inter_trial_discount: takes the place of `gamma` from the last step of a trial to the first of the next.
        """
        discount = np.where(self.ends, np.float32(inter_trial_discount), np.float32(gamma)) * ~self.starts[1:]
        following = np.concatenate([self.values[1:], last_values[None]])
        np.subtract(self.rewards + discount * following, self.values, out=self.advantages)
        discount *= np.float32(gae_lambda)
        for t in reversed(range(self.n_steps - 1)):
            self.advantages[t] += discount[t] * self.advantages[t + 1]
        np.add(self.advantages, self.values, out=self.returns)


class Experience:
    """A rollout flattened over (time, environment), ready to be gathered into minibatches."""

    def __init__(self, rollout: Rollout, device: torch.device) -> None:
        self.rollout, self.device = rollout, device
        self.n_envs = rollout.rewards.shape[1]
        self.actions = rollout.actions.reshape(-1, *rollout.actions.shape[2:])
        columns = (rollout.log_probs, rollout.advantages, rollout.returns, rollout.values, rollout.counts)
        self.columns = np.stack([np.asarray(column, np.float32).ravel() for column in columns])

    def minibatches(self, segments: Sequences, normalize_advantage: bool, n_parts: int = 1) -> Iterator[Minibatch]:
        """Gather segments in several parts, whose losses add up to that of all; none if no step of theirs counts.

        Args:
            segments: sequences of the rollout.
            normalize_advantage: scale advantages to mean 0 and standard deviation 1 over all segments.
            n_parts: number of parts, at most one for each sequence.
        """
        packed = segments.pack()
        columns = self.columns.take(packed.steps, axis=1)
        advantages, counts = columns[1], columns[4]
        n = float(counts.sum())
        if n == 0:
            return
        if normalize_advantage and n > 1:
            advantages -= advantages.dot(counts) / n
            advantages /= np.sqrt((advantages * counts).dot(advantages) / (n - 1)) + 1e-8
        counts /= n  # now the weight of each step
        if n_parts == 1:
            yield self._gather(packed, columns)
            return
        all_columns = np.empty_like(self.columns)
        all_columns[:, packed.steps] = columns
        for k in range(n_parts):
            packed = segments[slice(k, None, n_parts)].pack()
            yield self._gather(packed, all_columns.take(packed.steps, axis=1))

    def _gather(self, packed: PackedSteps, columns: np.ndarray) -> Minibatch:
        log_probs, advantages, returns, values, weight = self.tensor(columns)
        actions = self.tensor(self.actions.take(packed.steps, axis=0))
        correct = self.tensor(self.rollout.correct.ravel().take(packed.steps))
        return Minibatch(self._sequences(packed), actions, weight, log_probs, advantages, returns, values, correct)

    def _sequences(self, packed: PackedSteps) -> PackedSequences:
        begin, env = np.divmod(packed.first, self.n_envs)
        time, column = np.divmod(packed.steps, self.n_envs)
        noise = [None if array is None else self.tensor(array[time, :, column]) for array in self.rollout.noise]
        state = tuple(self.tensor(array[begin, :, env].swapaxes(0, 1)) for array in self.rollout.states)
        obs = self.rollout.obs.reshape(-1, *self.rollout.obs.shape[2:]).take(packed.steps, axis=0)
        return PackedSequences(self.tensor(obs), packed.counts.tolist(), state, noise)

    def tensor(self, array: np.ndarray) -> Tensor:
        """Return an array on the device."""
        return to_device(array, self.device)
