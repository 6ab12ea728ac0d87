"""Implementation of ``ngym eval``: runs, checkpoints, conditions, perturbations, recordings, exports, comparisons."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ngym_cli import config as configuration
from ngym_cli import runs
from ngym_cli.agents.trained import remembers
from ngym_cli.config.values import parse_whole, split_entries
from ngym_cli.errors import UserError, unknown
from ngym_cli.evaluation.activity import SPIKES
from ngym_cli.evaluation.fresh_trials import EvaluationSettings
from ngym_cli.evaluation.quota import Progress, check_trials
from ngym_cli.files.writing import atomic_folder
from ngym_cli.runs import recordings, records, summary
from ngym_cli.runs.recordings import NEEDED, OWN, Recording
from ngym_cli.runs.records import Summary

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy

    from ngym_cli.agents.acting import Actor
    from ngym_cli.config import RunConfig
    from ngym_cli.figures.source import Source

#: Longest name of an evaluation made from its settings; longer ones are cut and end with a digest of the whole.
LONGEST_LABEL = 120
#: Formats to export to, with the file of each.
EXPORTS = {"csv": "trials.csv", "nwb": "session.nwb", "npz": "trials.npz"}

#: Quantities that formats contain at least.
CONTENTS = {"nwb": ("activity",), "npz": ("activity", "observations", "logits")}

#: Highest rate of spikes, Hz.
MOST_RATE = 1_000
#: Prefix of the files of a comparison with animals.
COMPARISON = "comparison"


@dataclass(frozen=True)
class RequestedEvaluation(EvaluationSettings):
    """Request on the command line: the settings of `EvaluationSettings`, and what becomes of them.

    Attributes:
        changes: settings that differ from training, as from ``ngym_cli.config.flags.settings``.
        checkpoints: ``all``, ``best``, step numbers separated by commas, or None for the final model.
        exports: formats to export to.
        compare: table of an animal's or person's trials, and the map of its columns (None for a guess).
        activity: recording to compare activity with, and the columns that tell conditions apart (empty: shared ones).
        name: of the evaluation; made from the settings unless given.
        overwrite: replace one of that name.
        trust: accept user code named in a run's record.
    """

    changes: Mapping[str, object] = field(default_factory=dict)
    checkpoints: str | None = None
    exports: tuple[str, ...] = ()
    compare: tuple[Path, Path | None] | None = None
    activity: tuple[Path, tuple[str, ...]] | None = None
    name: str | None = None
    overwrite: bool = False
    trust: bool = False

    def label(self, trials: int) -> str:
        """Return the name of the evaluation's folder, which differs between settings.

        Args:
            trials: number of trials.
        """
        if self.name is not None:
            return self.name
        parts = [f"trials{trials}-seed{self.seed}"]
        parts += [] if self.deterministic else ["stochastic"]
        parts += ["balanced"] if self.balanced else []
        parts += [_words(self.changes)] if self.changes else []
        whole = "-".join([*parts, *(each.label for each in self.perturbations)])
        if len(whole) > LONGEST_LABEL:
            whole = f"{whole[: LONGEST_LABEL - 9]}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
        return runs.safe_name(whole)


def _words(changes: Mapping[str, Any]) -> str:
    """Return the changed settings, as part of a name."""
    words = []
    for key, value in changes.items():
        if key == "wrappers":
            stack = [[entry["name"], *_pairs({k: v for k, v in entry.items() if k != "name"})] for entry in value]
            words.append("+".join(word for entry in stack for word in entry) or "no-wrappers")
        else:
            words += _pairs(value if isinstance(value, Mapping) else {key: value})
    return "-".join(words).replace(":", "+").replace("/", "+")


def _pairs(values: Mapping[str, object]) -> list[str]:
    return [f"{name}{'+'.join(map(str, v)) if isinstance(v, list) else v}" for name, v in values.items()]


def evaluate(
    references: Sequence[str], root: Path, asked: RequestedEvaluation, progress: Progress | None = None
) -> Iterator[tuple[Summary, Path]]:
    """Evaluate runs in sequence and yield each summary with the folder of the evaluation.

    Args:
        references: folders or names of runs, or ``latest``.
        root: folder of all runs.
        asked: the request.
        progress: called repeatedly with the number of finished trials and the total.

    Raises:
        UserError: if a run does not exist or is damaged, an evaluation exists, or something does not fit the task.
    """
    if not 0 < asked.spike_rate <= MOST_RATE:
        raise UserError(f"--spike-rate must be between 0 and {MOST_RATE:,} Hz, not {asked.spike_rate:g}")
    check_trials(asked.trials)
    label = runs.plain_name("evaluation", asked.label(asked.trials or 0))
    found = list(dict.fromkeys(runs.find(reference, root) for reference in references))
    if asked.name is not None and asked.checkpoints is None:
        for run in found:
            _refuse_loss(run.path / "eval" / label, asked)
    if asked.compare is not None:
        from ngym_cli.evaluation import comparison

        comparison.read(*asked.compare)
    if asked.activity is not None:
        from ngym_cli.evaluation import activity_comparison

        activity_comparison.check(asked.activity[0])
        asked = replace(asked, record=tuple(dict.fromkeys((*asked.record, "activity"))))
    for run in found:
        yield from _evaluate_run(run, asked, progress)


def recorder(root: Path, trust: bool, tell: Callable[[str], object]) -> Callable[[Source, Sequence[str]], None]:
    """Return a function that records quantities of a run for a figure, as the evaluation ``recording`` of the run.

    Args:
        root: folder of all runs.
        trust: accept user code named in a run's record.
        tell: receives one line about each recording.
    """

    def record(source: Source, quantities: Sequence[str]) -> None:
        path = source.run.path
        held = Recording(path / "eval" / OWN).quantities if (path / "eval" / OWN / recordings.FILE).exists() else ()
        wanted = tuple(dict.fromkeys([*held, *quantities, *(NEEDED if remembers(source.actor) else ())]))
        asked = RequestedEvaluation(record=wanted, name=OWN, overwrite=True, trust=trust)
        ((summary, folder),) = evaluate([str(path)], root, asked)
        tell(f"recorded {', '.join(wanted)} in {summary['trials']:,} trials: {folder}")

    return record


def _refuse_loss(folder: Path, asked: RequestedEvaluation) -> None:
    """Refuse to replace an evaluation of a given name, or one that contains more files.

    Raises:
        UserError: says what would be lost, and how to keep the old evaluation.
    """
    if asked.overwrite or not folder.is_dir():
        return
    if asked.name is not None:
        raise UserError(f"evaluation {folder} exists; choose another --name or say --overwrite")
    comes = {"trials.parquet", "summary.json", *(EXPORTS[form] for form in asked.exports)}
    if asked.record or set(CONTENTS) & set(asked.exports):
        comes.add(recordings.FILE)
    lost = sorted(path.name for path in folder.iterdir() if path.name not in comes and not _redrawn(path, asked))
    with contextlib.suppress(UserError):
        held = records.read(folder / "summary.json", Summary).get("recorded") or ()
        comes_recorded = {*asked.record, *(name for form in asked.exports for name in CONTENTS.get(form, ()))}
        lost += [f"recorded {name}" for name in held if name not in comes_recorded and recordings.FILE in comes]
    if lost:
        raise UserError(
            f"evaluation {folder} holds more than the new one would ({', '.join(lost)}); ask for the same again, "
            "choose another --name or say --overwrite"
        )


def _redrawn(path: Path, asked: RequestedEvaluation) -> bool:
    """Return whether a file belongs to a comparison that is requested again."""
    again = {COMPARISON: asked.compare, f"activity_{COMPARISON}": asked.activity}
    return any(given is not None and path.name.startswith(start) for start, given in again.items())


def _evaluate_run(
    run: runs.RunFolder, asked: RequestedEvaluation, progress: Progress | None
) -> Iterator[tuple[Summary, Path]]:
    from ngym_cli.agents.from_config import evaluation_trials
    from ngym_cli.environments import defaults
    from ngym_cli.environments import facts as of_task
    from ngym_cli.evaluation import activity_comparison, comparison, export, fresh_trials

    config = run.config(asked.trust).in_stage(-1)
    if asked.changes:
        config = configuration.from_dict(configuration.merge(config.model_dump(exclude_none=True), asked.changes))
        config, facts = defaults.resolve(config)
    else:
        facts = of_task.inspect(config)
    trials = asked.trials or evaluation_trials(facts)
    label = asked.label(trials)
    if asked.checkpoints is None:
        _refuse_loss(run.path / "eval" / label, asked)
    for policy, steps, at_checkpoint in _policies(run, config, asked.checkpoints):
        folder = run.path / "eval" / (f"{label}@{steps}" if at_checkpoint else label)
        _refuse_loss(folder, asked)
        needed = [name for form in asked.exports for name in CONTENTS.get(form, ())]
        needed += ["activity"] if SPIKES in asked.record else []
        held = [name for name in needed if remembers(policy) or name == "observations"]
        wanted = tuple(dict.fromkeys([*held, *asked.record]))
        with atomic_folder(folder, runs.EVALUATION) as temporary:
            settings = replace(asked, trials=trials, record=wanted, folder=temporary)
            result = fresh_trials.evaluate(policy, config, facts, settings, progress)
            result.summary.update({
                "run": str(run.path), "model_steps": steps, "checkpoint": steps if at_checkpoint else None,
                "changes": dict(asked.changes),
            })  # fmt: skip
            fresh_trials.write(result, temporary)
        if asked.exports:
            result.summary["exports"] = [str(export.export(folder, run, form)) for form in asked.exports]
        if asked.compare is not None:
            result.summary["comparison"] = comparison.compare(result.table, folder, run, *asked.compare)
        if asked.activity is not None:
            names = summary.condition_names(facts.conditions, result.table)
            result.summary["activity"] = activity_comparison.compare(result.table, folder, run, *asked.activity, names)
        yield result.summary, folder


def _policies(
    run: runs.RunFolder, config: RunConfig, wanted: str | None
) -> Iterator[tuple[Actor | BasePolicy, int, bool]]:
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
    best = checkpoints.best_of(run.path / checkpoints.FOLDER)
    for step in _steps(wanted, there, best["step"] if best else None):
        saving.fill(policy, saving.read_weights(there[step] / checkpoints.WEIGHTS), there[step] / checkpoints.WEIGHTS)
        yield policy, step, True


def _steps(wanted: str, there: Mapping[int, Path], best: int | None) -> list[int]:
    if wanted == "all":
        return sorted(there)
    steps = []
    for word in split_entries(wanted) or [wanted]:
        if word == "best":
            if best is None or best not in there:
                raise UserError("no checkpoint is marked as the best; evaluations in training (--eval-every) find it")
            steps.append(best)
            continue
        try:
            step = parse_whole(word)
        except ValueError:
            step = -1
        if step not in there:
            raise unknown("checkpoint", word, ["all", "best", *map(str, sorted(there))])
        steps.append(step)
    return steps
