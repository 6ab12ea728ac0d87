"""Evaluation: fresh trials with frozen weights, under the reset rule of training, many environments at a time."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import gymnasium as gym
import numpy as np

from neurogym.analysis.intervals import clusters
from neurogym.analysis.measures import measures
from neurogym.analysis.trial_tables import Table
from neurogym.messages.plain_data import plain
from ngym_cli.agents.acting import Agent, rollout
from ngym_cli.agents.defaults import evaluation_trials
from ngym_cli.agents.from_config import build_batch
from ngym_cli.agents.perturbation import Perturbation, Perturber, Within, drawn
from ngym_cli.agents.trained import agent_for, remembers
from ngym_cli.config.model import RunConfig
from ngym_cli.config.tasks import find_task
from ngym_cli.environments.probes import Balanced, PeriodProbe, combinations
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.environments.quota import Progress, TrialCount, TrialQuota
from ngym_cli.environments.stack import make_env
from ngym_cli.environments.trial_batch import TrialBatch, batch_of, trials_of
from ngym_cli.errors import UserError
from ngym_cli.evaluation.activity import PEAK_RATE, SPIKES, UnitRecorder, draw_spikes, stepwise
from ngym_cli.evaluation.fitted_agent import FittedModel
from ngym_cli.files.writing import atomic_folder, write_json
from ngym_cli.runs import EVALUATION, summary
from ngym_cli.runs.conditions import columns_of_performance
from ngym_cli.runs.recordings import ACTIVITY_FILE
from ngym_cli.runs.records import MeasureRecord, PerturbationRecord, Summary
from ngym_cli.runs.trial_recorder import TrialRecorder
from ngym_cli.runs.trial_table import concatenate, write_table

if TYPE_CHECKING:
    from stable_baselines3.common.policies import BasePolicy
    from stable_baselines3.common.vec_env import VecEnv

    from ngym_cli.agents.acting import Actor

    Policy: TypeAlias = Actor | BasePolicy | FittedModel
    Environments: TypeAlias = TrialBatch | VecEnv


@dataclass(frozen=True)
class EvaluatedTrials:
    """Trials of an evaluation and summary.

    Attributes:
        table: one row per trial, columns as in the trial table of a run.
        summary: see ``summarise``.
    """

    table: Table
    summary: Summary


@dataclass(frozen=True)
class EvaluationSettings:
    """Settings of an evaluation.

    Attributes:
        trials: number of trials; None for the usual number of the task.
        seed: of the environments, of drawn actions and units.
        deterministic: take the most probable action instead of drawing one.
        balanced: all combinations of the task's conditions equally often.
        perturbations: perturbations of the network's units.
        record: what to record step by step, see ``ngym_cli.evaluation.activity``.
        spike_rate: largest rate of units whose spikes are recorded, Hz.
        folder: folder of the recording; None for none.
        references: compute the scores of reference agents, which takes seconds for some tasks.
        exact: no more sessions and blocks than the requested trials fill, see `TrialQuota.of`.
        measured: compute the task's measures, whose intervals take a fit for each of 200 samples; see `measure`.
        half_width: half width of the 95 % interval of performance up to which trials are added where they are linked,
            within the limits of `TrialQuota.extended`; 0 adds none. Recordings and balanced trials have none added.
    """

    trials: int | None = None
    seed: int = 0
    deterministic: bool = True
    balanced: bool = False
    perturbations: tuple[Perturbation, ...] = ()
    record: tuple[str, ...] = ()
    spike_rate: float = PEAK_RATE
    folder: Path | None = None
    references: bool = True
    exact: bool = False
    measured: bool = True
    half_width: float = 0.0


def evaluate(
    policy: Policy,
    config: RunConfig,
    properties: TaskProperties,
    settings: EvaluationSettings,
    progress: Progress | None = None,
) -> EvaluatedTrials:
    """Run an agent on fresh trials.

    Every environment contributes its first trials, the same number each (give or take one), so that short trials are
    not favoured. Tasks with sessions are run over whole sessions.

    Args:
        policy: a trained policy, a copy of its weights, or a fitted model of choices.
        config: resolved configuration; task, wrappers and reset rule are taken from it.
        properties: known properties of the task.
        settings: settings of the evaluation.
        progress: called repeatedly with the number of finished trials and the total.

    Raises:
        UserError: if the agent cannot be perturbed or recorded as asked, or the task not balanced.
    """
    began = time.perf_counter()
    quota = TrialQuota.of(
        settings.trials or evaluation_trials(properties), config, properties, settings.balanced, settings.exact
    )
    env_seed, action_seed, unit_seed = (int(s) for s in np.random.SeedSequence(settings.seed).generate_state(3))
    around, cells = _around(policy, config, settings, quota.n_envs, unit_seed)
    with contextlib.closing(build_batch(config, quota.n_envs, around)) as venv:
        venv.seed(env_seed)
        units = _perturbed(policy, settings, unit_seed)
        perturber = Perturber(units, _within(venv), unit_seed) if units else None
        agent = _agent(policy, venv, settings.deterministic, action_seed, perturber)
        recorder = TrialRecorder.of(None, config, properties, quota.n_envs)
        count = TrialCount(quota, progress)
        with _recording(settings, quota.n_envs, properties.dt, unit_seed) as activity:
            wanted = 0.0 if settings.balanced or activity is not None else settings.half_width
            table, steps = _run(venv, agent, recorder, count, activity, wanted)
    result = summarise(table, properties, settings.references)
    if settings.balanced and properties.history_dependent:
        result["ceiling"], result["no_ceiling"] = None, "balanced conditions do not follow each other as in the task"
    half_width = _half_width(table)
    requested = settings.trials if settings.exact else None
    result.update(
        {
            "trials_requested": requested if requested is not None and requested < len(table["trial"]) else None,
            "half_width_missed": wanted if 0 < wanted < half_width else None,
            "deterministic": settings.deterministic,
            "seed": settings.seed,
            "reset_state": config.reset_state,
            "steps": steps,
            "balanced": settings.balanced,
            "combinations": cells,
            "recorded": list(settings.record) or None,
            "perturbations": cast(list[PerturbationRecord], plain(units)),
            "seconds": round(time.perf_counter() - began, 3),
        }
    )
    evaluation = EvaluatedTrials(table, result)
    if settings.measured:
        measure(evaluation, properties)
    return evaluation


def measure(evaluation: EvaluatedTrials, properties: TaskProperties) -> None:
    """Add the task's ``measures`` to an evaluation."""
    sure = properties.labels.get("action", {}).get("sure", 3)
    rows = [each.to_dict() for each in measures(properties.measures, evaluation.table, int(sure))]
    evaluation.summary["measures"] = cast(list[MeasureRecord], rows)


def _around(
    policy: Policy, config: RunConfig, settings: EvaluationSettings, n_envs: int, seed: int
) -> tuple[Callable[[gym.Env], gym.Env], int | None]:
    """Return the function that adds an evaluation's wrappers to environments, and the number of combinations."""
    cells: dict[str, np.ndarray] | None = None
    if settings.balanced:
        cells = combinations(make_env(find_task(config.task), config), config.task)
    periods = tuple(dict.fromkeys(each.period for each in settings.perturbations if each.period))
    counter = itertools.count()

    def around(env: gym.Env) -> gym.Env:
        if cells is not None:
            env = Balanced(env, cells, next(counter), n_envs, seed)
        probe = PeriodProbe(env, periods)
        return policy.around(probe) if isinstance(policy, FittedModel) else probe

    return around, None if cells is None else len(next(iter(cells.values())))


def _perturbed(policy: Policy, settings: EvaluationSettings, seed: int) -> list[Perturbation]:
    """Return the perturbations of an evaluation with explicit unit numbers."""
    return drawn(settings.perturbations, units_of(policy), seed) if settings.perturbations else []


def _agent(policy: Policy, venv: Environments, deterministic: bool, seed: int, perturber: Perturber | None) -> Agent:
    """Return the agent that acts in a batch of environments."""
    if isinstance(policy, FittedModel):
        return policy.acting(venv, seed, deterministic)
    return agent_for(policy, seed, deterministic, perturber)


@contextlib.contextmanager
def _recording(settings: EvaluationSettings, n_envs: int, dt: float, seed: int) -> Iterator[UnitRecorder | None]:
    """Open the recording of an evaluation, and draw spikes once all steps are recorded."""
    if not settings.record or settings.folder is None:
        yield None
        return
    file = settings.folder / ACTIVITY_FILE
    with UnitRecorder(file, stepwise(settings.record), n_envs, dt) as activity:
        yield activity
    if SPIKES in settings.record:
        draw_spikes(file, settings.spike_rate, seed)


def _within(venv: Environments) -> Within:
    """Return a function from a period to the environments in which the period is active."""
    probes = [env for env in batch_of(venv).envs if isinstance(env, PeriodProbe)]

    def within(period: str) -> np.ndarray:
        first = np.asarray(probes[0].within[period])
        return first if first.ndim else np.array([probe.within[period] for probe in probes])

    return within


def units_of(policy: Policy) -> int:
    """Return the number of units of a policy's network, all layers together.

    Raises:
        UserError: if it has no memory.
    """
    if isinstance(policy, FittedModel) or not remembers(policy):
        raise UserError("a memoryless agent has no hidden state to perturb")
    layers, _, units = policy.initial_state(1)[0].shape
    return int(layers * units)


def _run(
    venv: Environments,
    agent: Agent,
    recorder: TrialRecorder,
    count: TrialCount,
    activity: UnitRecorder | None,
    half_width: float,
) -> tuple[Table, int]:
    """Run an agent until every environment has finished its trials, and performance is known well enough.

    Args:
        venv: batch of environments.
        agent: the acting agent.
        recorder: takes the finished trials.
        count: trials that are to be finished; more are added for the sake of the interval.
        activity: recorder of the network, or None.
        half_width: half width of the interval of performance of linked trials that is needed; 0 for any.

    Returns:
        The trials that count, and the number of steps.
    """
    trials, steps = trials_of(venv), 0
    tables: list[Table] = []
    for step in rollout(venv, agent):
        steps += venv.num_envs
        if activity is not None:
            activity.step(step.seen, step.act, step.rewards)
        finished = trials.finished
        if finished is not None:
            recorder.add(finished, steps)
            counts = count.add(finished["env"])
            if activity is not None:
                activity.finish(finished, counts)
        if count.complete:
            tables = [concatenate([*tables, recorder.collect()])]
            table = count.quota.counted_rows(tables[0])
            half_width_now = _half_width(table) if half_width else 0.0
            longer = count.quota.extended(half_width_now, half_width, steps) if half_width_now > half_width else None
            if longer is None:
                return table, steps
            count.quota = longer
        count.report()
    raise AssertionError("unreachable: a rollout has no end")


def _half_width(table: Table) -> float:
    """Return the half width of the interval of performance of linked trials; 0 of trials that are independent."""
    if not np.any(table.get("linked", False) == True):  # noqa: E712 - the column may hold None
        return 0.0
    low, high = summary.interval(table)
    return (high - low) / 2


def summarise(table: Table, properties: TaskProperties, references: bool = True) -> Summary:
    """Return the summary of an evaluation; scores of reference agents are None unless ``references`` are asked for.

    Returns:
        ``trials``, ``performance`` with its 95 % interval ``performance_ci``, the ``sessions`` (or blocks of trials)
        of the interval where trials are linked (else None), ``chance``, ``chance_among_answers``, ``blind``,
        ``ceiling`` with its Monte-Carlo error ``ceiling_error`` (None where not known, and then ``no_ceiling`` says
        why), ``reaction_times_vary``, ``reward_per_trial`` with ``reward_ci`` and ``reward_ceiling``, rates and means
        as in ``ngym_cli.runs.summary.summarise``, and ``conditions``: a row per value of each condition; of several
        tasks each with its own chance, no-stimulus baseline and ceiling.
    """
    names = columns_of_performance(properties.conditions, table)
    rows = summary.by_condition(table, names)
    for row in rows if references else ():
        if row["condition"] == "task" and row["value"] in properties.tasks:
            scores = properties.tasks[str(row["value"])]
            row["chance"], row["blind"], row["ceiling"] = scores["chance"], scores["blind"], scores["ceiling"]
    ceiling, groups = (properties.ceiling if references else None) or {}, clusters(table)
    reward_ci = summary.interval(table, "reward")  # not known of a single trial or session
    breaks = summary.fixation_breaks(table)
    result = {
        **summary.summarise(table),
        "early_action_rate": breaks.early if np.isfinite(breaks.early) else None,
        "fixation_periods": breaks.periods,
        "decision_period": breaks.before,
        "performance_ci": summary.interval(table),
        "sessions": None if groups is None else len(np.unique(groups)),
        "chance": properties.chance if references else None,
        "blind": properties.blind if references else None,
        "ceiling": ceiling.get("performance"),
        "ceiling_error": ceiling.get("error"),
        "reward_ci": reward_ci if np.isfinite(reward_ci).all() else None,
        "reward_ceiling": ceiling.get("reward"),
        "no_ceiling": properties.no_ceiling if references else "reference scores were not computed",
        "chance_among_answers": properties.chance_among_answers,
        "reaction_times_vary": len(np.unique(table["rt"][np.isfinite(table["rt"])])) > 1,
        "conditions": rows,
        "choices": summary.choice_probabilities(table),
    }
    return cast(Summary, result)


def save(evaluation: EvaluatedTrials, folder: Path) -> None:
    """Write ``trials.parquet`` and ``summary.json`` into a folder, complete or not at all."""
    with atomic_folder(folder, EVALUATION) as temporary:
        write(evaluation, temporary)


def write(evaluation: EvaluatedTrials, folder: Path) -> None:
    """Write ``trials.parquet`` and ``summary.json`` into a folder that is being made."""
    write_table(evaluation.table, folder / "trials.parquet")
    write_json(folder / "summary.json", evaluation.summary)
