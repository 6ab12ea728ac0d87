"""Rollout on a device: observations, states and noise never leave it; numbers per step are mirrored on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ngym_cli.agents.algorithms.objective import SILENT
from ngym_cli.agents.algorithms.rollout import LOOK_EVERY, Experience, Rollout
from ngym_cli.agents.networks.base import RecurrentNetwork, to_device
from ngym_cli.agents.networks.images import distinct
from ngym_cli.agents.networks.policy import PackedSequences
from ngym_cli.agents.sequences import PackedSteps


def normal_draws(shape: tuple[int, ...], device: torch.device, rng: np.random.Generator) -> Tensor:
    """Standard normal draws, made on a device."""
    generator = torch.Generator(device).manual_seed(int(rng.integers(2**31)))
    return torch.randn(shape, generator=generator, device=device)


class ImageStore:
    """Distinct images of a rollout on a device, and the images that every step shows.

    Args:
        device: where images are kept.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.clear()

    def clear(self) -> None:
        """Forget all images."""
        self._numbers: dict[bytes, int] = {}
        self._blocks: list[Tensor] = []

    def add(self, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of every image (image,), and the images that were new (image, ...), in their order."""
        new, numbers = distinct(images, self._numbers)
        if len(new):
            self._blocks.append(to_device(images[new], self._device))
        return numbers, images[new]

    def images(self) -> Tensor:
        """All distinct images (image, ...), by their numbers."""
        self._blocks = [torch.cat(self._blocks)]
        return self._blocks[0]


class DeviceRollout(Rollout):
    """Rollout whose observations, recurrent states and noise are tensors on a device.

    Sequences that do not begin with the rollout begin with a reset, so that only the first state is kept; with `bptt`
    they begin anywhere, and all states are.

    Args:
        n_steps: steps.
        n_envs: environments.
        obs: observations of all environments (environment, ...).
        n_logits: action preferences or means.
        discrete: whether actions are discrete.
        networks: of the policy.
        device: of the policy.
        keep_states: keep the states before every step.

    Attributes:
        obs_on_device: (time, environment, ...); numbers of images where observations are images.
        present: states before the present step, arrays (layer, environment, unit), changed in place.
        noise_on_device: recurrent noise of each network (time, environment, layer, unit), or None.
        images: distinct images, or None if observations are flat.
    """

    def __init__(
        self,
        n_steps: int,
        n_envs: int,
        obs: np.ndarray,
        n_logits: int,
        discrete: bool,
        networks: list[RecurrentNetwork],
        device: torch.device,
        keep_states: bool,
    ) -> None:
        super().__init__(n_steps, n_envs, obs[:, ..., :0] if obs.ndim > 1 else obs, n_logits, discrete, [])
        self.device = device
        self.images = ImageStore(device) if obs.dtype == np.uint8 and obs.ndim == 4 else None
        single = torch.float32 if obs.dtype.kind == "f" else torch.int64
        shape = (n_steps, n_envs) if self.images else (n_steps, *obs.shape)
        self.obs_on_device = torch.zeros(shape, dtype=torch.int64 if self.images else single, device=device)
        self.present = [initial for network in networks for initial in network.initial_state(n_envs)]
        steps = n_steps if keep_states else 1
        self._states = [torch.zeros(steps, *state.shape, device=device) for state in self.present]
        self._largest = torch.zeros(networks[0].hidden_size, device=device)
        self.noise_on_device: list[Tensor | None] = [None] * len(networks)

    @property
    def carried_states(self) -> list[np.ndarray]:
        """See `Rollout`."""
        return [state.cpu().numpy() for state in self.present]

    @carried_states.setter
    def carried_states(self, states: Sequence[np.ndarray]) -> None:
        for state, carried in zip(self.present, states, strict=True):
            state.copy_(torch.from_numpy(np.array(carried)))

    def upload(self, array: np.ndarray) -> Tensor:
        """Return an array on the device."""
        return to_device(array, self.device)

    def carry_over(self) -> None:
        """Start from the final states of the last rollout, and count active units anew."""
        self._largest.zero_()
        if self.images:
            self.images.clear()

    def mark_starts(self, t: int, starts: np.ndarray) -> None:
        """Zero the present states where `starts` is true, and record the states before step t."""
        self.starts[t] = starts
        if self.starts[t].any():
            resets = self.upload(np.asarray(self.starts[t]))[None, :, None]
            for state in self.present:
                state.masked_fill_(resets, 0)
        if t < len(self._states[0]):
            for stored, state in zip(self._states, self.present, strict=True):
                stored[t].copy_(state)

    def count_active(self, t: int) -> None:
        """Take the activity after step t into the search for silent units."""
        if t % LOOK_EVERY == 0:
            torch.maximum(self._largest, self.present[0][-1].abs().amax(0), out=self._largest)

    def silent_units(self) -> int:
        """See `Rollout`."""
        return int((self._largest < SILENT).sum())

    def experience(self, device: torch.device) -> Experience:
        """See `Rollout`."""
        return DeviceExperience(self, device)

    def states_at(self, begin: np.ndarray, env: np.ndarray) -> tuple[Tensor, ...]:
        """States before the steps `begin` of environments `env`, which a sequence begins with."""
        environments = self.upload(env)
        if len(self._states[0]) == self.n_steps:
            times = self.upload(begin)
            return tuple(stored[times, :, environments].swapaxes(0, 1) for stored in self._states)
        first = self.upload((begin == 0).astype(np.float32))[None, :, None]
        return tuple(stored[0].index_select(1, environments) * first for stored in self._states)


class DeviceExperience(Experience):
    """Experience whose observations, states and noise are gathered on the device."""

    rollout: DeviceRollout

    def __init__(self, rollout: DeviceRollout, device: torch.device) -> None:
        super().__init__(rollout, device)
        self._images: Any = rollout.images.images() if rollout.images else None

    def _sequences(self, packed: PackedSteps) -> PackedSequences:
        rollout, steps = self.rollout, self.tensor(packed.steps)
        obs, rows = rollout.obs_on_device.flatten(0, 1).index_select(0, steps), None
        if self._images is not None:
            numbers, rows = obs.unique(return_inverse=True)
            obs = self._images.index_select(0, numbers)
        noise = [
            None if draws is None else draws.flatten(0, 1).index_select(0, steps) for draws in rollout.noise_on_device
        ]
        begin, env = np.divmod(packed.first, self.n_envs)
        return PackedSequences(obs, packed.counts.tolist(), rollout.states_at(begin, env), noise, rows)
