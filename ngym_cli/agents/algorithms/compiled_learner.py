"""Policies in the compiled passes (`ngym_cli.agents.compiled`), for agents on the CPU whose observations are flat.

Other agents, for example with image observations or on a GPU, act and learn in torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import inf

import numpy as np
import torch
from torch import Tensor

from ngym_cli.agents.acting import Act, Agent, within
from ngym_cli.agents.algorithms.objective import LossCoefficients
from ngym_cli.agents.algorithms.rollout import Rollout
from ngym_cli.agents.compiled import CompiledAgent
from ngym_cli.agents.compiled.agent import Arguments
from ngym_cli.agents.compiled.network import ArrayState
from ngym_cli.agents.networks.passes import PolicyWeights
from ngym_cli.agents.networks.policy import RecurrentPolicy
from ngym_cli.agents.sequences import Sequences


class CompiledPolicy:
    """Policy whose weights and gradients travel to and from a `CompiledAgent`.

    Args:
        policy: a policy without an `obstacle`.
        has_values: whether values are learned as well as actions; if not, the critic's weights stay as they are.

    Attributes:
        agent: the compiled agent.
        direct: whether all weights are parameters, none computed or fixed.
    """

    def __init__(self, policy: RecurrentPolicy, has_values: bool) -> None:
        self.policy, self._ordered = policy, PolicyWeights(policy, has_values)
        parameters, self._weights = list(policy.parameters()), self._ordered.present()
        direct = {id(weight) for weight in self._weights}
        # Parameters from which the other weights are computed.
        self._underlying = [p for module in self._ordered.modules for p in module.parameters() if id(p) not in direct]
        ends = np.cumsum([0, *(p.numel() for p in parameters)])
        begins = dict(zip(map(id, parameters), ends, strict=False))
        places = [(begins[id(weight)], weight.numel()) for weight in self._weights if id(weight) in begins]
        self.direct = len(places) == len(self._weights)
        columns = np.array(places, np.int64).reshape(-1, 2).T.copy()
        self.agent = CompiledAgent(self._ordered.sizes, columns, int(ends[-1]))
        sizes = [weight.numel() for weight in self._weights]
        self._weight_views, self._gradient_views = (
            [view.view_as(weight) for view, weight in zip(buffer.split(sizes), self._weights, strict=True)]
            for buffer in map(torch.from_numpy, (self.agent.weights, self.agent.weight_gradient))
        )
        self._gradient = torch.from_numpy(self.agent.vector_gradient)
        slots = self._gradient.split([p.numel() for p in parameters])
        self._gradient_of = {id(p): slot.view_as(p) for p, slot in zip(parameters, slots, strict=True)}

    def copy_weights(self) -> None:
        """Copy the present weights into the compiled agent."""
        if self._underlying:
            self._weights = self._ordered.present()  # stay, for automatic differentiation of what was computed
        with torch.no_grad():
            for view, weight in zip(self._weight_views, self._weights, strict=True):
                view.copy_(weight)

    def gradient_of_parameters(self) -> Tensor:
        """The gradient with respect to all parameters of the policy, overwritten by the next."""
        for weight, slope in zip(self._weights, self._gradient_views, strict=True):
            if id(weight) in self._gradient_of:
                self._gradient_of[id(weight)].copy_(slope)
        if self._underlying:
            computed = [weight.grad_fn is not None for weight in self._weights]
            outputs, slopes = ([*compress(tensors, computed)] for tensors in (self._weights, self._gradient_views))
            gradients = torch.autograd.grad(outputs, self._underlying, slopes)
            for parameter, slope in zip(self._underlying, gradients, strict=True):
                self._gradient_of[id(parameter)].copy_(slope)
        return self._gradient


class CompiledLearner(CompiledPolicy):
    """Compiled policy that acts into a rollout and learns from sequences of the rollout by PPO.

    Args:
        policy: a policy without an `obstacle`.
        rollout: filled by `act`, read by `gradient`.

    Attributes:
        penalties: on the activity, in each minibatch of the last call that had steps that count.
    """

    def __init__(self, policy: RecurrentPolicy, rollout: Rollout) -> None:
        super().__init__(policy, has_values=True)
        self.rollout = rollout
        n_steps, self._n_envs, _ = rollout.logits.shape
        self.agent.reserve(self._n_envs, n_steps)

    def act(self, time: int, draws: np.ndarray) -> None:
        """Fill a step of the rollout, whose observations and states are present, and write the states after it.

        Args:
            time: the step; at step 0 the present weights are copied.
            draws: see `CompiledAgent.act`.
        """
        if time == 0:
            self.copy_weights()
            self.agent.prepare({**self._columns(), "logits": self.rollout.logits}, self._n_envs)
        self.agent.act(time, draws)

    def gradient(self, segments: Sequences, coefficients: LossCoefficients) -> tuple[Tensor, Tensor] | None:
        """The gradient with respect to all parameters, overwritten by the next, and the numbers in `STATISTICS`.

        None if no step counts.

        Args:
            segments: sequences of the rollout.
            coefficients: of the objective.
        """
        self.copy_weights()
        sums = self.agent.update([segments], self._arguments(coefficients, inf))
        statistics = self._statistics(sums, coefficients)
        return (self.gradient_of_parameters(), statistics[0]) if len(statistics) else None

    def apply(
        self, minibatches: Sequence[Sequences], coefficients: LossCoefficients, max_kl: float, max_norm: float
    ) -> Tensor | None:
        """Take a gradient step per minibatch and return statistics (minibatch, `STATISTICS`).

        Returns None, without any step, if the optimiser has no compiled step or weights derive from other parameters.
        Minibatches without any step that counts are left out.

        Args:
            minibatches: sequences of the rollout, of each minibatch.
            coefficients: of the objective.
            max_kl: a KL divergence above which no step is taken any more.
            max_norm: length that longer gradients are shortened to.
        """
        adam = self.policy.vector_optimizer.compiled(self.policy.optimizer) if self.direct else None
        if adam is None:
            return None
        arguments = self._arguments(coefficients, max_kl)
        sums = self.agent.update(minibatches, arguments, {**adam, "most": max_norm})
        return self._statistics(sums, coefficients)

    def _statistics(self, sums: np.ndarray, coefficients: LossCoefficients) -> Tensor:
        """Numbers in `STATISTICS` of the minibatches with steps that count."""
        *rows, self.penalties, _ = sums[sums[:, -1] > 0].T
        policy_loss, value_loss, entropy_loss = rows[:3]
        loss = policy_loss + coefficients.ent_coef * entropy_loss + coefficients.vf_coef * value_loss
        return torch.from_numpy(np.stack([*rows, loss], 1).astype(np.float32))

    def _arguments(self, coefficients: LossCoefficients, max_kl: float) -> Arguments:
        """Arrays that are learned from, and coefficients."""
        rollout = self.rollout
        targets = {"advantages": rollout.advantages, "returns": rollout.returns, "counts": rollout.counts}
        if coefficients.imitation:
            targets["correct"] = rollout.correct
        return {**self._columns(), **targets, **coefficients._asdict(), "most_kl": max_kl}

    def _columns(self) -> dict[str, object]:
        """Arrays that describe the rollout."""
        rollout, n_states = self.rollout, self.policy.networks[0].n_states
        states = [f"{network}{name}" for network in ("", "critic_") for name in ("h", "c")[:n_states]]
        return {
            "obs": rollout.obs.reshape(*rollout.values.shape, -1),
            "chosen" if rollout.actions.ndim == 2 else "moved": rollout.actions,
            "values": rollout.values,
            "old": rollout.log_probs,
            **dict(zip(states, rollout.states, strict=False)),
            **dict(zip(("noise", "critic_noise"), rollout.noise, strict=False)),
        }


class RolloutAgent(Agent):
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

    def initial_state(self, n_envs: int) -> ArrayState:
        """Return the states that the rollout begins with."""
        return self.rollout.state(0)

    def restart(self, state: ArrayState, starts: np.ndarray) -> ArrayState:
        """Record where states are reset, and reset these in the rollout."""
        self.rollout.mark_starts(self._t, starts)
        return state

    def act(self, observations: np.ndarray, state: ArrayState) -> tuple[Act, ArrayState]:
        """Take the next step of the rollout, whose states are views of its arrays; see `Agent`."""
        rollout, t = self.rollout, self._t
        rollout.obs[t] = observations
        if self.compiled is None:
            self._act_in_numpy(t, state)
        else:
            self.compiled.act(t, self._draws[t])
        self._t += 1
        act = Act(within(self._space, rollout.actions[t]), rollout.values[t], logits=rollout.logits[t])
        return act, rollout.state(self._t)

    def _act_in_numpy(self, t: int, state: ArrayState) -> None:
        """Take step t from the present observations and a state."""
        rollout, actor = self.rollout, self.actor
        noise = [None if draws is None else draws[t] for draws in rollout.noise]
        activity = actor.step(actor.features(rollout.obs[t]), state, rollout.state(t + 1), noise)
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
