"""Policies of a run that are evaluated: the final one, or those of checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import runs
from ngym_cli.errors import UserError, unknown

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

    from ngym_cli.agents.acting import Actor
    from ngym_cli.config import RunConfig


def policies(run: runs.Run, config: RunConfig, wanted: str | None) -> Iterator[tuple[Actor | BasePolicy, int, bool]]:
    """Yield the final policy or the policy of each checkpoint, with its training steps and whether a checkpoint.

    Args:
        run: the run.
        config: its settings.
        wanted: ``all``, ``best`` or step numbers separated by commas; None for the final policy.

    Raises:
        UserError: if a checkpoint does not exist.
    """
    if wanted is None:
        from ngym_cli.agents.trained import load_to_act

        yield *load_to_act(run, config), False
        return
    from ngym_cli.agents import checkpoints, saving, threads

    threads.one_in_torch()
    policy, _ = saving.load_policy(run, config)
    there = {int(path.name[5:]): path for path in checkpoints.found_in(run.path / checkpoints.FOLDER)}
    if not there:
        raise UserError(f"{run.path} kept no checkpoints")
    best = checkpoints.best_of(run.path / checkpoints.FOLDER).get("step")
    for step in _steps(wanted, there, best):
        saving.fill(policy, saving.read_weights(there[step] / checkpoints.WEIGHTS), there[step] / checkpoints.WEIGHTS)
        yield policy, step, True


def _steps(wanted: str, there: Mapping[int, Path], best: int | None) -> list[int]:
    if wanted == "all":
        return sorted(there)
    steps = []
    for word in wanted.split(","):
        if word.strip() == "best":
            if best is None or best not in there:
                raise UserError("no checkpoint is marked as the best; evaluations in training (--eval-every) find it")
            steps.append(best)
            continue
        if not word.strip().isdecimal() or int(word) not in there:
            raise unknown("checkpoint", word.strip(), ["all", "best", *map(str, sorted(there))])
        steps.append(int(word))
    return steps
