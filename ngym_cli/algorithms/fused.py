"""The gradient of a minibatch in one compiled pass (`update.c`), for the commonest agent.

That is one network of one layer with a linear read-out that chooses among actions. Where it cannot be had the gradient
comes from automatic differentiation, which takes longer for its calls than for its arithmetic.
"""

from __future__ import annotations

import ctypes
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import Tensor

from neurogym import compiled
from ngym_cli.algorithms.objective import STATISTICS
from ngym_cli.algorithms.rollout import Rollout
from ngym_cli.algorithms.segments import Segments
from ngym_cli.networks import loops
from ngym_cli.networks.policy import RecurrentPolicy

SOURCE = Path(__file__).with_name("update.c")
STEPS = 1024  #: taken at a time: their gates stay in the cache

NUMBERS = ("cell", "features", "units", "actions", "envs", "sequences", "steps", "normalize")
COEFFICIENTS = ("alpha", "noise_scale", "clip", "reach", "ent_coef", "vf_coef")
ROLLOUT = ("obs", "h", "c", "noise", "chosen", "old", "advantages", "returns", "values", "counts")
WEIGHTS = ("weight", "heads", "bias")
FILLED = ("room", "d_weight", "d_heads", "d_bias", "numbers")


class _Update(ctypes.Structure):
    """`struct update` of `update.c`, which says what the arrays are."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in NUMBERS),
        *((name, ctypes.c_float) for name in COEFFICIENTS),
        *((name, ctypes.c_void_p) for name in ("first", "length", *ROLLOUT, *WEIGHTS, *FILLED)),
    )


class Fused:
    """Gradients of the objective (see `Objective`) over sequences of a rollout.

    Args:
        policy: one for which `fits` holds.
        rollout: what its environments did; read anew with each gradient.
    """

    def __init__(self, policy: RecurrentPolicy, rollout: Rollout) -> None:
        """See the class."""
        self.policy, self.net, self.n_envs = policy, policy.networks[0], rollout.rewards.shape[1]
        self.weights = list(policy.parameters())
        library = compiled.library(SOURCE)
        assert library is not None
        self._library = library
        net, (columns, features) = self.net, (rollout.logits.shape[-1] + 1, rollout.obs[0, 0].size)
        depth, wide = net.hidden_size + features + 1, loops.GATES[net.cell] * net.hidden_size
        self._filled = {
            "d_weight": torch.empty(depth, wide),
            "d_heads": torch.empty(columns, net.hidden_size),
            "d_bias": torch.empty(columns),
            "numbers": torch.empty(len(STATISTICS), dtype=torch.double),
        }
        self._update = _Update(
            cell=loops.CELLS.index(net.cell),
            features=features,
            units=net.hidden_size,
            actions=columns - 1,
            envs=self.n_envs,
            steps=max(STEPS, rollout.n_steps),
            alpha=net.alpha,
            noise_scale=net.noise_scale,
            noise=1 if net.noise else None,
            c=1 if net.n_states == 2 else None,
            **{name: part.data_ptr() for name, part in self._filled.items()},
        )
        self._room = np.empty(self._library.room(ctypes.byref(self._update)), np.float32)
        self._update.room = self._room.ctypes.data

    @staticmethod
    def fits(policy: RecurrentPolicy) -> bool:
        """Whether the gradient of this policy can be had in one compiled pass."""
        networks, space = policy.networks, policy.observation_space
        plain = isinstance(space, spaces.Box) and policy.features_extractor_class is FlattenExtractor
        alone = len(networks) == 1 and networks[0].num_layers == 1 and not policy.net_arch
        choice = isinstance(policy.action_space, spaces.Discrete)
        on_cpu = loops.usable(next(policy.parameters()))
        return plain and alone and choice and on_cpu and compiled.library(SOURCE) is not None

    def gradient(
        self,
        rollout: Rollout,
        segments: Segments,
        normalize_advantage: bool,
        clip: float,
        ent_coef: float,
        vf_coef: float,
        reach: float | None = None,
    ) -> tuple[tuple[Tensor, ...], Tensor] | None:
        """The gradient with respect to all weights, and the numbers in `STATISTICS`; None if no step counts.

        Args:
            rollout: the one given to the constructor, filled.
            segments: the sequences.
            normalize_advantage: scale advantages to mean 0 and standard deviation 1 over the sequences.
            clip, ent_coef, vf_coef: as in `Objective`.
            reach: how far values may go from the old ones; None for no limit.
        """
        joint, heads, bias = outputs = loops.joint(*self.net.weights(0)), *self.policy.heads()
        order = np.argsort(-segments.length, kind="stable")
        first = (segments.begin * self.n_envs + segments.env)[order]
        length = segments.length[order]
        arrays: dict[str, Any] = {"first": first, "length": length, **self._arrays(rollout)}
        update = self._update
        for name, array in arrays.items():
            setattr(update, name, array.ctypes.data)
        for name, part in zip(WEIGHTS, outputs, strict=True):
            setattr(update, name, part.data_ptr())
        update.sequences, update.normalize, update.clip = len(segments), normalize_advantage, clip
        update.ent_coef, update.vf_coef, update.reach = ent_coef, vf_coef, inf if reach is None else reach
        if not self._library.update(ctypes.byref(update)):
            return None
        slopes = self._filled["d_weight"].t(), self._filled["d_heads"], self._filled["d_bias"]
        return torch.autograd.grad(outputs, self.weights, slopes, materialize_grads=True), self._filled["numbers"].float()

    def _arrays(self, rollout: Rollout) -> dict[str, np.ndarray]:
        states = dict(zip(("h", "c"), rollout.states, strict=False))
        noise = {} if rollout.noise[0] is None else {"noise": rollout.noise[0]}
        columns = {"chosen": rollout.actions, "old": rollout.log_probs, "advantages": rollout.advantages}
        columns |= {"returns": rollout.returns, "values": rollout.values, "counts": rollout.counts}
        return {"obs": rollout.obs, **states, **noise, **columns}
