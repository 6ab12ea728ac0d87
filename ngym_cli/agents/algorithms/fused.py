"""Acting and gradients in one compiled pass (`fused.c`), for the commonest agent.

That is one network of one layer with a linear read-out that chooses among actions. Others act in NumPy and learn by
automatic differentiation, which takes longer for its calls than for its arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import compress
from math import inf
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import Tensor

from neurogym import kernels
from ngym_cli.agents import threads
from ngym_cli.agents.algorithms.objective import STATISTICS
from ngym_cli.agents.algorithms.rollout import Rollout
from ngym_cli.agents.algorithms.segments import Segments
from ngym_cli.agents.networks import loops
from ngym_cli.agents.networks.policy import RecurrentPolicy

SUMS = len(STATISTICS) - 1  #: statistics that are sums over steps; the last is the loss


class Fused:
    """An agent that acts into a rollout and finds the gradient of the objective (see `Objective`) over parts of it.

    Args:
        policy: one for which `fits` holds.
        rollout: filled by `act`, read by `gradient`.
    """

    def __init__(self, policy: RecurrentPolicy, rollout: Rollout) -> None:
        """See the class."""
        self.policy, self.rollout, self.net = policy, rollout, policy.networks[0]
        names = ("sizes", "prepare", "act", "deal", "learn", "collect")
        self._functions: dict[str, Any] = {name: kernels.get(name) for name in names}
        parameters, self._taken = list(policy.parameters()), self._weights()
        self._gradient = torch.zeros(sum(part.numel() for part in parameters))
        parts = self._gradient.split([part.numel() for part in parameters])
        self._slots = {id(p): part.view_as(p) for p, part in zip(parameters, parts, strict=True)}
        self._slopes = [self._slots.get(id(part), torch.empty_like(part)) for part in self._taken]
        known = {id(part) for part in self._taken}
        self._behind = [part for part in parameters if id(part) not in known]  # that weights are computed from
        self._cell = loops.CELLS.index(self.net.cell)
        self._rates = self.net.alpha, self.net.noise_scale
        n_steps, n_envs, self._actions = rollout.logits.shape
        features, sizes = rollout.obs[0, 0].size, np.empty(4, np.int64)
        agent = (self._cell, features, self.net.hidden_size, self._actions, int(bool(self.net.noise_scale)))
        self._functions["sizes"](*agent, n_envs, n_steps, sizes)
        packed, sums, work, chunks = sizes.tolist()
        self._packed = np.empty(packed, np.float32)
        self._works = [np.empty(work, np.float32) for _ in range(min(threads.learning(), chunks))]  # one a thread
        self._pool = ThreadPoolExecutor(len(self._works)) if len(self._works) > 1 else None
        self._sums, self._numbers = np.empty((chunks, sums), np.float32), np.empty((chunks, SUMS))

    @staticmethod
    def fits(policy: RecurrentPolicy) -> bool:
        """Whether this policy can act and learn in compiled passes."""
        networks, space = policy.networks, policy.observation_space
        plain = isinstance(space, spaces.Box) and space.dtype in (np.float32, np.float64)
        plain = plain and policy.features_extractor_class is FlattenExtractor
        alone = len(networks) == 1 and networks[0].num_layers == 1 and not policy.net_arch
        alone = alone and networks[0].cell is not None
        choice = isinstance(policy.action_space, spaces.Discrete)
        on_cpu = loops.usable(next(policy.parameters()))
        return plain and alone and choice and on_cpu

    def act(self, t: int, draws: np.ndarray) -> None:
        """Fill step t of the rollout, whose observations and states are there, and the states after it.

        Args:
            t: the step; at step 0 the present weights are taken.
            draws: added to preferences before the largest is chosen (environment, action), float32.
        """
        if t == 0:
            self._take_weights()
            self._given = self._experience()
        rollout, (obs, noise, h, c, values, chosen, old) = self.rollout, self._given
        logits = rollout.logits.reshape(-1, self._actions)
        given = (self._packed, self._works[0], obs, noise, h, c, logits, values, chosen, old, draws)
        self._functions["act"](self._cell, *self._rates, t, *given)

    def gradient(
        self,
        segments: Segments,
        normalize_advantage: bool,
        clip: float,
        ent_coef: float,
        vf_coef: float,
        reach: float | None = None,
    ) -> tuple[Tensor, Tensor] | None:
        """The gradient with respect to all weights, overwritten by the next, and the numbers in `STATISTICS`.

        None if no step counts.

        Args:
            segments: sequences of the rollout.
            normalize_advantage: scale advantages to mean 0 and standard deviation 1 over the sequences.
            clip: as in `Objective`, like the two that follow.
            ent_coef: weight of the entropy.
            vf_coef: weight of the error of values.
            reach: how far values may go from the old ones; None for no limit.
        """
        self._take_weights()
        rollout, envs = self.rollout, self.rollout.rewards.shape[1]
        order = np.argsort(-segments.length, kind="stable")
        first, length = segments.first(envs)[order], segments.length[order]
        advantages, counts, scales = rollout.advantages.reshape(-1), rollout.counts.reshape(-1), np.empty(3)
        chunks = self._functions["deal"](envs, int(normalize_advantage), advantages, counts, first, length, scales)
        n, mean, scale = scales.tolist()
        if not n:
            return None
        columns = (*self._experience(), advantages, rollout.returns.reshape(-1), counts)
        weights = (clip, inf if reach is None else reach, ent_coef, vf_coef, mean, scale, 1 / n)
        self._learn(chunks, envs, (*columns, first, length, *weights))
        self._functions["collect"](self._cell, chunks, self._sums, *(part.numpy() for part in self._slopes))
        numbers = self._numbers[:chunks].sum(axis=0)
        if self._behind:
            computed = [part.grad_fn is not None for part in self._taken]
            outputs, slopes = ([*compress(parts, computed)] for parts in (self._taken, self._slopes))
            found = torch.autograd.grad(outputs, self._behind, slopes)
            for part, slope in zip(self._behind, found, strict=True):
                self._slots[id(part)].copy_(slope)
        policy_loss, value_loss, entropy_loss = numbers[:3]
        loss = policy_loss + ent_coef * entropy_loss + vf_coef * value_loss
        return self._gradient, torch.tensor([*numbers, loss], dtype=torch.float32)

    def _learn(self, chunks: int, envs: int, given: Sequence[Any]) -> None:
        """Fill the sums over each chunk of the sequences; threads take chunk after chunk."""
        todo = iter(range(chunks))

        def take_chunks(work: np.ndarray) -> None:
            for chunk in todo:
                agent = (self._cell, *self._rates, self._actions, envs, chunk, chunks, self._packed, work)
                self._functions["learn"](*agent, *given, self._sums[chunk], self._numbers[chunk])

        works = self._works[:chunks]
        others = [] if self._pool is None else [self._pool.submit(take_chunks, work) for work in works[1:]]
        take_chunks(works[0])
        for other in others:
            other.result()

    def _weights(self) -> list[Tensor]:
        """In the order of `fused.c`."""
        heads: tuple[Any, ...] = (self.policy.action_net, self.policy.value_net)
        return [*self.net.weights(0), *(part for head in heads for part in (head.weight, head.bias))]

    def _take_weights(self) -> None:
        """Let the compiled agent have the present weights."""
        if self._behind:
            self._taken = self._weights()  # kept, for they were computed for this
        self._functions["prepare"](self._cell, *(part.detach().numpy() for part in self._taken), self._packed)

    def _experience(self) -> Sequence[np.ndarray | None]:
        """Observations, noise, states before and after each step, values, actions and their log-probabilities."""
        rollout = self.rollout
        places, units = rollout.values.size, self.net.hidden_size
        noise = None if rollout.noise[0] is None else rollout.noise[0].reshape(places, units)
        h, c = (*(part.reshape(-1, units) for part in rollout.states), None)[:2]
        columns = (rollout.values, rollout.actions, rollout.log_probs)
        return rollout.obs.reshape(places, -1), noise, h, c, *(part.reshape(-1) for part in columns)
