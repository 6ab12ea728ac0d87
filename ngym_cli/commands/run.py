"""``ngym run``: train, resume, plan or try a run (``--smoke``), from the request to the last printed line."""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ngym_cli import processes
from ngym_cli.config.model import RunConfig, from_dict
from ngym_cli.config.tasks import find_task
from ngym_cli.config.trust import read_toml
from ngym_cli.config.values import merge
from ngym_cli.errors import UserError, message_of, one_line
from ngym_cli.training.request import RunRequest

if TYPE_CHECKING:
    from ngym_cli import terminal
    from ngym_cli.config.values import Values

#: Settings of a smoke test; hyperparameters apply to algorithms that have them.
SMOKE = {"n_envs": 4, "timesteps": 256, "evaluation": {"every": 0, "trials": 4}}
SMOKE_HYPERPARAMETERS = {"n_steps": 32, "n_epochs": 1, "batch_size": 256, "learning_starts": 64}

#: Warnings of Gymnasium's checker about every task: ``seed`` is kept for NeuroGym's users, wrappers are meant, and
#: noise has no bounds.
EXPECTED_WARNINGS = (
    *("Official support for the `seed` function", "is different from the unwrapped version"),
    *("minimum value is -infinity", "maximum value is infinity"),
)


def execute(request: RunRequest) -> int:
    """Train, resume, plan or try a run, print the results and return the exit code.

    Raises:
        UserError: on options that do not go together, and as training itself.
    """
    processes.set_learning_threads(request.threads)
    processes.limit_libraries()
    if request.is_planned:
        if request.resume or request.smoke:
            raise UserError("--dry-run and --print-config cannot be combined with --resume or --smoke")
        return _plan(request)
    if request.smoke:
        for name in ("resume", "name", "tag"):
            if getattr(request, name):
                raise UserError(f"--smoke keeps nothing; remove --{name}")
        return _smoke(request)
    return _train(request) if request.resume is None else _resume(request, request.resume)


def _train(request: RunRequest) -> int:
    """Train an agent."""
    from ngym_cli.training import reporting

    printer = reporting.Printer(request.runs_root, request.as_json)
    return printer.finish(reporting.train(request, printer))


def _resume(request: RunRequest, reference: str) -> int:
    """Continue an interrupted run."""
    from ngym_cli import runs
    from ngym_cli.training import main_loop, reporting

    if request.settings or request.config or request.name or request.overwrite or request.tag:
        raise UserError("--resume continues a run as it was configured; remove the other settings")
    printer = reporting.Printer(request.runs_root, request.as_json)
    return printer.finish(main_loop.resume(runs.find(reference, request.runs_root), request.trust, printer.hooks()))


def _plan(request: RunRequest) -> int:
    """Print the plan of a run, or its complete configuration as TOML for ``--config``; make nothing."""
    from ngym_cli import terminal
    from ngym_cli.agents.defaults import rounding
    from ngym_cli.training import main_loop, reporting
    from ngym_cli.training.prepare import new_run

    printer = reporting.Printer(request.runs_root, request.as_json)
    printer.requested = request.load()
    run = new_run(printer.requested, request.runs_root, request.name, request.overwrite)
    main_loop.rehearse(run)
    config, properties = run.config, run.properties
    if request.print_config and not request.as_json:
        sys.stdout.write(run.toml)
        return 0
    seconds, exists = printer.seconds(config, properties), run.path.exists()
    if request.as_json:
        terminal.print_json({"id": str(run.path), "exists": exists, "seconds": seconds, "config": run.settings})
        return 0
    stack = "".join(f" + {entry.name}" for entry in config.wrappers)
    rows = [
        ("task", f"{config.task}{stack}"),
        ("agent", f"{config.alg} ({config.network}, {config.units} units), {config.n_envs} environments"),
        ("training", f"{config.timesteps:,} steps" + (f", about {terminal.in_words(seconds)}" if seconds else "")),
        ("evaluation", f"{config.evaluation.trials:,} trials every {config.evaluation.every:,} steps"),
        ("folder", f"{run.path}{' (is replaced)' if exists else ''}"),
    ]
    if reporting.is_shown_actions(config):
        rows.insert(2, ("learns from", "reward and the correct action of each step"))
    if (rounded := rounding(config, properties)) is not None:
        rows.insert(1, ("timing", rounded))
    for row in rows:
        terminal.console().print(f"{row[0]:<12}{row[1]}", soft_wrap=True)
    terminal.console().print("nothing was made; --print-config prints every setting", soft_wrap=True)
    return 0


def _smoke(request: RunRequest) -> int:
    """Build, check and briefly train a single task or all tasks; return 1 if one failed."""
    from neurogym.envs import registration
    from ngym_cli import terminal

    base: Values = merge(read_toml(request.config) if request.config else {}, request.settings)
    request.load()
    task = base.get("task", "all")
    if task != "all":
        find_task(task)
    processes.limit_torch()
    rows = []
    out = terminal.console()
    for id_ in registration.every_task() if task == "all" else [task]:
        row = _smoke_one(_small({**base, "task": id_}))
        rows.append(row)
        if not request.as_json:
            numbers = f"{row['steps']:>6,} steps {row['trials']:>5,} trials {row['seconds']:>6.2f} s"
            out.print(f"{row['id']:<48} {row['status']:<7}{numbers}  {row['error'] or ''}", soft_wrap=True)
    failed = sum(row["status"] != "ok" for row in rows)
    if request.as_json:
        terminal.print_json(rows)
    else:
        out.print(f"{len(rows) - failed} of {len(rows)} tasks ok")
    return 1 if failed else 0


def _small(settings: Mapping[str, object]) -> RunConfig:
    """Return the configuration of a short run; given settings have priority."""
    from ngym_cli.agents.algorithms import find_algorithm

    defaults = find_algorithm(from_dict(settings).alg).defaults
    usual = {name: value for name, value in SMOKE_HYPERPARAMETERS.items() if name in defaults}
    return from_dict(merge({**SMOKE, "hyperparameters": usual}, settings))


def _smoke_one(config: RunConfig) -> terminal.Row:
    """Check and train a task in a temporary folder."""
    from ngym_cli.training.main_loop import train

    row: terminal.Row = {"id": config.task, "status": "ok", "steps": 0, "trials": 0, "error": None}
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
    """Check an environment with Gymnasium's own checker; warnings count as errors."""
    from gymnasium.utils.env_checker import check_env

    from ngym_cli.environments.stack import make_env

    env = make_env(find_task(config.task), config)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env, skip_render_check=True)
    for text in (message_of(warning.message) for warning in caught if "gymnasium" in str(warning.filename)):
        if not any(expected in text for expected in EXPECTED_WARNINGS):
            raise UserError(f"Gymnasium's checker: {text}")
