"""Fitting models to a table of behaviour: implementation of ``ngym fit`` and `ngym_cli.fit`."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Model
from neurogym.behaviour.table import Behaviour, Reading
from neurogym.messages.plain_data import plain
from ngym_cli.config import trust
from ngym_cli.errors import InUseError, UserError, option
from ngym_cli.files import reading, writing
from ngym_cli.files.reading import digest
from ngym_cli.files.writing import remove_folder, write_json
from ngym_cli.fitting import data_sets, fitted, registry, validation
from ngym_cli.fitting import folder as fits
from ngym_cli.fitting.recovery import recover as run_recovery
from ngym_cli.fitting.request import FitRequest
from ngym_cli.fitting.settings import read_data
from ngym_cli.fitting.stored_tables import stored_table
from ngym_cli.fitting.validation import FitData
from ngym_cli.runs import MANIFEST, RunFolder, discard, managing, now, provenance, this_process
from ngym_cli.runs.trial_table import write_table

FitProgress = Callable[[str, int, int], None]
#: Function that fits the subjects of a fit one by one, given folder, labels of the models and table.
Elsewhere = Callable[[fits.FitFolder, list[str], Behaviour], None]
#: Probabilities (trials, choices) of the choices, by model.
Predictions = dict[str, FloatArray]


@dataclass(frozen=True)
class FitHooks:
    """How a fit is followed, and where subjects are fitted.

    Attributes:
        progress: called with the label of each model before it is fitted, its number, and how many there are.
        announce: called with the size of the fit before the first model.
        elsewhere: fits the subjects one by one, such as `ngym_cli.sweeps.fits.on`; None to fit here.
    """

    progress: FitProgress = lambda label, done, total: None
    announce: Callable[[str], object] = lambda text: None
    elsewhere: Elsewhere | None = None


def run(request: FitRequest, hooks: FitHooks) -> fits.FitRecord:
    """Fit models, compute held-out scores by session and write the folder.

    Models that are complete in a folder of this name and these settings are not fitted again.

    Args:
        request: settings of the fit, and its location on disk.
        hooks: how the fit is followed, and where subjects are fitted.

    Returns:
        What ``fit.json`` holds, and the folder as ``path``.

    Raises:
        InUseError: if another process computes a fit of this name.
        UserError: if the table, a model or the folder does not suit.
    """
    if request.name is not None and writing.in_use(
        path := fits.fit_path(request.runs_root, request.table, request.name)
    ):
        raise InUseError(
            f"fit {path} is being computed by another process; wait for its end or choose another {option('--name')}"
        )
    with contextlib.ExitStack() as held:
        return _run(request, hooks, held)


def _run(request: FitRequest, hooks: FitHooks, held: contextlib.ExitStack) -> fits.FitRecord:
    """Do what `run` describes; the lock of the folder is held until the stack is closed."""
    if hooks.elsewhere is not None and request.subjects != "each":
        raise UserError(f"{option('--on')} fits subjects one by one; pass {option('--subjects each')}")
    models = fitted.models_of(request)  # wrong names are refused before the table is read
    if request.further:
        paths = [request.table, *request.further]
        request = request.model_copy(update={"table": stored_table(paths, request.runs_root), "further": []})
    data = read_data(request)
    if not request.model:
        proposed = registry.suited(data.table, request.subjects)
        request = request.model_copy(update={"model": proposed})
        refused = registry.unfit(fitted.models_of(request), data.table)
        for label, reason in refused.items():
            hooks.announce(f"not fitted: {label}: {reason}")
        request = request.model_copy(update={"model": tuple(each for each in proposed if each not in refused)})
        models = fitted.models_of(request)
    validation.check(models.values(), data.protocol)
    validation.check_test(data)
    data = validation.prepared(data)
    table, test = data.table, data.test
    fitted.check(models, data)
    missing = [
        above for above in fits.fit_path(request.runs_root, request.table, request.name).parents if not above.exists()
    ]
    folder, about = _opened(request, held)
    about["table"] = _about(data)
    try:
        if hooks.elsewhere is not None:
            hooks.elsewhere(folder, list(models), table)
            fitted.join(folder, list(models), data)
            fitted.clear(folder.path)
        else:
            count = sum(folder.load(label) is None for label in models)
            folds = f"{request.folds} folds" if request.folds > 1 else "nothing held out"
            hooks.announce(f"{count} models to fit to {table.n_trials:,} trials, {folds}")
            for line in reading_in_words(table) if count else ():
                hooks.announce(line)
            for note in about["table"].get("notes", ()):
                hooks.announce(f"note: {note}")
        results, predictions, tested = _fitted(models, data, folder, hooks.progress)
    except UserError:
        _discard_if_empty(folder, models, missing)
        raise
    scores = validation.scores(predictions, table.sessions, validation.blocks_of(data))
    about["scores"] = plain(scores)
    about["test_scores"] = None if test is None else plain(validation.scores(tested, test.sessions))
    about["models"] = results
    if request.recover:
        about["recovery"] = run_recovery(models, table, request.recover, request.seed, hooks.progress)
    write_table(_trials(table, predictions), folder.path / fits.TRIALS)
    folder.write({**about, "status": "finished", "ended": now()})
    RunFolder(folder.path).update(status="finished", ended=now(), trials=table.n_trials, **_best(about))
    return {**folder.read(), "path": str(folder.path)}


def _best(record: fits.FitRecord) -> dict[str, object]:
    """Return the best model of a fit and its score, as the listing of runs shows these."""
    best = fits.best_first(record)[0]
    score = next(iter(fits.score_tables(record).values()), {}).get(best)
    return {"model": best, "score": None if score is None else score["log_likelihood"]["value"]}


def _fitted(
    models: Mapping[str, Model], data: FitData, folder: fits.FitFolder, progress: FitProgress
) -> tuple[dict[str, fits.ModelRecord], Predictions, Predictions]:
    """Return parameters of all models, and their predictions of held-out and of test sessions, with the mixture."""
    table, test, results = data.table, data.test, dict[str, fits.ModelRecord]()
    predictions, tested = _chance(table if data.protocol.held_out else None), _chance(test)
    for k, (label, model) in enumerate(models.items()):
        progress(label, k, len(models))
        result = folder.load(label) or fitted.fit_model(label, model, data, folder)
        results[label], arrays = result
        if "held_out" in arrays:
            predictions[label] = arrays["held_out"]
        if test is not None:
            tested[label] = arrays["tested"]
    for each, sessions in ((predictions, table), (tested, test)):
        mixed = [p for label, p in each.items() if label not in (fits.CHANCE, fits.BASELINE)]
        if sessions is not None and len(mixed) > 1:
            each[fits.MIXTURE] = validation.mixture(mixed, sessions.sessions)
    return results, predictions, tested


def _discard_if_empty(folder: fits.FitFolder, models: Iterable[str], missing: Sequence[Path]) -> None:
    """Remove what was written of a fit in which no model, besides the baseline, and no subject is complete.

    Args:
        folder: folder of the fit.
        models: labels of all models.
        missing: folders above that did not exist before the fit.
    """
    complete = any(folder.model_path(each, ".json").is_file() for each in models if each != fits.BASELINE)
    if complete or (folder.path / fits.SUBJECTS_FILE).exists() or (folder.path / fits.TRIALS).exists():
        return
    baseline = [folder.model_path(fits.BASELINE, suffix) for suffix in (".json", ".npz")]
    remove_folder(baseline[0].parent, [path.name for path in baseline])
    discard(RunFolder(folder.path), missing)


def _opened(request: FitRequest, held: contextlib.ExitStack) -> tuple[fits.FitFolder, fits.FitRecord]:
    """Return the folder and the first entries of the record; the folder stays locked until the stack is closed."""
    path = fits.fit_path(request.runs_root, request.table, request.name)
    folder = fits.FitFolder(path)
    settings = request.to_dict()
    files = {str(file): digest_of(file) for file in (request.table, request.test) if file is not None}
    if path.exists() and any(path.iterdir()):
        reading.check_folder(path)
        if request.overwrite:
            managing.remove([RunFolder(path)])
        else:
            before = folder.read()
            same = before["settings"] == plain(settings) and before.get("files") == files
            if not same:
                raise UserError(
                    f"fit {path} was made with other settings or data; choose another {option('--name')} or "
                    f"{option('--overwrite')}"
                )
    about: fits.FitRecord = {
        "status": "running",
        "started": now(),
        "settings": settings,
        "files": files,
        "code": trust.signed(name for name in request.model if ".py:" in name),
        "versions": provenance.versions(),
    }
    path.mkdir(parents=True, exist_ok=True)
    held.enter_context(writing.lock(path))
    write_json(
        path / MANIFEST,
        {
            "status": "running",
            "task": request.table.stem,
            "alg": "fit",
            "seed": request.seed,
            "command": sys.argv,
            "started": now(),
            "process": this_process(),
            "machine": provenance.machine(1),
            "versions": about["versions"],
            "git": provenance.git_state(provenance.PACKAGES_FOLDER),
            **({"code": about["code"]} if about["code"] else {}),
        },
    )
    folder.write(about)
    return folder, about


def digest_of(path: Path) -> str:
    """Return the digest of a file or of a public data set by name, or of all files in a folder."""
    public = data_sets.named_by(path)
    path = path if public is None else public.find()
    if not path.is_dir():
        return digest(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return hashlib.sha256("".join(f"{file.relative_to(path)} {digest(file)}\n" for file in files).encode()).hexdigest()


def reading_in_words(table: Behaviour) -> list[str]:
    """Return lines that say which columns were read, what was left out, and remarks."""
    reading = table.reading or Reading()
    columns: dict[str, Any] = {role: name for role, name in table.roles.items() if name}
    named = {role: name if isinstance(name, str) else ", ".join(name) for role, name in columns.items()}
    lines = ["read: " + "; ".join(f"{role.replace('_', ' ')} {names}" for role, names in named.items())]
    lines += [f"left out: {count:,} {reason}" for reason, count in reading.left_out.items()]
    return lines + [f"note: {note}" for note in reading.notes]


def _about(data: FitData) -> fits.TableRecord:
    """Return names and ranges of a table, which a simulation of the fitted models needs, and what was held out."""
    table, notes = data.table, validation.notes_of(data)
    stimuli = np.nan_to_num(table.join("stimuli"))
    about: fits.TableRecord = {
        "choices": list(table.choices),
        "stimuli": {
            name: [float(stimuli[:, k].min()), float(stimuli[:, k].max())] for k, name in enumerate(table.stimuli)
        },
        "subjects": list(table.subjects),
        "roles": {role: name for role, name in table.roles.items() if role != "stimuli"},
        "held_out": "blocks of sessions" if notes and data.protocol.held_out else "sessions",
    }
    if notes:
        about["notes"] = notes
    return about


def _chance(table: Behaviour | None) -> Predictions:
    if table is None:
        return {}
    n = len(table.choices)
    return {fits.CHANCE: np.full((table.n_trials, n), 1 / n)}


def _trials(table: Behaviour, predictions: Predictions) -> dict[str, np.ndarray]:
    """Return a table of trials: the data, and each model's held-out probability of the choice."""
    sessions = table.sessions
    rows: dict[str, np.ndarray] = {
        "subject": np.concatenate([np.full(len(each), each.subject, object) for each in sessions]),
        "session": np.concatenate([np.full(len(each), each.name, object) for each in sessions]),
        "trial": np.concatenate([np.arange(len(each)) for each in sessions]),
        **{key: table.join(key) for key in ("choice", "reward", "correct", "truth", "rt")},
        **{f"stimulus {name}": table.join("stimuli")[:, k] for k, name in enumerate(table.stimuli)},
    }
    for label, p in predictions.items():
        rows |= {f"P({word}) {label}": p[:, k] for k, word in enumerate(table.choices) if k}
    return rows
