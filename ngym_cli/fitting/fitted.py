"""A model fitted to a table and saved; the same for subjects that were fitted elsewhere, one by one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.behaviour.models.base import Model, Policy, Problem, UnfitError, adopted, each_subject, trial_of
from neurogym.behaviour.models.marks import NOT_CONVERGED
from neurogym.behaviour.simulate import simulate, world_like
from neurogym.behaviour.table import Behaviour, Session
from neurogym.messages.plain_data import plain
from ngym_cli import processes
from ngym_cli.config.extensions import user_errors
from ngym_cli.errors import UserError, check_known, option
from ngym_cli.fitting import posterior, registry, validation
from ngym_cli.fitting.folder import (
    BASELINE,
    LAPLACE,
    POLICY,
    SUBJECTS_FILE,
    FitFolder,
    ModelRecord,
    PriorRecord,
)
from ngym_cli.fitting.request import FitSettings
from ngym_cli.fitting.settings import read_data
from ngym_cli.fitting.validation import FitData, FitResult

#: Details of a fit that figures draw; most sessions of a simulation, fewest and most trials of each.
DRAWN = (
    "weights",
    "weights_sd",
    "states",
    "transitions",
    "names",
    "lengths",
    "bottlenecks",
    "bottleneck_names",
    "latent_sd",
)
PLAYED = (20, 50, 300)
#: Arrays with a row for each trial, and trials that are simulated for figures.
OF_TRIALS, SIMULATED = ("held_out", "tested", "densities", "predictive_choice", "predictive_rt"), 20_000


def check(models: Mapping[str, Model], data: FitData) -> None:
    """Refuse models that do not suit the table of a subject, before anything is fitted.

    Args:
        models: by label.
        data: of all subjects.

    Raises:
        UserError: for the first such model, with the reason.
    """
    tables = list(validation.groups_of(data).values())
    for table in tables:
        for label, model in models.items():
            with _one_line(label):
                model.check(table)
    timed: list[Any] = [model for model in models.values() if model.has_times]
    fixable = dict.fromkeys(name for model in timed for name in model.fixable(tables[0]))
    for name in dict.fromkeys(name for model in timed for name in model.fix):
        check_known(f"parameter in {option('--fix')}", name, fixable)
    takers = [model for model in models.values() if model.priors]
    with _one_line(option("--prior")):
        known = dict.fromkeys(name for model in takers for name in _priors(model, tables[0]))
    for name in dict.fromkeys(name for model in takers for name in model.priors or ()):
        check_known(f"parameter in {option('--prior')}", name, known)


def _priors(model: Model, table: Behaviour) -> dict[str, PriorRecord]:
    """Return the prior of each parameter of a model whose parameters all have one."""
    if model.priors is None or not model.takes_prior:
        return {}
    scales = {"unit": "logit", "positive": "logarithm", "real": "value"}
    parameters = model.posterior(Problem(table)).parameters
    return {each.name: {"scale": scales[each.kind], "mean": each.mean, "sd": each.sd} for each in parameters}


@contextlib.contextmanager
def _one_line(label: str) -> Iterator[None]:
    """Turn an error of a model into an error of a single line."""
    try:
        with user_errors(f"model {label}") if ".py:" in label else contextlib.nullcontext():
            yield
    except UnfitError as error:
        raise UserError(str(error)) from None


def fit_model(label: str, model: Model, data: FitData, folder: FitFolder) -> tuple[ModelRecord, dict[str, np.ndarray]]:
    """Fit and save a model; errors in a user's own code become a single line.

    Args:
        label: name of the model with arguments.
        model: the model.
        data: as returned by `validation.prepared`.
        folder: where the model is saved.

    Returns:
        Parameters and log-likelihood by subject, and the arrays that are saved.

    Raises:
        UserError: if the model does not suit the table, or a user's own code fails.
    """
    draws = data.protocol.posterior if label != BASELINE else 0
    processes.release_compiled()
    with _one_line(label):
        if draws:
            posterior.require_numpyro()
        outcome = validation.validate(model, data)
        sampled = None
        if draws:
            tables, fits = validation.groups_of(data), list(outcome.fitted.values())
            sampled = posterior.sample_model(model, tables, fits, outcome.group, draws, data.protocol.seed)
    about: ModelRecord = {
        "model": label,
        "parameters": {who: plain(fit.parameters) for who, fit in outcome.fitted.items()},
        "log_likelihood": {who: fit.score for who, fit in outcome.fitted.items()},
    }
    if priors := _priors(model, next(iter(validation.groups_of(data).values()))):
        about["priors"] = priors
    if outcome.group is not None:
        about["group"] = outcome.group.to_dict()
        if outcome.group.covariates.names:
            about["between"] = {name: plain(row) for name, row in outcome.group.effects().items()}
    unfinished = f"the search did not converge: {label} may predict better than its score says"
    notes = {
        who: [*fit.notes, *([unfinished] if NOT_CONVERGED in fit.marks.values() else [])]
        for who, fit in outcome.fitted.items()
    }
    if sampled is not None:
        notes[next(iter(notes))] += posterior.warnings_of(sampled[0])
    _keep_remarks(about, {who: fit.marks for who, fit in outcome.fitted.items()}, notes)
    arrays = _details(outcome, data.table)
    rows = {name: getattr(outcome, name) for name in ("held_out", "tested", "densities")}
    arrays |= {name: values for name, values in rows.items() if values is not None}
    if sampled is not None:
        about["posterior"] = plain(sampled[0])
        arrays |= sampled[1]
    if all(fit.policy.has_times for fit in outcome.fitted.values()):
        arrays |= _predictive(outcome, data.table)
    if "densities" in arrays:
        about["time_score"] = plain(validation.time_score(arrays["densities"], arrays["held_out"], data))
    for k, fit in enumerate(outcome.fitted.values()):
        arrays |= {f"{POLICY}{k}.{name}": value for name, value in model.to_arrays(fit.policy).items()}
        if "covariance" in fit.details:
            arrays |= {f"{LAPLACE}{k}.{name}": fit.details[name] for name in ("unbounded", "covariance")}
    folder.save(label, about, arrays)
    return about, arrays


def _keep_remarks(about: ModelRecord, marks: Mapping[str, dict[str, str]], notes: Mapping[str, list[str]]) -> None:
    """Add the marks and notes of the subjects that have any to the record of a model."""
    if any(marks.values()):
        about["marks"] = about.get("marks", {}) | {who: each for who, each in marks.items() if each}
    if any(notes.values()):
        about["notes"] = about.get("notes", {}) | {who: each for who, each in notes.items() if each}


def _predictive(outcome: FitResult, table: Behaviour) -> dict[str, np.ndarray]:
    """Return simulated choices and times (trials, repetitions) of all trials, given what happened before each."""
    repetitions = int(np.clip(SIMULATED // max(table.n_trials, 1), 1, 20))
    rows: dict[int, list[np.ndarray]] = {}
    for who, fit in outcome.fitted.items():
        sessions, rng = (table if who == "all" else table.of(who)).sessions, np.random.default_rng(0)

        def simulated(own: Policy, part: Sequence[Session], rng: np.random.Generator = rng) -> list[Any]:
            return list(zip(*(own.simulate(part, rng) for _ in range(repetitions)), strict=True))

        for each, pairs in zip(sessions, each_subject(fit.policy, sessions, simulated), strict=True):
            rows[id(each)] = [np.stack(values, 1) for values in zip(*pairs, strict=True)]
    return {
        f"predictive_{name}": np.concatenate([rows[id(each)][j] for each in table.sessions])
        for j, name in enumerate(("choice", "rt"))
    }


def _details(outcome: FitResult, table: Behaviour) -> dict[str, np.ndarray]:
    """Return arrays of the first subject's fit that figures draw."""
    who, fit = next(iter(outcome.fitted.items()))
    subject_table = table if who == "all" else table.of(who)
    drawn = {key: np.asarray(fit.details[key]) for key in DRAWN if key in fit.details}
    return {**drawn, **phase(fit.policy, subject_table), **_played(fit.policy, subject_table)}


def _played(policy: Policy, table: Behaviour) -> dict[str, np.ndarray]:
    """Return simulated behaviour of a fitted model on trials like those of a table."""
    if table.stimuli and not (table.join("truth") >= 0).any():
        return {}  # rewards of simulated choices are unknown
    rng = np.random.default_rng(0)
    longest = int(np.median([len(each) for each in table.sessions]))
    world = world_like(table, min(len(table.sessions), PLAYED[0]), int(np.clip(longest, *PLAYED[1:])), rng)
    sessions = simulate(policy, world, table, rng).sessions
    names = ("choice", "reward", "stimuli")
    return {f"simulated_{name}": np.stack([getattr(each, name) for each in sessions]) for name in names}


def models_of(settings: FitSettings) -> dict[str, Model]:
    """Return the models of a fit by label, the baseline first."""
    models = registry.build(settings.model, settings.units, settings.seeds, settings)
    return {**registry.build([BASELINE], (), 1), **models}


def stored_policy(model: Model, arrays: Mapping[str, np.ndarray], subject: int, table: Behaviour) -> Policy | None:
    """Return the policy of a subject, given by number, from the arrays of a model; None if it was not kept."""
    start = f"{POLICY}{subject}."
    own = {name.removeprefix(start): value for name, value in arrays.items() if name.startswith(start)}
    return adopted(model.from_arrays(own, table), Policy) if own else None


def stored_laplace(arrays: Mapping[str, np.ndarray], subject: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return point and covariance of the parameters of a subject in the unbounded scale; None if they are not known."""
    names = [f"{LAPLACE}{subject}.{name}" for name in ("unbounded", "covariance")]
    return (arrays[names[0]], arrays[names[1]]) if names[0] in arrays else None


def folder_of(folder: FitFolder, subject: int) -> FitFolder:
    """Return the folder of the fits of a subject, given by number."""
    return FitFolder(folder.path / SUBJECTS_FILE / f"{subject:05d}")


def fit_subject(folder: FitFolder, subject: int) -> None:
    """Fit all models of a fit to one of its subjects; models that are complete are not fitted again.

    Args:
        folder: of the fit.
        subject: number of the subject.

    Raises:
        UserError: if a model does not suit the subject.
    """
    settings = FitSettings.model_validate(folder.read()["settings"])
    every = read_data(settings)
    who, test = every.table.subjects[subject], every.test
    if test is not None and len(test.subjects) > 1:
        test = test.of(who) if who in test.subjects else None
    data = validation.prepared(replace(every, table=every.table.of(who), test=test))
    subject_folder = folder_of(folder, subject)
    for label, model in models_of(settings).items():
        if subject_folder.load(label) is None:
            fit_model(label, model, data, subject_folder)


def missing(folder: FitFolder, labels: Sequence[str], subjects: int) -> list[int]:
    """Return the numbers of the subjects that lack a model."""
    places = [folder_of(folder, k) for k in range(subjects)]
    return [k for k, each in enumerate(places) if not all(each.model_path(name, ".json").is_file() for name in labels)]


def join(folder: FitFolder, labels: Sequence[str], data: FitData) -> None:
    """Save the models of all subjects, fitted one by one, as the models of the fit.

    Args:
        folder: of the fit.
        labels: of the models.
        data: of all subjects, prepared.
    """
    for label in labels:
        if folder.load(label) is not None:
            continue
        about: ModelRecord = {"model": label, "parameters": {}, "log_likelihood": {}}
        arrays, rows = dict[str, np.ndarray](), dict[str, dict[str, np.ndarray]]()
        for k, who in enumerate(data.table.subjects):
            saved = folder_of(folder, k).load(label)
            assert saved is not None
            about["parameters"] |= saved[0]["parameters"]
            about["log_likelihood"] |= saved[0]["log_likelihood"]
            if "priors" in saved[0]:
                about["priors"] = saved[0]["priors"]
            _keep_remarks(about, saved[0].get("marks", {}), saved[0].get("notes", {}))
            for name, value in saved[1].items():
                if name in OF_TRIALS:
                    rows.setdefault(name, {})[who] = value
                elif name.startswith((f"{POLICY}0.", f"{LAPLACE}0.")):
                    prefix, _, rest = name.partition("0.")
                    arrays[f"{prefix}{k}.{rest}"] = value
                elif k == 0:
                    arrays[name] = value
        for name, values in rows.items():
            table = data.test if name == "tested" else data.table
            if table is not None:
                arrays[name] = _in_order(values, table)
        if "densities" in arrays:
            about["time_score"] = plain(validation.time_score(arrays["densities"], arrays["held_out"], data))
        folder.save(label, about, arrays)


def _in_order(rows: Mapping[str, np.ndarray], table: Behaviour) -> np.ndarray:
    """Return rows of subjects in the order of the sessions of a table."""
    at, ordered = dict.fromkeys(rows, 0), []
    for each in table.sessions:
        start = at[each.subject]
        at[each.subject] = start + len(each)
        ordered.append(rows[each.subject][start : at[each.subject]])
    return np.concatenate(ordered)


def clear(path: Path) -> None:
    """Remove the fits of single subjects after they were joined."""
    import shutil

    shutil.rmtree(path / SUBJECTS_FILE, ignore_errors=True)


MOST_POINTS = 4000  #: points that are kept


def phase(policy: Policy, table: Behaviour) -> dict[str, np.ndarray]:
    """Return the logit of choice 1 without stimuli before each trial and after, and the condition of the trial.

    Args:
        policy: of a fitted model.
        table: two choices; others give no portrait, nor do policies that answer a cue or pulses.

    Returns:
        ``logit``, ``change`` and ``condition`` (2 x choice + rewarded), shape (points,).
    """
    if len(table.choices) != 2 or policy.sees_cue or policy.sees_pulses:
        return {}
    data = table.padded
    none = np.zeros((len(data.choice), len(table.stimuli)))
    rewards = data.reward[data.choice >= 0]
    middle = 0.5 * (rewards.min() + rewards.max()) if rewards.size else 0.5
    state = policy.begin(len(data.choice))

    def logit() -> np.ndarray:
        p = np.clip(policy.probabilities(state, none)[:, 1], 1e-9, 1 - 1e-9)
        return np.asarray(np.log(p / (1 - p)))

    before, rows = logit(), []
    for t in range(data.choice.shape[1]):
        trial = trial_of(data, t)
        state = policy.advance(state, trial)
        after = logit()
        condition = 2 * trial.choice + (trial.reward > middle)
        rows.append(np.stack([before, after - before, condition], 1)[trial.choice >= 0])
        before = after
    points = np.concatenate(rows)
    points = points[:: max(1, len(points) // MOST_POINTS)]
    return {"logit": points[:, 0], "change": points[:, 1], "condition": points[:, 2]}
