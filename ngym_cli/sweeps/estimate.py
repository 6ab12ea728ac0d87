"""Estimated duration of a sweep: a short run of each kind of setting, measured here and scaled up."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ngym_cli.config import RunConfig, from_dict, merge
from ngym_cli.environments.facts import Facts
from ngym_cli.sweeps.recipe import Recipe
from ngym_cli.sweeps.validation import Setting

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


def seconds(recipe: Recipe, settings: Sequence[Setting]) -> tuple[float, float]:
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
