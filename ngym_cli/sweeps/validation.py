"""Every setting of a sweep is tried before the first run starts: a wrong word shows now, not after a night.

The duration is estimated from a short run of each kind of setting, measured here and scaled up.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ngym_cli import runs
from ngym_cli.config import RunConfig, from_dict, merge
from ngym_cli.config.tasks import find_task
from ngym_cli.config.values import Values
from ngym_cli.environments.defaults import resolve
from ngym_cli.environments.facts import Facts
from ngym_cli.errors import UserError, one_line
from ngym_cli.sweeps import plan, space
from ngym_cli.sweeps.recipe import Recipe, nest


def ready(recipe: Recipe) -> Recipe:
    """Return a recipe that has the same meaning at any time and in any folder.

    References to other runs become paths, and a search stores the number of steps of each run.

    Raises:
        UserError: if a run or an algorithm does not exist.
    """
    run, grid = dict(recipe.run), dict(recipe.grid)
    if isinstance(run.get("init_from"), str):
        run["init_from"] = _path_of(run["init_from"])
    if "init_from" in grid:
        grid["init_from"] = [_path_of(reference) for reference in grid["init_from"]]
    if recipe.search is not None and "timesteps" not in run:
        from ngym_cli.agents.from_config import default_steps

        agent = from_dict({key: run[key] for key in ("task", "alg", "stages") if key in run})
        run["timesteps"] = default_steps(agent, find_task(agent.task).id)
    return recipe.model_copy(update={"run": run, "grid": grid})


def _path_of(reference: str) -> str:
    return str(runs.find(reference).path.resolve())


def settings(recipe: Recipe) -> Iterator[Values]:
    """Yield the settings that represent all runs: each setting once, regardless of seed; for a search, the corners."""
    seen: set[Any] = set()
    if recipe.search is None:
        for entry in plan.entries(recipe):
            key = plan.setting_of(entry.values)
            if key not in seen:
                seen.add(key)
                yield entry.values
        return
    yield {}
    corners = {key: kind.corners() for key, kind in space.kinds(recipe.search.space).items()}
    for number in range(max(map(len, corners.values()))):
        yield {key: values[number % len(values)] for key, values in corners.items()}


class Setting(NamedTuple):
    """A setting that works.

    Attributes:
        config: complete configuration of its runs.
        facts: known properties of the task, shared by settings with the same task.
    """

    config: RunConfig
    facts: Facts


def check(recipe: Recipe) -> list[Setting]:
    """Return every setting, tried and with every default spelled out.

    Raises:
        UserError: on the first setting that does not work.
    """
    known: dict[str, tuple[RunConfig, Facts]] = {}
    found: list[Setting] = []
    for values in settings(recipe):
        try:
            found.append(completed(recipe, values, known))
        except UserError as error:
            said = ", ".join(f"{key}={value}" for key, value in values.items())
            raise UserError(f"{one_line(error)} (the runs with {said})" if said else one_line(error)) from None
    return found


def completed(recipe: Recipe, values: Values, known: dict[str, tuple[RunConfig, Facts]] | None = None) -> Setting:
    """Return a setting after a trial construction, with every default spelled out.

    Args:
        recipe: the recipe.
        values: settings of this run alone.
        known: tasks that were tried before, shared by settings that differ in the agent alone.

    Raises:
        UserError: if the setting does not work.
    """
    from ngym_cli.agents.algorithms import find_algorithm
    from ngym_cli.agents.from_config import complete
    from ngym_cli.agents.networks import find_network

    config = from_dict(merge(recipe.run, nest(values)))
    find_algorithm(config.alg)
    if config.network is not None:
        find_network(config.network)
    known = {} if known is None else known
    task = _task_of(config)
    if task not in known:
        known[task] = resolve(config)
    resolved, facts = known[task]
    config = config.model_copy(update={name: value for name, value in resolved if name in _TASK})
    return Setting(complete(config, facts), facts)


#: Keys of a configuration that concern the task, as opposed to the agent.
_TASK = ("task", "dt", "task_args", "timing", "rewards", "wrappers", "reset_state")


def _task_of(config: RunConfig) -> str:
    return json.dumps(config.model_dump(include=set(_TASK)), sort_keys=True, default=str)


def references(recipe: Recipe) -> list[str]:
    """Return the user code and files that a recipe names, outside of this package."""
    from ngym_cli.config import trust

    found = (trust.references(from_dict(merge(recipe.run, nest(values)))) for values in settings(recipe))
    return list(dict.fromkeys(name for names in found for name in names))


def require_trust(recipe: Recipe, source: Path, given: Recipe | None = None) -> None:
    """Refuse a recipe that was read and names code or files which the command line does not name too.

    Raises:
        UserError: names the first untrusted reference and says how to allow it.
    """
    allowed = references(given) if given is not None else []
    for name in references(recipe):
        if name not in allowed:
            raise UserError(
                f"{source} names {name}, which is code or files of its own; it is used only when the command line "
                "names it, or with --trust"
            )


#: Most kinds of settings that are measured; for other kinds the mean is used.
MOST_KINDS = 6

#: Seconds after which no further kind is measured.
PATIENCE = 10.0

#: Rollouts of the two measured runs; the difference gives the cost of steps, the rest the fixed cost of a run.
ROLLOUTS = (1, 4)

#: Seconds of a first run up to which it counts as warming up and is made again.
WARM = 3.0

#: Most steps of a measured rollout; most trials and steps of a measured evaluation; longer ones are scaled up.
MOST_STEPS, MOST_TRIALS, MOST_EVALUATED = 16_384, 128, 32_768


class Costs(NamedTuple):
    """Cost of a kind of setting, in seconds of processor time.

    Attributes:
        setup: of a run without steps and evaluations.
        evaluation: of ``trials`` trials of an evaluation.
        trials: number of evaluated trials.
        step: of a step of training.
    """

    setup: float
    evaluation: float
    trials: int
    step: float


def estimated_seconds(recipe: Recipe, settings: Sequence[Setting]) -> tuple[float, float]:
    """Return the total seconds of all runs on a single core of this machine, and the seconds of the longest run.

    Args:
        recipe: the recipe.
        settings: every setting, from ``validation.check``.
    """
    kinds: dict[Any, Costs] = {}
    tasks: dict[int, float] = {}
    each: list[float] = []
    began = time.monotonic()
    for config, facts in settings:
        kind = (config.task, config.alg, config.network, config.units, config.n_envs, config.dt)
        if kind not in kinds:
            enough = len(kinds) >= MOST_KINDS or kinds and time.monotonic() - began > PATIENCE
            if not enough and id(facts) not in tasks:
                tasks[id(facts)] = _finding_out(config, facts)
            kinds[kind] = _mean(list(kinds.values())) if enough else _measure(config, facts, tasks[id(facts)])
        costs = kinds[kind]
        steps, every = int(config.timesteps or 0), config.evaluation.every
        batches = -(-int(config.evaluation.trials or 0) // costs.trials)
        evaluations = 1 + (steps // every if every else 0)
        each.append(costs.setup + costs.step * steps + costs.evaluation * batches * evaluations)
    seeds = len(recipe.grid.get("seed", [0]))
    if recipe.search is not None:
        return recipe.search.trials * seeds * sum(each) / len(each), max(each) * seeds
    return seeds * sum(each), max(each)


def _mean(found: list[Costs]) -> Costs:
    setup, evaluation, trials, step = (sum(column) / len(found) for column in zip(*found, strict=True))
    return Costs(setup, evaluation, max(round(trials), 1), step)


def _finding_out(config: RunConfig, facts: Facts) -> float:
    """Return the processor seconds in which a run tries the task and finds the scores of reference agents."""
    from ngym_cli.environments.defaults import resolve

    began = time.process_time()
    resolve(config)
    _ = facts.references  # kept in `facts`, so that the measured runs do not look for them again
    return time.process_time() - began


def _measure(config: RunConfig, facts: Facts, finding_out: float) -> Costs:
    """Return the costs of a kind of setting, measured with short runs."""
    n_envs, hyperparameters = int(config.n_envs or 1), dict(config.hyperparameters)
    if hyperparameters.get("n_steps"):
        hyperparameters["n_steps"] = min(hyperparameters["n_steps"], max(MOST_STEPS // n_envs, 2))
    rollout = n_envs * int(hyperparameters.get("n_steps") or 64)
    most = max(MOST_EVALUATED // facts.trial_steps, 1)  # fewer where trials are of many steps
    trials = min(int(config.evaluation.trials or MOST_TRIALS), most, MOST_TRIALS)
    found: list[tuple[int, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, rollouts in enumerate((ROLLOUTS[0], *ROLLOUTS)):
            if number == 1 and found[0][1] > WARM:
                continue
            short = {
                "timesteps": rollout * rollouts, "hyperparameters": hyperparameters,
                "evaluation": {"every": 0, "trials": trials}, "checkpoint": {"every": 0},
            }  # fmt: skip
            found.append(_time(from_dict(merge(config.model_dump(), short)), facts, Path(folder), str(number)))
    (few, short_time), (many, long_time) = found[-2:]
    per_step = max(long_time - short_time, 1e-9) / max(many - few, 1)
    return Costs(finding_out, max(short_time - per_step * few, 0.0), trials, per_step)


def _time(config: RunConfig, facts: Facts, root: Path, name: str) -> tuple[int, float]:
    """Return the number of steps and the processor seconds of a run of a known task."""
    from ngym_cli.training.main_loop import train

    began = time.process_time()
    outcome = train(config, root, name, facts=facts)
    return int(outcome.run.manifest()["steps"]), time.process_time() - began
