"""From a complete configuration to the batch of environments and to the learner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ngym_cli.agents.algorithms import AlgorithmSpec, check_pairing, find_algorithm
from ngym_cli.agents.defaults import DEFAULT_UNITS, complete_arguments
from ngym_cli.agents.device.selection import choose
from ngym_cli.agents.networks import NetworkSpec, find_network
from ngym_cli.agents.networks.structure import Structure
from ngym_cli.config.model import ResolvedConfig, RunConfig, streams
from ngym_cli.config.values import Values
from ngym_cli.environments.trial_batch import EnvWrapper, TrialBatch, make_batch, unchanged
from ngym_cli.errors import UserError, message_of, one_line, option

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env import VecEnv


#: Options of a network that are arguments of a recurrent policy.
OF_THE_POLICY = ("layers", "shared", "critic_reads", "precision", "patience", "places")


def build_venv(config: RunConfig, n_envs: int, around: EnvWrapper = unchanged, learning: bool = True) -> VecEnv:
    """Make the batch of environments (a ``TrialVecEnv``; images with channels first) that a learner learns from.

    Args:
        config: task, wrappers and reset rule are taken from it.
        n_envs: number of environments.
        around: puts further wrappers around each stack; called once per environment, in order.
        learning: whether tasks held out are not presented.

    Raises:
        UserError: see ``make_env``.
    """
    from ngym_cli.agents.algorithms.sb3 import TrialVecEnv

    venv = TrialVecEnv(make_batch(config, n_envs, around, learning), config.reset_state)
    return _for_networks(venv)


def _for_networks(venv: VecEnv) -> VecEnv:
    """Return the batch, images with channels first."""
    from stable_baselines3.common.preprocessing import is_image_space
    from stable_baselines3.common.vec_env import VecTransposeImage

    return VecTransposeImage(venv) if is_image_space(venv.observation_space) else venv


def build_batch(config: RunConfig, n_envs: int, around: EnvWrapper = unchanged) -> TrialBatch | VecEnv:
    """Make a batch to be acted on without a learner: like ``build_venv``, but Stable-Baselines3 is not imported.

    Tasks of images have channels first, as in ``build_venv``.
    """
    batch = make_batch(config, n_envs, around, learning=False)
    if len(batch.single_observation_space.shape or ()) != 3:
        return TrialBatch(batch, config.reset_state)
    from ngym_cli.agents.algorithms.sb3 import TrialVecEnv

    return _for_networks(TrialVecEnv(batch, config.reset_state))


#: Hyperparameters of a learner that only acts, and needs no room for experience.
WITHOUT_EXPERIENCE = {"n_steps": 2, "batch_size": 2, "buffer_size": 2}


def build_model(config: ResolvedConfig, venv: VecEnv, has_experience: bool = True) -> BaseAlgorithm:
    """Make the learner of a configuration.

    Args:
        config: complete configuration.
        venv: a batch of environments of the task.
        has_experience: whether the learner has room for the experience that it learns from, or only acts.

    Raises:
        UserError: if the learner refuses a value, or there is no such device.
    """
    choice = choose(config.device, config.network, config.units, sequences_side_by_side(config))
    common: Values = {"seed": streams(config.seed)["network"], "device": choice.device, "verbose": 0}
    smaller = {} if has_experience else WITHOUT_EXPERIENCE
    hyperparameters = {name: smaller.get(name, value) for name, value in config.hyperparameters.items()}
    parts = find_algorithm(config.alg), find_network(config.network)
    try:
        model = _make(*parts, venv, config.units, config.network_args, hyperparameters, **common)
    except (TypeError, ValueError, AssertionError, RuntimeError, MemoryError, OverflowError) as error:
        raise UserError(f"{config.alg}: {message_of(error) or one_line(error)}") from error
    if hasattr(model, "device_reason"):
        model.device_reason = choice.reason
    return model


def learn_from_recording(model: BaseAlgorithm, venv: VecEnv, config: ResolvedConfig) -> None:
    """Let a learner also learn from the recording of its configuration.

    Raises:
        UserError: if recording, task, network and algorithm do not fit together.
    """
    from ngym_cli.agents.algorithms.recorded import RecordingObjective
    from ngym_cli.agents.algorithms.sb3 import Learner

    if not isinstance(model, Learner):
        raise UserError(
            f"{option('--recording')}: {config.alg} takes no other objective; expected supervised, recurrent_ppo, ..."
        )
    try:
        model.recording = RecordingObjective(model, venv, config)
    except ValueError as error:
        raise UserError(f"{option('--recording')}: {message_of(error)}") from None


def sequences_side_by_side(config: ResolvedConfig) -> int:
    """Return the number of sequences that a learner computes side by side: environments, or sequences of a batch."""
    batch = config.hyperparameters.get("batch_size") if find_algorithm(config.alg).supervised else None
    return int(batch or config.n_envs)


def products_in_torch(config: ResolvedConfig, model: BaseAlgorithm) -> int:
    """Return the products of a pass over a minibatch that torch computes alone; 0 of learners with threads of ours.

    Args:
        config: complete configuration.
        model: the learner.
    """
    from ngym_cli.agents.algorithms.sb3 import Learner

    if isinstance(model, Learner):
        return 0
    steps = int(config.hyperparameters.get("batch_size") or config.n_envs)
    layers = int(config.network_args.get("layers", 1))
    features = int(np.prod(model.observation_space.shape or (1,)))
    return steps * config.units * (features + (layers - 1) * config.units)


def make_model(
    alg: str,
    venv: VecEnv,
    network: str | None = None,
    units: int = DEFAULT_UNITS,
    network_args: Mapping[str, object] | None = None,
    hyperparameters: Mapping[str, object] | None = None,
    dt: float | None = None,
    **kwargs: object,
) -> BaseAlgorithm:
    """Build a learner.

    Args:
        alg: a name in `ngym_cli.agents.algorithms.ALGORITHMS`, or a user's own.
        venv: environments to learn from.
        network: a name in `ngym_cli.agents.networks.NETWORKS`, or a user's own; the algorithm's default if None.
        units: units per layer.
        network_args: options of the network.
        hyperparameters: replace the algorithm's defaults; without ``final_rate`` the learning rate does not fall.
        dt: time step of the task (ms), for networks with time constants.
        **kwargs: seed, device, verbose and other arguments common to all algorithms.

    Raises:
        UserError: if the parts do not fit together, or an option of the network is unknown or out of range.
    """
    algorithm = find_algorithm(alg)
    chosen = find_network(network or algorithm.networks[0])
    check_pairing(algorithm, chosen, venv.observation_space, venv.action_space)
    usual = {} if dt is None or "dt" not in chosen.options else {"dt": float(dt)}
    args = complete_arguments(chosen, usual, network_args or {})
    return _make(algorithm, chosen, venv, units, args, hyperparameters or {}, **kwargs)


def _make(
    algorithm: AlgorithmSpec,
    chosen: NetworkSpec,
    venv: VecEnv,
    units: int,
    network_args: Mapping[str, object],
    overrides: Mapping[str, object],
    **kwargs: object,
) -> BaseAlgorithm:
    """Build a learner of complete arguments; the others as in `make_model`."""
    from stable_baselines3.common.preprocessing import is_image_space
    from torch import nn

    from ngym_cli.agents.algorithms.sb3 import bounded

    args: Values = {**chosen.options, **network_args}
    own_args = {name: args[name] for name in chosen.own}
    if chosen.recurrent:
        if args["places"] is not None and not algorithm.supervised:
            raise UserError(
                f"places is an option of supervised learning ({option('--alg supervised')}), not of {algorithm.name}"
            )
        policy = "RecurrentPolicy"
        policy_kwargs = {
            "network": chosen.name,
            "units": units,
            "net_arch": list(args["readout"]),
            "structure": Structure.of({name: value for name, value in args.items() if name not in own_args}),
            "network_kwargs": own_args,
            **{name: args[name] for name in OF_THE_POLICY},
        }
    else:
        policy = "CnnPolicy" if is_image_space(venv.observation_space) else "MlpPolicy"
        activation = {"tanh": nn.Tanh, "relu": nn.ReLU, "softplus": nn.Softplus}[args["activation"]]
        policy_kwargs = {"net_arch": [units] * args["layers"], "activation_fn": activation}
    learner: Callable[..., BaseAlgorithm] = bounded(algorithm.load())
    merged = {**algorithm.defaults, **overrides}
    if not algorithm.knows_final_rate:
        merged = _scheduled(merged, "final_rate" in overrides)
    return learner(policy, venv, policy_kwargs=policy_kwargs, **merged, **kwargs)


def _scheduled(hyperparameters: Values, falls: bool) -> Values:
    """Turn learning rate and final rate into a schedule, for learners that know no final rate themselves.

    Args:
        hyperparameters: by name.
        falls: whether the learning rate is to fall; else it stays as it is.
    """
    if "final_rate" not in hyperparameters:
        return hyperparameters
    start = hyperparameters["learning_rate"]
    end = start * hyperparameters.pop("final_rate")
    return {**hyperparameters, "learning_rate": lambda left: end + (start - end) * left} if falls else hyperparameters
