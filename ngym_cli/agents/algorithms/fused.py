"""Acting and gradients in a compiled pass (`agent.c`), for agents on the CPU whose observations are flat.

Other agents, for example with image observations, act in NumPy and learn by automatic differentiation, which spends
more time on calls than on arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from neurogym import kernels
from ngym_cli.agents import threads
from ngym_cli.agents.acting import Act
from ngym_cli.agents.algorithms.compiled import NO_STEP, Compiled
from ngym_cli.agents.algorithms.rollout import Minibatches, Rollout, Segments
from ngym_cli.agents.networks.actor import within
from ngym_cli.agents.networks.policy import RecurrentPolicy


class PPOSettings(NamedTuple):
    """Coefficients of the objective that is maximised; see `Objective`.

    Attributes:
        normalize_advantage: scale advantages to mean 0 and standard deviation 1 over the sequences of a minibatch.
        clip: largest counted deviation of the probability ratio from 1.
        reach: largest change of values from the old values; infinite for no limit.
        ent_coef: weight of the entropy.
        vf_coef: weight of the error of values.
    """

    normalize_advantage: bool
    clip: float
    reach: float
    ent_coef: float
    vf_coef: float


class Fused(Compiled):
    """Compiled agent that acts into a rollout and computes the gradient of the objective over parts of the rollout.

    Args:
        policy: a policy without an `obstacle`.
        rollout: filled by `act`, read by `gradient`.
    """

    def __init__(self, policy: RecurrentPolicy, rollout: Rollout) -> None:
        super().__init__(policy, valued=True)
        self.rollout = rollout
        names = ("prepare", "act", "learn")
        self._functions: dict[str, Any] = {name: kernels.get(name) for name in names}
        n_steps, n_envs, _ = rollout.logits.shape
        self.make_room(n_envs, n_steps)
        self._shares = self._shared(n_envs)

    def act(self, t: int, draws: np.ndarray) -> None:
        """Fill step t of the rollout, whose observations and states are present, and write the states after step t.

        Args:
            t: the step; at step 0 the present weights are taken.
            draws: added to preferences before the largest is chosen (environment, action), float32.
        """
        if t == 0:
            self.take_weights()
            self._functions["prepare"](self.sizes, self.weight_buffer, self.packed[0])
            agent, columns = self.dimensions, self._columns()
            self._acting = [
                ((*agent, self.packed[0], workspace, *columns), begin, end) for workspace, begin, end in self._shares
            ]
        threads.share(lambda share: self._act_for(*share, t, draws), self._acting)

    def _act_for(self, columns: tuple[Any, ...], begin: int, end: int, t: int, draws: np.ndarray) -> None:
        """Let a range of environments act; results do not depend on the other environments of the batch."""
        self._functions["act"](*columns, t, begin, end, self.rollout.logits, draws)

    def _shared(self, n_envs: int) -> list[tuple[np.ndarray, int, int]]:
        """Ranges of environments per thread, each with the workspace of the thread."""
        products = n_envs * sum(part.numel() for part in self.weights)
        n = min(len(self.workspaces), threads.enough_for(products, n_envs))
        bounds = [n_envs * k // n for k in range(n + 1)]
        return list(zip(self.workspaces, bounds, bounds[1:], strict=False))

    def gradient(self, segments: Segments, goal: PPOSettings) -> tuple[Tensor, Tensor] | None:
        """The gradient with respect to all weights, overwritten by the next, and the numbers in `STATISTICS`.

        None if no step counts.

        Args:
            segments: sequences of the rollout.
            goal: coefficients of the objective.
        """
        self.take_weights()
        numbers = self._learn(Minibatches(segments, np.array([0, len(segments)])), goal, inf, NO_STEP)
        return (self.found_gradient(), numbers[0]) if len(numbers) else None

    def descend(self, parts: Minibatches, goal: PPOSettings, most_kl: float, max_norm: float) -> Tensor | None:
        """Take a gradient step per minibatch and return statistics (minibatch, `STATISTICS`).

        Returns None, without any step, if the optimiser has no compiled step or weights derive from other parameters.
        Minibatches without any step that counts are left out.

        Args:
            parts: sequences of the rollout, of each minibatch.
            goal: coefficients of the objective.
            most_kl: a KL divergence above which no step is taken any more.
            max_norm: length that longer gradients are shortened to.
        """
        adam = self.policy.compiled_step() if self.direct else None
        return None if adam is None else self._learn(parts, goal, most_kl, (*adam, max_norm))

    def _learn(self, parts: Minibatches, goal: PPOSettings, most_kl: float, adam: Sequence[object]) -> Tensor:
        """Compute an update, as in `gradient` and `descend`."""
        rollout = self.rollout
        own = (rollout.advantages, rollout.returns, rollout.counts, *goal, most_kl)
        n_envs = rollout.rewards.shape[1]
        numbers = self.update(self._functions["learn"], self._columns(), parts, n_envs, adam, own)
        numbers = numbers[numbers[:, -1] > 0]  # of steps that count
        policy_loss, value_loss, entropy_loss = numbers.T[:3]
        numbers[:, -1] = policy_loss + goal.ent_coef * entropy_loss + goal.vf_coef * value_loss
        return torch.from_numpy(numbers.astype(np.float32))

    def _columns(self) -> tuple[Any, ...]:
        """Arguments of `act` and `learn` that describe the rollout."""
        rollout, net, separate = self.rollout, self.policy.networks[0], len(self.policy.networks) == 2
        states = [[*rollout.states[k : k + net.n_states], None][:2] for k in (0, net.n_states)]
        critic = states[1] if separate else (None, None)
        discrete = rollout.actions.ndim == 2
        actions = (rollout.actions, None) if discrete else (None, rollout.actions)
        noise = (*rollout.noise, None)[:2]
        obs = rollout.obs.reshape(*rollout.values.shape, -1)
        return (obs, noise[0], *states[0], *actions, noise[1], *critic, rollout.values, rollout.log_probs)


class RolloutAgent:
    """Agent that fills a whole rollout with a copy of the policy's weights.

    Args:
        policy: the acting policy; actions are drawn.
        rollout: receives observations, states, actions, preferences and values.
        rng: source of the recurrent noise and of the actions.
        fused: does the same in a compiled pass; None: in NumPy.

    Attributes:
        actor: the copy of the weights.
    """

    def __init__(
        self, policy: RecurrentPolicy, rollout: Rollout, rng: np.random.Generator, fused: Fused | None = None
    ) -> None:
        self.rollout, self.actor, self._fused = rollout, policy.actor(), fused
        self._space, self._t = policy.action_space, 0
        n_steps, n_envs, _ = rollout.logits.shape
        rollout.noise = [network.draw_noise(n_steps, n_envs, rng) for network in policy.networks]
        self._draws = self.actor.draw(rollout.logits.shape, rng)

    def act(self, observations: np.ndarray, starts: np.ndarray) -> Act:
        """Take the next step; see `ngym_cli.agents.acting.Acting`."""
        rollout, t = self.rollout, self._t
        rollout.begin(t, observations, starts)
        if self._fused is None:
            self._act_in_numpy(t)
        else:
            self._fused.act(t, self._draws[t])
        self._t += 1
        return Act(within(self._space, rollout.actions[t]), rollout.values[t], logits=rollout.logits[t])

    def _act_in_numpy(self, t: int) -> None:
        """Take step t from the present observations and states."""
        rollout, actor = self.rollout, self.actor
        noise = [None if part is None else part[t] for part in rollout.noise]
        activity = actor.step(actor.features(rollout.obs[t]), rollout.state(t), rollout.state(t + 1), noise)
        rollout.logits[t], rollout.values[t] = logits, _ = actor.heads(activity)
        rollout.actions[t] = actor.choose(logits, self._draws[t])

    def finish(self, starts: np.ndarray) -> None:
        """Complete the rollout after the last step.

        Args:
            starts: whether states are reset before the step that follows the rollout, shape (environments,).
        """
        rollout = self.rollout
        rollout.mark_starts(rollout.n_steps, starts)
        if self._fused is None:
            rollout.log_probs[:] = self.actor.log_probs(rollout.logits, rollout.actions)
