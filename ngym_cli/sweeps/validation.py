"""Every setting of a sweep is tried before the first run starts: a wrong word shows now, not after a night.

The duration is estimated from the measured speed of each kind of setting.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ngym_cli import runs
from ngym_cli.agents.algorithms import find_algorithm
from ngym_cli.agents.defaults import TASK_FIELDS, Prepared, default_steps, prepare
from ngym_cli.agents.networks import find_network
from ngym_cli.config import trust
from ngym_cli.config.model import ResolvedConfig, RunConfig, from_dict
from ngym_cli.config.tasks import RECOMMENDED_KEY, find_task
from ngym_cli.config.values import Values, merge, nest
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.errors import UserError, one_line, option
from ngym_cli.processes import cores
from ngym_cli.sweeps import plan, space
from ngym_cli.sweeps.recipe import Recipe
from ngym_cli.training import timing
from ngym_cli.training.prepare import new_run


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
        agent = from_dict({key: run[key] for key in ("task", "alg", "stages", RECOMMENDED_KEY) if key in run})
        run["timesteps"] = agent.timesteps or default_steps(agent, find_task(agent.task).id)
    return recipe.model_copy(update={"run": run, "grid": grid})


def _path_of(reference: str) -> str:
    return str(runs.find(reference).path.resolve())


def settings(recipe: Recipe) -> Iterator[Values]:
    """Yield the settings that represent all runs: each setting once, regardless of seed; for a search, the corners."""
    seen: set[str] = set()
    if recipe.search is None:
        for entry in plan.entries(recipe):
            key = repr(plan.without_seed(entry.values))
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
        properties: known properties of the task, shared by settings with the same task.
    """

    config: ResolvedConfig
    properties: TaskProperties


def check(recipe: Recipe) -> list[Setting]:
    """Return every setting, tried and with every default spelled out.

    Raises:
        UserError: on the first setting that does not work, or if a search maximises what a task does not have.
    """
    inspected: dict[str, Prepared] = {}
    checked: list[Setting] = []
    for values in settings(recipe):
        try:
            checked.append(completed(recipe, values, inspected))
        except UserError as error:
            text = ", ".join(f"{key}={value}" for key, value in values.items())
            raise UserError(f"{one_line(error)} (the runs with {text})" if text else one_line(error)) from None
        _require_metric(recipe, checked[-1])
    return checked


def _require_metric(recipe: Recipe, setting: Setting) -> None:
    """Refuse a search for the performance in an environment of Gymnasium, where no answer is right or wrong.

    Raises:
        UserError: with the metric that there is.
    """
    searched = recipe.search is not None and recipe.search.maximize == "performance"
    if searched and not setting.properties.has_performance:
        raise UserError(
            f"{setting.config.task} has no performance to maximise, for none of its actions is right or wrong; "
            f"pass {option('--maximize reward_per_trial')}"
        )


def completed(recipe: Recipe, values: Values, inspected: dict[str, Prepared] | None = None) -> Setting:
    """Return a setting after a trial construction, with every default spelled out.

    Args:
        recipe: the recipe.
        values: settings of this run alone.
        inspected: tasks that were tried before, shared by settings that differ in the agent alone.

    Raises:
        UserError: if the setting does not work.
    """
    config = from_dict(merge(recipe.run, nest(values)))
    find_algorithm(config.alg)
    if config.network is not None:
        find_network(config.network)
    inspected = {} if inspected is None else inspected
    task = _task_of(config)
    if task not in inspected:
        inspected[task] = prepare(config)
    run = new_run(config, tried=inspected[task])
    return Setting(run.config, inspected[task][1])


def _task_of(config: RunConfig) -> str:
    return json.dumps(config.model_dump(include=set(TASK_FIELDS)), sort_keys=True, default=str)


def references(recipe: Recipe) -> list[str]:
    """Return the user code and files that a recipe names, outside of this package."""
    per_setting = (trust.references(from_dict(merge(recipe.run, nest(values)))) for values in settings(recipe))
    return list(dict.fromkeys(name for names in per_setting for name in names))


def require_trust(recipe: Recipe, source: Path, trusted_recipe: Recipe | None = None) -> None:
    """Refuse a recipe that was read and names code or files which the command line does not name too.

    Raises:
        UserError: names the first untrusted reference and says how to allow it.
    """
    allowed = references(trusted_recipe) if trusted_recipe is not None else []
    for name in references(recipe):
        if name not in allowed:
            raise UserError(
                f"{source} names {name}, code or files outside the package; "
                f"pass {option('--trust')} if you trust its author, or name it on the command line"
            )


#: Most kinds of settings that are measured; for other kinds the mean is used.
MOST_KINDS = 6

#: Seconds after which no further kind is measured.
LONGEST_MEASUREMENT = 10.0


@dataclass(frozen=True)
class Forecast:
    """Runs of a sweep with their expected duration on this machine.

    Attributes:
        entries: the runs.
        steps: training steps of a run, on average.
        core_seconds: seconds of all runs on a single core.
        longest: seconds of the longest run.
        workers: runs at a time.
    """

    entries: Sequence[plan.Entry]
    steps: float
    core_seconds: float
    longest: float
    workers: int

    @property
    def seconds(self) -> float:
        """Expected seconds of the sweep."""
        return max(self.core_seconds / self.workers, self.longest)

    def document(self) -> dict[str, object]:
        """Return the forecast as plain data."""
        rows = [{"name": entry.name, "job": entry.job, "values": entry.values} for entry in self.entries]
        return {"runs": rows, "core_seconds": self.core_seconds, "seconds": self.seconds, "workers": self.workers}


def forecast(recipe: Recipe, settings: Sequence[Setting]) -> Forecast:
    """Return the runs of a sweep with their expected duration.

    Args:
        recipe: the recipe.
        settings: every setting, from `check`.
    """
    entries = plan.entries(recipe)
    total, longest = _estimated_seconds(recipe, settings)
    steps = sum(config.timesteps for config, _ in settings) / len(settings)
    return Forecast(entries, steps, total, longest, min(recipe.launch.workers or cores(), len(entries)))


def _estimated_seconds(recipe: Recipe, settings: Sequence[Setting]) -> tuple[float, float]:
    """Return the total seconds of all runs on a single core of this machine, and the seconds of the longest run."""
    per_step: dict[tuple[object, ...], float] = {}
    references: dict[int, float] = {}
    each: list[float] = []
    began = time.monotonic()
    for config, properties in settings:
        kind = (config.task, config.alg, config.network, config.units, config.n_envs, config.dt)
        if kind not in per_step:
            enough = len(per_step) >= MOST_KINDS or (per_step and time.monotonic() - began > LONGEST_MEASUREMENT)
            measured = list(per_step.values())
            per_step[kind] = sum(measured) / len(measured) if enough else 1 / timing.speed(config)
        if id(properties) not in references:
            references[id(properties)] = _seconds_of_references(properties)
        fixed = timing.besides_learning(config, properties) + references[id(properties)]
        each.append(fixed + per_step[kind] * config.timesteps)
    seeds = len(recipe.grid.get("seed", [0]))
    if recipe.search is not None:
        return recipe.search.trials * seeds * sum(each) / len(each), max(each) * seeds
    return seeds * sum(each), max(each)


def _seconds_of_references(properties: TaskProperties) -> float:
    """Return the processor seconds in which a run finds the scores of reference agents."""
    began = time.process_time()
    _ = properties.references
    return time.process_time() - began
