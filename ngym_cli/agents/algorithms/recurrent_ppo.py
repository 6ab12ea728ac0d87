"""Proximal policy optimisation with a recurrent network (Schulman et al. 2017, arXiv:1707.06347).

An sb3-contrib `RecurrentPPO` whose rollout, buffer and update are its own:

1. `collect_rollouts`: every environment takes `n_steps` steps with a NumPy snapshot of the policy; the states before
   each step are kept.
2. Advantages by GAE; nothing flows over a step where the state resets.
3. `train`: the rollout is cut into whole sequences at resets (and every `bptt` steps), dealt into minibatches, and the
   clipped objective is maximised for `n_epochs` over each, one kernel call per minibatch.

On the CPU agents act and find their gradients in compiled passes instead (`compiled_learner`), with the same results;
agents that see images do not.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import inf
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import RecurrentPPO as ContribRecurrentPPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.utils import FloatSchedule, explained_variance
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ngym_cli.agents import acting
from ngym_cli.agents.algorithms import check_ranges
from ngym_cli.agents.algorithms.compiled_learner import CompiledLearner, RolloutAgent
from ngym_cli.agents.algorithms.objective import (
    KL,
    SEQUENCES,
    STATISTICS,
    BatchSplitter,
    LossCoefficients,
    Minibatch,
    Penalties,
    action_value_loss,
    clipped_loss,
    imitation_loss,
)
from ngym_cli.agents.algorithms.rollout import Experience, Rollout
from ngym_cli.agents.algorithms.sb3 import Learner
from ngym_cli.agents.device.acting import ActingStep, DeviceRolloutAgent
from ngym_cli.agents.device.rollout import DeviceRollout
from ngym_cli.agents.networks import passes
from ngym_cli.agents.networks.policy import RecurrentPolicy
from ngym_cli.agents.sequences import Sequences, cut, minibatches
from ngym_cli.environments.trial_batch import batch_of, trials_of

GradientAndStatistics = tuple[Tensor, Tensor] | None  #: gradient and statistics of a minibatch


def check_ground_truth(env: Any) -> None:
    """Refuse tasks without a correct action for each step.

    Args:
        env: a task with its wrappers, of which a copy begins a session.

    Raises:
        ValueError: if the task has no ground truth.
    """
    env = copy.deepcopy(env)
    env.reset(seed=0)
    if not env.unwrapped.session.this_trial.has_gt:
        name = type(env.unwrapped).__name__
        raise ValueError(f"imitation needs the correct action of each step, but {name} has no ground truth")


class RecurrentPPO(Learner, ContribRecurrentPPO):
    """Recurrent PPO over whole sequences.

    Args:
        policy: "RecurrentPolicy" or a subclass of it; `policy_kwargs` chooses the network.
        env: a vectorised environment; `dones` says where the recurrent state resets.
        bptt: longest stretch (steps) that gradients flow back through, separate from the length of the rollout;
            None for no limit within it.
        inter_trial_discount: discount of what follows a trial where the state carries over to it, in place of `gamma`.
            The rewards of coming trials are mostly noise to the actions of this one; to explore for their sake needs
            more.
        consolidation: strength with which weights that earlier environments depend on keep their values (see
            `Consolidation`).
        value_temperature: temperature of preferences that are returns of actions (see `action_value_loss`); 0 for the
            gradient of the policy.
        imitation: weight of the cross-entropy of the correct action at each step, in the states that the agent's own
            actions lead to (Ross et al. 2011, arXiv:1011.0686); 0: learn from reward alone.
        kwargs: penalties (see `Penalties`) and every other argument of sb3-contrib's RecurrentPPO. `batch_size` is the
            number of steps in a minibatch; segments are never split, so it is met on average.
    """

    policy: RecurrentPolicy
    rollout_buffer: Rollout  # type: ignore[assignment]
    observation_space: Any
    action_space: Any
    clip_range: Any
    clip_range_vf: Any
    not_saved = ("rng", "compiled", "split", "_step")
    _step: ActingStep | None = None  #: of learners on a device
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"RecurrentPolicy": RecurrentPolicy}

    def __init__(
        self,
        policy: str | type[RecurrentPolicy],
        env: VecEnv,
        *,
        bptt: int | None = None,
        inter_trial_discount: float = 0.0,
        consolidation: float = 0.0,
        value_temperature: float = 0.0,
        imitation: float = 0.0,
        **kwargs: Any,
    ) -> None:
        discounts = {name: kwargs[name] for name in ("gamma", "gae_lambda") if name in kwargs}
        check_ranges(bptt=bptt, inter_trial_discount=inter_trial_discount, **discounts)
        self.bptt, self.inter_trial_discount, self._strength = bptt, inter_trial_discount, consolidation
        self._penalty: list[float] = []
        if value_temperature and imitation:
            raise ValueError("value_temperature and imitation change the same preferences; choose one of them")
        self.value_temperature, self.imitation = value_temperature, imitation
        self.penalties = Penalties.among(kwargs)
        super().__init__(policy, env, **kwargs)

    def set_up(self) -> None:
        """Make the policy, the rollout and, for supported agents, the compiled pass."""
        self.set_up_learning_rate()
        self.make_policy()
        discrete = isinstance(self.action_space, spaces.Discrete)
        sample = np.zeros((self.n_envs, *self.observation_space.shape), self.observation_space.dtype)
        n_logits = self.policy.action_net.out_features
        sizes = self.n_steps, self.n_envs, sample, n_logits, discrete, self.policy.networks
        self.split = BatchSplitter()
        on_device = self.learns_on_device
        if on_device:
            rollout = DeviceRollout(*sizes, self.device, keep_states=self.bptt is not None)
            self.rollout_buffer, self._step = rollout, ActingStep(self.policy, rollout)
        else:
            self.rollout_buffer = Rollout(*sizes)
        for name in ("value_temperature", "imitation"):
            if getattr(self, name) and not discrete:
                raise ValueError(f"{name} needs actions to choose from, not continuous actions")
        if self.imitation:
            check_ground_truth(batch_of(self.env).envs[0])
        obstacle = passes.obstacle(self.policy)
        self.compiled = None if obstacle or on_device else CompiledLearner(self.policy, self.rollout_buffer)
        # Compiled passes know no other objective.
        changed = self.penalties.participation or self.value_temperature
        usual = type(self).loss is RecurrentPPO.loss and not changed
        self.in_torch = obstacle if usual else "the objective is not the usual one"
        self.clip_range = FloatSchedule(self.clip_range)
        if self.clip_range_vf is not None:
            self.clip_range_vf = FloatSchedule(self.clip_range_vf)

    @property
    def carried_states(self) -> list[np.ndarray]:
        """See `Learner`."""
        return self.rollout_buffer.carried_states

    @carried_states.setter
    def carried_states(self, states: Sequence[np.ndarray]) -> None:
        self.rollout_buffer.carried_states = states

    def collect_rollouts(  # type: ignore[override]
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: Rollout, n_rollout_steps: int
    ) -> bool:
        """Fill the rollout; False if the callback stopped the run."""
        self.policy.set_training_mode(False)
        rollout_buffer.carry_over()
        callback.on_rollout_start()
        agent = self._rollout_agent(rollout_buffer)
        steps = acting.rollout(env, agent, self.seen, self.starts)
        for t, (_, act, new_obs, rewards, dones, infos, _) in enumerate(islice(steps, n_rollout_steps)):
            actions = act.actions
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            rollout_buffer.rewards[t] = rewards
            rollout_buffer.ends[t] = getattr(env.unwrapped, "trial_ended", False)  # of batches made of trials
            if self.imitation:
                rollout_buffer.correct[t] = np.asarray(trials_of(env).ground_truth)
            if any(infos):  # our own batches fill infos only where an environment ended
                self._finish_episodes(agent, t, dones, infos)
            self.see(new_obs, dones)
        agent.finish(self.starts)
        last_values = agent.values(np.asarray(self.seen), n_rollout_steps)
        rollout_buffer.estimate_advantages(last_values, self.gamma, self.gae_lambda, self.inter_trial_discount)
        callback.on_rollout_end()
        return True

    def _rollout_agent(self, rollout: Rollout) -> RolloutAgent | DeviceRolloutAgent:
        """Agent that fills the rollout with the present weights."""
        if self._step is not None:
            return DeviceRolloutAgent(self.policy, self._step.rollout, self.rng, self._step)
        return RolloutAgent(self.policy, rollout, self.rng, self.compiled)

    def _finish_episodes(
        self, agent: RolloutAgent | DeviceRolloutAgent, t: int, dones: np.ndarray, infos: list[dict[str, Any]]
    ) -> None:
        """Episode statistics, and the value of the state that a time limit cut off added to the last reward."""
        ended = np.flatnonzero([bool(info) for info in infos])
        self.note_episodes([infos[i] for i in ended], dones[ended])
        cut_off = [
            i for i in ended.tolist() if infos[i].get("TimeLimit.truncated") and "terminal_observation" in infos[i]
        ]
        if cut_off:
            obs = np.stack([infos[i]["terminal_observation"] for i in cut_off])
            agent.rollout.rewards[t, cut_off] += self.gamma * agent.values(obs, t + 1, cut_off)

    def train(self) -> None:
        """Update the policy from the rollout: `n_epochs` passes over minibatches of whole sequences."""
        self.policy.set_training_mode(True)
        self.set_learning_rate()
        find = self.gradients() if self.compiled is None or self.in_torch else self._compiled_gradient
        statistics: list[Tensor] = []
        self._penalty = []
        for _ in range(self.n_epochs):
            if not self._epoch(self.minibatches(), find, statistics):
                break
            self.count_update()
        self._log(torch.cat(statistics).mean(0).tolist())

    @property
    def segments(self) -> Sequences:
        """Sequences of the rollout, cut at resets and every `bptt` steps."""
        return cut(self.rollout_buffer.starts[:-1], self.bptt)

    def minibatches(self) -> list[Sequences]:
        """Deal the sequences of the rollout at random into minibatches."""
        n = 1 if self.batch_size is None else max(1, round(self.rollout_buffer.rewards.size / self.batch_size))
        return minibatches(self.segments, n, self.rng)

    def _epoch(
        self, dealt: list[Sequences], find: Callable[[Sequences], GradientAndStatistics], statistics: list[Tensor]
    ) -> bool:
        """Learn from each minibatch once; False if the policy has moved too far from the policy that acted."""
        most_kl = inf if self.target_kl is None else 1.5 * self.target_kl
        adds = self.in_torch or self.adds_gradients or self.penalties.weighs_weights
        if self.compiled is not None and not adds:
            numbers = self.compiled.apply(dealt, self.coefficients(), most_kl, self.max_grad_norm)
            if numbers is not None:
                statistics.append(numbers)
                self._penalty += self.compiled.penalties.tolist() if self.penalties else []
                return most_kl == inf or not (numbers[:, KL] > most_kl).any()
        for minibatch in dealt:
            result = find(minibatch)
            if result is None:
                continue
            gradient, row = result
            statistics.append(row[None])
            if most_kl < inf and row[KL] > most_kl:
                return False
            if self.adds_gradients:
                gradient, penalty = self.add_gradients(gradient)
                self._penalty.append(penalty)
            self.policy.descend(gradient, self.max_grad_norm)
        return True

    def drawn_losses(self) -> Iterator[Tensor]:
        """See `Learner`: log-probabilities of the actions in the last rollout, which were drawn from the policy."""
        segments = self.segments
        chosen = segments[self.rng.permutation(len(segments))[:SEQUENCES]]
        experience, mean = self.rollout_buffer.experience(self.device), float(chosen.length.mean())
        for k in range(len(chosen)):
            for batch in experience.minibatches(chosen[k : k + 1], False):
                _, log_probs, _ = self.policy.evaluate_sequences(batch.sequences, batch.actions)
                del self.policy.activity
                yield -log_probs.sum() / mean**0.5

    def _compiled_gradient(self, segments: Sequences) -> GradientAndStatistics:
        """Gradient and statistics of a minibatch in compiled passes; None if no step counts."""
        assert self.compiled is not None
        result = self.compiled.gradient(segments, self.coefficients())
        if result is None or not self.penalties:
            return result
        gradient, penalty = self.penalties.add_for_weights(self.policy, result[0])
        self._penalty.append(penalty + float(self.compiled.penalties[0]))
        return gradient, result[1]

    def gradients(self) -> Callable[[Sequences], GradientAndStatistics]:
        """Return a function that computes gradient and statistics of a minibatch; None if no step counts."""
        experience = self.rollout_buffer.experience(self.device)
        return lambda segments: self.split(
            self.policy, len(segments), lambda n_parts: self._losses(experience, segments, n_parts)
        )

    def _losses(self, experience: Experience, segments: Sequences, n_parts: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Loss and statistics of each part of a minibatch."""
        steps, penalties = segments.n_steps, []
        for batch in experience.minibatches(segments, self.normalize_advantage, n_parts):
            with self.policy.remember_outputs():
                loss, numbers = self.loss(batch)
            if self.penalties:
                penalty = self.penalties(self.policy, self.policy.activity)
                penalties.append(penalty.item() * len(batch.weight) / steps)
                loss = loss + (penalty if n_parts == 1 else penalty * (len(batch.weight) / steps))
            del self.policy.activity  # and with it what automatic differentiation has kept
            yield loss, numbers
        if penalties:
            self._penalty.append(sum(penalties))

    def coefficients(self) -> LossCoefficients:
        """Coefficients of the objective at the present stage of training."""
        clip_range_vf = inf if self.clip_range_vf is None else self.clip_range_vf(self.left)
        weights = self.ent_coef, self.vf_coef, self.imitation, self.penalties.l1_rate, self.penalties.l2_rate
        return LossCoefficients(self.normalize_advantage, self.clip_range(self.left), clip_range_vf, *weights)

    def loss(self, batch: Minibatch) -> tuple[Tensor, Tensor]:
        """The clipped objective of a minibatch, and the numbers to log in the order of `STATISTICS`."""
        coefficients = self.coefficients()
        logits, values = self.policy.outputs(batch.sequences)
        if self.value_temperature:
            return action_value_loss(logits, values, batch, coefficients, self.value_temperature)
        loss, numbers = clipped_loss(self.policy, logits, values, batch, coefficients)
        return loss + self.imitation * imitation_loss(logits, batch) if self.imitation else loss, numbers

    def _log(self, means: list[float]) -> None:
        self.log_update(dict(zip(STATISTICS, means, strict=True)))
        rollout = self.rollout_buffer
        variance = explained_variance(rollout.values.ravel(), rollout.returns.ravel())
        self.logger.record("train/explained_variance", float(variance))
        self.logger.record("train/silent_units", rollout.silent_units())
        if isinstance(self.action_space, spaces.Box):
            self.logger.record("train/std", self.policy.log_std.exp().mean().item())
        self.logger.record("train/clip_range", self.clip_range(self.left))
        if self._penalty:
            self.logger.record("train/penalty_loss", float(np.mean(self._penalty)))
