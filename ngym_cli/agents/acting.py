"""Acting with frozen weights: one interface for recurrent and memoryless policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ngym_cli.agents.perturbation import PerturbedStepper, Perturber
from ngym_cli.errors import UserError


class Act(NamedTuple):
    """What an agent did in one step of a batch of environments.

    Attributes:
        actions: shape (environments, ...), as the environments take them.
        values: state values, shape (environments,), or None where the algorithm has none.
        activity: hidden activity, shape (environments, units), or None for a memoryless policy.
        logits: action preferences, shape (environments, actions), or None.
    """

    actions: np.ndarray
    values: np.ndarray | None = None
    activity: np.ndarray | None = None
    logits: np.ndarray | None = None


class Step(NamedTuple):
    """One step of a batch of environments.

    Attributes:
        seen: what the agent saw, shape (environments, ...).
        act: what it did.
        rewards: what it got for it, shape (environments,).
        ground_truth: what was right, shape (environments, ...), or None where the task does not say.
        finished: the trials that ended, as equally long columns, or None.
    """

    seen: np.ndarray
    act: Act
    rewards: np.ndarray
    ground_truth: np.ndarray | None
    finished: Mapping[str, np.ndarray] | None


def rollout(venv: Any, agent: Agent) -> Iterator[Step]:
    """Let an agent act on a ``TrialVecEnv``, from a reset and without end."""
    seen, starts = venv.reset(), np.ones(venv.num_envs, bool)
    while True:
        act = agent.act(seen, starts)
        observations, rewards, starts, _ = venv.step(act.actions)
        yield Step(seen, act, rewards, venv.ground_truth, venv.finished)
        seen = observations


class Agent:
    """A trained policy that acts on a batch of environments.

    Args:
        policy: a Stable-Baselines3 policy; recurrent ones have ``initial_state`` and ``act``.
        n_envs: number of environments.
        seed: of the actions that are drawn and of recurrent noise.
        deterministic: take the most probable action instead of drawing one.
        perturb: changes the hidden state after each step, see ``ngym_cli.agents.perturbation``.

    Raises:
        UserError: if there is no hidden state to perturb.
    """

    def __init__(
        self, policy: Any, n_envs: int, seed: int, deterministic: bool = True, perturb: Perturber | None = None
    ):
        self.policy = policy
        self.deterministic = deterministic
        self.n_envs = n_envs
        self.recurrent = hasattr(policy, "act") and hasattr(policy, "initial_state")
        self._rng = np.random.default_rng(seed)
        self._box = policy.action_space if hasattr(policy.action_space, "low") else None
        policy.set_training_mode(False)
        self._snapshot = policy.actor() if self.recurrent else None
        self._state = policy.initial_state(n_envs) if self.recurrent else None
        if perturb is not None:
            if self._snapshot is None:
                raise UserError("a memoryless agent has no hidden state to perturb")
            self._snapshot.steppers[0] = PerturbedStepper(self._snapshot.steppers[0], perturb)
        if not self.recurrent and not deterministic:
            import torch

            torch.manual_seed(seed)

    def act(self, observations: np.ndarray, starts: np.ndarray) -> Act:
        """Act once.

        Args:
            observations: shape (environments, ...).
            starts: shape (environments,); where true the recurrent state is zeroed first.
        """
        if not self.recurrent:
            actions, _ = self.policy.predict(observations, deterministic=self.deterministic)
            return Act(actions)
        actions, values, _, self._state, activity, logits = self.policy.act(
            observations, self._state, starts, self.deterministic, self._rng, self._snapshot
        )
        if self._box is not None:
            actions = np.clip(actions.reshape(-1, *self._box.shape), self._box.low, self._box.high)
        return Act(actions, values, activity, logits)
