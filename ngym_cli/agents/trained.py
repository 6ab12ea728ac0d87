"""Agents that act with the weights of a trained policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from ngym_cli.agents.acting import Act, Acting
from ngym_cli.agents.networks.actor import Actor
from ngym_cli.agents.perturbation import Perturber
from ngym_cli.errors import UserError

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

    from ngym_cli.agents.networks.policy import RecurrentPolicy


def agent_for(
    policy: Actor | BasePolicy, n_envs: int, seed: int, deterministic: bool = True, perturb: Perturber | None = None
) -> Acting:
    """Return an agent that acts with frozen weights.

    Args:
        policy: of Stable-Baselines3, a recurrent one of this package, or a copy of its weights.
        n_envs: number of environments.
        seed: random seed of drawn actions and recurrent noise.
        deterministic: take the most probable action instead of drawing one.
        perturb: changes the hidden state after each step, see ``ngym_cli.agents.perturbation``.

    Raises:
        UserError: if there is no hidden state to perturb.
    """
    if isinstance(policy, Actor) or is_recurrent(policy):
        return RecurrentAgent(policy, n_envs, np.random.default_rng(seed), deterministic, perturb)
    if perturb is not None:
        raise UserError("a memoryless agent has no hidden state to perturb")
    return MemorylessAgent(policy, seed, deterministic)


def remembers(policy: Actor | BasePolicy) -> TypeGuard[Actor | RecurrentPolicy]:
    """Return whether a policy, or a copy of the weights, has a state."""
    return isinstance(policy, Actor) or is_recurrent(policy)


def is_recurrent(policy: BasePolicy) -> TypeGuard[RecurrentPolicy]:
    """Return whether a policy is a recurrent policy of this package."""
    from ngym_cli.agents.networks.policy import RecurrentPolicy

    return isinstance(policy, RecurrentPolicy)


class RecurrentAgent:
    """Acts with a copy of a recurrent policy's weights.

    Args:
        policy: the policy, or a copy of its weights.
        n_envs: number of environments.
        rng: source of the actions that are drawn and of recurrent noise.
        deterministic: take the most probable action instead of drawing one.
        perturb: changes the hidden state after each step.

    Attributes:
        state: arrays (layer, environment, unit) that the next step starts from.
    """

    def __init__(
        self,
        policy: Actor | RecurrentPolicy,
        n_envs: int,
        rng: np.random.Generator,
        deterministic: bool = True,
        perturb: Perturber | None = None,
    ):
        self.policy, self.rng, self.deterministic, self.perturb = policy, rng, deterministic, perturb
        self.state = policy.initial_state(n_envs)
        self.take_weights()

    def take_weights(self) -> None:
        """Act with the policy's present weights from now on."""
        self._actor: Any = self.policy
        if not isinstance(self.policy, Actor):
            self.policy.set_training_mode(False)
            self._actor = self.policy.actor()
        self._actor.perturb = self.perturb

    def act(self, observations: np.ndarray, starts: np.ndarray) -> Act:
        """See ``Acting``."""
        act, self.state = self._actor.act(observations, self.state, starts, self.deterministic, self.rng)
        return act


class MemorylessAgent:
    """Acts as a policy of Stable-Baselines3 predicts.

    Args:
        policy: the policy.
        seed: random seed of drawn actions, in torch.
        deterministic: take the most probable action instead of drawing one.
    """

    def __init__(self, policy: BasePolicy, seed: int, deterministic: bool = True):
        self.policy, self.deterministic = policy, deterministic
        policy.set_training_mode(False)
        if not deterministic:
            import torch

            torch.manual_seed(seed)

    def act(self, observations: np.ndarray, starts: np.ndarray) -> Act:
        """See ``Acting``."""
        return Act(self.policy.predict(observations, deterministic=self.deterministic)[0])
