"""Implementation of ``ngym sweep``, from flags to the last printed line."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ngym_cli import runs, terminal
from ngym_cli.config import RunConfig, merge, read_toml
from ngym_cli.config.values import parse_assignment, parse_assignments, parse_scalar, split_entries
from ngym_cli.errors import UserError, did_you_mean
from ngym_cli.files import locks
from ngym_cli.sweeps import folder, launchers, plan, results, status, tables, validation
from ngym_cli.sweeps import recipe as recipes
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.launchers import Order
from ngym_cli.sweeps.recipe import Recipe, canonical, from_flags

INTERRUPTED = 130


def make_recipe(file: Path | None, over: Mapping[str, object], values: Mapping[str, list[Any]], trust: bool) -> Recipe:
    """Return the recipe of a file, overridden by flags.

    Args:
        file: TOML, or None.
        over: tables of the recipe (``zip``, ``search``, ``launch``) that flags give.
        values: lists of values that flags give.
        trust: let the file name a user's own code that the command line does not.

    Raises:
        UserError: on anything wrong in it.
    """
    data = read_toml(file) if file is not None else {}
    if data and not set(data) & set(Recipe.model_fields):  # the configuration of a run
        data = {"run": data}
    recipe = recipes.build(merge(data, over), values, str(file) if file is not None else "")
    if file is not None and not trust:
        validation.require_trust(recipe, file, recipes.build({}, values))
    return validation.ready(recipe)


def name_of(recipe: Recipe, name: str | None, file: Path | None) -> str:
    """Return the name of a sweep: the given name, the name of the file, or a name derived from the flags."""
    if name is not None:
        return name
    if file is not None:
        return file.stem
    task = str(recipe.run.get("task", RunConfig.model_fields["task"].default)) if "task" not in recipe.grid else "tasks"
    return f"{runs.safe_name(task)}-{recipe.digest()}"


def start(recipe: Recipe, name: str, root: Path, dry_run: bool, detach: bool, json: bool) -> int:
    """Make the folder of a sweep, or reopen an existing folder, do all remaining jobs and return the exit code."""
    if dry_run:
        path, entries = root / folder.check_name(name), plan.entries(recipe)
        script = launchers.batch_script(recipe.launch, path.absolute(), sorted({entry.job for entry in entries}))
        _say_trying(name, len(entries))
        _print_plan(recipe, validation.check(recipe), name, script, json)
        return 0
    sweep, launcher = open_sweep(recipe, name, root, _say_trying)
    return go(sweep, launcher, True, detach, json)


def open_sweep(
    recipe: Recipe, name: str, root: Path, tell: Callable[[str, int], object] = lambda name, number: None
) -> tuple[SweepFolder, launchers.Launcher]:
    """Try every new setting of a sweep, make the folder or extend an existing folder, and return it with the launcher.

    Args:
        recipe: the recipe.
        name: name of the sweep.
        root: folder of all sweeps.
        tell: called with the name and the number of settings before the settings are tried.

    Raises:
        UserError: if a setting does not work, or the sweep cannot be launched.
    """
    launcher, path = launchers.find(recipe.launch), root / folder.check_name(name)
    if recipe.search is not None:
        from ngym_cli.sweeps import worker

        worker.optuna()
    known = folder.load(path) if folder.is_sweep(path) else None
    entries = plan.entries(recipe) if known is None else [*folder.planned(known, recipe)]
    if known is None or len(entries) > len(known.entries):
        tell(name, len(entries))
        validation.check(recipe)
    sweep = folder.make(root, name, recipe)
    if recipe.search is not None:
        worker.prepare(sweep)
    return sweep, launcher


def _say_trying(name: str, number: int) -> None:
    terminal.console(stderr=True).print(f"sweep {name}: {number:,} runs; trying every setting", soft_wrap=True)


def resume(sweep: SweepFolder, launch: Mapping[str, object], trust: bool, detach: bool, json: bool) -> int:
    """Resume an interrupted sweep and return the exit code.

    Args:
        sweep: the sweep.
        launch: launch settings from flags, which override the recipe.
        trust: let its recipe name a user's own code.
        detach: as in ``Order``.
        json: print one JSON document.
    """
    if not trust:
        validation.require_trust(sweep.recipe, sweep.path / folder.RECIPE)
    data = sweep.recipe.model_dump(exclude_none=True)
    recipe = recipes.build(merge(data, {"launch": dict(launch)}), {})
    return start(recipe, sweep.name, sweep.path.parent, False, detach, json)


def go(sweep: SweepFolder, launcher: launchers.Launcher, trust: bool, detach: bool, json: bool) -> int:
    """Do the remaining jobs of a sweep and print the results; return the exit code."""
    err = terminal.console(stderr=True)
    rows = status.StatusReader(sweep).rows()
    err.print(f"{len(rows) - _open(rows):,} of {len(rows):,} runs are done; {sweep.path}", soft_wrap=True)
    if status.unfinished_jobs(sweep, rows):
        err.print(f"tensorboard --logdir {sweep.root}; ngym sweep status {sweep.name}", soft_wrap=True)
    rows, interrupted = do_jobs(sweep, launcher, trust, detach)
    _finish(sweep, rows, json)
    if interrupted:
        err.print(f"interrupted; ngym sweep resume {sweep.name} continues", soft_wrap=True)
        return INTERRUPTED
    return 1 if any(row["state"] == "failed" for row in rows) else 0


def do_jobs(
    sweep: SweepFolder, launcher: launchers.Launcher, trust: bool, detach: bool = False
) -> tuple[list[status.Row], bool]:
    """Do a sweep's remaining jobs with live progress; return the state of all runs, and whether the sweep stopped.

    Args:
        sweep: the sweep.
        launcher: the launcher.
        trust: let the recipe name a user's own code.
        detach: as in ``Order``.
    """
    observer = status.StatusReader(sweep)
    jobs = status.unfinished_jobs(sweep, observer.rows())
    if not jobs:
        return observer.rows(), False
    workers = launcher.workers or 1
    shown_on = terminal.console(stderr=True)
    interrupted = False
    with (
        locks.lock(sweep.path),
        tables.LiveTable(observer, shown_on, min(workers, len(jobs))) as shown,
        _stoppable(),
    ):
        try:
            launcher.launch(Order(sweep, jobs, trust, shown.look, detach))
        except KeyboardInterrupt:
            interrupted = True
    return observer.rows(), interrupted


def _open(rows: list[status.Row]) -> int:
    return sum(row["state"] not in status.FINAL for row in rows)


@contextmanager
def _stoppable() -> Iterator[None]:
    """Treat a request to terminate, or a closed terminal, like Ctrl-C."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.Signals[name] for name in ("SIGTERM", "SIGHUP") if name in signal.Signals.__members__]
    old = {number: signal.signal(number, stop) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _finish(sweep: SweepFolder, rows: list[status.Row], json: bool) -> None:
    """Write and print the result."""
    results.write(sweep, rows)
    document = result(sweep, rows)
    if json:
        terminal.print_json(document)
        return
    out = terminal.console()
    tables.print_settings(out, document["settings"], sweep.recipe.search is not None)
    tables.print_importance(out, document["importance"])
    tables.print_errors(out, rows, sweep)
    out.print(f"{sweep.path / results.FILE}; next: ngym plot {sweep.path}", soft_wrap=True)


def result(sweep: SweepFolder, rows: list[status.Row]) -> status.Row:
    """Return the state and the result of a sweep as a single document.

    Returns:
        ``id``, ``counts``, ``runs``, ``settings`` and ``importance``.
    """
    found: dict[str, float] = {}
    if sweep.recipe.search is not None and (sweep.path / folder.STUDY).exists():
        from ngym_cli.sweeps import worker

        try:
            found = worker.importance(sweep)
        except UserError:  # the study cannot be read without Optuna; the rest can
            found = {}
    return {
        "id": str(sweep.path),
        "counts": status.counts(rows),
        "runs": rows,
        "settings": results.settings(
            sweep, rows, sweep.recipe.search.maximize if sweep.recipe.search else "performance"
        ),
        "importance": found,
    }


def show(sweep: SweepFolder, json: bool) -> int:
    """Print the progress of a sweep; return the exit code."""
    rows = status.StatusReader(sweep).rows()
    if json:
        terminal.print_json(result(sweep, rows))
        return 0
    out = terminal.console()
    out.print(f"{sweep.path}", soft_wrap=True)
    out.print(tables.picture(rows))
    settings = results.settings(sweep, rows)
    if any(setting["n"] for setting in settings):
        out.print()
        tables.print_settings(out, settings, sweep.recipe.search is not None)
    return 0


def _print_plan(recipe: Recipe, settings: list[validation.Setting], name: str, script: str, json: bool) -> None:
    """Print the runs of a sweep, the expected duration, and the batch script for a cluster."""
    from ngym_cli.agents.threads import cores
    from ngym_cli.sweeps import validation

    entries = plan.entries(recipe)
    total, longest = validation.estimated_seconds(recipe, settings)
    workers = min(recipe.launch.workers or cores(), len(entries))
    wall = max(total / workers, longest)
    if json:
        rows = [{"name": entry.name, "job": entry.job, "values": entry.values} for entry in entries]
        document = {"id": name, "runs": rows, "core_seconds": total, "seconds": wall, "workers": workers}
        terminal.print_json({**document, **({"script": script} if script else {})})
        return
    out = terminal.console()
    for entry in entries[:MOST_PLANNED]:
        out.print("  " + entry.name, soft_wrap=True)
    if len(entries) > MOST_PLANNED:
        out.print(f"  and {len(entries) - MOST_PLANNED:,} more")
    if recipe.search is not None:
        drawn = ", ".join(f"{key} {kind}" for key, kind in recipe.search.space.items())
        out.print(f"drawn for each trial: {drawn}", soft_wrap=True)
    steps = sum(int(config.timesteps or 0) for config, _ in settings) / len(settings)
    out.print(
        f"{len(entries):,} runs of {steps:,.0f} steps on average: about {terminal.in_words(total)} of one core, "
        f"{terminal.in_words(wall)} with {workers} at a time (from speeds measured on this machine)",
        soft_wrap=True,
    )
    if script:
        out.print(script, soft_wrap=True, markup=False, highlight=False)


#: Runs that ``--dry-run`` prints one by one.
MOST_PLANNED = 200

ACTIONS = ("status", "resume")


def sweep(
    what: str | None,
    reference: str | None,
    parameters: Mapping[str, object],
    wrappers: Iterable[str] | None,
    zipped: Iterable[str] | None,
    searched: Mapping[str, object],
    where: Mapping[str, object],
    root: Path,
    name: str | None,
    *,
    detach: bool,
    trust: bool,
    dry_run: bool,
    json: bool,
) -> int:
    """Carry out a command line; return the exit code.

    Args:
        what: a recipe's file, ``status``, ``resume``, or None.
        reference: the sweep to look at or to go on with.
        parameters: flags of a run by name.
        wrappers: stacks.
        zipped: groups of parameters that change together.
        searched: flags of the search.
        where: flags of the launcher.
        root: folder of all sweeps.
        name: name of the sweep.
        detach: do not wait for the cluster.
        trust: let a recipe name a user's own code.
        dry_run: only say what would be done.
        json: print one JSON document.

    Raises:
        UserError: on words that do not go together, and as the actions themselves.
    """
    values = from_flags(parameters, wrappers)
    over = recipe_tables(zipped, searched, where)
    if what in ACTIONS:
        if values or "zip" in over or "search" in over or name is not None or dry_run:
            raise UserError(f"ngym sweep {what} takes a sweep as it is; no other settings go with it")
        found = folder.find(reference or "latest", root)
        if what == "status":
            return show(found, json)
        return resume(found, over.get("launch", {}), trust, detach, json)
    if reference is not None:
        raise UserError(f"ngym sweep {what} {reference}: expected a recipe alone" + did_you_mean(str(what), ACTIONS))
    file = Path(what) if what is not None else None
    if file is not None and not file.is_file():
        raise UserError(f"no such recipe: {what}" + did_you_mean(str(what), ACTIONS))
    if file is None and not values and "search" not in over:
        raise UserError("nothing to sweep: give a recipe or flags, as in ngym sweep --alg ppo,recurrent_ppo --seed 0:5")
    recipe = make_recipe(file, over, values, trust)
    return start(recipe, name_of(recipe, name, file), root, dry_run, detach, json)


def recipe_tables(
    zipped: Iterable[str] | None, searched: Mapping[str, Any], where: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the recipe tables that flags define, without undefined entries."""
    found: dict[str, Any] = {}
    if zipped:
        found["zip"] = [[_key(part) for part in split_entries(group)] for group in zipped]
    search = {key: value for key, value in searched.items() if value is not None}
    if "space" in search:
        search["space"] = parse_assignments(search["space"], "--space", str)
    if search:
        found["search"] = search
    launch = {key: value for key, value in where.items() if value is not None}
    if "slurm" in launch:
        pairs = (parse_assignment(text, "--slurm") for text in launch["slurm"])
        launch["slurm"] = {key: value if ":" in value else parse_scalar(value) for key, value in pairs}
    if launch:
        found["launch"] = launch
    return found


def _key(name: str) -> str:
    try:
        return canonical(name.strip().replace("-", "_"))
    except ValueError as error:
        raise UserError(f"--zip: {error}") from None
