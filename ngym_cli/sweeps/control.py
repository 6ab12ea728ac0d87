"""Implementation of ``ngym sweep``, from flags to the last printed line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ngym_cli import runs, terminal
from ngym_cli.config.model import RunConfig
from ngym_cli.config.trust import read_toml
from ngym_cli.errors import UserError, did_you_mean
from ngym_cli.files import writing
from ngym_cli.processes import handling_signals
from ngym_cli.runs import finding
from ngym_cli.sweeps import folder, launchers, plan, results, status, tables, validation, worker
from ngym_cli.sweeps import recipe as recipes
from ngym_cli.sweeps.folder import SweepFolder
from ngym_cli.sweeps.launchers import JobSpec
from ngym_cli.sweeps.recipe import Recipe, SweepRequest
from ngym_cli.sweeps.results import SweepDocument

INTERRUPTED_CODE = 130

#: Words in place of a recipe.
ACTIONS = ("status", "resume")


def make_recipe(
    file: Path | None, over: Mapping[str, object], values: Mapping[str, Sequence[object]], trust: bool
) -> Recipe:
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
    recipe = recipes.build(recipes.override(data, over), values, str(file) if file is not None else "")
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
    launcher, path = launchers.find(recipe.launch), root / runs.plain_name("sweep", name)
    if recipe.search is not None:
        worker.optuna()
    existing = folder.load(path) if finding.kind_of(path) == "sweep" else None
    entries = plan.entries(recipe) if existing is None else [*folder.planned(existing, recipe)]
    if existing is None or len(entries) > len(existing.entries):
        tell(name, len(entries))
        validation.check(recipe)
    sweep = folder.make(root, name, recipe)
    if recipe.search is not None:
        worker.prepare(sweep)
    return sweep, launcher


def do_jobs(
    sweep: SweepFolder, launcher: launchers.Launcher, trust: bool, detach: bool = False
) -> tuple[list[status.RunRow], bool]:
    """Do a sweep's remaining jobs with live progress; return the state of all runs, and whether the sweep stopped.

    Args:
        sweep: the sweep.
        launcher: the launcher.
        trust: let the recipe name a user's own code.
        detach: as in ``JobSpec``.
    """
    observer = status.StatusReader(sweep)
    jobs = status.unfinished_jobs(sweep, observer.rows())
    if not jobs:
        return observer.rows(), False
    workers = launcher.workers or 1
    shown_on = terminal.console(stderr=True)
    interrupted = False
    with (
        writing.lock(sweep.path),
        tables.LiveTable(observer, shown_on, min(workers, len(jobs))) as live_table,
        handling_signals(_interrupt, "SIGTERM", "SIGHUP"),
    ):
        try:
            launcher.launch(JobSpec(sweep, jobs, trust, live_table.look, detach))
        except KeyboardInterrupt:
            interrupted = True
    return observer.rows(), interrupted


def _interrupt(number: int, frame: object) -> None:
    """Treat a request to terminate, or a closed terminal, like Ctrl-C."""
    raise KeyboardInterrupt


def result(sweep: SweepFolder, rows: list[status.RunRow]) -> SweepDocument:
    """Return the state and the result of a sweep as a single document."""
    importance: dict[str, float] = {}
    if sweep.recipe.search is not None and (sweep.path / folder.STUDY).exists():
        try:
            importance = worker.importance(sweep)
        except UserError:  # the study cannot be read without Optuna; the rest can
            importance = {}
    search = sweep.recipe.search
    settings = results.settings(rows, search.maximize if search else results.METRIC)
    return {
        "id": str(sweep.path),
        "counts": status.counts(rows),
        "runs": rows,
        "settings": settings,
        "importance": importance,
        "best": results.best(sweep, settings),
        "notes": notes(rows),
    }


def execute(request: SweepRequest) -> int:
    """Carry out the command line and return the exit code.

    Raises:
        UserError: on words that do not go together, and as the actions themselves.
    """
    action, reference, over = request.what, request.sweep, request.tables()
    if action in ACTIONS:
        if request.varied or "zip" in over or "search" in over or request.name is not None or request.is_planned:
            raise UserError(f"ngym sweep {action} takes only the sweep; remove the other settings")
        sweep = folder.find(reference or runs.LATEST, request.sweeps_root)
        return _show(request, sweep) if action == "status" else _resume(request, sweep)
    if reference is not None:
        hint = did_you_mean(str(action), ACTIONS)
        raise UserError(f"ngym sweep {action} {reference}: expected a recipe alone{hint}")
    file = Path(action) if action is not None else None
    if file is not None and not file.is_file():
        raise UserError(f"no such recipe: {action}" + did_you_mean(str(action), ACTIONS))
    if file is None and not request.varied and "search" not in over:
        raise UserError("nothing to sweep: give a recipe or flags, as in ngym sweep --alg ppo,recurrent_ppo --seed 0:5")
    recipe = make_recipe(file, over, request.varied, request.trust)
    if request.print_config:
        sys.stdout.write(recipe.to_toml())
        return 0
    name = name_of(recipe, request.name, file)
    return _plan(request, recipe, name) if request.dry_run else _start(request, recipe, name, request.sweeps_root)


def _show(request: SweepRequest, sweep: SweepFolder) -> int:
    """Print the progress of a sweep."""
    rows = status.StatusReader(sweep).rows()
    if request.as_json:
        terminal.print_json(result(sweep, rows))
    else:
        tables.print_progress(terminal.console(), sweep, rows, results.settings(rows))
    _say_changes(rows)
    return 0


def _resume(request: SweepRequest, sweep: SweepFolder) -> int:
    """Resume an interrupted sweep; flags of the launcher override the recipe."""
    if not request.trust:
        validation.require_trust(sweep.recipe, sweep.path / folder.RECIPE)
    data = sweep.recipe.model_dump(exclude_none=True)
    recipe = recipes.build(recipes.override(data, {"launch": request.launch}), {})
    return _start(request, recipe, sweep.name, sweep.path.parent)


def _plan(request: SweepRequest, recipe: Recipe, name: str) -> int:
    """Print the runs of a sweep, the expected duration, and the batch script for a cluster."""
    path, entries = request.sweeps_root / runs.plain_name("sweep", name), plan.entries(recipe)
    script = launchers.batch_script(recipe.launch, path.absolute(), sorted({entry.job for entry in entries}))
    _say_trying(name, len(entries))
    forecast = validation.forecast(recipe, validation.check(recipe))
    if request.as_json:
        terminal.print_json({"id": name, **forecast.document(), **({"script": script} if script else {})})
        return 0
    out = terminal.console()
    tables.print_plan(out, recipe, forecast)
    if script:
        out.print(script, soft_wrap=True, markup=False, highlight=False)
    return 0


def _start(request: SweepRequest, recipe: Recipe, name: str, root: Path) -> int:
    """Make or reopen the folder of a sweep, do all remaining jobs and print the results."""
    sweep, launcher = open_sweep(recipe, name, root, _say_trying)
    err, rows = terminal.console(stderr=True), status.StatusReader(sweep).rows()
    n_finished = sum(row["state"] in status.FINAL for row in rows)
    err.print(f"{n_finished:,} of {len(rows):,} runs are done; {sweep.path}", soft_wrap=True)
    if status.unfinished_jobs(sweep, rows):
        board = terminal.quoted("tensorboard", "--logdir", sweep.root)
        err.print(f"{board}; {terminal.quoted('ngym', 'sweep', 'status', sweep.name)}", soft_wrap=True)
    rows, interrupted = do_jobs(sweep, launcher, True, request.detach)
    results.write(sweep, rows)
    document = result(sweep, rows)
    if request.as_json:
        terminal.print_json(document)
    else:
        tables.print_result(terminal.console(), sweep, document)
    _say_changes(rows)
    if interrupted:
        err.print(f"interrupted; {terminal.quoted('ngym', 'sweep', 'resume', sweep.name)} continues", soft_wrap=True)
        return INTERRUPTED_CODE
    return 1 if any(row["state"] == "failed" for row in rows) else 0


def _say_trying(name: str, number: int) -> None:
    terminal.console(stderr=True).print(f"sweep {name}: {number:,} runs; trying every setting", soft_wrap=True)


def notes(rows: list[status.RunRow]) -> list[str]:
    """Return lines that a reader of the results needs: the code that changed between the runs of a sweep."""
    changed = status.changed_code(rows)
    text = "runs of old and new code are in one table; changed between them: "
    return [text + ", ".join(changed)] if changed else []


def _say_changes(rows: list[status.RunRow]) -> None:
    """Name the code that changed between the runs of a sweep."""
    for line in notes(rows):
        terminal.console(stderr=True).print(line, soft_wrap=True)
