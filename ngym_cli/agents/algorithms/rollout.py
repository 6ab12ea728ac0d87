"""Rollout as time-major arrays, filled in place: (time, environment, ...)."""

from __future__ import annotations

import numpy as np

from ngym_cli.agents.networks.base import ArrayState, RecurrentNetwork


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
    """

    def __init__(
        self,
        n_steps: int,
        n_envs: int,
        obs: np.ndarray,
        logits: tuple[int, ...],
        discrete: bool,
        networks: list[RecurrentNetwork],
    ) -> None:
        shape = (n_steps, n_envs)
        self.obs = np.empty((n_steps, *obs.shape), np.float32 if obs.dtype == np.float64 else obs.dtype)
        self.logits = np.empty((*shape, *logits), np.float32)
        self.actions = np.empty(shape, np.int64) if discrete else np.empty_like(self.logits)
        self.rewards = np.empty(shape, np.float32)
        self.starts = np.ones((n_steps + 1, n_envs), bool)
        self.ends = np.zeros(shape, bool)
        self.states = [
            np.zeros((n_steps + 1, network.num_layers, n_envs, size), np.float32)
            for network in networks
            for size in network.state_sizes
        ]
        self.noise: list[np.ndarray | None] = [None] * len(networks)
        self.values, self.log_probs = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.advantages, self.returns = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.counts = np.ones(shape, bool)

    @property
    def n_steps(self) -> int:
        """Steps in the rollout."""
        return len(self.rewards)

    def state(self, t: int) -> ArrayState:
        """Views of all states before step t."""
        return tuple(part[t] for part in self.states)

    def begin(self, t: int, obs: np.ndarray, starts: np.ndarray) -> None:
        """Record the observations of step t; states are zeroed where `starts` is true."""
        self.obs[t] = obs
        self.mark_starts(t, starts)

    def mark_starts(self, t: int, starts: np.ndarray) -> None:
        """Zero the states of step t where `starts` is true."""
        self.starts[t] = starts
        if self.starts[t].any():
            for part in self.states:
                part[t][:, self.starts[t]] = 0

    def carry_over(self) -> None:
        """Start from the final states of the last rollout."""
        for part in self.states:
            part[0] = part[-1]

    def estimate_advantages(self, last_values: np.ndarray, gamma: float, gae_lambda: float, trial_gamma: float) -> None:
        """Generalised advantage estimation (Schulman et al. 2016, arXiv:1506.02438); nothing flows over a start.

        Args:
            last_values: (environment,), of the state after the last step.
            gamma: discount from one step to the next.
            gae_lambda: share that is passed to the previous step.
            trial_gamma: takes the place of `gamma` from the last step of a trial to the first of the next.
        """
        discount = np.where(self.ends, np.float32(trial_gamma), np.float32(gamma)) * ~self.starts[1:]
        following = np.concatenate([self.values[1:], last_values[None]])
        np.subtract(self.rewards + discount * following, self.values, out=self.advantages)
        discount *= np.float32(gae_lambda)
        for t in reversed(range(self.n_steps - 1)):
            self.advantages[t] += discount[t] * self.advantages[t + 1]
        np.add(self.advantages, self.values, out=self.returns)
