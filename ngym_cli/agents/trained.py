"""Agents that act with the weights of a trained policy.

The agent of a run comes from files alone where observations are flat, otherwise as a policy in torch: importing torch
and Stable-Baselines3 takes longer than thousands of trials.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from gymnasium import spaces

from neurogym import kernels
from ngym_cli import processes, runs
from ngym_cli.agents.acting import Act, Actor, Agent, Layer, Perturb, ReadOut
from ngym_cli.agents.compiled.network import MAX_LAYERS
from ngym_cli.agents.compiled.steps import WEIGHT_ROWS, Stepper, leak, unpack_weights
from ngym_cli.agents.device.selection import CPU
from ngym_cli.agents.from_config import build_batch
from ngym_cli.agents.saving import WEIGHTS, load_policy, read_description
from ngym_cli.config.model import ResolvedConfig
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_tensors

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

    from ngym_cli.agents.networks.policy import RecurrentPolicy

#: Function from the name and the shape of a stored array to the array; a KeyError if there is none.
Take = Callable[..., np.ndarray]
#: Output layers, with the hidden layers before each.
HEADS = {"action_net": "mlp_extractor.policy_net", "value_net": "mlp_extractor.value_net"}


def agent_for(
    policy: Actor | BasePolicy,
    seed: int | np.random.Generator,
    deterministic: bool = True,
    perturb: Perturb | None = None,
) -> Agent:
    """Return an agent that acts with the present weights of a policy.

    Args:
        policy: of Stable-Baselines3, a recurrent one of this package, or a copy of its weights.
        seed: random seed of drawn actions and recurrent noise; or their source, for recurrent policies.
        deterministic: take the most probable action instead of drawing one.
        perturb: changes the hidden state after each step, see ``ngym_cli.agents.perturbation``.

    Raises:
        UserError: if there is no hidden state to perturb.
    """
    if isinstance(policy, Actor):
        return policy.bind(seed, deterministic, perturb)
    policy.set_training_mode(False)
    if is_recurrent(policy):
        return policy.actor().bind(seed, deterministic, perturb)
    if perturb is not None:
        raise UserError("a memoryless agent has no hidden state to perturb")
    if not deterministic:
        import torch

        torch.manual_seed(seed if isinstance(seed, int) else int(seed.integers(2**31)))
    return MemorylessAgent(policy, deterministic)


def remembers(policy: Actor | BasePolicy) -> TypeGuard[Actor | RecurrentPolicy]:
    """Return whether a policy, or a copy of the weights, has a state."""
    return isinstance(policy, Actor) or is_recurrent(policy)


def is_recurrent(policy: BasePolicy) -> TypeGuard[RecurrentPolicy]:
    """Return whether a policy is a recurrent policy of this package."""
    from ngym_cli.agents.networks.policy import RecurrentPolicy

    return isinstance(policy, RecurrentPolicy)


class MemorylessAgent(Agent):
    """Acts as a policy of Stable-Baselines3 predicts.

    Args:
        policy: the policy.
        deterministic: take the most probable action instead of drawing one, from the generator of torch.
    """

    def __init__(self, policy: BasePolicy, deterministic: bool = True):
        self.policy, self.deterministic = policy, deterministic

    def act(self, observations: np.ndarray, state: tuple[()]) -> tuple[Act, tuple[()]]:
        """See `Agent`."""
        return Act(self.policy.predict(observations, deterministic=self.deterministic)[0]), state


def load_to_act(run: runs.RunFolder, config: ResolvedConfig, device: str = CPU) -> tuple[Actor | BasePolicy, int]:
    """Return an acting copy of a run's trained policy, and the number of training steps.

    Args:
        run: the run.
        config: its complete configuration.
        device: name of the device that the policy acts on, wherever it was trained.

    Raises:
        UserError: see ``ngym_cli.agents.saving.load_model``.
    """
    run.require_model()
    loaded: tuple[Actor | BasePolicy, int] | None = None
    if device == CPU:
        loaded = _read(run.path / runs.MODEL, config)
    if loaded is None:
        processes.limit_torch()
        loaded = load_policy(run, config, device)
    return loaded


def _read(folder: Path, config: ResolvedConfig) -> tuple[Actor, int] | None:
    """Return the agent and its training steps, or None if the agent is of another kind or weights are missing."""
    network, units, args = config.network, config.units, config.network_args
    if network not in WEIGHT_ROWS or not (folder / WEIGHTS).is_file() or not kernels.available():
        return None
    if args.get("critic_reads") == "activity" or args["layers"] > MAX_LAYERS:
        return None
    batch = build_batch(config, 1)
    batch.close()
    seen, acts = batch.observation_space, batch.action_space
    steps, shape = read_description(folder, seen, acts), seen.shape or ()
    if not isinstance(seen, spaces.Box) or len(shape) == 3 or not isinstance(acts, spaces.Discrete | spaces.Box):
        return None
    left = read_tensors(folder / WEIGHTS, "numpy")

    def take(name: str, *expected: int) -> np.ndarray:
        module = left.pop(name)
        if module.shape != expected or module.dtype != np.float32 or not np.isfinite(module).all():
            raise KeyError(name)
        return module

    n = int(acts.n) if isinstance(acts, spaces.Discrete) else prod(acts.shape)
    modules = ["lstm_actor"] + ["lstm_critic"] * (not args["shared"])
    try:
        networks = [_stepper(take, module, network, units, prod(shape), args) for module in modules]
        policy = _head(take, "action_net", [units, *args["readout"], n])
        value = _head(take, "value_net", [units, *args["readout"], 1])
        log_std = np.zeros(0) if isinstance(acts, spaces.Discrete) else take("log_std", n)
    except KeyError:
        return None
    return None if left else (Actor(networks, ReadOut(policy, value, log_std), acts), steps)


def _head(take: Take, head: str, sizes: list[int]) -> list[Layer]:
    """Return the layers up to a head, given the number of units before and after each layer."""
    names = [*(f"{HEADS[head]}.{2 * k}" for k in range(len(sizes) - 2)), head]  # between are activations
    layers: list[Layer] = []
    for name, size, before in zip(names, sizes[1:], sizes, strict=False):
        weight, bias = take(f"{name}.weight", size, before), take(f"{name}.bias", size)
        layers.append((np.array(weight.T, order="C"), bias, "" if name == head else "Tanh"))
    return layers


def _stepper(take: Take, module: str, network: str, units: int, features: int, args: Values) -> Stepper:
    """Return a recurrent network from its stored weights and arguments."""
    cell = args["activation"] if "activation" in args else {"ei_rnn": "relu"}.get(network, network)
    alpha = leak(args["dt"], args["tau"]) if "tau" in args else 1.0
    weights = []
    sign = take(f"{module}.sign", units) if network == "ei_rnn" else None
    for layer in range(args["layers"]):
        rows, inputs = WEIGHT_ROWS[network] * units, units if layer else features
        arrays = [take(f"{module}.weight_hh_l{layer}", rows, units), take(f"{module}.weight_ih_l{layer}", rows, inputs)]
        arrays += [take(f"{module}.bias_{end}_l{layer}", rows) for end in ("ih", "hh")]
        if sign is not None:
            arrays[0] = np.abs(arrays[0]) * (take(f"{module}.mask_l{layer}", units, units) * sign)
        weights.append(unpack_weights(np, units, arrays) if network == "gru" else arrays)
    return Stepper(cell, weights, units, alpha, args.get("noise", 0.0))
