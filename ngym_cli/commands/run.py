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
from ngym_cli.config import RunConfig, from_dict, merge, read_toml
from ngym_cli.config.tasks import find_task
from ngym_cli.errors import UserError, message_of, one_line
from ngym_cli.training.request import RunRequest

if TYPE_CHECKING:
    from ngym_cli import terminal
    from ngym_cli.config import ResolvedConfig
    from ngym_cli.config.values import Values
    from ngym_cli.environments.properties import TaskProperties
    from ngym_cli.runs.records import Summary
    from ngym_cli.training.main_loop import RunResult
    from ngym_cli.training.progress import Display

#: Exit code of an interrupted run.
INTERRUPTED = 130

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
    from ngym_cli.runs import managing
    from ngym_cli.training import main_loop

    if request.tag:
        managing.check_tags(request.tag)
    config = request.load()
    printer = RunPrinter(config, request.runs, request.as_json)
    tag = lambda run: managing.tag(run, request.tag) if request.tag else None  # noqa: E731
    hooks = main_loop.Hooks(printer.announce, printer.display, started=tag)
    return printer.finish(main_loop.train(config, request.runs, request.name, request.overwrite, hooks))


def _resume(request: RunRequest, reference: str) -> int:
    """Continue an interrupted run."""
    from ngym_cli import runs
    from ngym_cli.training import main_loop

    if request.settings or request.config or request.name or request.overwrite or request.tag:
        raise UserError("--resume continues a run as it was configured; remove the other settings")
    printer = RunPrinter(None, request.runs, request.as_json)
    hooks = main_loop.Hooks(printer.announce, printer.display)
    return printer.finish(main_loop.resume(runs.find(reference, request.runs), request.trust, hooks))


def _plan(request: RunRequest) -> int:
    """Print the plan of a run, or its complete configuration as TOML for ``--config``; make nothing."""
    from ngym_cli import terminal
    from ngym_cli.agents.defaults import rounding
    from ngym_cli.training import main_loop
    from ngym_cli.training.prepare import new_run

    requested = request.load()
    run = new_run(requested, request.runs, request.name, request.overwrite)
    main_loop.rehearse(run)
    config, properties = run.config, run.properties
    if request.print_config and not request.as_json:
        sys.stdout.write(run.toml)
        return 0
    seconds, exists = _expected_seconds(requested, config, properties), run.path.exists()
    if request.as_json:
        terminal.print_json({"id": str(run.path), "exists": exists, "seconds": seconds, "config": run.settings})
        return 0
    stack = "".join(f" + {entry.name}" for entry in config.wrappers)
    rows = [
        ("task", f"{config.task}{stack}"),
        ("agent", f"{config.alg} ({config.network}, {config.units} units), {config.n_envs} environments"),
        *([("learns from", "reward and the correct action of each step")] if _is_shown_actions(config) else []),
        ("training", f"{config.timesteps:,} steps" + (f", about {terminal.in_words(seconds)}" if seconds else "")),
        ("evaluation", f"{config.evaluation.trials:,} trials every {config.evaluation.every:,} steps"),
        ("folder", f"{run.path}{' (is replaced)' if exists else ''}"),
    ]
    if (rounded := rounding(config, properties)) is not None:
        rows.insert(1, ("timing", rounded))
    for row in rows:
        terminal.console().print(f"{row[0]:<12}{row[1]}", soft_wrap=True)
    terminal.console().print("nothing was made; --print-config prints every setting", soft_wrap=True)
    return 0


def _expected_seconds(requested: RunConfig, config: ResolvedConfig, properties: TaskProperties) -> float | None:
    """Return the seconds that a run will take by arithmetic, or took where its line was measured."""
    from ngym_cli.agents import per_task
    from ngym_cli.training import timing

    seconds = timing.expected(config, properties)
    return seconds if seconds is not None else per_task.measured_seconds(requested, properties.id, config.timesteps)


def _is_shown_actions(config: ResolvedConfig) -> bool:
    return bool(config.hyperparameters.get("imitation"))


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


class RunPrinter:
    """Printed lines about a run: announcement, live display, results.

    Args:
        config: configuration before defaults are spelled out; None for a resumed run.
        root: folder of all runs.
        json: print one JSON document on stdout, and no live display.
    """

    def __init__(self, config: RunConfig | None, root: Path, json: bool):
        from ngym_cli import terminal

        self.config, self.root, self.json = config, root, json
        self.err = terminal.console(stderr=True)
        self._setting: tuple[ResolvedConfig, TaskProperties] | None = None

    def announce(self, resolved: ResolvedConfig, properties: TaskProperties) -> None:
        """Print what is trained, for how many steps and for how long."""
        from ngym_cli import terminal
        from ngym_cli.agents import per_task
        from ngym_cli.agents.defaults import rounding
        from ngym_cli.agents.networks import NETWORKS

        self._setting = resolved, properties
        stack = "".join(f" + {entry.name}" for entry in resolved.wrappers)
        network = f" ({resolved.network})" if resolved.network else ""
        seconds = _expected_seconds(self.config, resolved, properties) if self.config is not None else None
        rounded = rounding(resolved, properties)
        origin = per_task.about_steps(self.config, properties.id) if self.config is not None else ""
        about = f"; about {terminal.in_words(seconds)}" if seconds else ""
        steps = f"{resolved.timesteps:,} steps{origin}"
        run_words = f"{resolved.alg}{network} on {resolved.task}{stack}, seed {resolved.seed}"
        run_words += ", shown the correct actions" if _is_shown_actions(resolved) else ""
        self.err.print(f"training {run_words}: {steps}{about}", soft_wrap=True)
        if rounded is not None:
            self.err.print(rounded, soft_wrap=True)
        if resolved.network not in NETWORKS:
            self.err.print("a cell of your own learns in plain torch, which takes longer than a built-in network")
        processes.limit_torch()

    def display(self, resolved: ResolvedConfig, properties: TaskProperties, path: Path) -> Display:
        """Print the run folder and advice, and return the display of the progress."""
        from ngym_cli import terminal
        from ngym_cli.agents.algorithms import find_algorithm
        from ngym_cli.training import progress

        self.err.print(f"run folder {path}; {terminal.quoted('tensorboard', '--logdir', self.root)}", soft_wrap=True)
        if notice := progress.advance_notice(self.config, properties):
            self.err.print(notice, soft_wrap=True)
        supervised = find_algorithm(resolved.alg).supervised
        if self.json:
            return progress.Display()
        seconds = _expected_seconds(self.config or resolved, resolved, properties)
        return progress.LiveDisplay(self.err, resolved.timesteps, properties.references, supervised, seconds)

    def finish(self, outcome: RunResult) -> int:
        """Print the results and return the exit code."""
        from ngym_cli import terminal
        from ngym_cli.evaluation import summary_text
        from ngym_cli.training import progress

        setting = self._setting if outcome.status == "finished" else None
        sentence = None if setting is None else progress.advice(*setting, outcome.summary)
        path, out = outcome.run.path, terminal.console()
        if self.json:
            terminal.print_json({"id": str(path), "status": outcome.status, "advice": sentence, **outcome.summary})
        else:
            summary_text.print_evaluation(outcome.summary, "evaluation at the end of training")
            for line in filter(None, (sentence, better_checkpoint(path, outcome.summary))):
                out.print(line, soft_wrap=True)
            words = ("run", "--resume") if outcome.status == "interrupted" else ("plot",)
            next_ = terminal.quoted("ngym", *words, path)
            out.print(f"\n{outcome.status}: {path}\nnext: {next_}", soft_wrap=True)
        return INTERRUPTED if outcome.status == "interrupted" else 0


def better_checkpoint(path: Path, final: Summary) -> str | None:
    """Return a line that offers the best checkpoint if its performance lies above the interval of the final agent."""
    from ngym_cli import terminal
    from ngym_cli.agents import checkpoints
    from ngym_cli.runs.summary import performance_of

    best = checkpoints.best_of(path / checkpoints.CHECKPOINTS_FOLDER)
    if best is None or not best["performance"] > performance_of(final).high:
        return None
    result = f"performance {best['performance']:.3f} at {best['step']:,} steps"
    return f"a checkpoint was better: {result}; {terminal.quoted('ngym', 'eval', path, '--checkpoint', 'best')}"


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
