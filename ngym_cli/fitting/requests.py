"""Fitting models to a table of behaviour: implementation of ``ngym fit`` and `ngym_cli.fit`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import Model
from neurogym.behaviour.table import Behaviour
from neurogym.messages.plain_data import plain
from ngym_cli.config import trust
from ngym_cli.config.flags import ROLES
from ngym_cli.config.values import parse_whole_numbers, split_entries
from ngym_cli.errors import UserError, check_known
from ngym_cli.files.reading import digest
from ngym_cli.files.writing import remove_folder, write_json
from ngym_cli.fitting import fitted, registry, validation
from ngym_cli.fitting.folder import SUBJECTS, TRIALS, FitFolder, FitRecord, ModelRecord, TableRecord, place
from ngym_cli.fitting.settings import FitSettings, Place
from ngym_cli.fitting.validation import FitData
from ngym_cli.runs import MANIFEST, RunFolder, discard, managing, now, provenance, this_process
from ngym_cli.runs.trial_table import write_table
from ngym_cli.terminal import in_words

FitProgress = Callable[[str, int, int], None]
#: Function that fits the subjects of a fit one by one, given folder, labels of the models and table.
Elsewhere = Callable[[FitFolder, list[str], Behaviour], None]
#: Probabilities of the choices of each session, by model.
Predictions = dict[str, list[FloatArray]]
CHANCE, MIXTURE = "chance", "mixture"


@dataclass(frozen=True)
class FitHooks:
    """How a fit is followed, and where subjects are fitted.

    Attributes:
        progress: called with the label of each model before it is fitted, its number, and how many there are.
        announce: called with the size of the fit and the expected time before the first model.
        elsewhere: fits the subjects one by one, such as `ngym_cli.sweeps.fits.on`; None to fit here.
    """

    progress: FitProgress = lambda label, done, total: None
    announce: Callable[[str], object] = lambda text: None
    elsewhere: Elsewhere | None = None


def run(settings: FitSettings, where: Place, hooks: FitHooks, recover: int = 0) -> FitRecord:
    """Fit models, compute held-out scores by session and write the folder.

    Models that are complete in a folder of this name and these settings are not fitted again.

    Args:
        settings: settings of the fit.
        where: location on disk.
        hooks: how the fit is followed, and where subjects are fitted.
        recover: simulations of each model for parameter and model recovery; 0 for none.

    Returns:
        What ``fit.json`` holds, and the folder as ``path``.

    Raises:
        UserError: if the table, a model or the folder does not suit.
    """
    settings.check()
    if recover < 0:
        raise UserError(f"--recover must be 0 or more, not {recover}")
    if hooks.elsewhere is not None and settings.subjects != "each":
        raise UserError("--on fits subjects one by one; it goes with --subjects each")
    models = fitted.models_of(settings)  # wrong names are refused before the table is read
    data = settings.read()
    if not settings.model:
        settings = settings.named(data.table)
        models = fitted.models_of(settings)
    validation.check(models.values(), data.protocol)
    validation.check_test(data)
    data = validation.prepared(data)
    table, test = data.table, data.test
    fitted.check(models, data)
    missing = [above for above in place(where.runs, Path(settings.table), where.name).parents if not above.exists()]
    folder, about = _opened(settings, where)
    about["table"] = _about(table)
    try:
        if hooks.elsewhere is not None:
            hooks.elsewhere(folder, list(models), table)
            fitted.join(folder, list(models), data)
            fitted.clear(folder.path)
        else:
            hooks.announce(_expected(settings, [label for label in models if folder.load(label) is None], table))
        results, predictions, tested = _fitted(models, data, folder, hooks.progress)
    except UserError:
        _discard_if_empty(folder, models, missing)
        raise
    about["scores"] = fitted.plain_estimates(validation.scores(predictions, table.sessions))
    about["test_scores"] = None if test is None else fitted.plain_estimates(validation.scores(tested, test.sessions))
    about["models"] = results
    if recover:
        from ngym_cli.fitting.recovery import recover as run_recovery

        about["recovery"] = run_recovery(models, table, recover, settings.seed, hooks.progress)
    write_table(_trials(table, predictions), folder.path / TRIALS)
    folder.write({**about, "status": "finished", "ended": now()})
    RunFolder(folder.path).update(status="finished", ended=now())
    return {**folder.read(), "path": str(folder.path)}


def _fitted(
    models: Mapping[str, Model], data: FitData, folder: FitFolder, progress: FitProgress
) -> tuple[dict[str, ModelRecord], Predictions, Predictions]:
    """Return parameters of all models, and their predictions of held-out and of test sessions, with the mixture."""
    table, test, results = data.table, data.test, dict[str, ModelRecord]()
    predictions, tested = _chance(table), _chance(test)
    for k, (label, model) in enumerate(models.items()):
        progress(label, k, len(models))
        found = folder.load(label) or fitted.fit_model(label, model, data, folder)
        results[label], arrays = found
        predictions[label] = _apart(arrays["held_out"], table)
        if test is not None:
            tested[label] = _apart(arrays["tested"], test)
    for each, sessions in ((predictions, table), (tested, test)):
        mixed = [p for label, p in each.items() if label not in (CHANCE, validation.BASELINE)]
        if sessions is not None and len(mixed) > 1:
            each[MIXTURE] = validation.mixture(mixed, sessions.sessions)
    return results, predictions, tested


def _discard_if_empty(folder: FitFolder, models: Iterable[str], missing: Sequence[Path]) -> None:
    """Remove what was written of a fit in which no model, besides the baseline, and no subject is complete.

    Args:
        folder: folder of the fit.
        models: labels of all models.
        missing: folders above that did not exist before the fit.
    """
    complete = any(folder.model_path(each, ".json").is_file() for each in models if each != validation.BASELINE)
    if complete or (folder.path / SUBJECTS).exists() or (folder.path / TRIALS).exists():
        return
    baseline = [folder.model_path(validation.BASELINE, suffix) for suffix in (".json", ".npz")]
    remove_folder(baseline[0].parent, [path.name for path in baseline])
    discard(RunFolder(folder.path), missing)


def _expected(settings: FitSettings, labels: Sequence[str], table: Behaviour) -> str:
    """Return the size of a fit and the expected time in words."""
    seconds = registry.expected_seconds(labels, table.n_trials, settings.folds, settings.seeds)
    own = ", own models not counted" if any(".py:" in label for label in labels) else ""
    return (
        f"{len(labels)} models to fit to {table.n_trials:,} trials, {settings.folds} folds: "
        f"about {in_words(seconds)} on one core{own}"
    )


def _opened(settings: FitSettings, where: Place) -> tuple[FitFolder, FitRecord]:
    """Return the folder and the first entries of the record."""
    path = place(where.runs, Path(settings.table), where.name)
    folder = FitFolder(path)
    asked = settings.to_dict()
    files = {name: digest(Path(name)) for name in (settings.table, settings.test) if name is not None}
    if path.exists() and any(path.iterdir()):
        if where.overwrite:
            managing.remove([RunFolder(path)])
        else:
            before = folder.read()
            same = before["settings"] == plain(asked) and before.get("files") == files
            if not same:
                raise UserError(
                    f"fit {path} was made with other settings or data; choose another --name or --overwrite"
                )
    about: FitRecord = {
        "status": "running",
        "started": now(),
        "settings": asked,
        "files": files,
        "code": trust.signed(name for name in settings.model if ".py:" in name),
        "versions": provenance.versions(),
    }
    path.mkdir(parents=True, exist_ok=True)
    write_json(path / MANIFEST, {
        "status": "running", "task": Path(settings.table).stem, "alg": "fit", "seed": settings.seed,
        "command": sys.argv, "started": now(), "process": this_process(), "machine": provenance.machine(1),
        "versions": about["versions"], "git": provenance.git_state(provenance.SOURCE),
        **({"code": about["code"]} if about["code"] else {}),
    })  # fmt: skip
    folder.write(about)
    return folder, about


def _about(table: Behaviour) -> TableRecord:
    """Return names and ranges of a table, which a simulation of the fitted models needs."""
    stimuli = np.nan_to_num(table.join("stimuli"))
    return {
        "choices": list(table.choices),
        "stimuli": {
            name: [float(stimuli[:, k].min()), float(stimuli[:, k].max())] for k, name in enumerate(table.stimuli)
        },
        "subjects": list(table.subjects),
        "roles": {role: name for role, name in table.roles.items() if role != "stimuli"},
    }


def _chance(table: Behaviour | None) -> dict[str, list[FloatArray]]:
    if table is None:
        return {}
    n = len(table.choices)
    return {CHANCE: [np.full((len(each), n), 1 / n) for each in table.sessions]}


def _apart(rows: FloatArray, table: Behaviour) -> list[FloatArray]:
    return np.split(rows, np.cumsum([len(each) for each in table.sessions])[:-1])


def _trials(table: Behaviour, predictions: Mapping[str, list[FloatArray]]) -> dict[str, np.ndarray]:
    """Return a table of trials: the data, and each model's held-out probability of the choice."""
    sessions = table.sessions
    rows: dict[str, np.ndarray] = {
        "subject": np.concatenate([np.full(len(each), each.subject, object) for each in sessions]),
        "session": np.concatenate([np.full(len(each), each.name, object) for each in sessions]),
        "trial": np.concatenate([np.arange(len(each)) for each in sessions]),
        **{key: table.join(key) for key in ("choice", "reward", "correct", "truth")},
        **{f"stimulus {name}": table.join("stimuli")[:, k] for k, name in enumerate(table.stimuli)},
    }
    for label, p in predictions.items():
        every = np.concatenate(p)
        for k, word in enumerate(table.choices[1:], 1):
            rows[f"P({word}) {label}"] = every[:, k]
    return rows


def fit(
    table: str | Path, model: str | Sequence[str] | None = None, hooks: FitHooks | None = None, **flags: Any
) -> FitRecord:
    """Fit models to a table of behaviour; the arguments are named as the flags of ``ngym fit``.

    Args:
        table: CSV, Parquet or NWB file.
        model: names of models, with commas or as a sequence; none for those that suit the table.
        hooks: how the fit is followed, and where subjects are fitted.
        **flags: fields of `FitSettings` and `Place`, ``recover``, and roles of columns (``choice``, ``stimuli``, ...).

    Returns:
        What ``fit.json`` holds (scores, parameters), and the folder as ``path``.

    Raises:
        UserError: if the table, a model, a flag or the folder does not suit.
    """
    of_settings = {name for name in FitSettings.__dataclass_fields__ if name not in ("table", "model", "roles")}
    known = {*of_settings, *Place.__dataclass_fields__, *ROLES, "recover"}
    for name in flags:
        check_known("argument of fit", name, known)
    given = {name: flags[name] for name in of_settings & set(flags)}
    if "units" in given:
        given["units"] = _units(given["units"])
    for name in ("test", "columns"):
        given[name] = None if given.get(name) is None else str(given[name])
    names = tuple(split_entries(model) if isinstance(model, str) else model or ())
    if isinstance(model, str) and not names:
        raise UserError("--model is empty; expected names as in psytrack,gru")
    roles = {k: ",".join(v) if isinstance(v, list | tuple) else v for k, v in flags.items() if k in ROLES}
    where = Place(Path(flags.get("runs", "runs")), flags.get("name"), flags.get("overwrite", False))
    settings = FitSettings(str(table), names, roles=roles, **given)
    recover = flags.get("recover", 0)
    if not isinstance(recover, int):
        raise UserError(f"--recover must be 0 or more, a whole number, not {recover!r}")
    return run(settings, where, hooks or FitHooks(), recover)


def _units(units: int | str | Sequence[int]) -> tuple[int, ...]:
    """Return numbers of units, which may be written with commas."""
    if isinstance(units, str):
        return tuple(parse_whole_numbers(units, "--units"))
    return (units,) if isinstance(units, int | float) else tuple(units)
