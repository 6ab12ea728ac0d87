"""Worker of a sweep: a job can be repeated in any state, any number of times.

A job is the runs of a grid, or a trial of a search with Optuna. Every worker talks to the study itself, through a
journal file that is safe on shared disks. A finished run is skipped, an interrupted run resumed, any other started.
"""

from __future__ import annotations

import logging
import math
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ngym_cli import processes, runs
from ngym_cli.config.model import RunConfig
from ngym_cli.config.values import Values, lookup
from ngym_cli.errors import InUseError, UserError, library, one_line
from ngym_cli.files import reading
from ngym_cli.files.writing import write_json, write_text
from ngym_cli.runs.records import Manifest, Summary
from ngym_cli.sweeps import folder, space, validation
from ngym_cli.sweeps.folder import STUDY, SweepFolder
from ngym_cli.sweeps.plan import Entry
from ngym_cli.sweeps.recipe import SearchMetric, SearchSettings
from ngym_cli.training import main_loop
from ngym_cli.training.session import EvaluationCallback

if TYPE_CHECKING:
    from types import ModuleType

    from optuna import Study
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial, Trial


DONE, STOPPED, FAILED = "done", "stopped", "failed"

#: Reason in the record of a run that the search ended early.
PRUNED = "pruned"

#: Seconds that a worker waits for a run that another process still writes: longer than a machine that is gone is
#: believed to be at work.
WAIT = runs.QUIET + 60.0
SECONDS_BETWEEN_LOOKS = 2.0


def run_one(
    sweep: SweepFolder, entry: Entry, values: Values, trust: bool, watch: EvaluationCallback | None = None
) -> tuple[str, Manifest]:
    """Complete a run of a sweep.

    Args:
        sweep: the sweep.
        entry: the run's entry in the plan.
        values: parameters of the run.
        trust: accept user code named in the run's record.
        watch: called after each evaluation; returns a reason to end the run early, or None.

    Returns:
        ``finished``, ``pruned`` or ``interrupted``, and its manifest.

    Raises:
        UserError: if the run fails.
    """
    path = sweep.run_path(entry, values)
    deadline = time.monotonic() + WAIT
    while True:
        try:
            return _attempt(sweep, path, values, trust, watch)
        except InUseError:
            if time.monotonic() > deadline:
                raise
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _attempt(
    sweep: SweepFolder, path: Path, values: Values, trust: bool, watch: EvaluationCallback | None
) -> tuple[str, Manifest]:
    run, hooks = runs.RunFolder(path), main_loop.Hooks(watch=watch)
    reading.check_within(path, sweep.path)
    if (path / runs.MANIFEST).exists():
        reading.check_folder(path)
        manifest = run.manifest()
        if manifest["status"] == "finished":
            return "finished", manifest
        if manifest.get("exit_reason") == PRUNED:
            return "pruned", manifest
        outcome = main_loop.resume(run, trust, hooks)
    else:
        outcome = main_loop.train(sweep.config(values), sweep.root, path.name, hooks=hooks)
    manifest = outcome.run.manifest()
    if outcome.status != "finished" and manifest.get("exit_reason") == PRUNED:
        return "pruned", manifest
    return outcome.status, manifest


PROCESS_NAME = "sweep"

#: Largest journal of a search that is read (bytes).
LARGEST_STUDY = 1 << 28

#: Random trials before TPE, and before the median pruner, is used.
STARTUP_TRIALS = 10
STARTUP_PRUNING = 5

#: After this long, a trial that was drawn but not recorded belongs to a worker that was killed in between.
FORGOTTEN = timedelta(seconds=60)


def optuna() -> Any:
    """Return the package.

    Raises:
        UserError: if Optuna is not installed; says how to install Optuna.
    """
    warnings.filterwarnings("ignore", "IProgress not found")  # tqdm's, in notebooks without ipywidgets
    package = library("optuna", "a search needs Optuna", "search")
    logging.getLogger("optuna").setLevel(logging.ERROR)
    package.logging.set_verbosity(package.logging.ERROR)
    return package


def open_study(sweep: SweepFolder, job: int = 0) -> tuple[Any, Any]:
    """Return the study of a search and the storage; a missing study is created.

    Args:
        sweep: the search.
        job: number of the job that will draw parameters; each job has a random stream of its own.
    """
    package = optuna()
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    settings = _settings(sweep)
    _check_study(sweep.path / STUDY)
    try:
        storage = JournalStorage(JournalFileBackend(str(sweep.path / STUDY)))
        study = package.create_study(
            study_name=PROCESS_NAME,
            storage=storage,
            load_if_exists=True,
            direction="maximize",
            sampler=_sampler(package, settings, job),
            pruner=_pruner(package, sweep, settings),
        )
        study.get_trials(deepcopy=False)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError, RecursionError) as error:
        raise UserError(f"damaged sweep {sweep.path}: {STUDY}: {one_line(error)}") from None
    return study, storage


def _check_study(path: Path) -> None:
    """Refuse a journal that is not one JSON object a line, which Optuna would fail on or take for work of another.

    Raises:
        UserError: names the first line that is none; a last line without end is being written.
    """
    if not path.exists():
        return
    *lines, _ = reading.read_text(path, LARGEST_STUDY).split("\n")
    for number, line in enumerate(lines, 1):
        if not isinstance(reading.parse_json(line, path), dict):
            raise UserError(f"{path} is damaged: line {number} is not an entry of a study")


def _settings(sweep: SweepFolder) -> SearchSettings:
    if sweep.recipe.search is None:
        raise UserError(f"sweep {sweep.path} is not a search")
    return sweep.recipe.search


def _sampler(package: ModuleType, settings: SearchSettings, job: int) -> BaseSampler:
    seed = int(np.random.SeedSequence([settings.seed, job]).generate_state(1)[0])
    if settings.sampler == "random":
        return package.samplers.RandomSampler(seed=seed)
    return package.samplers.TPESampler(seed=seed, n_startup_trials=STARTUP_TRIALS, constant_liar=True)


def _pruner(package: ModuleType, sweep: SweepFolder, settings: SearchSettings) -> BasePruner:
    if settings.pruner == "median":
        return package.pruners.MedianPruner(n_startup_trials=STARTUP_PRUNING)
    if settings.pruner == "hyperband":
        run = sweep.settings({})
        steps = int(run.get("timesteps") or 0)
        every = int(run.get("evaluation", {}).get("every") or 1)
        return package.pruners.HyperbandPruner(min_resource=every, max_resource=steps or "auto")
    return package.pruners.NopPruner()


def prepare(sweep: SweepFolder) -> None:
    """Make the study before the first trial and queue the default setting, so that no search ends below the default."""
    study, _ = open_study(sweep)
    if not study.get_trials(deepcopy=False):
        values = default_params(sweep, validation.completed(sweep.recipe, {}).config)
        if values is not None:
            study.enqueue_trial(values)
        return
    recorded = {(sweep.drawn(job) or {}).get("number") for job in sweep.jobs}
    for trial in study.get_trials(deepcopy=False, states=(optuna().trial.TrialState.RUNNING,)):
        started = trial.datetime_start
        if trial.number not in recorded and started is not None and datetime.now() - started > FORGOTTEN:
            study.tell(trial.number, state=optuna().trial.TrialState.FAIL)


def default_params(sweep: SweepFolder, default: RunConfig) -> Values | None:
    """Return the default setting as parameters of the search, or None if outside the search space."""
    params: Values = {}
    for key, kind in space.kinds(_settings(sweep).space).items():
        value = lookup(default.model_dump(), key)
        if not kind.holds(value):
            return None
        params[key] = value
    return params


def claim(sweep: SweepFolder, study: Study, storage: Any, job: int) -> Trial:
    """Return the trial of a job: the trial drawn before, or a new trial."""
    drawn = sweep.drawn(job)
    if drawn is not None:
        study_id = storage.get_study_id_from_name(PROCESS_NAME)
        trial_id = storage.get_trial_id_from_study_id_trial_number(study_id, int(drawn["number"]))
        return optuna().trial.Trial(study, trial_id)
    trial = study.ask()
    params = {key: kind.suggest(trial, key) for key, kind in space.kinds(_settings(sweep).space).items()}
    write_json(sweep.drawn_path(job), {"number": trial.number, "params": params})
    return trial


def perform_trial(sweep: SweepFolder, job: int, trust: bool) -> str:
    """Do a trial of the search: all seeds in turn; the value of the trial is the mean.

    A trial whose run fails or diverges counts as failed in the study, and the search continues.

    Returns:
        As ``ngym_cli.sweeps.worker.perform``.
    """
    study, storage = open_study(sweep, job)
    trial = claim(sweep, study, storage, job)
    record = study.get_trials(deepcopy=False)[trial.number]
    try:
        scores, status = _perform_seeds(sweep, job, trust, None if record.state.is_finished() else trial)
    except InUseError:
        raise
    except Exception:
        if not record.state.is_finished():
            study.tell(trial.number, state=optuna().trial.TrialState.FAIL)
        raise
    if status == "interrupted":
        return STOPPED
    if not record.state.is_finished():
        pruned = status == PRUNED
        state = optuna().trial.TrialState.PRUNED if pruned else optuna().trial.TrialState.COMPLETE
        study.tell(trial.number, None if pruned else float(np.mean(scores)), state=state)
    elif record.state == optuna().trial.TrialState.FAIL:
        _supersede(sweep, storage, job, record, float(np.mean(scores)))
    write_text(sweep.reported_path(job), status)
    return DONE


def _supersede(sweep: SweepFolder, storage: Any, job: int, failed: FrozenTrial, value: float) -> None:
    """Record the result of a trial that failed before as the trial that takes its place, as Optuna's retries do."""
    settings = {"params": failed.params, "distributions": failed.distributions}
    trial = optuna().trial.create_trial(value=value, **settings, system_attrs={"failed_trial": failed.number})
    trial_id = storage.create_new_trial(storage.get_study_id_from_name(PROCESS_NAME), template_trial=trial)
    number = storage.get_trial(trial_id).number
    write_json(sweep.drawn_path(job), {"number": number, "params": (sweep.drawn(job) or {})["params"]})


def _perform_seeds(sweep: SweepFolder, job: int, trust: bool, trial: Trial | None) -> tuple[list[float], str]:
    """Do the runs of a trial; return their scores and the status of the last.

    Evaluations of the first seed are reported to the study, which may end it: later seeds would begin anew below it.

    Args:
        sweep: the search.
        job: number of the job.
        trust: let the recipe name a user's own code.
        trial: the trial; None if it is finished in the study.
    """
    metric, scores, status = _settings(sweep).maximize, list[float](), DONE
    for entry in sweep.jobs[job]:
        values = sweep.values(entry) or {}
        steps = int(sweep.settings(values).get("timesteps") or 0)
        watch = None if trial is None or scores else _watch(trial, metric, steps)
        status, manifest = run_one(sweep, entry, values, trust, watch)
        if status == "interrupted":
            break
        scores.append(_score(manifest, metric))
        if status == PRUNED:
            break
    return scores, status


def _score(record: Mapping[str, Any], metric: SearchMetric) -> float:
    """Return the metric that a search maximises.

    Raises:
        UserError: if the record of the run or the evaluation has no such number.
    """
    value = record.get(metric)
    if value is None or not math.isfinite(value):
        raise UserError(f"a run has no {metric.replace('_', ' ')}, which the search maximises")
    return float(value)


def _watch(trial: Trial, metric: SearchMetric, steps: int) -> EvaluationCallback:
    """Report evaluations of a run to the study, and end pruned runs."""

    def watch(step: int, summary: Summary) -> str | None:
        trial.report(_score(summary, metric), step)
        return PRUNED if step < steps and trial.should_prune() else None

    return watch


def importance(sweep: SweepFolder) -> dict[str, float]:
    """Return the importance of each parameter (PED-ANOVA, arXiv 2304.10255).

    Empty with too few trials, and where all trials have the same score.
    """
    package = optuna()
    study, _ = open_study(sweep)
    complete = study.get_trials(deepcopy=False, states=(package.trial.TrialState.COMPLETE,))
    if len({trial.value for trial in complete}) < 2:
        return {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluator = package.importance.PedAnovaImportanceEvaluator()
            values = package.importance.get_param_importances(study, evaluator=evaluator)
        return {key: float(value) for key, value in values.items()}
    except (RuntimeError, ValueError):
        return {}


def perform(path: str, job: int, trust: bool = False) -> str:
    """Do a job: skip finished runs, resume interrupted runs, start the rest.

    Args:
        path: the sweep's folder.
        job: number of the job.
        trust: let the recipe name a user's own code.

    Returns:
        ``done``, ``stopped`` (by a signal, and can be resumed) or ``failed`` (the reason is in the folder).
    """
    sweep = folder.load(Path(path))
    processes.limit_in_worker()

    def do() -> str:
        if sweep.recipe.search is not None:
            return perform_trial(sweep, job, trust)
        ended = [run_one(sweep, entry, entry.values, trust) for entry in sweep.jobs[job]]
        return DONE if all(status == "finished" for status, _ in ended) else STOPPED

    return attempted(do, sweep.error_path(job))


def attempted(do: Callable[[], str], error_path: Path) -> str:
    """Do a job and return the state; an error is written to a file, which success removes."""
    try:
        state = do()
    except Exception as error:
        write_text(error_path, f"{one_line(error)}\n\n{traceback.format_exc()}")
        return FAILED
    error_path.unlink(missing_ok=True)
    return state
