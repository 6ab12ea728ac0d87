"""From a configuration to a learner: defaults of the algorithm, pairings that work, and the model itself."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ngym_cli.config import RunConfig, streams
from ngym_cli.config.values import match_type
from ngym_cli.environments.stack import Facts
from ngym_cli.errors import UserError, unknown

#: Units of a run, whatever the algorithm.
UNITS = 64

#: Fraction of the learning rate that is left at the end of a run, to which it falls linearly: an agent that has reached
#: the ceiling would otherwise keep wandering around it.
FINAL_RATE = 0.02

#: Arguments of a learner's class that the configuration says elsewhere, or that cannot be written down.
NOT_HYPERPARAMETERS = {
    *("policy", "env", "policy_kwargs", "seed", "device", "verbose", "tensorboard_log", "_init_setup_model"),
    *(
        "stats_window_size",
        "use_sde",
        "sde_sample_freq",
        "supported_action_spaces",
        "monitor_wrapper",
        "support_multi_env",
    ),
    *("replay_buffer_class", "replay_buffer_kwargs", "rollout_buffer_class", "rollout_buffer_kwargs"),
}


def find_algorithm(name: str) -> Any:
    """Return the entry of an algorithm; torch is not imported.

    Raises:
        UserError: if there is none, with the nearest name.
    """
    from ngym_cli.agents.algorithms import ALGORITHMS

    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    return ALGORITHMS[name]


def find_network(name: str) -> Any:
    """Return the entry of a network; torch is not imported.

    Raises:
        UserError: if there is none, with the nearest name.
    """
    from ngym_cli.agents.networks import NETWORKS

    if name not in NETWORKS:
        raise unknown("network", name, NETWORKS)
    return NETWORKS[name]


def complete(config: RunConfig, facts: Facts) -> RunConfig:
    """Spell out the defaults of the algorithm and the network, and refuse what does not go together.

    Raises:
        UserError: on an unknown algorithm, network or hyperparameter, a value of the wrong type, or a wrong pairing.
    """
    from ngym_cli.agents.algorithms import check_pairing

    algorithm = find_algorithm(config.alg)
    network = find_network(config.network or algorithm.networks[0])
    try:
        check_pairing(config.alg, network.name, facts.observation_space, facts.action_space)
    except ValueError as error:
        raise UserError(f"{error} (task {config.task})") from None
    options = {**network.options, **algorithm.network_defaults}
    if "dt" in options:
        options["dt"] = facts.dt
    if "memory" in options:
        options["memory"] = float(max(options["memory"], facts.trial_steps))
    return config.model_copy(
        update={
            "network": network.name,
            "network_args": _laid_over(options, config.network_args, f"argument of network {network.name}"),
            "units": config.units or UNITS,
            "n_envs": config.n_envs or algorithm.n_envs,
            "timesteps": config.timesteps or algorithm.timesteps,
            "hyperparameters": _laid_over(
                {
                    **hyperparameters(algorithm),
                    **algorithm.rollout_for(facts.trial_steps),
                    **exceptions(config.alg, facts),
                },
                config.hyperparameters,
                f"hyperparameter of {config.alg}",
            ),
        }
    )


def exceptions(alg: str, facts: Facts) -> dict[str, Any]:
    """Return the hyperparameters that a task has other defaults for, which `ngym info` gives the reason of."""
    from ngym_cli.agents.algorithms.exceptions import EXCEPTIONS

    return EXCEPTIONS[facts.id].hyperparameters if alg == "recurrent_ppo" and facts.id in EXCEPTIONS else {}


def hyperparameters(algorithm: Any) -> dict[str, Any]:
    """Return every hyperparameter of an algorithm that can be written down, with its default (this imports torch).

    A learner that hands keywords on to a class of Stable-Baselines3 has that class's hyperparameters too. One that is
    built on another learner of ours fixes some of them: there its table of defaults says which are left open.
    """
    found: dict[str, Any] = {}
    for depth, cls in enumerate(cls for cls in algorithm.load().__mro__ if "__init__" in vars(cls)):
        if depth and cls.__module__.startswith("ngym_cli."):
            break
        parameters = inspect.signature(cls.__init__).parameters.values()
        named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.default is not p.empty]
        found = {**{p.name: p.default for p in named if _simple(p.default)}, **found}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    found = {name: value for name, value in found.items() if name not in NOT_HYPERPARAMETERS}
    return {"final_rate": FINAL_RATE, **found, **algorithm.defaults}


def _simple(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _laid_over(defaults: Mapping[str, Any], given: Mapping[str, Any], kind: str) -> dict[str, Any]:
    for key in given:
        if key not in defaults:
            raise unknown(kind, key, defaults)
    return {key: match_type(given[key], value, key) if key in given else value for key, value in defaults.items()}


def build_model(config: RunConfig, venv: Any) -> Any:
    """Make the learner of a complete configuration.

    Raises:
        UserError: if the algorithm refuses its hyperparameters or the device does not exist.
    """
    from ngym_cli.agents.algorithms.build import make_model

    hyperparameters = _with_schedule(config.hyperparameters, find_algorithm(config.alg).load())
    try:
        return make_model(
            config.alg,
            venv,
            config.network,
            int(config.units or UNITS),
            config.network_args,
            hyperparameters,
            config.dt,
            seed=streams(config.seed)["network"],
            device=device_of(config.device),
            verbose=0,
        )
    except (TypeError, ValueError, AssertionError, RuntimeError, MemoryError, OverflowError) as error:
        raise UserError(f"{config.alg}: {' '.join(str(error).split())}") from error


def _with_schedule(hyperparameters: Mapping[str, Any], algorithm: type) -> dict[str, Any]:
    """Turn learning rate and final rate into a schedule, for learners that know no final rate themselves."""
    given = dict(hyperparameters)
    if "final_rate" not in inspect.signature(algorithm).parameters:
        start = given["learning_rate"]
        end = start * given.pop("final_rate")
        given["learning_rate"] = lambda left: end + (start - end) * left
    return given


def device_of(name: str) -> str:
    """Return the torch device for a name; ``auto`` is the CPU, which is faster for networks of this size.

    Raises:
        UserError: if there is no such device.
    """
    import torch

    if name == "auto":
        return "cpu"
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"device '{name}' is not available: {str(error).splitlines()[0]}") from None
    return name
