"""From names and options to a model that is ready to learn."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from ngym_cli.agents.algorithms import algorithm_spec, check_pairing
from ngym_cli.agents.networks import network_spec
from ngym_cli.agents.networks.structure import Structure
from ngym_cli.agents.options import Values


def make_model(
    algorithm: str,
    venv: VecEnv,
    network: str | None = None,
    units: int = 64,
    network_args: Mapping[str, object] | None = None,
    hyperparameters: Mapping[str, object] | None = None,
    dt: float | None = None,
    **kwargs: Any,
) -> BaseAlgorithm:
    """Build a learner.

    Args:
        algorithm: a name in `ngym_cli.agents.algorithms.ALGORITHMS`, or a user's own.
        venv: environments to learn from.
        network: a name in `ngym_cli.agents.networks.NETWORKS`, or a user's own; the algorithm's default if None.
        units: units per layer.
        network_args: options of the network.
        hyperparameters: replace the algorithm's defaults; without ``final_rate`` the learning rate does not fall.
        dt: time step of the task (ms), for networks with time constants.
        kwargs: seed, device, verbose and other arguments common to all algorithms.

    Raises:
        ValueError: if the parts do not fit together, or an option is unknown.
    """
    check_pairing(algorithm, network, venv.observation_space, venv.action_space)
    spec = algorithm_spec(algorithm)
    chosen = network_spec(network or spec.networks[0])
    common, own = chosen.resolve({**spec.network_defaults, **(network_args or {})}, dt)
    if chosen.recurrent:
        policy = "RecurrentPolicy"
        policy_kwargs = {
            "network": chosen.name,
            "units": units,
            "layers": common["layers"],
            "shared": common["shared"],
            "net_arch": list(common["readout"]),
            "critic_reads": common["critic_reads"],
            "structure": Structure.of(common),
            "network_kwargs": own,
            **({} if common["patience"] is None else {"patience": common["patience"]}),
        }
    else:
        policy = "CnnPolicy" if is_image_space(venv.observation_space) else "MlpPolicy"
        activation = {"tanh": nn.Tanh, "relu": nn.ReLU, "softplus": nn.Softplus}[own["activation"]]
        policy_kwargs = {"net_arch": [units] * own["layers"], "activation_fn": activation}
    learner = spec.load()
    merged = _scheduled({**spec.defaults, **(hyperparameters or {})}, learner, "final_rate" in (hyperparameters or {}))
    return learner(policy, venv, policy_kwargs=policy_kwargs, **merged, **kwargs)


def _scheduled(hyperparameters: Values, learner: type, falls: bool) -> Values:
    """Turn learning rate and final rate into a schedule, for learners that know no final rate themselves.

    Args:
        hyperparameters: by name.
        learner: the class.
        falls: whether the learning rate is to fall; else it stays as it is.
    """
    if "final_rate" in inspect.signature(learner).parameters or "final_rate" not in hyperparameters:
        return hyperparameters
    start = hyperparameters["learning_rate"]
    end = start * hyperparameters.pop("final_rate")
    return {**hyperparameters, "learning_rate": lambda left: end + (start - end) * left} if falls else hyperparameters
