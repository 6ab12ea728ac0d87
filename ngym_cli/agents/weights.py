"""Weights of a network by name, as in the file of a run: before training, between two networks, rotated, cut."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from ngym_cli.agents.from_config import build_model, build_venv
from ngym_cli.agents.sequences import Sequences

if TYPE_CHECKING:
    from torch import Tensor

    from ngym_cli.agents.networks.policy import RecurrentPolicy
    from ngym_cli.config.model import ResolvedConfig

#: Weights of the first layer's inputs, by the end of a tensor's name: rows of units, columns of channels.
INPUTS = "weight_ih_l0"
#: End of the name of the recurrent weights of the first layer: a row for each unit.
RECURRENT = "weight_hh_l0"


def initial(config: ResolvedConfig) -> dict[str, Tensor]:
    """Return the weights with which a run of a configuration begins."""
    return untrained(config).state_dict()


def untrained(config: ResolvedConfig) -> RecurrentPolicy:
    """Return the policy with which a run of a configuration begins."""
    with closing(build_venv(config, 1)) as venv:
        policy: Any = build_model(config, venv, has_experience=False).policy
    return policy


def replayed(policy: RecurrentPolicy, observations: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the activity of a network without noise in the trials of a recording, shape (steps, units).

    Args:
        policy: policy with the network.
        observations: shape (steps, ...).
        offsets: first step of each trial and the end of the last, shape (trials + 1,).
    """
    import torch

    layout, network = Sequences(offsets[:-1], np.diff(offsets)).pack(), policy.networks[0]
    with torch.no_grad():
        features = policy.features(torch.from_numpy(observations[layout.steps]).to(policy.device))
        state = network.initial_state(int(layout.counts[0]))
        rates, _ = network.sequence(features, layout.counts.tolist(), state)
    activity = np.empty(rates.shape)
    activity[layout.steps] = rates.cpu().numpy()
    return activity


def halfway(tensors: dict[str, Tensor], others: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights half-way between those of two networks of one form."""
    return {key: (each + others[key]) / 2 if each.is_floating_point() else each for key, each in tensors.items()}


def rotated(tensors: dict[str, Tensor], seed: int) -> dict[str, Tensor]:
    """Return weights whose recurrent matrices, one for each gate, are rotated, which leaves their eigenvalues.

    Raises:
        ValueError: if the network has no recurrent weights of the usual name.
    """
    for weights in _ending(tensors, RECURRENT):
        square = weights.numpy()
        units = square.shape[1]
        rotation, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((units, units)))
        gates = square.reshape(-1, units, units)
        gates[:] = rotation @ gates @ rotation.T
    return tensors


def without_inputs(tensors: dict[str, Tensor], channels: Sequence[int], name: str = INPUTS) -> dict[str, Tensor]:
    """Return weights in which those of some inputs are zero.

    Args:
        tensors: the weights.
        channels: positions of the channels.
        name: end of the name of the input weights: rows of units, columns of channels.

    Raises:
        ValueError: if the network has no weights of this name.
    """
    for weights in _ending(tensors, name):
        weights[:, list(channels)] = 0
    return tensors


def _ending(tensors: dict[str, Tensor], name: str) -> list[Tensor]:
    matching = [value for key, value in tensors.items() if key.endswith(name)]
    if not matching:
        raise ValueError(f"the network has no weights {name} ({', '.join(tensors)})")
    return matching
