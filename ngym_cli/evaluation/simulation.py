"""Simulation of fitted models in tasks: implementation of ``ngym eval FIT --simulate TASK`` and `ngym_cli.simulate`.

A simulation is a run folder with an evaluation, so that figures, reports and comparisons treat the fitted model as any
agent: ``RUNS/TASK/fitted/FIT-MODEL``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from neurogym.analysis.trial_tables import Table
from neurogym.behaviour.models.base import Policy
from neurogym.behaviour.table import Behaviour
from ngym_cli import runs
from ngym_cli.agents import defaults
from ngym_cli.agents.defaults import FITTED
from ngym_cli.config import trust
from ngym_cli.config.model import RunConfig, from_dict, streams
from ngym_cli.config.tasks import HISTORY
from ngym_cli.environments.properties import TaskProperties, inspect
from ngym_cli.errors import UserError, check_known, option
from ngym_cli.evaluation import fresh_trials
from ngym_cli.evaluation.fitted_agent import FittedModel, Stimulus, actions_of, stimuli_of
from ngym_cli.evaluation.request import EvalRequest
from ngym_cli.fitting import fitted, registry
from ngym_cli.fitting import folder as fits
from ngym_cli.runs import provenance
from ngym_cli.runs.records import FitOrigin, Summary

USUAL_TRIALS = 2000  #: trials unless given


def simulate(
    fit: fits.FitFolder, root: Path, request: EvalRequest, progress: Callable[[int, int], None] | None = None
) -> tuple[Summary, Path]:
    """Let a fitted model act in a task and return the summary with the folder of the evaluation.

    The parameters are those fitted to all sessions of the subject.

    Args:
        fit: the fit.
        root: folder of all runs.
        request: the request, with the task as ``simulate``.
        progress: called repeatedly with the number of finished trials and the total.

    Raises:
        UserError: if the fit keeps no such model, or the task does not suit the model.
    """
    if request.compare is not None:
        from ngym_cli.evaluation import comparison

        comparison.read(request.compare, request.columns)  # refused before anything is replaced
    requested = from_dict(
        {"alg": FITTED, "reset_state": "never", "seed": request.seed, "task": request.simulate, **request.changes}
    )
    config, properties = defaults.prepare(requested)
    recorded = defaults.with_task_of(requested, config)  # nothing of it is trained
    label, subject, policy, about = load(fit, request.fitted_model, request.fitted_subject, request.trust)
    names = about["table"]["stimuli"]
    stimuli = stimuli_of(names, request.task_stimuli, properties)
    actions = actions_of(properties, len(about["table"]["choices"]))
    by_correctness = "reward" not in about["table"]["roles"]
    agent = FittedModel(policy, stimuli, actions, by_correctness, _onset(policy, properties))
    name = runs.safe_name(f"{fit.path.name}-{label}") if request.name is None else request.name
    path = runs.folder_for(root, config.task, FITTED, name, request.seed)
    origin: FitOrigin = {
        "path": str(fit.path),
        "model": label,
        "subject": subject,
        "parameters": f"fitted to all sessions of {subject}",
    }
    opening = {
        **provenance.opening(recorded, recorded.model_dump(), streams(config.seed), properties, 1),
        "alg": label,
        "fit": origin,
    }
    runs.refuse_existing(path, request.overwrite)
    began, trials = time.perf_counter(), request.trials or USUAL_TRIALS
    exact = request.trials is not None
    settings = fresh_trials.EvaluationSettings(trials, request.seed, bool(request.deterministic), exact=exact)
    evaluated = fresh_trials.evaluate(agent, config, properties, settings, progress)
    if properties.history_dependent:
        evaluated.summary.update(cast(Summary, _ceiling(recorded, agent.by_correctness)))
    run = runs.create(path, request.overwrite, recorded.to_toml(), opening)
    warnings = _warnings(names, stimuli, evaluated.table)
    if hasattr(policy, "respond") and (not agent.onset or agent.hurried):
        why = "its answers are due too soon for them" if agent.onset else "the stimulus ends before the answer"
        warnings.append(f"times of {label} are not simulated in {properties.id}, {why}: it answers at once")
    evaluated.summary.update({"run": str(run.path), "model_steps": 0, "changes": {}, "warnings": warnings})
    evaluation = run.path / "eval" / "final"
    fresh_trials.save(evaluated, evaluation)
    recorded_keys = ("performance", "performance_ci", "chance", "ceiling", "reward_per_trial")
    seconds = round(time.perf_counter() - began, 3)
    results = {key: evaluated.summary.get(key) for key in recorded_keys}
    run.update(status="finished", ended=runs.now(), wall_seconds=seconds, **results)
    if request.compare is not None:
        animal = (request.compare, request.columns)
        evaluated.summary["comparison"] = comparison.compare(evaluated.table, evaluation, run, *animal)
    return {**evaluated.summary, "fit": origin}, evaluation


def load(
    fit: fits.FitFolder, model: str | None = None, subject: str | None = None, trusted: bool = False
) -> tuple[str, str, Policy, fits.FitRecord]:
    """Return label, subject, policy and record of a fitted model; arguments as in `EvalRequest`.

    Raises:
        UserError: if the fit is not finished, or keeps no such model or subject.
    """
    about = fit.finished()
    if "table" not in about:
        raise UserError(f"fit {fit.path} was made by an earlier version that kept no parameters of policies; fit again")
    with fit.readable():
        return *_stored(fit, about, model, subject, trusted), about


def _stored(
    fit: fits.FitFolder, about: fits.FitRecord, model: str | None, subject: str | None, trusted: bool
) -> tuple[str, str, Policy]:
    """Return label, subject and policy of a fitted model."""
    labels = list(about["models"])
    label = model or fits.best_first(about)[0]
    check_known("model of the fit", label, labels)
    subjects = list(about["models"][label]["parameters"])
    if subject is None and len(subjects) > 1:
        names = ", ".join(subjects)
        which = f"choose one with {option('--fitted-subject')}: {names}"
        raise UserError(f"fit {fit.path} has {len(subjects)} subjects; {which}")
    who = subject or subjects[0]
    check_known("subject of the fit", who, subjects)
    trust.require_names([label], about.get("code"), trusted, str(fit.path))
    built = registry.rebuild(label, about["settings"])
    stored = fit.load(label)
    table = Behaviour((), tuple(about["table"]["choices"]), tuple(about["table"]["stimuli"]))
    policy = None if stored is None else fitted.stored_policy(built, stored[1], subjects.index(who), table)
    if policy is None:
        raise UserError(f"fit {fit.path} keeps no policy of {label}; an own class needs to_arrays and from_arrays")
    return label, who, policy


def _onset(policy: Policy, properties: TaskProperties) -> str:
    """Return the period that simulated times count from; empty if there are none, as in tasks that end a stimulus."""
    ends_before = properties.rt_from == "decision" and "stimulus" in properties.inner.timing
    return properties.rt_from if hasattr(policy, "respond") and not ends_before else ""


def _ceiling(config: RunConfig, by_correctness: bool) -> dict[str, float | str | None]:
    """Return the ceiling of a task with linked trials for a model that is given its choices and their rewards.

    Args:
        config: of the simulation.
        by_correctness: whether the model is given correctness instead of rewards, which tells more.
    """
    ceiling: Mapping[str, float | None] = {}
    if by_correctness:
        reason: str | None = (
            "the model is given the correctness of its choices, which an observer of the rewards does not know"
        )
    else:
        names = [entry.name for entry in config.wrappers]
        missing = [entry for entry in HISTORY if entry["name"] not in names]
        settings = config.model_dump()
        try:
            properties = inspect(from_dict({**settings, "wrappers": [*settings["wrappers"], *missing]}))
            ceiling, reason = properties.ceiling or {}, properties.no_ceiling
        except UserError as error:
            reason = str(error)
    return {
        "ceiling": ceiling.get("performance"),
        "ceiling_error": ceiling.get("error"),
        "reward_ceiling": ceiling.get("reward"),
        "no_ceiling": reason,
    }


def _warnings(ranges: Mapping[str, Sequence[float]], stimuli: Iterable[Stimulus], table: Table) -> list[str]:
    """Return a line for each stimulus whose values in the task lie far outside those of the fit."""
    lines = []
    for each in stimuli:
        low, high = ranges[each.name]
        values = np.abs(np.asarray(table[each.column], float) * each.factor + each.offset)
        widest, largest = float(np.nanmax(values)), max(abs(low), abs(high))
        if not 0.2 * largest <= widest <= 5 * largest:
            change = option(f"--task-stimuli {each.name.removeprefix('signed ')}={each.column}*FACTOR+OFFSET")
            lines.append(
                f"{each.column} reaches {widest:g} in the task and {largest:g} in the fit; {change} changes units"
            )
    return lines
