"""A NumPy snapshot of a recurrent policy that acts on a batch of environments, one step at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.preprocessing import is_image_space
from torch import nn

from ngym_cli.agents.acting import Stepping
from ngym_cli.agents.networks.base import ArrayState, to_numpy
from ngym_cli.agents.networks.images import Remembered

Layer = tuple[np.ndarray, np.ndarray, str]


class Actor:
    """Weights frozen at construction; build a new one after each update.

    Args:
        policy: a ``RecurrentPolicy``, whose networks, read-outs and front end are copied.

    Attributes:
        steppers: the actor's network and, if it is separate, the critic's.
        sizes: number of state arrays of each of them.
    """

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.discrete = isinstance(policy.action_space, spaces.Discrete)
        self.steppers: list[Stepping] = [network.stepper() for network in policy.networks]
        self.sizes = [network.n_states for network in policy.networks]
        self._pi = [*_layers(policy.mlp_extractor.policy_net), *_layers(policy.action_net)]
        self._vf = [*_layers(policy.mlp_extractor.value_net), *_layers(policy.value_net)]
        self._both = None
        if len(self.steppers) == len(self._pi) == len(self._vf) == 1:  # both heads read the same units: one product
            (pi_weight, pi_bias, _), (vf_weight, vf_bias, _) = self._pi[0], self._vf[0]
            self._both = [(np.hstack([pi_weight, vf_weight]), np.hstack([pi_bias, vf_bias]), "")]
        space = policy.observation_space
        self._flat = isinstance(space, spaces.Box) and not is_image_space(space)
        self._seen = Remembered(self._extracted) if is_image_space(space) else self._extracted
        self.log_std = np.zeros(0) if self.discrete else to_numpy(policy.log_std)

    def features(self, obs: np.ndarray) -> np.ndarray:
        """What the recurrent network sees: flattened observations, or the output of the front end for images."""
        if self._flat:
            return obs.reshape(len(obs), -1)
        return self._seen(obs)

    def _extracted(self, obs: np.ndarray) -> np.ndarray:
        """Output of the policy's own front end."""
        with torch.no_grad():
            features: Any = self.policy.extract_features(self.policy.obs_to_tensor(obs)[0])
            return features.cpu().numpy()

    def step(
        self, x: np.ndarray, state: ArrayState, out: ArrayState, noise: list[np.ndarray | None]
    ) -> list[np.ndarray]:
        """Advance every network; returns their top activity (environment, unit), the actor's first."""
        activity, at = [], 0
        for stepper, size, draws in zip(self.steppers, self.sizes, noise, strict=True):
            activity.append(stepper.step(x, state[at : at + size], out[at : at + size], draws))
            at += size
        return activity

    def heads(self, activity: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Read the networks' activity out.

        Args:
            activity: what `step` returned, the actor's first and the critic's last.

        Returns:
            Action preferences, or means for continuous actions (environment, action), and values (environment,).
        """
        if self._both is not None:
            both = _run(self._both, activity[0])
            return both[:, :-1], both[:, -1]
        return _run(self._pi, activity[0]), _run(self._vf, activity[-1])[:, 0]

    def values(self, obs: np.ndarray, state: ArrayState) -> np.ndarray:
        """Values of observations (environment, ...) in a state, without recurrent noise; the state stays as it is."""
        out = tuple(np.empty_like(part) for part in state)
        return self.heads(self.step(self.features(obs), state, out, [None] * len(self.steppers)))[1]

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Random draws that turn logits of this shape into actions: Gumbel (discrete) or normal (continuous)."""
        if self.discrete:
            return -np.log(rng.standard_exponential(shape, dtype=np.float32) + np.float32(1e-30))
        return rng.standard_normal(shape, dtype=np.float32)

    def choose(self, logits: np.ndarray, draws: np.ndarray | None) -> np.ndarray:
        """Actions of the policy: sampled with `draws`, or the most probable without."""
        if self.discrete:
            return (logits if draws is None else logits + draws).argmax(axis=-1)
        return logits if draws is None else logits + np.exp(self.log_std) * draws

    def log_probs(self, logits: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Log-probability (density for continuous actions) of each action."""
        if self.discrete:
            shifted = logits - logits.max(axis=-1, keepdims=True)
            chosen = np.take_along_axis(shifted, actions[..., None].astype(np.int64), axis=-1)[..., 0]
            return chosen - np.log(np.exp(shifted).sum(axis=-1))
        z = (actions - logits) * np.exp(-self.log_std)
        return -(0.5 * z * z + self.log_std + np.float32(0.5 * np.log(2 * np.pi))).sum(axis=-1)


def within(space: spaces.Space, actions: np.ndarray) -> np.ndarray:
    """Actions as environments take them: continuous ones in the shape of the space and within its bounds."""
    if isinstance(space, spaces.Box):
        return np.clip(actions.reshape(-1, *space.shape), space.low, space.high)
    return actions


def _layers(module: nn.Module) -> list[Layer]:
    """Weight, bias and following activation of each linear layer."""
    layers: list[Layer] = []
    for part in module if isinstance(module, nn.Sequential) else [module]:
        if isinstance(part, nn.Linear):
            layers.append((to_numpy(part.weight.t()), to_numpy(part.bias), ""))
        elif isinstance(part, nn.Tanh | nn.ReLU):
            layers[-1] = (*layers[-1][:2], type(part).__name__)
        else:
            raise ValueError(f"read-out layers must be linear, tanh or relu, not {type(part).__name__}")
    return layers


def _run(layers: list[Layer], x: np.ndarray) -> np.ndarray:
    for weight, bias, activation in layers:
        x = x @ weight
        x += bias
        if activation == "Tanh":
            np.tanh(x, out=x)
        elif activation == "ReLU":
            np.maximum(x, 0, out=x)
    return x
