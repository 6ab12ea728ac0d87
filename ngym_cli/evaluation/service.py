"""Implementation of ``ngym eval``: runs, checkpoints, conditions, perturbations, recordings, exports, comparisons."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ngym_cli import processes, runs
from ngym_cli.agents import checkpoints, defaults, saving
from ngym_cli.agents.defaults import HALF_WIDTH, evaluation_trials
from ngym_cli.agents.trained import load_to_act, remembers
from ngym_cli.config.model import from_dict
from ngym_cli.config.values import merge, parse_list, parse_whole
from ngym_cli.environments import properties as of_task
from ngym_cli.environments.quota import Progress
from ngym_cli.errors import UserError, option, unknown
from ngym_cli.evaluation import simulation
from ngym_cli.evaluation.activity import PEAK_RATE, SPIKES
from ngym_cli.evaluation.request import EvalRequest
from ngym_cli.files.outputs import may_write
from ngym_cli.files.writing import atomic_folder
from ngym_cli.fitting import folder as fits
from ngym_cli.runs import records
from ngym_cli.runs.conditions import columns_of_performance
from ngym_cli.runs.folder import EXPORTS
from ngym_cli.runs.populations import check_file
from ngym_cli.runs.recordings import ACTIVITY_FILE, NETWORK_QUANTITIES, RECORDING_NAME, Recording
from ngym_cli.runs.records import Summary

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

    from ngym_cli.agents.acting import Actor
    from ngym_cli.config.model import ResolvedConfig
    from ngym_cli.figures.source import Source
    from ngym_cli.figures.view import Recorder

#: Quantities that formats contain at least.
CONTENTS = {"nwb": ("activity",), "npz": ("activity", "observations", "logits")}

#: Prefix of the files of a comparison with animals.
COMPARISON = "comparison"


def perform(request: EvalRequest, root: Path, progress: Progress | None = None) -> Iterator[tuple[Summary, Path]]:
    """Evaluate runs or let fitted models act, and yield each summary with the folder of the evaluation.

    Args:
        request: the request.
        root: folder of all runs.
        progress: called repeatedly with the number of finished trials and the total.

    Raises:
        UserError: if a run does not exist or is damaged, an evaluation exists, or something does not fit the task.
    """
    references = list(request.run) or [runs.LATEST]
    if request.simulate is None:
        yield from evaluate(references, root, request, progress)
        return
    for fit in [fits.find(reference, root) for reference in references]:
        yield simulation.simulate(fit, root, request, progress)


#: Trials of each checkpoint that a figure has recorded.
CHECKPOINT_TRIALS = 500


def evaluate(
    references: Sequence[str], root: Path, request: EvalRequest, progress: Progress | None = None
) -> Iterator[tuple[Summary, Path]]:
    """Evaluate runs in sequence; arguments and errors as of `perform`, but for the runs.

    Args:
        references: folders or names of runs, or ``latest``.
        root: folder of all runs.
        request: the request.
        progress: called repeatedly with the number of finished trials and the total.
    """
    labels = [runs.plain_name("evaluation", each.label(each.trials or 0)) for each in request.separately()]
    run_folders = list(dict.fromkeys(runs.find(reference, root) for reference in references))
    if request.at_checkpoints is None:
        for run, label in itertools.product(run_folders, labels):
            _check_overwrite(run.path / "eval" / label, request)
    if request.compare is not None:
        from ngym_cli.evaluation import comparison

        comparison.read(request.compare, request.columns)
        for run in run_folders:
            may_write(comparison.figure_path(run.path, request.compare), named=False)
    if request.compare_activity is not None:
        from ngym_cli.evaluation import activity_comparison

        check_file(request.compare_activity, option("--compare-activity"))
        for run in run_folders:
            may_write(activity_comparison.figure_path(run.path, request.compare_activity), named=False)
        recorded = tuple(dict.fromkeys((*(request.record or ()), "activity")))
        request = request.model_copy(update={"record": recorded})
    for run, single in itertools.product(run_folders, request.separately()):
        yield from _evaluate_run(run, single, progress)


def recorder(root: Path, trust: bool, tell: Callable[[str], object]) -> Recorder:
    """Return a function that records quantities of a run for a figure, as the evaluation ``recording`` of the run.

    Args:
        root: folder of all runs.
        trust: accept user code named in a run's record.
        tell: receives one line about each recording.
    """

    def record(source: Source, quantities: Sequence[str], checkpoints: bool = False) -> None:
        path = source.run.path
        if checkpoints:
            each = EvalRequest(
                record=tuple(quantities),
                checkpoints="all",
                trials=CHECKPOINT_TRIALS,
                name=RECORDING_NAME,
                overwrite=True,
                trust=trust,
            )
            made = list(evaluate([str(path)], root, each))
            tell(f"recorded {', '.join(quantities)} of {len(made)} checkpoints in {path / 'eval'}")
            return
        folder = path / "eval" / RECORDING_NAME
        recorded = Recording(folder).quantities if (folder / ACTIVITY_FILE).exists() else ()
        of_network = NETWORK_QUANTITIES if remembers(source.actor) else ()
        wanted = tuple(dict.fromkeys([*recorded, *quantities, *of_network]))
        request = EvalRequest(record=wanted, name=RECORDING_NAME, overwrite=True, trust=trust)
        ((summary, folder),) = evaluate([str(path)], root, request)
        tell(f"recorded {', '.join(wanted)} in {summary['trials']:,} trials: {folder}")

    return record


def _check_overwrite(folder: Path, request: EvalRequest) -> None:
    """Check that an evaluation whose name the user chose replaces none, or may.

    Raises:
        UserError: if there is an evaluation of this name.
    """
    if request.name is not None and not request.overwrite and folder.is_dir():
        raise UserError(
            f"evaluation {folder} exists; choose another {option('--name')} or pass {option('--overwrite')}"
        )


def _recorded(request: EvalRequest, has_network: bool) -> tuple[str, ...]:
    """Return the quantities that an evaluation records: the requested ones, and what exports and figures need."""
    needed = [name for form in request.export for name in CONTENTS.get(form, ())]
    needed += ["activity"] if SPIKES in (request.record or ()) else []
    needed += NETWORK_QUANTITIES if "activity" in (request.record or ()) else []  # what figures of networks need
    quantities = [name for name in needed if has_network or name == "observations"]
    return tuple(dict.fromkeys([*quantities, *(request.record or ())]))


def _folder_for(folder: Path, request: EvalRequest, recorded: Sequence[str]) -> Path:
    """Return the folder of an evaluation, numbered where one of this default name holds more than the new one would.

    Args:
        folder: the folder of this name.
        request: the request.
        recorded: quantities that the new evaluation records.

    Raises:
        UserError: if there is an evaluation of a name that the user chose.
    """
    _check_overwrite(folder, request)
    if request.overwrite or not folder.is_dir():
        return folder
    numbered = (folder.with_name(f"{folder.name}-{k}") for k in itertools.count(2))
    places = itertools.chain([folder], numbered)
    return next(each for each in places if not each.is_dir() or not _loses(each, request, recorded))


def _loses(folder: Path, request: EvalRequest, recorded: Sequence[str]) -> bool:
    """Return whether an evaluation holds files or recorded quantities that a new one would not."""
    comes = {"trials.parquet", "summary.json", *(EXPORTS[form] for form in request.export)}
    comes |= {ACTIVITY_FILE} if recorded else set()
    if any(path.name not in comes and not _redrawn(path, request) for path in folder.iterdir()):
        return True
    with contextlib.suppress(UserError):
        before = records.read(folder / "summary.json", Summary).get("recorded") or ()
        return bool(recorded) and not set(before) <= set(recorded)
    return False


def _redrawn(path: Path, request: EvalRequest) -> bool:
    """Return whether a file belongs to a comparison that is requested again."""
    again = {COMPARISON: request.compare, f"activity_{COMPARISON}": request.compare_activity}
    return any(requested is not None and path.name.startswith(start) for start, requested in again.items())


def _evaluate_run(
    run: runs.RunFolder, request: EvalRequest, progress: Progress | None
) -> Iterator[tuple[Summary, Path]]:
    from ngym_cli.evaluation import activity_comparison, comparison, export, fresh_trials, ranked_units

    config = defaults.read_config(run, request.trust).in_stage(-1)
    if request.changes:
        requested = merge(config.model_dump(exclude_none=True), request.changes)
        config, properties = defaults.prepare(from_dict(requested))
    else:
        properties = of_task.inspect(config)
    trials = request.trials or evaluation_trials(properties)
    linked = properties.history_dependent or config.reset_state != "trial"
    adds = linked and request.trials is None and not request.balanced and not request.record and not request.export
    label = request.label(trials, adds)
    for policy, steps, at_checkpoint in _policies(run, config, request.at_checkpoints, request.device):
        wanted = _recorded(request, remembers(policy))
        folder = _folder_for(run.path / "eval" / (f"{label}@{steps}" if at_checkpoint else label), request, wanted)
        with atomic_folder(folder, runs.EVALUATION) as temporary:
            settings = fresh_trials.EvaluationSettings(
                trials,
                request.seed,
                request.deterministic is not False,
                request.balanced,
                request.perturbed,
                wanted,
                request.spike_rate or PEAK_RATE,
                temporary,
                request.references,
                exact=request.trials is not None,
                half_width=HALF_WIDTH if adds else 0.0,
            )
            result = ranked_units.evaluate(policy, config, properties, settings, progress)
            result.summary.update(
                {
                    "run": str(run.path),
                    "model_steps": steps,
                    "checkpoint": steps if at_checkpoint else None,
                    "changes": dict(request.changes),
                }
            )
            fresh_trials.write(result, temporary)
        if request.export:
            result.summary["exports"] = [str(export.export(folder, run, form)) for form in request.export]
        if request.compare is not None:
            result.summary["comparison"] = comparison.compare(
                result.table, folder, run, request.compare, request.columns
            )
        if request.compare_activity is not None:
            names = columns_of_performance(properties.conditions, result.table)
            result.summary["activity"] = activity_comparison.compare(
                result.table, folder, run, request.compare_activity, request.recording_by or (), names, config
            )
        yield result.summary, folder


def _policies(
    run: runs.RunFolder, config: ResolvedConfig, wanted: str | None, device: str
) -> Iterator[tuple[Actor | BasePolicy, int, bool]]:
    """Yield the final policy or the policy of each checkpoint, with its training steps and whether a checkpoint.

    Args:
        run: the run.
        config: its settings.
        wanted: ``all``, ``best`` or step numbers separated by commas; None for the final policy.
        device: name of the device that policies act on.

    Raises:
        UserError: if a checkpoint does not exist.
    """
    if wanted is None:
        yield *load_to_act(run, config, device), False
        return

    processes.limit_torch()
    policy, _ = saving.load_policy(run, config, device)
    by_step = {int(path.name[5:]): path for path in checkpoints.found_in(run.path / checkpoints.CHECKPOINTS_FOLDER)}
    if not by_step:
        raise UserError(f"{run.path} kept no checkpoints")
    best = checkpoints.best_of(run.path / checkpoints.CHECKPOINTS_FOLDER)
    for step in _steps(wanted, by_step, best["step"] if best else None):
        weights = by_step[step] / checkpoints.WEIGHTS
        saving.fill(policy, saving.read_weights(weights), weights)
        yield policy, step, True


def _steps(wanted: str, by_step: Mapping[int, Path], best: int | None) -> list[int]:
    if wanted == "all":
        return sorted(by_step)

    def parse(word: str) -> int | str:
        if word == "best":
            if best is None or best not in by_step:
                raise UserError(
                    f"no checkpoint is marked as the best; evaluations in training ({option('--eval-every')}) find it"
                )
            return best
        with contextlib.suppress(ValueError):
            return parse_whole(word)
        return word

    steps = parse_list(wanted, parse, option("--checkpoints"))
    for step in steps:
        if step not in by_step:
            raise unknown("checkpoint", str(step), ["all", "best", *map(str, sorted(by_step))])
    return cast(list[int], steps)
