"""The yardstick: recurrent PPO as one hand-written PyTorch loop, the same arithmetic and no framework."""

from __future__ import annotations

import torch
from stable_baselines3.common.vec_env import VecEnv
from torch import nn
from torch.nn.utils.rnn import pad_sequence


class BareLoop:
    """An LSTM with two linear heads, trained by PPO with Adam; the state is carried over or zeroed at each `done`.

    Args:
        env: a batch of environments.
        n_steps, n_epochs, n_minibatches: of a rollout; minibatches are whole stretches between resets.
        units: of the LSTM.
        learning_rate, gamma, gae_lambda, clip, vf_coef, max_grad_norm: as usual.
        seed: of torch.
    """

    def __init__(
        self,
        env: VecEnv,
        n_steps: int = 128,
        n_epochs: int = 4,
        n_minibatches: int = 4,
        units: int = 64,
        learning_rate: float = 1e-3,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        clip: float = 0.2,
        vf_coef: float = 0.5,
        max_grad_norm: float = 0.5,
        seed: int = 0,
    ) -> None:
        torch.manual_seed(seed)
        self.env, self.n_steps, self.n_epochs, self.n_minibatches = env, n_steps, n_epochs, n_minibatches
        self.gamma, self.gae_lambda, self.clip, self.vf_coef = gamma, gae_lambda, clip, vf_coef
        self.max_grad_norm = max_grad_norm
        self.lstm = nn.LSTM(env.observation_space.shape[0], units)
        self.cell = nn.LSTMCell(env.observation_space.shape[0], units)
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            setattr(self.cell, name, getattr(self.lstm, f"{name}_l0"))
        self.actor, self.critic = nn.Linear(units, env.action_space.n), nn.Linear(units, 1)
        self.parameters = [*self.lstm.parameters(), *self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=learning_rate, eps=1e-5)
        self.state = (torch.zeros(env.num_envs, units), torch.zeros(env.num_envs, units))
        self.obs = torch.as_tensor(env.reset())
        self.starts = torch.ones(env.num_envs, dtype=torch.bool)

    def iterate(self) -> None:
        """One rollout and its update."""
        self.update(*self.rollout())

    @torch.no_grad()
    def rollout(self) -> tuple[torch.Tensor, ...]:
        """Step all environments; returns obs, actions, log_probs, advantages, returns, starts and the first state."""
        first = self.state
        columns: list[list[torch.Tensor]] = [[] for _ in range(6)]
        for _ in range(self.n_steps):
            starts = self.starts
            keep = (~starts)[:, None].float()
            self.state = self.cell(self.obs, (self.state[0] * keep, self.state[1] * keep))
            log_probs = self.actor(self.state[0]).log_softmax(-1)
            value = self.critic(self.state[0])[:, 0]
            action = torch.multinomial(log_probs.exp(), 1)
            obs, rewards, dones, _ = self.env.step(action[:, 0].numpy())
            chosen = log_probs.gather(1, action)[:, 0]
            row = (self.obs, action[:, 0], chosen, value, torch.as_tensor(rewards), starts)
            for column, entry in zip(columns, row, strict=True):
                column.append(entry)
            self.obs, self.starts = torch.as_tensor(obs), torch.as_tensor(dones.copy())
        obs, actions, log_probs, values, rewards, starts = (torch.stack(column) for column in columns)
        keep = (~self.starts)[:, None].float()
        following = self.critic(self.cell(self.obs, (self.state[0] * keep, self.state[1] * keep))[0])[:, 0]
        going_on, carried = (~self.starts).float(), torch.zeros_like(following)
        advantages = torch.empty_like(rewards)
        for t in reversed(range(self.n_steps)):
            delta = rewards[t] + self.gamma * following * going_on - values[t]
            carried = delta + self.gamma * self.gae_lambda * going_on * carried
            advantages[t] = carried
            following, going_on = values[t], (~starts[t]).float()
        return obs, actions, log_probs, advantages, advantages + values, starts, *first

    def update(
        self,
        obs: torch.Tensor,
        actions: torch.Tensor,
        old: torch.Tensor,
        advantages: torch.Tensor,
        returns: torch.Tensor,
        starts: torch.Tensor,
        h: torch.Tensor,
        c: torch.Tensor,
    ) -> None:
        """The clipped objective over minibatches of whole stretches between resets, padded to the longest."""
        starts = starts.clone()
        starts[0] = True
        at = starts.t().nonzero()  # (environment, step), in this order
        ends = torch.where(at[1:, 0] == at[:-1, 0], at[1:, 1], self.n_steps)
        lengths = torch.cat([ends, torch.tensor([self.n_steps])]) - at[:, 1]
        first = (at[:, 1] == 0)[:, None].float()
        states = (h[at[:, 0]] * first)[None], (c[at[:, 0]] * first)[None]
        columns = obs, actions, old, advantages, returns, torch.ones_like(old)
        stretches = [column.transpose(0, 1).flatten(0, 1).split(lengths.tolist()) for column in columns]
        for _ in range(self.n_epochs):
            for rows in torch.randperm(len(at)).chunk(self.n_minibatches):
                padded = (pad_sequence([column[i] for i in rows]) for column in stretches)
                x, action, old_log_prob, advantage, target, mask = padded
                hidden, _ = self.lstm(x, tuple(state[:, rows] for state in states))
                valid = mask > 0
                log_probs = self.actor(hidden).log_softmax(-1)
                chosen = log_probs.gather(-1, action[..., None])[..., 0][valid]
                advantage = advantage[valid]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                ratio = (chosen - old_log_prob[valid]).exp()
                clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
                loss = -torch.min(advantage * ratio, advantage * clipped).mean()
                loss = loss + self.vf_coef * ((target - self.critic(hidden)[..., 0])[valid] ** 2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters, self.max_grad_norm)
                self.optimizer.step()
