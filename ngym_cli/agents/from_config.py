"""From a configuration to a learner: defaults of the algorithm, pairings that work, and the model itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ngym_cli.agents import own
from ngym_cli.agents.algorithms import AlgorithmSpec, check_pairing, find_algorithm
from ngym_cli.agents.device.selection import choose
from ngym_cli.agents.networks import NetworkSpec, find_network
from ngym_cli.agents.networks.structure import Structure, read_areas
from ngym_cli.agents.per_task import BUDGETS, TaskDefaults, exceptional
from ngym_cli.config import EvaluationConfig, ResolvedConfig, ResolvedEvaluation, RunConfig, options, streams
from ngym_cli.config.tasks import is_supervised_by_default
from ngym_cli.config.values import Values
from ngym_cli.errors import UserError, message_of, one_line

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.vec_env import VecEnv

    from ngym_cli.environments.properties import TaskProperties

#: Units of a run, whatever the algorithm.
UNITS = 64

#: Updates of a short run at least, minibatches of each of these updates, and the smallest minibatch (steps): fewer
#: gradient steps than these learn worse from more trials (``experiments/short_runs``).
FEWEST_UPDATES, MINIBATCHES, SMALLEST_BATCH = 24, 4, 64

#: Updates of a short supervised run at least, and the fewest steps between two updates.
FEWEST_SUPERVISED_UPDATES, MIN_STEPS = 8, 2

#: Trials of an evaluation: usually, of images (observations of more numbers than this), and at least.
TRIALS, IMAGE_TRIALS, IMAGE, FEWEST_TRIALS = 2_000, 200, 1_000, 20

#: Half width of the 95 % interval of performance up to which trials are added where they are linked.
HALF_WIDTH = 0.02

#: Steps between two evaluations, and multiples of it where one takes as many or more.
EVALUATE_EVERY = 100_000

#: Steps of an evaluation for each step of training, at most (1 of images).
EVALUATION_SHARE = 4


def complete(config: RunConfig, facts: TaskProperties) -> ResolvedConfig:
    """Complete the defaults of the algorithm and the network, and refuse incompatible settings.

    Raises:
        UserError: on an unknown algorithm, network or hyperparameter, a value of the wrong type, or a wrong pairing.
    """
    algorithm = find_algorithm(config.alg)
    network = find_network(config.network or algorithm.networks[0])
    try:
        check_pairing(config.alg, network.name, facts.observation_space, facts.action_space)
    except UserError as error:
        raise UserError(f"{error} (task {config.task})") from None
    special = exceptional(facts.id, facts.rt_from, facts.dt)
    if special is None or special.algorithm != config.alg:
        special = TaskDefaults("the defaults of the algorithm apply")
    # An argument of a user's own cell may have the name, but not the meaning, of an option of built-in networks.
    alike = network.options.keys() - (network.own.keys() if network.own_class else ())
    here = {name: value for name, value in special.network_args.items() if name in alike}
    if "dt" in network.options:
        here["dt"] = facts.dt
    if network.own_class is None and "memory" in network.options and "memory" not in here:
        here["memory"] = float(max(network.options["memory"], facts.trial_steps))
    timesteps = config.timesteps or default_steps(config, facts.id)
    usual = {**algorithm.rollout_for(facts.trial_steps), **special.hyperparameters}
    complete_hyperparameters(algorithm, {}, config.hyperparameters)  # refused before sizes are computed
    if config.hyperparameters.get("consolidation") and not config.stages:
        raise UserError("consolidation protects what earlier stages learned; expected [[stages]] in a --config file")
    if config.hyperparameters.get("draw") == "batch" and config.reset_state != "trial":
        raise UserError(f"draw=batch needs reset_state=trial, not {config.reset_state}, which continues sessions")
    n_envs, usual = sized(algorithm, usual, timesteps, config)
    network_args = complete_arguments(network, here, config.network_args)
    completed = {
        "dt": facts.dt if config.dt is None else config.dt,
        "network": network.name,
        "network_args": network_args,
        "units": config.units or units_of_areas(network_args) or UNITS,
        "n_envs": n_envs,
        "timesteps": timesteps,
        "evaluation": evaluation(config.evaluation, facts, timesteps),
        "hyperparameters": complete_hyperparameters(algorithm, usual, config.hyperparameters),
    }
    return ResolvedConfig.model_construct(**{**dict(config), **completed})  # every value is checked already


def complete_hyperparameters(algorithm: AlgorithmSpec, usual: Values, given: Mapping[str, object]) -> Values:
    """Return all hyperparameters of an algorithm; see `ngym_cli.config.options.complete`."""
    return options.complete(algorithm.hyperparameters, usual, given, f"hyperparameter of {algorithm.name}")


def complete_arguments(network: NetworkSpec, usual: Values, given: Mapping[str, object]) -> Values:
    """Return all arguments of a network; see `ngym_cli.config.options.complete`."""
    found = options.complete(network.described, usual, given, f"argument of network {network.name}")
    for units in found.get("readout", ()):
        if not isinstance(units, int) or units < 1:
            raise UserError(f"readout must be numbers of units, as in 64/32, not '{units}'")
    return found


def units_of_areas(network_args: Values) -> int:
    """Return the number of units of all areas of a network; 0 without areas."""
    return sum(area.units.stop - area.units.start for area in read_areas(network_args.get("areas") or {}))


def default_steps(config: RunConfig, task: str) -> int:
    """Return the number of steps of a run without ``--timesteps``: the task's own, or else the algorithm's.

    Curricula and sessions of several tasks have the algorithm's number.

    Args:
        config: configuration of the run.
        task: id of the task.
    """
    algorithm = find_algorithm(config.alg)
    alike = algorithm.recurrent and algorithm.supervised == is_supervised_by_default(task)
    return BUDGETS.get(task, algorithm.timesteps) if alike and not config.stages else algorithm.timesteps


def sized(algorithm: AlgorithmSpec, usual: Values, timesteps: int, config: RunConfig) -> tuple[int, Values]:
    """Return the number of environments and the usual hyperparameters, so that a short run has many gradient steps.

    Runs of the algorithm's default length, and longer ones, have the usual sizes.

    Args:
        algorithm: entry of the algorithm.
        usual: hyperparameters that differ from the algorithm's defaults.
        timesteps: steps of the run.
        config: settings of the user have priority.
    """
    defaults = {**algorithm.defaults, **usual}
    n_envs = config.n_envs or algorithm.n_envs
    if algorithm.supervised:
        each = defaults["batch_size"] * defaults["seq_len"]
        most = timesteps // (FEWEST_SUPERVISED_UPDATES * each)
        return n_envs, {**usual, "n_updates": max(1, min(defaults["n_updates"], most))}
    if "buffer_size" in defaults or "n_steps" not in defaults:
        return n_envs, usual
    rollout = n_envs * defaults["n_steps"]
    updates = min(FEWEST_UPDATES, max(1, algorithm.timesteps // rollout))
    if timesteps >= updates * rollout:
        return n_envs, usual
    n_steps = config.hyperparameters.get("n_steps")
    steps = int(n_steps or min(defaults["n_steps"], max(1, timesteps)))
    if config.n_envs is None:
        n_envs = max(1, min(n_envs, timesteps // (updates * steps)))
    if n_steps is None:
        usual = {**usual, "n_steps": max(MIN_STEPS, min(steps, -(-timesteps // n_envs)))}
    if "batch_size" in defaults:
        rollout = n_envs * int(n_steps or usual["n_steps"])
        most = rollout if config.n_envs else max(SMALLEST_BATCH, rollout // MINIBATCHES)
        usual = {**usual, "batch_size": max(MIN_STEPS, min(defaults["batch_size"], most, rollout))}
    return n_envs, usual


def evaluation(given: EvaluationConfig, facts: TaskProperties, timesteps: int) -> ResolvedEvaluation:
    """Complete the times and lengths of evaluations; settings of the user have priority.

    Args:
        given: by the user.
        facts: known properties of the task.
        timesteps: steps of the run.
    """
    trials = given.trials or evaluation_trials(facts, timesteps)
    every = given.every
    if every is None:  # with long trials an evaluation would otherwise take longer than what is learned in between
        every = EVALUATE_EVERY * max(1, -(-trials * facts.trial_steps // EVALUATE_EVERY))
    precise = HALF_WIDTH if given.trials is None and timesteps >= EVALUATE_EVERY else 0.0
    half_width = precise if given.half_width is None else given.half_width
    return ResolvedEvaluation(trials=trials, every=every, deterministic=given.deterministic, half_width=half_width)


def evaluation_trials(facts: TaskProperties, timesteps: int | None = None) -> int:
    """Return the default number of trials of an evaluation: fewer for images, which are slow, and in short runs.

    Args:
        facts: known properties of the task.
        timesteps: steps of the run, in which an evaluation should not take longer than the training.
    """
    image = int(np.prod(facts.observation_space.shape or (1,))) > IMAGE
    most = IMAGE_TRIALS if image else TRIALS
    if timesteps is None:
        return most
    steps = timesteps if image else EVALUATION_SHARE * timesteps
    return max(FEWEST_TRIALS, min(most, steps // max(facts.trial_steps, 1)))


def build_model(config: RunConfig, venv: VecEnv) -> BaseAlgorithm:
    """Make the learner of a complete configuration.

    Raises:
        UserError: if a hyperparameter does not exist, is of another type or is refused, or there is no such device.
    """
    choice = choose(config.device, str(config.network), int(config.units or UNITS), sequences_side_by_side(config))
    try:
        model = make_model(
            config.alg,
            venv,
            config.network,
            int(config.units or UNITS),
            config.network_args,
            _complete_hyperparameters_of(config),
            config.dt,
            seed=streams(config.seed)["network"],
            device=choice.device,
            verbose=0,
        )
    except (TypeError, ValueError, AssertionError, RuntimeError, MemoryError, OverflowError) as error:
        raise UserError(f"{config.alg}: {message_of(error) or one_line(error)}") from error
    if hasattr(model, "device_reason"):
        model.device_reason = choice.reason
    return model


def _complete_hyperparameters_of(config: RunConfig) -> Values:
    """Return all hyperparameters of a configuration, which those of older versions may not name."""
    if isinstance(config, ResolvedConfig):
        return config.hyperparameters
    return complete_hyperparameters(find_algorithm(config.alg), {}, config.hyperparameters)


def sequences_side_by_side(config: RunConfig) -> int:
    """Return the number of sequences that a learner computes side by side: environments, or sequences of a batch."""
    batch = config.hyperparameters.get("batch_size") if find_algorithm(config.alg).supervised else None
    return int(batch or config.n_envs or 1)


def make_model(
    alg: str,
    venv: VecEnv,
    network: str | None = None,
    units: int = UNITS,
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
    from stable_baselines3.common.preprocessing import is_image_space
    from torch import nn

    check_pairing(alg, network, venv.observation_space, venv.action_space)
    algorithm, given = find_algorithm(alg), hyperparameters or {}
    chosen = find_network(network or algorithm.networks[0])
    usual = {} if dt is None or "dt" not in chosen.options else {"dt": float(dt)}
    args = {**chosen.options, **complete_arguments(chosen, usual, network_args or {})}
    own_args = {name: args[name] for name in chosen.own}
    if chosen.recurrent:
        policy = "RecurrentPolicy"
        policy_kwargs = {
            "network": chosen.name,
            "units": units,
            "layers": args["layers"],
            "shared": args["shared"],
            "net_arch": list(args["readout"]),
            "critic_reads": args["critic_reads"],
            **({"precision": args["precision"]} if args["precision"] != "single" else {}),
            "structure": Structure.of({name: value for name, value in args.items() if name not in own_args}),
            "network_kwargs": own_args,
            **({} if args["patience"] is None else {"patience": args["patience"]}),
        }
    else:
        policy = "CnnPolicy" if is_image_space(venv.observation_space) else "MlpPolicy"
        activation = {"tanh": nn.Tanh, "relu": nn.ReLU, "softplus": nn.Softplus}[args["activation"]]
        policy_kwargs = {"net_arch": [units] * args["layers"], "activation_fn": activation}
    learner = algorithm.load()
    merged = _scheduled({**algorithm.defaults, **given}, learner, "final_rate" in given)
    return learner(policy, venv, policy_kwargs=policy_kwargs, **merged, **kwargs)


def _scheduled(hyperparameters: Values, learner: type, falls: bool) -> Values:
    """Turn learning rate and final rate into a schedule, for learners that know no final rate themselves.

    Args:
        hyperparameters: by name.
        learner: the class.
        falls: whether the learning rate is to fall; else it stays as it is.
    """
    known = {parameter.name for parameter in own.constructor_parameters(learner)[0]}
    if "final_rate" in known or "final_rate" not in hyperparameters:
        return hyperparameters
    start = hyperparameters["learning_rate"]
    end = start * hyperparameters.pop("final_rate")
    return {**hyperparameters, "learning_rate": lambda left: end + (start - end) * left} if falls else hyperparameters
