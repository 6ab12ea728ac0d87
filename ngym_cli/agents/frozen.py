"""Acting agent of a run: from files alone where observations are flat, otherwise as a policy in torch.

Importing torch and Stable-Baselines3 takes longer than thousands of trials.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces

from neurogym import kernels
from ngym_cli import runs
from ngym_cli.agents import options, threads
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.agents.networks.actor import Actor, Layer, ReadOut
from ngym_cli.agents.networks.steps import Network, Stepper, joint, leak, scale_of_noise, unpack_weights
from ngym_cli.agents.saving import DESCRIPTION, FORMAT, WEIGHTS, describe_space, load_policy
from ngym_cli.config import RunConfig
from ngym_cli.environments.stack import build_batch
from ngym_cli.files.reading import read_tensors
from ngym_cli.runs import records

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

Arrays = dict[str, np.ndarray]
#: Rows of a layer's stored weights for each unit.
ROWS = {"lstm": 4, "gru": 3, "rnn": 1, "ctrnn": 1, "ei_rnn": 1}
#: Output layers, with the hidden layers before each.
HEADS = {"action_net": "mlp_extractor.policy_net", "value_net": "mlp_extractor.value_net"}


def load_to_act(run: runs.Run, config: RunConfig) -> tuple[Actor | BasePolicy, int]:
    """Return an acting copy of a run's trained policy, and the number of training steps.

    Raises:
        UserError: see ``ngym_cli.agents.saving.load_model``.
    """
    actor = _read(run, config)
    if actor is None:
        threads.one_in_torch()
        return load_policy(run, config)
    return actor, int(records.read(run.path / runs.MODEL / DESCRIPTION, records.Description).get("steps", 0))


def _read(run: runs.Run, config: RunConfig) -> Actor | None:
    """Return the agent, or None if the agent is of another kind or the files are incomplete."""
    folder, network, units = run.path / runs.MODEL, str(config.network), int(config.units or 0)
    if network not in ROWS or not (folder / WEIGHTS).is_file() or kernels.get("forward") is None:
        return None
    described = NETWORKS[network].described
    args = options.complete(described, {}, config.network_args, f"argument of network {network}")
    if args.get("critic_reads") == "activity":
        return None
    batch = build_batch(config, 1)
    batch.close()
    seen, acts = batch.observation_space, batch.action_space
    kept = records.read(folder / DESCRIPTION, records.Description)
    fits = kept["format"] == FORMAT and kept.get("observation_space") == describe_space(seen)
    if not fits or kept.get("action_space") != describe_space(acts):
        return None
    shape = seen.shape or ()
    if not isinstance(seen, spaces.Box) or len(shape) == 3 or not isinstance(acts, spaces.Discrete | spaces.Box):
        return None
    parts = ["lstm_actor"] + ["lstm_critic"] * (not args["shared"])
    arrays = read_tensors(folder / WEIGHTS, "numpy")
    expected = _shapes_of_heads(units, args["readout"], acts)
    for part in parts:
        expected |= _shapes_of_network(part, network, units, args["layers"], prod(shape))
    if {name: part.shape for name, part in arrays.items()} != expected:
        return None
    if not all(part.dtype == np.float32 and np.isfinite(part).all() for part in arrays.values()):
        return None
    networks: list[Network] = [_stepper(arrays, part, network, units, args) for part in parts]
    policy, value = (_layers(arrays, head, len(args["readout"])) for head in HEADS)
    return Actor(networks, ReadOut(policy, value, arrays.get("log_std", np.zeros(0))), acts)


def _shapes_of_heads(units: int, readout: list[int], acts: spaces.Discrete | spaces.Box) -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors of the read-out."""
    n = int(acts.n) if isinstance(acts, spaces.Discrete) else prod(acts.shape)
    found: dict[str, tuple[int, ...]] = {} if isinstance(acts, spaces.Discrete) else {"log_std": (n,)}
    for head, last in zip(HEADS, (n, 1), strict=True):
        sizes = [units, *readout, last]
        for name, size, before in zip(_names(head, len(readout)), sizes[1:], sizes, strict=False):
            found |= {f"{name}.weight": (size, before), f"{name}.bias": (size,)}
    return found


def _shapes_of_network(part: str, network: str, units: int, layers: int, features: int) -> dict[str, tuple[int, ...]]:
    """The tensors of a network."""
    rows, signed = ROWS[network] * units, network == "ei_rnn"
    found: dict[str, tuple[int, ...]] = {f"{part}.sign": (units,)} if signed else {}
    for layer in range(layers):
        inputs = units if layer else features
        found |= {f"{part}.weight_hh_l{layer}": (rows, units), f"{part}.weight_ih_l{layer}": (rows, inputs)}
        found |= {f"{part}.bias_{end}_l{layer}": (rows,) for end in ("ih", "hh")}
        if signed:
            found[f"{part}.mask_l{layer}"] = (units, units)
    return found


def _names(head: str, hidden: int) -> list[str]:
    """Names of the linear layers up to a head; every second index belongs to an activation."""
    return [*(f"{HEADS[head]}.{2 * k}" for k in range(hidden)), head]


def _layers(arrays: Arrays, head: str, hidden: int) -> list[Layer]:
    """The layers up to a head, and itself."""
    return [
        (np.array(arrays[f"{name}.weight"].T, order="C"), arrays[f"{name}.bias"], "" if name == head else "Tanh")
        for name in _names(head, hidden)
    ]


def _stepper(arrays: Arrays, part: str, network: str, units: int, args: options.Values) -> Stepper:
    cell = args["activation"] if "activation" in args else {"ei_rnn": "relu"}.get(network, network)
    alpha = leak(args["dt"], args["tau"]) if "tau" in args else 1.0
    noise = args.get("noise", 0.0)
    weights = [_joint(arrays, part, network, layer, units) for layer in range(args["layers"])]
    return Stepper(cell, weights, units, alpha, scale_of_noise(noise, alpha), bool(noise))


def _joint(arrays: Arrays, part: str, network: str, layer: int, units: int) -> np.ndarray:
    names = ("weight_hh", "weight_ih", "bias_ih", "bias_hh")
    found = [arrays[f"{part}.{name}_l{layer}"] for name in names]
    if network == "ei_rnn":
        found[0] = np.abs(found[0]) * (arrays[f"{part}.mask_l{layer}"] * arrays[f"{part}.sign"])
    return joint(np, *(unpack_weights(np, units, found) if network == "gru" else found))
