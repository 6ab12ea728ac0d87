"""Agent that fills a rollout on the CPU, in NumPy or in compiled passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ngym_cli.agents.acting import Act, within
from ngym_cli.agents.algorithms.compiled_learner import CompiledLearner
from ngym_cli.agents.algorithms.rollout import Rollout
from ngym_cli.agents.networks.policy import RecurrentPolicy


class RolloutAgent:
    """Agent that fills a whole rollout with a copy of the policy's weights.

    Args:
        policy: the acting policy; actions are drawn.
        rollout: receives observations, states, actions, preferences and values.
        rng: source of the recurrent noise and of the actions.
        compiled: does the same in compiled passes; None: in NumPy.

    Attributes:
        actor: the copy of the weights.
    """

    def __init__(
        self,
        policy: RecurrentPolicy,
        rollout: Rollout,
        rng: np.random.Generator,
        compiled: CompiledLearner | None = None,
    ) -> None:
        self.rollout, self.actor, self.compiled = rollout, policy.actor(), compiled
        self._space, self._t = policy.action_space, 0
        n_steps, n_envs, _ = rollout.logits.shape
        rollout.noise = [network.draw_noise(n_steps, n_envs, rng) for network in policy.networks]
        self._draws = self.actor.draw(rollout.logits.shape, rng)

    def act(self, observations: np.ndarray, starts: np.ndarray) -> Act:
        """Take the next step; see `ngym_cli.agents.acting.BatchAgent`."""
        rollout, t = self.rollout, self._t
        rollout.begin(t, observations, starts)
        if self.compiled is None:
            self._act_in_numpy(t)
        else:
            self.compiled.act(t, self._draws[t])
        self._t += 1
        return Act(within(self._space, rollout.actions[t]), rollout.values[t], logits=rollout.logits[t])

    def _act_in_numpy(self, t: int) -> None:
        """Take step t from the present observations and states."""
        rollout, actor = self.rollout, self.actor
        noise = [None if draws is None else draws[t] for draws in rollout.noise]
        activity = actor.step(actor.features(rollout.obs[t]), rollout.state(t), rollout.state(t + 1), noise)
        rollout.logits[t], rollout.values[t] = logits, _ = actor.heads(activity)
        rollout.actions[t] = actor.choose(logits, self._draws[t])

    def values(self, obs: np.ndarray, time: int, envs: Sequence[int] | None = None) -> np.ndarray:
        """Values of observations before a step of the rollout, without recurrent noise.

        Args:
            obs: (environment, ...).
            time: the step.
            envs: environments of the observations; None for all.
        """
        state = self.rollout.state(time)
        if envs is not None:
            state = tuple(array.take(envs, axis=1) for array in state)
        return self.actor.values(obs, state)

    def finish(self, starts: np.ndarray) -> None:
        """Complete the rollout after the last step.

        Args:
            starts: whether states are reset before the step that follows the rollout, shape (environments,).
        """
        rollout = self.rollout
        rollout.mark_starts(rollout.n_steps, starts)
        if self.compiled is None:
            rollout.log_probs[:] = self.actor.log_probs(rollout.logits, rollout.actions)
