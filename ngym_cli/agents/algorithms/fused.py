"""Acting and gradients in one compiled pass (`fused.c`), for the commonest agent.

That is one network of one layer with a linear read-out that chooses among actions. Others act in NumPy and learn by
automatic differentiation, which takes longer for its calls than for its arithmetic.
"""

from __future__ import annotations

import ctypes
from itertools import compress
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import Tensor

from neurogym import compiled
from ngym_cli.agents.algorithms.objective import STATISTICS
from ngym_cli.agents.algorithms.rollout import Rollout
from ngym_cli.agents.algorithms.segments import Segments
from ngym_cli.agents.networks import loops
from ngym_cli.agents.networks.policy import RecurrentPolicy

SOURCE = Path(__file__).with_name("fused.c")
STEPS, SIDE_BY_SIDE = 256, 8  #: steps, or sequences if those are more, taken at a time: their gates stay in the cache

NUMBERS = ("cell", "features", "units", "actions", "envs", "sequences", "steps", "side_by_side", "longest", "normalize")
COEFFICIENTS = ("alpha", "noise_scale", "clip", "reach", "ent_coef", "vf_coef")
SEQUENCES = ("first", "length")
ROLLOUT = ("obs", "noise", "h", "c", "logits", "values", "chosen", "old", "advantages", "returns", "counts")
_EIGHT = ctypes.c_void_p * 8


class _Agent(ctypes.Structure):
    """`struct agent` of `fused.c`, which says what the arrays are."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in NUMBERS),
        *((name, ctypes.c_float) for name in COEFFICIENTS),
        *((name, ctypes.c_void_p) for name in (*SEQUENCES, *ROLLOUT)),
        *((name, _EIGHT) for name in ("weight", "gradient")),
        *((name, ctypes.c_void_p) for name in ("room", "numbers")),
    )


class Fused:
    """An agent that acts into a rollout and finds the gradient of the objective (see `Objective`) over parts of it.

    Args:
        policy: one for which `fits` holds.
        rollout: filled by `act`, read by `gradient`.
    """

    def __init__(self, policy: RecurrentPolicy, rollout: Rollout) -> None:
        self.policy, self.rollout, self.net = policy, rollout, policy.networks[0]
        self._act, self._update = compiled.function(SOURCE, "act", 3), compiled.function(SOURCE, "update", 1)
        parameters, self._taken = list(policy.parameters()), self._weights()
        self._gradient = torch.zeros(sum(part.numel() for part in parameters))
        parts = self._gradient.split([part.numel() for part in parameters])
        self._slots = {id(p): part.view_as(p) for p, part in zip(parameters, parts, strict=True)}
        self._slopes = [self._slots.get(id(part), torch.empty_like(part)) for part in self._taken]
        known = {id(part) for part in self._taken}
        self._behind = [part for part in parameters if id(part) not in known]  # that weights are computed from
        self._numbers = torch.empty(len(STATISTICS), dtype=torch.double)
        n_steps, n_envs, actions = rollout.logits.shape
        self._agent = _Agent(
            cell=loops.CELLS.index(self.net.cell),
            features=rollout.obs[0, 0].size,
            units=self.net.hidden_size,
            actions=actions,
            envs=n_envs,
            steps=STEPS,
            side_by_side=SIDE_BY_SIDE,
            longest=n_steps,
            alpha=self.net.alpha,
            noise_scale=self.net.noise_scale,
            gradient=_EIGHT(*(part.data_ptr() for part in self._slopes)),
            numbers=self._numbers.data_ptr(),
        )
        states = dict(zip(("h", "c"), rollout.states, strict=False))
        columns = {"logits": rollout.logits, "values": rollout.values, "chosen": rollout.actions}
        columns |= {"old": rollout.log_probs, "advantages": rollout.advantages, "returns": rollout.returns}
        self._place = ctypes.addressof(self._agent)
        self._point(obs=rollout.obs, counts=rollout.counts, **states, **columns)
        self._room = np.empty(compiled.function(SOURCE, "room", 1)(self._place), np.float32)
        self._point(room=self._room)

    @staticmethod
    def fits(policy: RecurrentPolicy) -> bool:
        """Whether this policy can act and learn in compiled passes."""
        networks, space = policy.networks, policy.observation_space
        plain = isinstance(space, spaces.Box) and space.dtype in (np.float32, np.float64)
        plain = plain and policy.features_extractor_class is FlattenExtractor
        alone = len(networks) == 1 and networks[0].num_layers == 1 and not policy.net_arch
        choice = isinstance(policy.action_space, spaces.Discrete)
        on_cpu = loops.usable(next(policy.parameters()))
        return plain and alone and choice and on_cpu and compiled.library(SOURCE) is not None

    def act(self, t: int, draws: np.ndarray) -> None:
        """Fill step t of the rollout, whose observations and states are there, and the states after it.

        Args:
            t: the step; at step 0 the present weights are taken.
            draws: added to preferences before the largest is chosen (environment, action), float32.
        """
        if t == 0:
            self._take_weights()
        self._act(self._place, t, draws.ctypes.data)

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
        agent = self._agent
        self._take_weights()
        order = np.argsort(-segments.length, kind="stable")
        first, length = segments.first(agent.envs)[order], segments.length[order]
        self._point(first=first, length=length)
        agent.sequences, agent.normalize, agent.clip = len(segments), normalize_advantage, clip
        agent.ent_coef, agent.vf_coef, agent.reach = ent_coef, vf_coef, inf if reach is None else reach
        if not self._update(self._place):
            return None
        if self._behind:
            computed = [part.grad_fn is not None for part in self._taken]
            outputs, slopes = ([*compress(parts, computed)] for parts in (self._taken, self._slopes))
            found = torch.autograd.grad(outputs, self._behind, slopes)
            for part, slope in zip(self._behind, found, strict=True):
                self._slots[id(part)].copy_(slope)
        return self._gradient, self._numbers.float()

    def _weights(self) -> list[Tensor]:
        """In the order of `fused.c`."""
        heads: tuple[Any, ...] = (self.policy.action_net, self.policy.value_net)
        return [*self.net.weights(0), *(part for head in heads for part in (head.weight, head.bias))]

    def _take_weights(self) -> None:
        """Let the compiled agent see the present weights, and the noise of the present rollout."""
        if self._behind:
            self._taken = self._weights()  # kept, for they were computed for this
        self._agent.weight = _EIGHT(*(part.data_ptr() for part in self._taken))
        noise = self.rollout.noise[0]
        if noise is not None:
            self._point(noise=noise)

    def _point(self, **arrays: np.ndarray) -> None:
        for name, array in arrays.items():
            setattr(self._agent, name, array.ctypes.data)
