"""What ``ngym run`` and ``ngym eval`` do, from the flags to the last printed line."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from neurogym import compiled
from ngym_cli import config as configuration
from ngym_cli import runs, terminal
from ngym_cli.config import RunConfig
from ngym_cli.errors import UserError, one_line

#: What a smoke test trains with; the hyperparameters where the algorithm has them.
SMOKE = {"n_envs": 4, "timesteps": 256, "evaluation": {"every": 0, "trials": 4}}
SMOKE_HYPERPARAMETERS = {"n_steps": 32, "n_epochs": 1, "batch_size": 256, "learning_starts": 64}
INTERRUPTED = 130

#: What Gymnasium's checker says of every task: ``seed`` is kept for NeuroGym's users, and wrappers are meant.
EXPECTED = ("Official support for the `seed` function", "is different from the unwrapped version")


def run(
    flags: Mapping[str, Any],
    file: Path | None,
    root: Path,
    name: str | None,
    overwrite: bool,
    json: bool,
    resume: str | None = None,
    trust: bool = False,
) -> int:
    """Train an agent and print how it went; return the exit code.

    Args:
        flags: from ``ngym_cli.flags.settings``.
        file: configuration file below the flags.
        root: folder of all runs.
        name: name of the run.
        overwrite: replace a run of that name.
        json: print one JSON document on stdout; progress goes to stderr in any case.
        resume: the run to continue, instead of starting one.
        trust: let the file, or the record of the run to continue, name a user's own code.
    """
    if resume is not None and (flags or file or name or overwrite):
        raise UserError("--resume continues a run as it was configured; no other settings go with it")
    config = configuration.load(file, flags, trust) if resume is None else None
    err = Console(stderr=True, highlight=False, markup=False, emoji=False)
    from ngym_cli import training
    from ngym_cli.progress import LiveDisplay, Silent

    def announce(resolved: RunConfig) -> None:
        stack = "".join(f" + {entry.name}" for entry in resolved.wrappers)
        network = f" ({resolved.network})" if resolved.network else ""
        err.print(f"training {resolved.alg}{network} on {resolved.task}{stack}, seed {resolved.seed}", soft_wrap=True)
        if not compiled.works():
            err.print("no C compiler is in use: training takes about three times as long", soft_wrap=True)
        use_one_thread()

    def display(resolved: RunConfig, facts: Any, path: Path) -> Any:
        err.print(f"run folder {path}; tensorboard --logdir {root}", soft_wrap=True)
        ceiling = (facts.ceiling or {}).get("performance")
        return Silent() if json else LiveDisplay(err, int(resolved.timesteps or 0), facts.chance, ceiling)

    if config is None:
        outcome = training.resume(runs.find(str(resume), root), trust, announce, display)
    else:
        outcome = training.train(config, root, name, overwrite, announce, display)
    if json:
        terminal.print_json({"id": str(outcome.run.path), "status": outcome.status, **outcome.summary})
    else:
        terminal.print_evaluation(outcome.summary)
        path = outcome.run.path
        terminal.console().print(f"\n{outcome.status}: {path}\nnext: ngym plot {path}", soft_wrap=True)
    return INTERRUPTED if outcome.status == "interrupted" else 0


def use_one_thread() -> None:
    """Let torch compute in one thread unless told otherwise: networks of this size only lose by more."""
    if "OMP_NUM_THREADS" not in os.environ:
        import torch

        torch.set_num_threads(1)


def smoke(flags: Mapping[str, Any], file: Path | None, json: bool, trust: bool = False) -> int:
    """Build, check and briefly train one task or all; print a row for each and return the exit code."""
    from ngym_cli.learners import find_algorithm
    from ngym_cli.tasks import find_task

    base = configuration.merge(configuration.read_toml(file) if file else {}, flags)
    configuration.load(file, flags, trust)
    task = base.get("task", "all")
    if task != "all":
        find_task(task)
    use_one_thread()
    defaults = find_algorithm(base.get("alg", configuration.RunConfig().alg)).defaults
    small = {
        **SMOKE,
        "hyperparameters": {key: SMOKE_HYPERPARAMETERS[key] for key in SMOKE_HYPERPARAMETERS if key in defaults},
    }
    rows = []
    out = terminal.console()
    for id_ in _all_tasks() if task == "all" else [task]:
        row = _smoke_one(configuration.from_dict(configuration.merge(small, {**base, "task": id_})))
        rows.append(row)
        if not json:
            numbers = f"{row['steps']:>6,} steps {row['trials']:>5,} trials {row['seconds']:>6.2f} s"
            out.print(f"{row['id']:<48} {row['status']:<7}{numbers}  {row['error'] or ''}", soft_wrap=True)
    failed = sum(row["status"] != "ok" for row in rows)
    if json:
        terminal.print_json(rows)
    else:
        out.print(f"{len(rows) - failed} of {len(rows)} tasks ok")
    return 1 if failed else 0


def _all_tasks() -> list[str]:
    from neurogym.envs import registration

    return registration.every_task()


def _smoke_one(config: RunConfig) -> dict[str, Any]:
    """Check and train one task in a folder that is thrown away."""
    from ngym_cli.training import train

    row: dict[str, Any] = {"id": config.task, "status": "ok", "steps": 0, "trials": 0, "error": None}
    began = time.perf_counter()
    try:
        _check(config)
        with tempfile.TemporaryDirectory() as folder:
            manifest = train(config, Path(folder)).run.manifest()
        row.update(steps=manifest["steps"], trials=manifest["trials"], performance=manifest["performance"])
    except Exception as error:
        row.update(status="failed", error=one_line(error))
    return {**row, "seconds": round(time.perf_counter() - began, 3)}


def _check(config: RunConfig) -> None:
    """Hold an environment against Gymnasium's own checker; its warnings count as errors."""
    from gymnasium.utils.env_checker import check_env

    from ngym_cli.building import make_env
    from ngym_cli.tasks import find_task

    env = make_env(find_task(config.task), config)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env, skip_render_check=True)
    for text in (" ".join(str(warning.message).split()) for warning in caught if "gymnasium" in str(warning.filename)):
        if not any(expected in text for expected in EXPECTED):
            raise UserError(f"Gymnasium's checker: {text}")
