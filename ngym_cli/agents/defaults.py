"""Completion of configurations: `prepare` spells out every default of a new one, `read_config` those of a recorded run.

No torch is imported, except by a user's own cell or algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.envs.multi import ScheduleEnvs
from neurogym.messages.plain_data import is_plain
from ngym_cli import runs
from ngym_cli.agents.algorithms import ALGORITHMS, AlgorithmSpec, check_pairing, find_algorithm
from ngym_cli.agents.networks import NETWORKS, NetworkSpec, find_network, pruning
from ngym_cli.agents.networks.connectome import as_table, from_table
from ngym_cli.agents.networks.structure import read_areas
from ngym_cli.agents.per_task import OTHER_ALGORITHMS, TaskDefaults, exceptional, has_own_stages, usual_steps
from ngym_cli.config import options
from ngym_cli.config.model import ResolvedConfig, ResolvedEvaluation, RunConfig
from ngym_cli.config.sections import Duration, RecordingConfig, with_none
from ngym_cli.config.tasks import Task, built_in, find_task
from ngym_cli.config.values import Values
from ngym_cli.environments.properties import TaskProperties, inspect, is_history_dependent
from ngym_cli.environments.quota import TrialQuota
from ngym_cli.environments.stack import ALWAYS, default_arguments, find_wrapper, keyword_parameters, make_env
from ngym_cli.errors import UserError, option

#: Units of a run, whatever the algorithm.
DEFAULT_UNITS = 64

#: Updates of a short run at least, minibatches of each of these updates, and the smallest minibatch (steps): fewer
#: gradient steps than these learn worse from more trials (``experiments/trainings``).
FEWEST_UPDATES, MINIBATCHES, SMALLEST_BATCH = 24, 4, 64

#: Updates of a short supervised run at least, and the fewest steps between two updates.
FEWEST_SUPERVISED_UPDATES, MIN_STEPS = 8, 2

#: Trials of an evaluation: usually, of images (observations of more numbers than this), and at least.
TRIALS, IMAGE_TRIALS, IMAGE, FEWEST_TRIALS = 2_000, 200, 1_000, 20

#: Half width of the 95 % interval of performance up to which trials are added where they are linked.
HALF_WIDTH = 0.02

#: Steps between two evaluations, and multiples of it where one takes as many or more; evaluations of a run at least.
EVALUATE_EVERY, FEWEST_EVALUATIONS = 100_000, 4

#: Steps of an evaluation for each step of training, at most (1 of images).
EVALUATION_SHARE = 4

#: Settings of training where a fitted model acts.
UNTRAINED: Values = {
    **{"network": "", "units": 0, "n_envs": 1, "timesteps": 0},
    "evaluation": ResolvedEvaluation(trials=TRIALS, every=0),
}

#: Entry ``alg`` of a configuration in which a fitted model acts, which has no network and is not trained.
FITTED = "fitted"

#: Settings of a configuration that concern the task, as opposed to the agent.
TASK_FIELDS = ("task", "dt", "task_args", "timing", "rewards", "wrappers", "reset_state")

#: Complete configuration, and the properties of its task.
Prepared = tuple[ResolvedConfig, TaskProperties]


def prepare(config: RunConfig, tried: Prepared | None = None) -> Prepared:
    """Return a configuration with every default spelled out, and the properties of its task.

    Args:
        config: settings of the user.
        tried: the same task with the same wrappers, if it was prepared before.

    Raises:
        UserError: on anything that does not exist or does not fit together.
    """
    if tried is None:
        config, properties = _with_task_defaults(config)
    else:
        config, properties = with_task_of(config, tried[0]), tried[1]
    return _with_agent_defaults(config, properties), properties


def with_task_of(config: RunConfig, complete: ResolvedConfig) -> RunConfig:
    """Return a configuration with the settings of task and wrappers of a complete one."""
    return config.model_copy(update={name: value for name, value in complete if name in TASK_FIELDS})


def read_config(run: runs.RunFolder, trust: bool = False) -> ResolvedConfig:
    """Return the complete configuration of a run; what an earlier version did not record has its default.

    Args:
        run: folder of the run.
        trust: let the configuration name a user's own code.

    Raises:
        UserError: if the configuration is missing or damaged, or names code or files without being trusted.
    """
    config = run.recorded_config(trust)
    values = dict(config)
    if config.alg == FITTED:
        values |= UNTRAINED
    if (algorithm := ALGORITHMS.get(config.alg)) is not None:
        values["hyperparameters"] = complete_hyperparameters(algorithm, {}, config.hyperparameters)
    if (network := NETWORKS.get(str(config.network))) is not None:
        usual = {} if config.dt is None or "dt" not in network.options else {"dt": float(config.dt)}
        values["network_args"] = complete_arguments(network, usual, config.network_args)
    missing = [name for name in ("dt", "network", "units", "n_envs", "timesteps") if values[name] is None]
    if config.reset_state == "auto" or missing:
        raise UserError(f"damaged run folder {run.path}: {runs.CONFIG} lacks settings of the run")
    recorded = config.evaluation.model_dump(exclude_none=True)
    values["evaluation"] = ResolvedEvaluation(**{"trials": TRIALS, "every": 0, "exact": True, **recorded})
    return ResolvedConfig.model_construct(**values)


# -- task and wrappers ------------------------------------------------------------------------------------------------


def _with_task_defaults(config: RunConfig) -> tuple[RunConfig, TaskProperties]:
    """Return a configuration with every default of task and wrappers, and the properties of the task."""
    task = find_task(config.task)
    properties = inspect(config, trained=True, task=task)
    resolved: dict[str, Any] = {"dt": int(properties.dt) if properties.dt.is_integer() else properties.dt}
    plain_defaults = with_none(_plain_defaults(task))
    resolved["task_args"] = {**plain_defaults, **config.task_args}
    if task.several and isinstance(config.task_args.get("instructions"), str):  # a run keeps the table, not its place
        assert isinstance(properties.inner, ScheduleEnvs) and properties.inner.rule_input.rows is not None
        resolved["task_args"]["instructions"] = properties.inner.rule_input.rows.tolist()
    takes = keyword_parameters(task.entry)
    if not task.several and (takes is None or "timing" in takes):
        durations = {period: Duration.of_task(value) for period, value in properties.timing.items()}
        resolved["timing"] = {period: each.written for period, each in durations.items() if each} | config.timing
    if not task.several and (takes is None or "rewards" in takes):
        resolved["rewards"] = {
            key: float(value)
            for key, value in properties.rewards.items()
            if isinstance(key, str) and isinstance(value, int | float) and math.isfinite(value)
        } | config.rewards
    classes = [find_wrapper(entry.name) for entry in config.wrappers]
    resolved["wrappers"] = [
        entry.model_copy(update={"args": {**_wrapper_defaults(cls), **entry.args}})
        for cls, entry in zip(classes, config.wrappers, strict=True)
    ]
    if config.reset_state == "auto":
        remembered = properties.history_dependent or any(_has_history(config, k) for k in range(len(config.stages)))
        resolved["reset_state"] = "never" if remembered else "trial"
    return config.model_copy(update=resolved), properties


def rounding(config: RunConfig, properties: TaskProperties) -> str | None:
    """Return a line about durations that are not whole steps, with the durations of the trials; None if all are.

    Args:
        config: complete configuration.
        properties: known properties of the task; the environment has been reset.
    """
    starts, ends = (getattr(properties.inner, name, None) or {} for name in ("start_t", "end_t"))
    changed = []
    for period, written in config.timing.items():
        if isinstance(written, bool) or not isinstance(written, int | float) or period not in starts:
            continue
        actual = float(ends[period] - starts[period])
        # Wrappers that move a period, such as reaction_time, change it by more than a step.
        if 1e-6 * properties.dt < abs(actual - written) < properties.dt and actual > 0:
            changed.append(f"{period} {written:g} ms becomes {actual:g} ms")
    return f"durations are whole steps of {properties.dt:g} ms: {', '.join(changed)}" if changed else None


def _has_history(config: RunConfig, index: int) -> bool:
    stage_config = config.in_stage(index)
    try:
        task = find_task(stage_config.task)
        return is_history_dependent(make_env(task, stage_config), task)
    except UserError as error:
        raise UserError(f"stage {config.stages[index].name or index + 1}: {error}") from error


def _plain_defaults(task: Task) -> dict[str, object]:
    """Return the task's arguments: defaults, those fixed by an alias, and those with which networks learn better."""
    registered = {} if task.own else dict(gym.registry[task.name].kwargs) if task.name in gym.registry else {}
    without = ("dt", "timing", "rewards")
    if task.several:
        defaults = default_arguments(task.entry)
        return {name: value for name, value in defaults.items() if name not in without and is_plain(value)}
    fixed = {name: value for name, value in registered.items() if name not in without and is_plain(value)}
    return {**_defaults(task.entry, without), **fixed, **built_in(task.name)[1].get("trained_with", {})}


def _wrapper_defaults(cls: Any) -> dict[str, object]:
    defaults = {**_defaults(cls, ("env", "envs")), **ALWAYS.get(cls.__name__, {})}
    return dict(with_none(defaults))


def _defaults(entry: Callable[..., object], without: tuple[str, ...]) -> dict[str, object]:
    """Return the default arguments with plain values (numbers, truth values, words, lists)."""
    parameters = keyword_parameters(entry) or {}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in parameters.items()
        if name not in without and is_plain(value)
    }


# -- agent ------------------------------------------------------------------------------------------------------------


def _with_agent_defaults(config: RunConfig, properties: TaskProperties) -> ResolvedConfig:
    """Complete the defaults of the algorithm and the network, and refuse incompatible settings."""
    if config.alg == FITTED:
        return ResolvedConfig.model_construct(**{**dict(config), **UNTRAINED})
    algorithm = find_algorithm(config.alg)
    network = find_network(config.network or algorithm.networks[0])
    task, dt = properties.id, properties.dt
    try:
        check_pairing(algorithm, network, properties.observation_space, properties.action_space)
    except UserError as error:
        raise UserError(f"{error} (task {config.task})") from None
    usual = algorithm.rollout_for(properties.trial_steps)
    special = OTHER_ALGORITHMS.get((task, config.alg)) or exceptional(task, properties.rt_from, dt)
    if special is None or special.algorithm != config.alg:
        special = TaskDefaults("the defaults of the algorithm apply")
    timesteps = config.timesteps or default_steps(config, task)
    usual = {**usual, **special.hyperparameters}
    hyperparameters = complete_hyperparameters(algorithm, usual, config.hyperparameters)
    if config.hyperparameters.get("draw") == "batch" and config.reset_state != "trial":
        raise UserError(f"draw=batch needs reset_state=trial, not {config.reset_state}, which continues sessions")
    n_envs, usual = sized(algorithm, usual, timesteps, config, special.n_envs)
    hyperparameters |= {name: value for name, value in usual.items() if name not in config.hyperparameters}
    network_args = complete_arguments(network, _network_defaults(network, special, dt, properties), config.network_args)
    if network_args.get("prune") is not None:
        network_args["prune"] = pruning.complete(network_args["prune"], timesteps)
    completed = {
        "dt": dt if config.dt is None else config.dt,
        "network": network.name,
        "network_args": network_args,
        "units": config.units or units_of_structure(network_args) or DEFAULT_UNITS,
        "n_envs": n_envs,
        "timesteps": timesteps,
        "evaluation": evaluation(config, properties, timesteps),
        "hyperparameters": hyperparameters,
    }
    if config.recording is not None:
        completed["recording"] = _recording(config.recording)
    resolved = ResolvedConfig.model_construct(**{**dict(config), **completed})  # every value is checked already
    if config.recording is not None:
        _refuse_recording(resolved, algorithm)
    return resolved


def _recording(settings: RecordingConfig) -> RecordingConfig:
    """Return the settings of a recording with the whole path and the checksum of the file.

    Raises:
        UserError: if there is no such file.
    """
    from ngym_cli.runs.populations import check_file, checksum

    path = Path(settings.file)
    check_file(path, option("--recording"))
    return settings.model_copy(update={"file": str(path.resolve()), "sha256": settings.sha256 or checksum(path)})


def _refuse_recording(config: ResolvedConfig, algorithm: AlgorithmSpec) -> None:
    """Refuse a recording with an algorithm or settings that cannot learn from it.

    Raises:
        UserError: with the reason.
    """
    reason = ""
    if not algorithm.recurrent:
        reason = f"{config.alg} trains no recurrent network; expected supervised, recurrent_ppo, ..."
    elif config.reset_state != "trial":
        expected = option("--reset-state trial")
        reason = f"trials of a recording begin with a zero state; expected {expected}, not {config.reset_state}"
    elif config.stages:
        reason = "a curriculum changes the task, and conditions would no longer match"
    elif config.recording and config.recording.only:
        added = ("l1_rate", "l2_rate", "l1_weight", "l2_weight", "participation", "consolidation", "imitation")
        others = [name for name in added if config.hyperparameters.get(name)]
        reason = f"{option('--recording-only')} leaves out every other loss, also {others[0]}" if others else ""
    if reason:
        raise UserError(f"{option('--recording')}: {reason}")


def _network_defaults(network: NetworkSpec, special: TaskDefaults, dt: float, properties: TaskProperties) -> Values:
    """Return the arguments of a network that follow from the task, name to value."""
    names = network.options
    # An argument of a user's own cell may have the name, but not the meaning, of an option of built-in networks.
    alike = names.keys() - (network.own.keys() if network.own_class else ())
    defaults = {name: value for name, value in special.network_args.items() if name in alike}
    if "dt" in names:
        defaults["dt"] = dt
    if network.own_class is None and "memory" in names and "memory" not in defaults:
        defaults["memory"] = float(max(names["memory"], properties.trial_steps))
    return defaults


def complete_hyperparameters(algorithm: AlgorithmSpec, usual: Values, given: Mapping[str, object]) -> Values:
    """Return all hyperparameters of an algorithm; see `ngym_cli.config.options.complete`."""
    return options.complete(algorithm.hyperparameters, usual, given, f"hyperparameter of {algorithm.name}")


def complete_arguments(network: NetworkSpec, usual: Values, given: Mapping[str, object]) -> Values:
    """Return all arguments of a network; see `ngym_cli.config.options.complete`."""
    found = options.complete(network.described, usual, given, f"argument of network {network.name}")
    if found.get("connectome") is not None:
        found["connectome"] = as_table(found["connectome"])
    for units in found.get("readout", ()):
        if not isinstance(units, int) or units < 1:
            raise UserError(f"readout must be numbers of units, as in 64/32, not '{units}'")
    return found


def units_of_structure(network_args: Values) -> int:
    """Return the number of units of all areas or of the connectome of a network; 0 without either."""
    if network_args.get("connectome"):
        return len(from_table(network_args["connectome"]).mask)
    areas = network_args.get("areas")
    return sum(area.units.stop - area.units.start for area in read_areas(areas)) if areas else 0


def default_steps(config: RunConfig, task: str) -> int:
    """Return the number of steps of a run without ``--timesteps``: those of the task, or else of the algorithm.

    Curricula and sessions of several tasks have the algorithm's number.

    Args:
        config: configuration of the run.
        task: id of the task.
    """
    algorithm = find_algorithm(config.alg)
    return algorithm.timesteps if has_own_stages(config) else usual_steps(task, algorithm)


def sized(
    algorithm: AlgorithmSpec, usual: Values, timesteps: int, config: RunConfig, usual_envs: int | None = None
) -> tuple[int, Values]:
    """Return the number of environments and the usual hyperparameters, so that a short run has many gradient steps.

    Runs of the algorithm's default length, and longer ones, have the usual sizes.

    Args:
        algorithm: entry of the algorithm.
        usual: hyperparameters that differ from the algorithm's defaults.
        timesteps: steps of the run.
        config: settings of the user have priority.
        usual_envs: number of environments of long runs; None: that of the algorithm.
    """
    defaults = {**algorithm.defaults, **usual}
    n_envs = config.n_envs or usual_envs or algorithm.n_envs
    if algorithm.supervised:
        each = defaults["batch_size"] * defaults["seq_len"]
        most = timesteps // (FEWEST_SUPERVISED_UPDATES * each)
        return n_envs, {**usual, "n_updates": max(1, min(defaults["n_updates"], most))}
    if "buffer_size" in defaults or "n_steps" not in defaults:
        return n_envs, usual
    usual_rollout = (config.n_envs or algorithm.n_envs) * defaults["n_steps"]
    updates = min(FEWEST_UPDATES, max(1, algorithm.timesteps // usual_rollout))
    if timesteps >= updates * n_envs * defaults["n_steps"]:
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


def evaluation(config: RunConfig, properties: TaskProperties, timesteps: int) -> ResolvedEvaluation:
    """Complete the times and lengths of evaluations; settings of the user have priority.

    Args:
        config: configuration of the run.
        properties: known properties of the task.
        timesteps: steps of the run.
    """
    given = config.evaluation
    trials = given.trials or evaluation_trials(properties, timesteps)
    exact = given.trials is not None if given.exact is None else given.exact
    every = given.every
    if every is None:  # with long trials an evaluation would otherwise take longer than what is learned in between
        quota = TrialQuota.of(trials, config, properties, exact=exact)
        steps = int((quota.warm + quota.trials).sum()) * properties.trial_steps
        every = EVALUATE_EVERY * max(1, -(-steps // EVALUATE_EVERY))
        every = min(every, -(-timesteps // FEWEST_EVALUATIONS))
    precise = HALF_WIDTH if given.trials is None and timesteps >= EVALUATE_EVERY else 0.0
    half_width = precise if given.half_width is None else given.half_width
    return ResolvedEvaluation(
        trials=trials, every=every, deterministic=given.deterministic, half_width=half_width, exact=exact
    )


def trials_along_training(config: ResolvedConfig, properties: TaskProperties) -> int:
    """Return the trials of an evaluation along training: by default as many as were learned from since the last one.

    Args:
        config: complete configuration of the run.
        properties: known properties of the task.
    """
    settings = config.evaluation
    if settings.exact or not settings.every:
        return settings.trials
    return max(FEWEST_TRIALS, min(settings.trials, settings.every // max(properties.trial_steps, 1)))


def evaluation_trials(properties: TaskProperties, timesteps: int | None = None) -> int:
    """Return the default number of trials of an evaluation: fewer for images, which are slow, and in short runs.

    Args:
        properties: known properties of the task.
        timesteps: steps of the run, in which an evaluation should not take longer than the training.
    """
    image = int(np.prod(properties.observation_space.shape or (1,))) > IMAGE
    most = IMAGE_TRIALS if image else TRIALS
    if timesteps is None:
        return most
    steps = timesteps if image else EVALUATION_SHARE * timesteps
    return max(FEWEST_TRIALS, min(most, steps // max(properties.trial_steps, 1)))
