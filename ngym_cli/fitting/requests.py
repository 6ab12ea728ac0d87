"""Fitting models to a table of behaviour: implementation of ``ngym fit`` and `ngym_cli.fit`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.behaviour.models.base import Model, UnfitError
from neurogym.behaviour.table import Behaviour, Floats
from ngym_cli.config import trust
from ngym_cli.config.flags import ROLES
from ngym_cli.config.parts import user_errors
from ngym_cli.errors import UserError, unknown
from ngym_cli.files.reading import digest
from ngym_cli.files.writing import write_json
from ngym_cli.fitting import portraits, registry, tables, validation
from ngym_cli.fitting.folder import POLICY, TRIALS, FitFolder, place
from ngym_cli.fitting.validation import Outcome, Protocol
from ngym_cli.runs import MANIFEST, Run, now, provenance, this_process
from ngym_cli.runs.trial_table import write_table

Progress = Callable[[str, int, int], None]
CHANCE, MIXTURE = "chance", "mixture"


@dataclass(frozen=True)
class Settings:
    """Settings of a fit.

    Attributes:
        table: file of the behaviour.
        model: models with their arguments.
        units: numbers of units of networks.
        folds: folds of the cross-validation.
        seeds: networks whose probabilities are averaged.
        seed: random seed.
        subjects: each, pooled or hierarchical.
        test: file that is predicted by the fits to the whole table; None for none.
        columns: TOML file that maps the columns; None for a guess.
        roles: columns given by role.
    """

    table: str
    model: tuple[str, ...] = ("logistic", "logistic:history=5", "psytrack", "glm-hmm", "gru", "gru:drift=true",
                              "disentangled:drift=true")  # fmt: skip
    units: tuple[int, ...] = (2,)
    folds: int = 5
    seeds: int = 3
    seed: int = 0
    subjects: str = "each"
    test: str | None = None
    columns: str | None = None
    roles: Mapping[str, str | None] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse settings that make no sense.

        Raises:
            UserError: names the first.
        """
        if self.subjects not in validation.SUBJECTS:
            raise unknown("treatment of subjects", self.subjects, validation.SUBJECTS)
        for name, value, low, high in (("folds", self.folds, 2, 1000), ("seeds", self.seeds, 1, 100)):
            if not low <= value <= high:
                raise UserError(f"--{name} must be {low} to {high}, not {value}")

    def read(self) -> tuple[Behaviour, Behaviour | None]:
        """Return the table and the test table."""
        columns = None if self.columns is None else Path(self.columns)
        table = tables.read(Path(self.table), self.roles, columns)
        test = None if self.test is None else tables.read(Path(self.test), self.roles, columns)
        if test is not None and (test.stimuli != table.stimuli or test.choices != table.choices):
            raise UserError(
                f"--test has stimuli {', '.join(test.stimuli) or 'none'} and choices {', '.join(test.choices)}, "
                f"expected {', '.join(table.stimuli) or 'none'} and {', '.join(table.choices)}"
            )
        return table, test

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return {**asdict(self), "roles": {key: value for key, value in self.roles.items() if value is not None}}


@dataclass(frozen=True)
class Place:
    """Location of a fit on disk.

    Attributes:
        runs: folder of all runs.
        name: of the fit; None for the next free one.
        overwrite: replace a fit of this name.
    """

    runs: Path = Path("runs")
    name: str | None = None
    overwrite: bool = False


def run(settings: Settings, where: Place, progress: Progress | None = None, recover: int = 0) -> dict[str, Any]:
    """Fit models, compute held-out scores by session and write the folder.

    Models that are complete in a folder of this name and these settings are not fitted again.

    Args:
        settings: settings of the fit.
        where: location on disk.
        progress: called with the label of each model before it is fitted, its number, and how many there are.
        recover: simulations of each model for parameter and model recovery; 0 for none.

    Returns:
        What ``fit.json`` holds, and the folder as ``path``.

    Raises:
        UserError: if the table, a model or the folder does not suit.
    """
    settings.check()
    models = registry.build(settings.model, settings.units, settings.seeds)
    models = {"bias": registry.build(["bias"], (), 1)["bias"], **models}
    table, test = settings.read()
    protocol = Protocol(settings.folds, settings.subjects, settings.seed)
    table = validation.prepared(table, protocol)
    folder, about = _opened(settings, where)
    about["table"] = _about(table)
    predictions, tested, results = _chance(table), _chance(test), {}
    for k, (label, model) in enumerate(models.items()):
        if progress is not None:
            progress(label, k, len(models))
        found = folder.load(label) or _fitted(label, model, table, test, protocol, folder)
        results[label], arrays = found
        predictions[label] = _apart(arrays["held_out"], table)
        if test is not None:
            tested[label] = _apart(arrays["tested"], test)
    for each, sessions in ((predictions, table), (tested, test)):
        mixed = [p for label, p in each.items() if label not in (CHANCE, "bias")]
        if sessions is not None and len(mixed) > 1:
            each[MIXTURE] = validation.mixture(mixed, sessions.sessions)
    about["scores"] = _plain(validation.scores(predictions, table.sessions))
    about["test_scores"] = None if test is None else _plain(validation.scores(tested, test.sessions))
    about["models"] = results
    if recover:
        from ngym_cli.fitting.recovery import recover as run_recovery

        about["recovery"] = run_recovery(models, table, recover, settings.seed, progress)
    write_table(_trials(table, predictions), folder.path / TRIALS)
    folder.write({**about, "status": "finished", "ended": now()})
    Run(folder.path).update(status="finished", ended=now())
    return {**folder.read(), "path": str(folder.path)}


def _opened(settings: Settings, where: Place) -> tuple[FitFolder, dict[str, Any]]:
    """Return the folder and the first entries of the record."""
    path = place(where.runs, Path(settings.table), where.name)
    folder = FitFolder(path)
    asked = settings.to_dict()
    files = {name: digest(Path(name)) for name in (settings.table, settings.test) if name is not None}
    if path.exists() and any(path.iterdir()):
        if where.overwrite:
            shutil.rmtree(path)
        else:
            before = folder.read()
            same = before["settings"] == _through_json(asked) and before.get("files") == files
            if not same:
                raise UserError(
                    f"fit {path} was made with other settings or data; choose another --name or --overwrite"
                )
    about = {
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


def _through_json(value: Any) -> Any:
    import json

    return json.loads(json.dumps(value))


def _fitted(
    label: str, model: Model, table: Behaviour, test: Behaviour | None, protocol: Protocol, folder: FitFolder
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Fit and save a model; errors in a user's own code become a single line."""
    try:
        if ".py:" in label:
            with user_errors(f"model {label}"):
                outcome = validation.validate(model, table, protocol, test)
        else:
            outcome = validation.validate(model, table, protocol, test)
    except UnfitError as error:
        raise UserError(str(error)) from None
    about = {
        "model": label,
        "parameters": {who: _plain(fit.parameters) for who, fit in outcome.fitted.items()},
        "log_likelihood": {who: fit.score for who, fit in outcome.fitted.items()},
    }
    arrays = {"held_out": np.concatenate(outcome.held_out), **_details(outcome, table)}
    if hasattr(model, "to_arrays"):
        for k, fit in enumerate(outcome.fitted.values()):
            arrays |= {f"{POLICY}{k}.{name}": value for name, value in model.to_arrays(fit.policy).items()}
    if test is not None:
        arrays["tested"] = np.concatenate(outcome.tested)
    folder.save(label, about, arrays)
    return about, arrays


def _details(outcome: Outcome, table: Behaviour) -> dict[str, np.ndarray]:
    """Return arrays of the first subject's fit that figures draw."""
    who, fit = next(iter(outcome.fitted.items()))
    own = table if who == "all" else table.of(who)
    kept = {key: fit.details[key] for key in ("weights", "weights_sd", "states", "transitions", "names", "lengths")
            if key in fit.details}  # fmt: skip
    return {**{key: np.asarray(value) for key, value in kept.items()}, **portraits.phase(fit.policy, own)}


def _about(table: Behaviour) -> dict[str, Any]:
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


def _chance(table: Behaviour | None) -> dict[str, list[Floats]]:
    if table is None:
        return {}
    n = len(table.choices)
    return {CHANCE: [np.full((len(each), n), 1 / n) for each in table.sessions]}


def _apart(rows: Floats, table: Behaviour) -> list[Floats]:
    return np.split(rows, np.cumsum([len(each) for each in table.sessions])[:-1])


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    from neurogym.messages.plain_data import plain

    return {key: plain(asdict(value)) for key, value in values.items()}


def _trials(table: Behaviour, predictions: Mapping[str, list[Floats]]) -> dict[str, np.ndarray]:
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


def parse(text: str) -> tuple[str, ...]:
    """Return the entries of a list with commas."""
    from ngym_cli.config.values import split_entries

    return tuple(split_entries(text))


def fit(table: str | Path, model: str | Sequence[str] = Settings.model, **flags: Any) -> dict[str, Any]:
    """Fit models to a table of behaviour; the arguments are named as the flags of ``ngym fit``.

    Args:
        table: CSV, Parquet or NWB file.
        model: names of models, with commas or as a sequence.
        **flags: fields of `Settings` and `Place`, ``recover``, and roles of columns (``choice``, ``stimuli``, ...).

    Returns:
        What ``fit.json`` holds (scores, parameters), and the folder as ``path``.

    Raises:
        UserError: if the table, a model, a flag or the folder does not suit.
    """
    of_settings = {name for name in Settings.__dataclass_fields__ if name not in ("table", "model", "roles")}
    of_place = set(Place.__dataclass_fields__)
    for name in flags:
        if name not in {*of_settings, *of_place, *ROLES, "recover"}:
            raise unknown("argument of fit", name, {*of_settings, *of_place, *ROLES, "recover"})
    given = {name: flags[name] for name in of_settings & set(flags)}
    if "units" in given:
        units = given["units"]
        given["units"] = (units,) if isinstance(units, int) else tuple(units)
    for name in ("test", "columns"):
        given[name] = None if given.get(name) is None else str(given[name])
    roles = {k: ",".join(v) if isinstance(v, list | tuple) else v for k, v in flags.items() if k in ROLES}
    names = parse(model) if isinstance(model, str) else tuple(model)
    settings = replace(Settings(str(table), names, roles=roles), **given)
    where = {name: flags[name] for name in of_place & set(flags)}
    if "runs" in where:
        where["runs"] = Path(where["runs"])
    return run(settings, Place(**where), recover=int(flags.get("recover", 0)))
