"""Acting on a device: one step of all environments in a few calls, or in a single replayed CUDA graph."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from ngym_cli.agents.acting import Act, Agent, exploration_draws, within
from ngym_cli.agents.device.rollout import DeviceRollout, normal_draws
from ngym_cli.agents.networks.base import RecurrentNetwork
from ngym_cli.agents.networks.policy import RecurrentPolicy

#: Set to 0 to act without CUDA graphs.
GRAPHS = "NGYM_CUDA_GRAPHS"
WARM_UP_STEPS = 3  #: steps before a graph is captured, in which libraries allocate

logger = logging.getLogger("ngym_cli")


class ActingStep:
    """Step of a policy in buffers that stay where they are, so that it can be captured as a CUDA graph.

    Args:
        policy: the acting policy.
        rollout: its present states are changed in place.

    Attributes:
        features: inputs of the networks (environment, feature).
        draws: what makes actions of preferences or means (environment, action).
        noise: recurrent noise of each network (environment, layer, unit), or None.
        logits, values, actions, log_probs: results (environment, ...).
    """

    def __init__(self, policy: RecurrentPolicy, rollout: DeviceRollout) -> None:
        self.policy, self.rollout, device = policy, rollout, rollout.device
        n_envs, n_logits = rollout.logits.shape[1:]
        self.discrete = isinstance(policy.action_space, spaces.Discrete)
        self.features = torch.zeros(n_envs, policy.networks[0].input_size, device=device)
        self.draws = torch.zeros(n_envs, n_logits, device=device)
        self.noise = [
            torch.zeros(n_envs, network.num_layers, network.hidden_size, device=device) if network.noise else None
            for network in policy.networks
        ]
        self.logits, self.values = torch.zeros(n_envs, n_logits, device=device), torch.zeros(n_envs, device=device)
        self.actions = torch.zeros(n_envs, dtype=torch.int64, device=device) if self.discrete else self.logits.clone()
        self.log_probs = torch.zeros(n_envs, device=device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._steps, self._weights = 0, list[int]()
        self._graphs_wanted = device.type == "cuda" and os.environ.get(GRAPHS, "1") != "0"

    def __call__(self) -> None:
        """Act: fill the results, and change the present states into those after the step."""
        weights = [parameter.data_ptr() for parameter in self.policy.parameters()]
        if weights != self._weights:  # a graph reads weights where they were
            self._graph, self._weights = None, weights
        if self._graph is not None:
            self._graph.replay()
            return
        self._steps += 1
        if self._graphs_wanted and self._steps > WARM_UP_STEPS:
            self._capture()
        if self._graph is not None:
            self._graph.replay()
        else:
            self._compute()

    def _capture(self) -> None:
        """Capture the step; without graphs from now on if that fails."""
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                self._compute()
        except RuntimeError as error:
            self._graphs_wanted = False
            logger.warning("acting without CUDA graphs: %s", str(error).splitlines()[0])
            return
        self._graph = graph

    @torch.no_grad()
    def _compute(self) -> None:
        state = tuple(self.rollout.present)
        # Layer by layer: the functions of torch for a whole sequence have more calls around a step.
        activity, after = self.policy.run_networks(RecurrentNetwork.one_step, self.features, state, self.noise)
        logits, values = self.policy.heads(activity)
        if self.discrete:
            self.actions.copy_((logits + self.draws).argmax(-1))
        else:
            self.actions.copy_(logits + self.policy.log_std.exp() * self.draws)
        self.logits.copy_(logits)
        self.values.copy_(values)
        self.log_probs.copy_(self.policy.log_prob_and_entropy(logits, self.actions)[0])
        for present, new in zip(state, after, strict=True):
            present.copy_(new)


class DeviceRolloutAgent(Agent):
    """Agent that fills a whole rollout on a device.

    Args:
        policy: the acting policy; actions are drawn.
        rollout: receives all that is learned from.
        rng: source of the actions, and of the seed of recurrent noise.
        step: of this policy and rollout.
    """

    def __init__(
        self, policy: RecurrentPolicy, rollout: DeviceRollout, rng: np.random.Generator, step: ActingStep
    ) -> None:
        self.policy, self.rollout, self._step, self._t = policy, rollout, step, 0
        device = rollout.device
        shape = rollout.logits.shape
        for k, network in enumerate(policy.networks):
            sizes = (*shape[:2], network.num_layers, network.hidden_size)
            rollout.noise_on_device[k] = normal_draws(sizes, device, rng) if network.noise else None
        self._draws = rollout.upload(exploration_draws(step.discrete, shape, rng))
        kind, size = step.actions.dtype, step.actions.shape
        self._actions = torch.zeros(rollout.n_steps, *size, dtype=kind, pin_memory=device.type == "cuda")
        self._values, self._log_probs = (torch.zeros(shape[:2], device=device) for _ in range(2))
        self._image_features: list[Tensor] = []

    def restart(self, state: tuple[()], starts: np.ndarray) -> tuple[()]:
        """Record where states are reset, and reset these in the rollout, which has them on the device."""
        self.rollout.mark_starts(self._t, starts)
        return state

    def act(self, observations: np.ndarray, state: tuple[()]) -> tuple[Act, tuple[()]]:
        """Take the next step; see `Agent`."""
        rollout, step, t = self.rollout, self._step, self._t
        step.features.copy_(self._record(t, observations))
        step.draws.copy_(self._draws[t])
        for buffer, draws in zip(step.noise, rollout.noise_on_device, strict=True):
            if buffer is not None and draws is not None:
                buffer.copy_(draws[t])
        step()
        self._actions[t].copy_(step.actions, non_blocking=True)
        finished = torch.cuda.Event() if rollout.device.type == "cuda" else None
        if finished is not None:
            finished.record()
        self._values[t].copy_(step.values)  # while the environments are stepped
        self._log_probs[t].copy_(step.log_probs)
        rollout.count_active(t)
        if finished is not None:
            finished.synchronize()
        rollout.actions[t] = self._actions[t].numpy()
        self._t += 1
        return Act(within(self.policy.action_space, rollout.actions[t])), state

    def values(self, obs: np.ndarray, time: int, envs: Sequence[int] | None = None) -> np.ndarray:
        """Values of observations before the present step; see `RolloutAgent.values`."""
        with torch.no_grad():
            state = tuple(self.rollout.present)
            if envs is not None:
                chosen = torch.as_tensor(envs, device=self.rollout.device)
                state = tuple(array.index_select(1, chosen) for array in state)
            features = self._features(self.rollout.upload(_single(obs)))
            activity, _ = self.policy.run_networks(RecurrentNetwork.one_step, features, state)
            return self.policy.heads(activity)[1].cpu().numpy()

    def finish(self, starts: np.ndarray) -> None:
        """Complete the rollout after the last step; see `RolloutAgent.finish`."""
        rollout = self.rollout
        rollout.mark_starts(rollout.n_steps, starts)
        rollout.values[:] = self._values.cpu().numpy()
        rollout.log_probs[:] = self._log_probs.cpu().numpy()

    def _record(self, t: int, obs: np.ndarray) -> Tensor:
        """Record the observations of step t and return the inputs of the networks."""
        rollout = self.rollout
        if rollout.images is None:
            rollout.obs_on_device[t].copy_(rollout.upload(_single(obs)))
            return self._features(rollout.obs_on_device[t])
        numbers, new = rollout.images.add(obs)
        if len(new):
            self._image_features.append(self._features(rollout.upload(new)))
        self._image_features = [torch.cat(self._image_features)]
        rollout.obs_on_device[t].copy_(rollout.upload(numbers))
        return self._image_features[0].index_select(0, rollout.obs_on_device[t])

    @torch.no_grad()
    def _features(self, obs: Tensor) -> Tensor:
        return self.policy.features(obs)


def _single(obs: np.ndarray) -> np.ndarray:
    """Observations in single precision."""
    return obs.astype(np.float32) if obs.dtype == np.float64 else obs
