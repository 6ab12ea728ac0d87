"""Dimensions and weights of a policy as the compiled passes take them, and why some policies run in torch."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.torch_layers import FlattenExtractor
from torch import Tensor, nn

from neurogym import kernels
from ngym_cli.agents.compiled import autograd
from ngym_cli.agents.compiled.network import COMPILED_ACTIVATIONS, MAX_HIDDEN_LAYERS, MAX_LAYERS
from ngym_cli.agents.networks.places import PlaceCode

RecurrentPolicy = Any  #: of `ngym_cli.agents.networks.policy`, which imports this module


def obstacle(policy: RecurrentPolicy, has_values: bool = True) -> str:
    """Reason why this policy, with values or without, cannot act and learn in compiled passes; empty if it can."""
    if not kernels.available():
        return "there are no compiled functions"
    weight = next(policy.parameters())
    unusual_weight = f"numbers are {str(weight.dtype).removeprefix('torch.')} on {weight.device}"
    return unusual_structure(policy, has_values) or ("" if autograd.usable(weight) else unusual_weight)


def unusual_structure(policy: RecurrentPolicy, has_values: bool = True) -> str:
    """Reason why the compiled passes do not know the structure of a policy; empty if they do."""
    space, actions = policy.observation_space, policy.action_space
    flat = isinstance(space, spaces.Box) and space.dtype in (np.float32, np.float64)
    flat = flat and policy.features_extractor_class is FlattenExtractor
    simple = isinstance(actions, spaces.Discrete) or (isinstance(actions, spaces.Box) and len(actions.shape) == 1)
    network, hidden = policy.networks[0], _hidden(policy)
    usual = policy.activation_fn.__name__ in COMPILED_ACTIVATIONS and max(map(len, hidden)) <= MAX_HIDDEN_LAYERS
    obstacles = {
        "the step of the network is written in torch": network.cell is None,
        "the layers of the read-out are not the usual ones": not usual,
        f"there are more than {MAX_LAYERS} layers": network.num_layers > MAX_LAYERS,
        "the critic reads the activity of the actor": policy.chained and has_values,
        "observations are not flat": not flat,
        "actions are read out as places": isinstance(policy.action_net, PlaceCode),
        "actions have several dimensions": not simple,
    }
    return next((reason for reason, exists in obstacles.items() if exists), "")


class PolicyWeights:
    """Weights of a policy in the order of the compiled passes.

    Args:
        policy: a policy without `unusual_structure`.
        has_values: whether values are predicted; if not, the critic is left out.

    Attributes:
        sizes: dimensions.
        modules: networks and read-outs.
    """

    def __init__(self, policy: RecurrentPolicy, has_values: bool = True) -> None:
        networks, heads = policy.networks[: 1 + has_values], _heads(policy)[: 1 + has_values]
        hidden, value_hidden = _hidden(policy)
        self.sizes = networks[0].sizes(
            networks=len(networks),
            actions=policy.action_net.out_features,
            continuous=isinstance(policy.action_space, spaces.Box),
            activation=policy.activation_fn.__name__,
            hidden=(hidden, value_hidden if has_values else ()),
            has_values=has_values,
        )
        self.modules: list[nn.Module] = [*networks, *(module for head in heads for module in head)]
        self._policy, self._networks = policy, networks
        self._linear_layers = [layer for head in heads for layer in _linear_layers(*head)]

    def present(self) -> list[Tensor]:
        """Return the present weights."""
        weights = [weight for network in self._networks for weight in network.weights_in_order()]
        for linear in self._linear_layers:
            weights += [linear.weight, linear.bias]
        return [*weights, self._policy.log_std] if self.sizes.continuous else weights


def _heads(policy: RecurrentPolicy) -> list[tuple[nn.Module, nn.Linear]]:
    """Hidden layers and last layer of the read-outs of actions and of values."""
    extractor = policy.mlp_extractor
    return [(extractor.policy_net, policy.action_net), (extractor.value_net, policy.value_net)]


def _hidden(policy: RecurrentPolicy) -> tuple[tuple[int, ...], ...]:
    """Sizes of the hidden layers of the read-outs of actions and of values."""
    return tuple(tuple(layer.out_features for layer in _linear_layers(hidden)) for hidden, _ in _heads(policy))


def _linear_layers(*modules: nn.Module) -> list[nn.Linear]:
    """The linear layers of modules."""
    return [layer for module in modules for layer in module.modules() if isinstance(layer, nn.Linear)]
