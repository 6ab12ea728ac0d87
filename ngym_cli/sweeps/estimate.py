"""How long a sweep would take: a short run of each kind of setting, measured here and scaled up."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ngym_cli.config import RunConfig, from_dict, merge
from ngym_cli.sweeps.recipe import Recipe

#: Most kinds of settings that are measured; others are taken to be like the mean of these.
MOST_KINDS = 6

#: Seconds after which no further kind is measured.
PATIENCE = 10.0

#: Rollouts of the two measured runs; their difference is what steps cost, the rest what a run costs in any case.
ROLLOUTS = (1, 4)

#: Most steps of a measured rollout, and most trials of a measured evaluation; longer ones are scaled up.
MOST_STEPS, MOST_TRIALS = 16_384, 128


def seconds(recipe: Recipe, configs: Sequence[RunConfig]) -> tuple[float, float]:
    """Return the seconds that all runs take together on one core of this machine, and the longest of them.

    Args:
        recipe: the recipe.
        configs: complete configuration of every setting, from ``check``.
    """
    kinds: dict[Any, tuple[float, float]] = {}
    each: list[float] = []
    began = time.monotonic()
    for config in configs:
        kind = (config.task, config.alg, config.network, config.units, config.n_envs, config.dt)
        if kind not in kinds:
            enough = len(kinds) >= MOST_KINDS or kinds and time.monotonic() - began > PATIENCE
            kinds[kind] = _mean(list(kinds.values())) if enough else _measure(config)
        fixed, per_step = kinds[kind]
        steps, every = int(config.timesteps or 0), config.evaluation.every
        batches = -(-int(config.evaluation.trials or 0) // MOST_TRIALS)
        each.append(per_step * steps + fixed * batches * (1 + (steps // every if every else 0)))
    seeds = len(recipe.grid.get("seed", [0]))
    if recipe.search is not None:
        return recipe.search.trials * seeds * sum(each) / len(each), max(each) * seeds
    return seeds * sum(each), max(each)


def _mean(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    return sum(one for one, _ in pairs) / len(pairs), sum(two for _, two in pairs) / len(pairs)


def _measure(config: RunConfig) -> tuple[float, float]:
    """Return the seconds of a run without its steps (most of them an evaluation's), and of each step."""
    n_envs, hyperparameters = int(config.n_envs or 1), dict(config.hyperparameters)
    if hyperparameters.get("n_steps"):
        hyperparameters["n_steps"] = min(hyperparameters["n_steps"], max(MOST_STEPS // n_envs, 2))
    rollout = n_envs * int(hyperparameters.get("n_steps") or 64)
    trials = min(int(config.evaluation.trials or 0), MOST_TRIALS)
    found: list[tuple[int, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, rollouts in enumerate((ROLLOUTS[0], *ROLLOUTS)):  # the first only warms up
            short = {
                "timesteps": rollout * rollouts, "hyperparameters": hyperparameters,
                "evaluation": {"every": 0, "trials": trials}, "checkpoint": {"every": 0},
            }  # fmt: skip
            found.append(_time(from_dict(merge(config.model_dump(), short)), Path(folder), str(number)))
    (few, short_time), (many, long_time) = found[1:]
    per_step = max(long_time - short_time, 1e-9) / max(many - few, 1)
    return max(short_time - per_step * few, 0.0), per_step


def _time(config: RunConfig, root: Path, name: str) -> tuple[int, float]:
    """Return the steps of a run and the seconds of the processor that it took."""
    from ngym_cli.training.main_loop import train

    began = time.process_time()
    outcome = train(config, root, name)
    return int(outcome.run.manifest()["steps"]), time.process_time() - began
