"""Single step of any trained network as a plain ``torch.nn.Module``, for inspection and export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from gymnasium import Space
from sb3_contrib.qrdqn.policies import QRDQNPolicy
from stable_baselines3.dqn.policies import DQNPolicy
from torch import Tensor, nn

from ngym_cli.agents.trained import is_recurrent

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy


class StepModule(nn.Module):
    """Observation and state in; action preferences, value and next state out.

    Args:
        policy: a policy of Stable-Baselines3 or a recurrent one of this package; its weights are shared, not copied.

    Attributes:
        n_states: arrays in the state, 0 without memory.
    """

    def __init__(self, policy: BasePolicy) -> None:
        super().__init__()
        self.policy = policy
        self.networks = policy.networks if is_recurrent(policy) else []
        self.n_states = sum(network.n_states for network in self.networks)

    def example(self, n: int = 1) -> tuple[Tensor, ...]:
        """Return inputs of the right shapes for ``n`` environments: an observation of zeros, and the zero state."""
        observation: Any = self.policy.obs_to_tensor(_zeros(self.policy.observation_space, n))[0]
        state = [part for network in self.networks for part in network.initial_state(n)]
        return (observation, *state)

    def forward(self, observation: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        """Advance by a single step.

        Args:
            observation: shape (environments, ...).
            *state: arrays (layers, environments, units), of the actor's network and then the critic's.

        Returns:
            Logits (means for continuous actions, values of each action for Q-learning), shape (environments, actions);
            the value, shape (environments,); the arrays of the next state.
        """
        policy: Any = self.policy  # a module's own attributes are tensors or modules to a type checker
        if isinstance(policy, DQNPolicy):
            values = policy.q_net(observation)
            return values, values.max(dim=1).values
        if isinstance(policy, QRDQNPolicy):
            values = policy.quantile_net(observation).mean(dim=1)
            return values, values.max(dim=1).values
        features = policy.extract_features(observation)
        if not self.networks:
            actor, critic = policy.mlp_extractor(features)
            return policy.action_net(actor), policy.value_net(critic).squeeze(-1)
        tops: list[Tensor] = []
        after: list[Tensor] = []
        at = 0
        for network in self.networks:
            top, new = network.one_step(features, state[at : at + network.n_states])
            tops.append(top)
            after += new
            at += network.n_states
        logits = policy.action_net(policy.mlp_extractor.forward_actor(tops[0]))
        value = policy.value_net(policy.mlp_extractor.forward_critic(tops[-1])).squeeze(-1)
        return (logits, value, *after)


def _zeros(space: Space, n: int) -> np.ndarray:
    return np.zeros((n, *(space.shape or ())), space.dtype)


def no_gradient(module: nn.Module) -> nn.Module:
    """Return a module whose weights need no gradient, as exports require."""
    module.eval()
    for weight in module.parameters():
        weight.requires_grad_(False)
    return module


def outputs(module: StepModule, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the outputs of a module for given inputs, without gradients."""
    with torch.no_grad():
        found = module(*inputs)
    return tuple(found)
