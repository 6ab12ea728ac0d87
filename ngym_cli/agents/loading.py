"""A trained agent in a program, as runs from ``ngym_cli.load`` have it, and a step of the network as a module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import Env
from sb3_contrib.qrdqn.policies import QRDQNPolicy
from stable_baselines3.dqn.policies import DQNPolicy
from torch import Tensor, nn

from ngym_cli import runs
from ngym_cli.agents.compiled.network import ArrayState
from ngym_cli.agents.defaults import read_config
from ngym_cli.agents.saving import load_policy
from ngym_cli.agents.trained import is_recurrent
from ngym_cli.config.tasks import find_task
from ngym_cli.environments.stack import make_env
from ngym_cli.errors import UserError

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
        space = self.policy.observation_space
        observation: Any = self.policy.obs_to_tensor(np.zeros((n, *(space.shape or ())), space.dtype))[0]
        return (observation, *(array for network in self.networks for array in network.initial_state(n)))

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
        tops, after = policy.run_networks(lambda network, *inputs: network.one_step(*inputs), features, state)
        return (*policy.heads(tops), *after)


#: State of a network; None at the beginning of a trial or session, and without memory.
State = ArrayState | None
#: Action of an environment, or actions of several, and the state after the step.
Move = tuple[int | np.ndarray, State]


class LoadedAgent:
    """Trained agent that acts, shows activity and provides the network.

    Args:
        run: the run's folder.
        trust: accept user code named in the run's record.

    Attributes:
        run: the run's folder.
        config: the run's complete configuration in the last stage.
        policy: the policy, a ``torch.nn.Module`` with the interface of Stable-Baselines3.
        steps: steps that it was trained for.
        recurrent: whether it has a state.
    """

    def __init__(self, run: runs.RunFolder, trust: bool = False):

        self.run = run
        self.config = read_config(run, trust).in_stage(-1)
        self.policy: Any
        self.policy, self.steps = load_policy(run, self.config)
        self.policy.set_training_mode(False)
        self.recurrent = is_recurrent(self.policy)
        self._actor: Any = self.policy.actor() if self.recurrent else None

    def __repr__(self) -> str:
        """One line: folder, algorithm, network, task and steps."""
        network = f" ({self.config.network})" if self.config.network else ""
        return f"<LoadedAgent {self.run.path}: {self.config.alg}{network} on {self.config.task}, {self.steps:,} steps>"

    def make_env(self) -> Env:
        """Return a new environment with the task and the wrappers that the agent was trained on (Gymnasium)."""
        return make_env(find_task(self.config.task), self.config)

    @property
    def resets(self) -> bool:
        """Whether the state was reset at each trial in training: then ``state`` is None after ``info["new_trial"]``.

        False also where the state was reset at sessions or blocks, as ``config.reset_state`` says.
        """
        return self.config.reset_state == "trial"

    @property
    def module(self) -> StepModule:
        """Network step as a ``torch.nn.Module``: observation and state in; logits, value and state out."""
        return StepModule(self.policy)

    def act(
        self, observation: object, state: State = None, deterministic: bool = True, seed: int | None = None
    ) -> Move:
        """Choose an action.

        Args:
            observation: of one environment, or of several stacked along a first axis.
            state: what the last call returned; None at the beginning of a trial or session.
            deterministic: take the most probable action; else it is drawn.
            seed: random seed of the drawn action.

        Returns:
            The action (or actions), and the state to give to the next call (None for an agent without memory).
        """
        if not self.recurrent:
            if seed is not None:
                import torch

                torch.manual_seed(seed)
            action, _ = self.policy.predict(observation, deterministic=deterministic)
            return _plain(action), None
        actor = self._actor.bind(self.policy.rng if seed is None else seed, deterministic)
        step, after, batched = self.policy.advance(actor, np.asarray(observation), state)
        return (step.actions if batched else _plain(step.actions[0])), after

    def activity(self, observations: object, state: State = None) -> np.ndarray:
        """Return the activity of the network's top layer along a sequence of observations.

        Args:
            observations: shape (steps, ...), or (steps, environments, ...) for several sequences side by side.
            state: before the first step; None for zeros.

        Returns:
            Shape (steps, units) or (steps, environments, units).

        Raises:
            UserError: if the agent has no memory, and so no activity of its own.
        """
        if not self.recurrent:
            raise UserError(f"{self.config.alg} has no recurrent network, and so no activity that is carried along")
        rows, actor = [], self._actor.bind(self.policy.rng, True)
        for observation in np.asarray(observations):
            step, state, batched = self.policy.advance(actor, observation, state)
            activity: Any = step.activity
            rows.append(np.array(activity if batched else activity[0]))
        return np.stack(rows)


def _plain(action: object) -> int | np.ndarray:
    """Return a single discrete action as an int, for environments; a vector stays a vector."""
    action = np.asarray(action)
    return int(action) if action.ndim == 0 and action.dtype.kind in "iu" else action
