"""Supervised learning by backpropagation through time, with the interface of the reinforcement learners.

A round is `n_updates` updates followed by a look at behaviour:

1. `behave`: the network acts for `n_steps` steps in every environment, always the action it prefers. Nothing is learned
   from this; it gives the trial table, the curves and the figures that every run has.
2. `train`: each update takes `batch_size * seq_len` steps of fresh trials, in which an agent that follows ground truth
   is seen, and descends on the loss between what the network prefers and what is right.

Where the state resets at each trial, a batch holds whole trials, laid side by side from their first steps on. Where it
never resets, a batch holds the next `seq_len` steps of `batch_size` sessions, and the state carries over. Where it
resets with each session or block, a sequence ends before the next, which begins with the next batch and a zero state.

Steps are counted as they are learned from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.utils import FloatSchedule
from stable_baselines3.common.vec_env import VecEnv, VecTransposeImage
from torch import Tensor

from ngym_cli.agents import acting
from ngym_cli.agents.algorithms import check_ranges
from ngym_cli.agents.algorithms.objective import SEQUENCES, BatchSplitter, Penalties, silent_units
from ngym_cli.agents.algorithms.sb3 import Learner
from ngym_cli.agents.device.rollout import normal_draws
from ngym_cli.agents.networks import passes
from ngym_cli.agents.networks.base import State, to_device
from ngym_cli.agents.networks.images import distinct
from ngym_cli.agents.networks.policy import RecurrentPolicy
from ngym_cli.agents.sequences import Sequences
from ngym_cli.agents.supervised.batches import BatchSampler
from ngym_cli.agents.supervised.material import TrialBuffer, check_weights, row_weights
from ngym_cli.agents.supervised.objective import SupervisedKernel, Values, read_out
from ngym_cli.agents.trained import agent_for
from ngym_cli.environments.trial_batch import trials_of

if TYPE_CHECKING:
    from stable_baselines3.common.type_aliases import MaybeCallback

    from neurogym.trials import Trials

#: Smallest standard deviation of continuous actions, in the units of the action.
SMALLEST_STD = 0.05


class Supervised(Learner):
    """Minimises the loss of the right action, given at every step.

    Args:
        policy: "RecurrentPolicy" or a subclass of it; `policy_kwargs` chooses the network.
        env: a batch of trial-based environments (`TrialVecEnv`).
        learning_rate: of Adam at the beginning.
        final_rate: fraction of it that is left at the end; it falls linearly.
        batch_size: sequences in a batch; with `seq_len`, the steps of an update.
        seq_len: steps of each.
        n_updates: updates between two evaluations of behaviour.
        n_steps: steps of behaviour in each environment at each look.
        max_grad_norm: gradients longer than this are shortened to it.
        answer_share: fraction of each trial's weight on the steps in which an answer is due; None weighs steps alike.
        loss_weight: weight of the steps of named periods, in place of `answer_share` (others weigh 1).
        task_weight: how often the trials of named tasks are drawn, for environments of several tasks (others 1).
        draw: whether the task is drawn for each "trial" or each "batch".
        consolidation: strength with which weights that earlier tasks depend on keep their values (see `Consolidation`).
        kwargs: penalties (see `Penalties`), and policy_kwargs, seed, device and verbose as in Stable-Baselines3.
    """

    policy: RecurrentPolicy
    env: Any
    action_space: Any
    learning_rate: float
    _share = 1.0  # of the steps of a batch, in the part of it that a loss is computed of
    not_saved = (
        *("rng", "streams", "lr_schedule", "acting_state", "carried_state"),
        *("read_out", "compiled", "split", "_batches"),
    )
    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"RecurrentPolicy": RecurrentPolicy}

    def __init__(
        self,
        policy: str | type[RecurrentPolicy],
        env: VecEnv,
        learning_rate: float = 1e-2,
        final_rate: float = 0.01,
        batch_size: int = 16,
        seq_len: int = 100,
        n_updates: int = 20,
        n_steps: int = 32,
        max_grad_norm: float = 1.0,
        answer_share: float | None = 0.5,
        loss_weight: Mapping[str, float] | None = None,
        task_weight: Mapping[str, float] | None = None,
        draw: str = "trial",
        consolidation: float = 0.0,
        _init_setup_model: bool = True,
        **kwargs: Any,
    ) -> None:
        check_ranges(batch_size=batch_size, seq_len=seq_len, n_updates=n_updates, answer_share=answer_share, draw=draw)
        check_weights("period", loss_weight or {})
        self.batch_size, self.seq_len, self.n_updates, self.n_steps = batch_size, seq_len, n_updates, n_steps
        self.max_grad_norm, self.final_rate = max_grad_norm, final_rate
        self.answer_share, self.loss_weight = answer_share, dict(loss_weight or {})
        self.task_weight, self.draw = dict(task_weight or {}), draw
        self._strength = consolidation
        self.penalties = Penalties.among(kwargs)
        spaces_ = (spaces.Discrete, spaces.Box)
        super().__init__(policy, env, learning_rate, support_multi_env=True, supported_action_spaces=spaces_, **kwargs)
        if _init_setup_model:
            self.set_up()

    # -- building -----------------------------------------------------------------------------------------------------

    def set_up(self) -> None:
        """Make the policy and the streams of trials."""
        if self.env is None:
            raise ValueError("supervised learning makes trials with the environments; load the model with env=...")
        start, end = float(self.learning_rate), float(self.learning_rate) * self.final_rate
        self.lr_schedule = FloatSchedule(lambda left: end + (start - end) * left)
        self.make_policy()
        self.read_out = read_out(self.policy)
        self.acting_state = self.policy.initial_state(self.n_envs)
        self.carried = trials_of(self.env).reset_state != "trial"
        self._begin_streams()
        unusual = self.penalties.participation or type(self).loss is not Supervised.loss
        obstacle = passes.obstacle(self.policy, has_values=False)
        self.in_torch = "the objective is not the usual one" if unusual else obstacle
        rates = self.penalties.l1_rate, self.penalties.l2_rate
        self.split = BatchSplitter()
        in_torch = self.in_torch or self.learns_on_device
        self.compiled = None if in_torch else SupervisedKernel(self.policy, rates)

    def weigh(self, trials: Trials, keep: np.ndarray | None) -> np.ndarray:
        """Weight of each row of a block of trials in the loss."""
        return row_weights(trials, keep, self.answer_share, self.loss_weight)

    def switch_env(self) -> None:
        """Switch to the trials of replaced environments; the weights are kept."""
        self._begin_streams()

    def _begin_streams(self) -> None:
        """Begin new sessions of trials, from zero states where states are carried over."""
        size, tasks = (self.batch_size, self.seq_len), (self.task_weight, self.draw)
        self._batches = BatchSampler(self.env, self.rng, *size, self.weigh, *tasks)
        self.streams = self._batches.streams
        self.carried_state = self.policy.networks[0].initial_state(self.batch_size) if self.carried else None

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(
        self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "Supervised",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Supervised:
        """Learn from `total_timesteps` steps; arguments as in Stable-Baselines3."""
        total, callback = self.begin_learning(total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar)
        callback.on_training_start(locals(), globals())
        while self.behave(self.env, callback) and self.num_timesteps < total:
            self.train(total)
            self.logger.dump(self.num_timesteps)
        callback.on_training_end()
        return self

    def behave(self, env: VecEnv, callback: BaseCallback) -> bool:
        """Act with the present weights; False if the callback stopped the run."""
        agent = agent_for(self.policy, self.rng)
        callback.on_rollout_start()
        activity = list[np.ndarray]()
        for step in islice(acting.rollout(env, agent, self.seen, self.starts, self.acting_state), self.n_steps):
            self.acting_state = step.state
            activity.append(np.asarray(step.act.activity))
            self.see(step.observations, step.starts)
            callback.update_locals(locals())
            if not callback.on_step():
                return False
        callback.on_rollout_end()
        self.logger.record("train/silent_units", silent_units(np.stack(activity)))
        return True

    def train(self, total: int) -> None:
        """`n_updates` updates, fewer at the end of training."""
        self.policy.set_training_mode(True)
        seen = []
        for k in range(self.n_updates):
            self.note_progress(total)
            self.set_learning_rate()
            material, sequences = self.batch()
            left = total - self.num_timesteps - sequences.n_steps
            if self.learns_on_device and k + 1 < self.n_updates and left > 0:
                self._batches.make_ahead()
            gradient, numbers = self.gradient(material, sequences)
            self.policy.descend(gradient, self.max_grad_norm)
            seen.append(numbers)
            self.count_update()
            self.num_timesteps += sequences.n_steps
            if self.num_timesteps >= total:
                break
        means = torch.stack(seen).mean(0).tolist()
        if isinstance(self.read_out, Values):
            self._match_spread(-means[-1])
        self.log_update(dict(zip(self.read_out.names, means, strict=True)))

    @torch.no_grad()
    def _match_spread(self, squared_error: float) -> None:
        """Set the policy's spread to the spread of the errors, so that drawn actions are near the correct actions."""
        variance = max(squared_error / self.policy.log_std.numel(), SMALLEST_STD**2)
        self.policy.log_std.fill_(0.5 * float(np.log(variance)))

    def batch(self) -> tuple[TrialBuffer, Sequences]:
        """Return fresh trials and sequences; the first step of all sessions comes before the second."""
        material, sequences, begins = self._batches.sample()
        if self.carried_state is not None:
            reset = torch.from_numpy(begins).to(self.device)
            for state in self.carried_state:
                state[:, reset] = 0
        return material, sequences

    def gradient(self, material: TrialBuffer, sequences: Sequences) -> tuple[Tensor, Tensor]:
        """The gradient with respect to all weights, and the numbers named by the read-out."""
        material = replace(material, weight=material.weight / material.total_weight)
        noise = self._draw_noise(material)
        if self.compiled is None:
            state = self.carried_state
            result = self.split(
                self.policy, len(sequences), lambda n_parts: self._losses(material, sequences, noise, state, n_parts)
            )
            assert result is not None  # a batch has sequences
            gradient, numbers = result
        else:
            draws = None if noise is None else noise.numpy()
            gradient, sums = self.compiled.gradient(material, sequences, self.carried_state, draws)
            total, per_step, penalty, right = sums
            gradient, on_weights = self.penalties.add_for_weights(self.policy, gradient)
            total, penalty = total + on_weights, penalty + on_weights
            due = max(1, int(np.count_nonzero(material.due)))
            numbers = torch.tensor([total, per_step, penalty, right / due])
        if self.adds_gradients:
            gradient, penalty = self.add_gradients(gradient)
            numbers = numbers + torch.tensor([penalty, 0, penalty, 0]).to(numbers)
        return gradient, numbers

    def _losses(
        self, material: TrialBuffer, sequences: Sequences, noise: Tensor | None, state: State | None, n_parts: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Loss and numbers of each part of a batch, from these states."""
        self.carried_state = state
        if n_parts == 1:
            yield self.loss(material, sequences, noise)
            return
        n_due = max(1, int(np.count_nonzero(material.due)))
        for k in range(n_parts):
            chosen = sequences[slice(k, None, n_parts)]
            rows = chosen.pack().steps
            self._share = share = len(rows) / sequences.n_steps
            try:
                loss, numbers = self.loss(material, chosen, noise)
            finally:
                self._share = 1.0
            due = int(np.count_nonzero(material.due[rows])) / n_due
            yield loss, numbers * torch.tensor([1.0, share, 1.0, due]).to(numbers)

    def loss(self, material: TrialBuffer, sequences: Sequences, noise: Tensor | None) -> tuple[Tensor, Tensor]:
        """Loss to be minimised by automatic differentiation, and the numbers named by the read-out.

        Args:
            material: weights of steps sum to 1.
            sequences: of the material.
            noise: standard normal draws (time, layer, session, unit).
        """
        layout = sequences.pack()
        rows = layout.steps
        order = self._tensor(layout.first)  # of sessions, where their states are carried
        before = self.carried_state and tuple(state[:, order] for state in self.carried_state)
        rates, after = self._rates(material.ob, rows, layout.counts.tolist(), noise, before)
        if self.carried_state is not None:
            states = zip(self.carried_state, after, strict=True)
            self.carried_state = tuple(old.index_copy(1, order, new.detach()) for old, new in states)
        outputs = self.read_out.outputs(rates)
        targets = self._tensor(material.gt[rows])
        per_step = self.read_out.losses(outputs, targets)
        total = per_step.dot(self._tensor(material.weight[rows]))
        penalties = self._share * self.penalties(self.policy, rates)  # means over steps, or of weights
        total = total + penalties
        with torch.no_grad():
            due = self._tensor(material.due[rows])
            right = self.read_out.right(outputs, targets)[due].sum() / due.sum().clamp_min(1)
            numbers = torch.stack([total.detach(), per_step.mean(), penalties.detach(), right])
        return total, numbers

    def drawn_losses(self) -> Iterator[Tensor]:
        """See `Learner`: the mean square of the gradients is the curvature of the loss where answers are learned."""
        n_sequences = 0
        while n_sequences < SEQUENCES:
            material, sequences = self.batch()
            weight = np.sqrt(material.weight * (len(sequences) / material.total_weight))
            noise = self._draw_noise(material)
            for k, first in enumerate(sequences.first):
                rows = first + sequences.stride * np.arange(sequences.length[k])
                carry = self.carried_state and tuple(states[:, k : k + 1] for states in self.carried_state)
                rates, _ = self._rates(material.ob, rows, [1] * len(rows), noise, carry)
                outputs = self.read_out.outputs(rates)
                answers = self.read_out.drawn(outputs.detach(), self.rng)
                yield self.read_out.losses(outputs, answers).dot(self._tensor(weight[rows]))
            n_sequences += len(sequences)
            if self.carried:
                self.gradient(material, sequences)  # sessions continue from the states that follow

    def _rates(
        self, ob: np.ndarray, rows: np.ndarray, counts: list[int], noise: Tensor | None, state: State | None
    ) -> tuple[Tensor, State]:
        """Activity of the acting network (step, unit) over packed sequences, and the states that follow if carried."""
        network = self.policy.networks[0]
        draws = None if noise is None else noise.swapaxes(1, 2).flatten(0, 1)[self._tensor(rows)]
        ob = ob.take(rows, axis=0)
        if isinstance(self.env, VecTransposeImage):
            ob = np.moveaxis(ob, -1, 1)
        begin = network.initial_state(counts[0]) if state is None else state
        with self.policy.autocast():
            if self.learns_on_device and is_image_space(self.policy.observation_space):
                first, index = distinct(ob)
                features = self.policy.features(self._tensor(ob[first]))[self._tensor(index)]
            else:
                features = self.policy.features(self._tensor(ob))
            rates, after = network.sequence(features, counts, begin, draws)
        return rates.to(begin[0].dtype), tuple(array.to(begin[0].dtype) for array in after)

    def _draw_noise(self, material: TrialBuffer) -> Tensor | None:
        """Standard normal draws (time, layer, session, unit), on a device made there; None without recurrent noise."""
        network, n = self.policy.networks[0], self.batch_size if self.carried else 1
        if self.learns_on_device and network.noise:
            shape = (len(material) // n, n, network.num_layers, network.hidden_size)
            return normal_draws(shape, self.device, self.rng).swapaxes(1, 2)
        draws = network.draw_noise(len(material) // n, n, self.rng)
        return None if draws is None else torch.from_numpy(draws)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return to_device(array, self.device)

    # -- continuing ---------------------------------------------------------------------------------------------------

    def own_state(self) -> dict[str, object]:
        """State that training depends on, besides the common state of all algorithms: plain data and arrays."""
        carry = [] if self.carried_state is None else [state.cpu().numpy() for state in self.carried_state]
        streams = [stream.state() for stream in self.streams]
        return {"acting": list(self.acting_state), "carry": carry, "streams": streams}

    def set_own_state(self, state: dict[str, Any]) -> None:
        """Restore the result of `own_state`."""
        self.acting_state = tuple(np.array(array) for array in state["acting"])
        if self.carried_state is not None:
            self.carried_state = tuple(self._tensor(np.array(array)) for array in state["carry"])
        for stream, saved in zip(self.streams, state["streams"], strict=True):
            stream.set_state(saved)
