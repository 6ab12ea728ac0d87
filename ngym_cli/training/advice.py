"""Advice before a run that was measured not to learn, and after a run that ends far below the best possible."""

from __future__ import annotations

from collections.abc import Iterator

from ngym_cli.agents.algorithms import ALGORITHMS, check_pairing, find_algorithm
from ngym_cli.agents.from_config import UNITS, default_steps
from ngym_cli.agents.per_task import ELSEWHERE, LineResult, learner_of, measured
from ngym_cli.config import ResolvedConfig, RunConfig
from ngym_cli.config.tasks import Recommended, recommended, usual_algorithm
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.errors import UserError
from ngym_cli.runs.records import Summary

#: Share of the ceiling below which a performance calls for advice.
FAR = 0.95

#: Most suggestions of one line.
MOST = 3


def advance_notice(config: RunConfig | None, properties: TaskProperties) -> str | None:
    """Return one line on what keeps the settings of a run from learning the task, with what to add; None otherwise.

    Args:
        config: configuration before defaults are spelled out; None for a run that is resumed.
        properties: properties of the task.
    """
    if properties.lacks_reward:
        return (
            "the task needs the last reward as input, which the agent is not shown (--recommended shows it); "
            "the ceiling is that without it"
        )
    learner = None if config is None or config.stages or properties.task.own else learner_of(config)
    row = measured(properties.id, learner) if learner else None
    if row is None or row.learned:
        return None
    needed, better = recommended(properties.id), measured(properties.id, "recommended")
    if learner != "recommended" and needed and better and better.learned:
        does = f"--recommended does ({better.share} seeds): {needed.words}"
        return f"these settings were measured not to learn the task ({row.share} seeds); {does}"
    if properties.id not in ELSEWHERE:
        return None
    best = f"{row.performance:.2f} of {row.target:.2f} after {row.steps:,} steps"
    return f"no line learns this task yet ({best}); ngym info {properties.id} says what is missing"


def advice(config: ResolvedConfig, properties: TaskProperties, evaluation: Summary) -> str | None:
    """Return one line on a performance at chance or far below the ceiling, with what to try; None where all is well.

    Args:
        config: complete configuration of the run.
        properties: properties of the task.
        evaluation: summary of the last evaluation.
    """
    result = shortfall(evaluation)
    if result is None and properties.lacks_reward:
        result = "the best possible performance of an agent that is not shown the last reward"
    if result is None:
        return None
    if config.stages or properties.task.several or properties.task.own:
        return result
    tried = [*_suggestions(config, properties)][:MOST]
    sentence = f"{result}; try {' or '.join(tried)}" if tried else result
    return (
        f"{sentence}; no line learns this task yet, see ngym info {properties.id}"
        if properties.id in ELSEWHERE
        else sentence
    )


def shortfall(evaluation: Summary) -> str | None:
    """Return how far a performance is from chance and ceiling, or None if at most 5 % below the ceiling.

    Args:
        evaluation: summary of an evaluation; performance counts with the interval.
    """
    low, high = evaluation["performance_ci"]
    score, ceiling = evaluation["performance"], evaluation.get("ceiling")
    floors = {"chance": evaluation.get("chance"), "the stimulus-blind baseline": evaluation.get("blind")}
    floors_known = {name: value for name, value in floors.items() if value is not None}
    if ceiling is not None and high >= FAR * ceiling:
        return None
    if floors_known:
        name, floor = max(floors_known.items(), key=lambda pair: pair[1])
        if low <= floor:
            return f"not learned: performance {score:.3f} is not above {name} ({floor:.3f})"
    if ceiling is None:
        return None
    return f"performance {score:.3f} is {score / ceiling:.0%} of the ceiling ({ceiling:.3f})"


def _suggestions(config: ResolvedConfig, properties: TaskProperties) -> Iterator[str]:
    """Yield what to try, the most promising first."""
    algorithm = find_algorithm(config.alg)
    needed = recommended(properties.id)
    if needed is not None and not _has(config, needed):
        yield "--recommended (wrappers and settings that the task needs)"
    if not algorithm.recurrent and not algorithm.own_class:
        yield f"--alg {usual_algorithm(properties.id)} (a network with memory)"
        return
    usual, steps = default_steps(config, properties.id), config.timesteps
    if steps < usual:
        yield f"--timesteps {usual:_} (default of the task)"
    if config.network != algorithm.networks[0]:
        yield f"--network {algorithm.networks[0]}"
    row = measured(properties.id, learner_of(config) or "default")
    if row is not None and row.learned and steps >= usual:
        yield f"another --seed ({row.share} seeds learn the task)"
    if config.units < UNITS:
        yield f"--units {UNITS}"
    if steps >= usual:
        yield f"--timesteps {2 * steps:_}"
    yield from _other_signal(config, properties)


def _has(config: ResolvedConfig, needed: Recommended) -> bool:
    """Return whether a run has the recommended wrappers, steps, hyperparameters and arguments of the network."""
    wrapper_names = {entry.name for entry in config.wrappers}
    if config.timesteps < needed.settings.get("timesteps", 0):
        return False
    return all(entry["name"] in wrapper_names for entry in needed.settings.get("wrappers", ())) and all(
        getattr(config, table).get(name) == value
        for table in ("hyperparameters", "network_args")
        for name, value in needed.settings.get(table, {}).items()
    )


def _other_signal(config: ResolvedConfig, properties: TaskProperties) -> Iterator[str]:
    """Yield an algorithm that learns from another signal, unless measured not to learn the task."""
    taught = find_algorithm(config.alg).supervised
    alternative = "recurrent_ppo" if taught else "supervised"
    if alternative not in ALGORITHMS or (
        alternative == "supervised" and "supervised" not in properties.task.metadata.get("tags", ())
    ):
        return
    row: LineResult | None = measured(
        properties.id, "default" if alternative == usual_algorithm(properties.id) else alternative
    )
    if row is not None and not row.reached:
        return
    try:
        check_pairing(alternative, None, properties.observation_space, properties.action_space)
    except UserError:
        return
    yield f"--alg {alternative} (learning from {'reward' if taught else 'the right actions'})"
