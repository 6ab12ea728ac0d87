"""The agent of a run, to act only: from its files alone where its network is plain, else as the policy in torch.

Importing torch and Stable-Baselines3 takes longer than thousands of trials.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces

from neurogym import kernels
from ngym_cli import runs
from ngym_cli.agents import threads
from ngym_cli.agents.networks.actor import Actor, ReadOut
from ngym_cli.agents.networks.steps import GATES, Stepper, joint
from ngym_cli.agents.saving import DESCRIPTION, FORMAT, WEIGHTS, describe_space, load_policy
from ngym_cli.config import RunConfig
from ngym_cli.environments.stack import build_batch
from ngym_cli.files.reading import read_arrays
from ngym_cli.runs import records

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

Arrays = dict[str, np.ndarray]


def load_to_act(run: runs.Run, config: RunConfig) -> tuple[Actor | BasePolicy, int]:
    """Return what acts as the trained policy of a run, and the steps that it was trained for.

    Raises:
        UserError: see ``ngym_cli.agents.saving.load_model``.
    """
    actor = _read(run, config)
    if actor is None:
        threads.one_in_torch()
        return load_policy(run, config)
    return actor, int(records.read(run.path / runs.MODEL / DESCRIPTION, records.Description).get("steps", 0))


def _read(run: runs.Run, config: RunConfig) -> Actor | None:
    """Return the agent, or None if its network is not plain or its files are not as they should be."""
    folder, options = run.path / runs.MODEL, config.network_args
    cells = {"lstm": "lstm", "rnn": options.get("activation", "tanh")}
    cell, units, layers = cells.get(str(config.network)), int(config.units or 0), int(options.get("layers", 1))
    if cell is None or options.get("readout") or not (folder / WEIGHTS).is_file() or kernels.get("forward") is None:
        return None
    batch = build_batch(config, 1)
    batch.close()
    seen, acts = batch.observation_space, batch.action_space
    described = records.read(folder / DESCRIPTION, records.Description)
    fits = described["format"] == FORMAT and described.get("observation_space") == describe_space(seen)
    if not fits or described.get("action_space") != describe_space(acts):
        return None
    shape = seen.shape or ()
    if not isinstance(seen, spaces.Box) or len(shape) == 3 or not isinstance(acts, spaces.Discrete | spaces.Box):
        return None
    parts = ["lstm_actor"] + ["lstm_critic"] * (not options.get("shared", True))
    expected = _shapes(parts, GATES[cell] * units, units, layers, prod(shape), acts)
    arrays = read_arrays(folder / WEIGHTS)
    if {name: part.shape for name, part in arrays.items()} != expected:
        return None
    if not all(part.dtype == np.float32 and np.isfinite(part).all() for part in arrays.values()):
        return None
    networks = [Stepper(cell, [_joint(arrays, part, layer) for layer in range(layers)], units) for part in parts]
    policy, value = ([(np.array(arrays[f"{name}.weight"].T, order="C"), arrays[f"{name}.bias"], "")] for name in HEADS)
    return Actor(list(networks), ReadOut(policy, value, arrays.get("log_std", np.zeros(0))), acts)


HEADS = ("action_net", "value_net")


def _shapes(
    parts: list[str], rows: int, units: int, layers: int, features: int, acts: spaces.Discrete | spaces.Box
) -> dict[str, tuple[int, ...]]:
    """The tensors that a plain policy has."""
    n = int(acts.n) if isinstance(acts, spaces.Discrete) else prod(acts.shape)
    found: dict[str, tuple[int, ...]] = {} if isinstance(acts, spaces.Discrete) else {"log_std": (n,)}
    for name, size in zip(HEADS, (n, 1), strict=True):
        found |= {f"{name}.weight": (size, units), f"{name}.bias": (size,)}
    for part in parts:
        for layer in range(layers):
            inputs = units if layer else features
            found |= {f"{part}.weight_hh_l{layer}": (rows, units), f"{part}.weight_ih_l{layer}": (rows, inputs)}
            found |= {f"{part}.bias_{end}_l{layer}": (rows,) for end in ("ih", "hh")}
    return found


def _joint(arrays: Arrays, part: str, layer: int) -> np.ndarray:
    names = ("weight_hh", "weight_ih", "bias_ih", "bias_hh")
    return joint(*(arrays[f"{part}.{name}_l{layer}"] for name in names))
