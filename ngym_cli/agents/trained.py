"""Agents that act with the weights of a trained policy.

The agent of a run comes from files alone where observations are flat, otherwise as a policy in torch: importing torch
and Stable-Baselines3 takes longer than thousands of trials.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from gymnasium import spaces

from neurogym import kernels
from ngym_cli import processes, runs
from ngym_cli.agents.acting import Act, Actor, BatchAgent, Layer, ReadOut
from ngym_cli.agents.compiled.steps import ROWS, Stepper, joint, leak, unpack_weights
from ngym_cli.agents.device.selection import CPU
from ngym_cli.agents.from_config import build_batch
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.agents.perturbation import Perturber
from ngym_cli.agents.saving import DESCRIPTION, WEIGHTS, WEIGHTS_FORMAT, describe_space, load_policy
from ngym_cli.config import RunConfig, options
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_tensors
from ngym_cli.runs import records

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

    from ngym_cli.agents.networks.policy import RecurrentPolicy

#: Function from the name and the shape of a stored array to the array; a KeyError if there is none.
Take = Callable[..., np.ndarray]
#: Output layers, with the hidden layers before each.
HEADS = {"action_net": "mlp_extractor.policy_net", "value_net": "mlp_extractor.value_net"}


def agent_for(
    policy: Actor | BasePolicy, n_envs: int, seed: int, deterministic: bool = True, perturb: Perturber | None = None
) -> BatchAgent:
    """Return an agent that acts with frozen weights.

    Args:
        policy: of Stable-Baselines3, a recurrent one of this package, or a copy of its weights.
        n_envs: number of environments.
        seed: random seed of drawn actions and recurrent noise.
        deterministic: take the most probable action instead of drawing one.
        perturb: changes the hidden state after each step, see ``ngym_cli.agents.perturbation``.

    Raises:
        UserError: if there is no hidden state to perturb.
    """
    if isinstance(policy, Actor) or is_recurrent(policy):
        return RecurrentAgent(policy, n_envs, np.random.default_rng(seed), deterministic, perturb)
    if perturb is not None:
        raise UserError("a memoryless agent has no hidden state to perturb")
    return MemorylessAgent(policy, seed, deterministic)


def remembers(policy: Actor | BasePolicy) -> TypeGuard[Actor | RecurrentPolicy]:
    """Return whether a policy, or a copy of the weights, has a state."""
    return isinstance(policy, Actor) or is_recurrent(policy)


def is_recurrent(policy: BasePolicy) -> TypeGuard[RecurrentPolicy]:
    """Return whether a policy is a recurrent policy of this package."""
    from ngym_cli.agents.networks.policy import RecurrentPolicy

    return isinstance(policy, RecurrentPolicy)


class RecurrentAgent:
    """Acts with a copy of a recurrent policy's weights.

    Args:
        policy: the policy, or a copy of its weights.
        n_envs: number of environments.
        rng: source of the actions that are drawn and of recurrent noise.
        deterministic: take the most probable action instead of drawing one.
        perturb: changes the hidden state after each step.

    Attributes:
        state: arrays (layer, environment, unit) that the next step starts from.
    """

    def __init__(
        self,
        policy: Actor | RecurrentPolicy,
        n_envs: int,
        rng: np.random.Generator,
        deterministic: bool = True,
        perturb: Perturber | None = None,
    ):
        self.policy, self.rng, self.deterministic, self.perturb = policy, rng, deterministic, perturb
        self.state = policy.initial_state(n_envs)
        self.take_weights()

    def take_weights(self) -> None:
        """Act with the policy's present weights from now on."""
        actor = self.policy
        if not isinstance(actor, Actor):
            actor.set_training_mode(False)
            actor = actor.actor()
        actor.perturb = self.perturb
        self._actor = actor

    def act(self, observations: np.ndarray, starts: np.ndarray) -> Act:
        """See ``BatchAgent``."""
        act, self.state = self._actor.act(observations, self.state, starts, self.deterministic, self.rng)
        return act


class MemorylessAgent:
    """Acts as a policy of Stable-Baselines3 predicts.

    Args:
        policy: the policy.
        seed: random seed of drawn actions, in torch.
        deterministic: take the most probable action instead of drawing one.
    """

    def __init__(self, policy: BasePolicy, seed: int, deterministic: bool = True):
        self.policy, self.deterministic = policy, deterministic
        policy.set_training_mode(False)
        if not deterministic:
            import torch

            torch.manual_seed(seed)

    def act(self, observations: np.ndarray, starts: np.ndarray) -> Act:
        """See ``BatchAgent``."""
        return Act(self.policy.predict(observations, deterministic=self.deterministic)[0])


def load_to_act(run: runs.RunFolder, config: RunConfig, device: str = CPU) -> tuple[Actor | BasePolicy, int]:
    """Return an acting copy of a run's trained policy, and the number of training steps.

    Args:
        run: the run.
        config: its complete configuration.
        device: name of the device that the policy acts on, wherever it was trained.

    Raises:
        UserError: see ``ngym_cli.agents.saving.load_model``.
    """
    actor = _read(run, config) if device == CPU else None
    if actor is None:
        processes.limit_torch()
        return load_policy(run, config, device)
    return actor, int(records.read(run.path / runs.MODEL / DESCRIPTION, records.NetworkDescription).get("steps", 0))


def _read(run: runs.RunFolder, config: RunConfig) -> Actor | None:
    """Return the agent, or None if the agent is of another kind or the files are incomplete."""
    folder, network, units = run.path / runs.MODEL, str(config.network), int(config.units or 0)
    if network not in ROWS or not (folder / WEIGHTS).is_file() or not kernels.available():
        return None
    args = options.complete(NETWORKS[network].described, {}, config.network_args, f"argument of network {network}")
    if args.get("critic_reads") == "activity":
        return None
    batch = build_batch(config, 1)
    batch.close()
    seen, acts = batch.observation_space, batch.action_space
    description = records.read(folder / DESCRIPTION, records.NetworkDescription)
    fits = description["format"] == WEIGHTS_FORMAT and description.get("observation_space") == describe_space(seen)
    if not fits or description.get("action_space") != describe_space(acts):
        return None
    shape = seen.shape or ()
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
    return None if left else Actor(networks, ReadOut(policy, value, log_std), acts)


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
        rows, inputs = ROWS[network] * units, units if layer else features
        arrays = [take(f"{module}.weight_hh_l{layer}", rows, units), take(f"{module}.weight_ih_l{layer}", rows, inputs)]
        arrays += [take(f"{module}.bias_{end}_l{layer}", rows) for end in ("ih", "hh")]
        if sign is not None:
            arrays[0] = np.abs(arrays[0]) * (take(f"{module}.mask_l{layer}", units, units) * sign)
        weights.append(joint(np, *(unpack_weights(np, units, arrays) if network == "gru" else arrays)))
    return Stepper(cell, weights, units, alpha, args.get("noise", 0.0))
