"""Evaluation: fresh trials with frozen weights, under the reset rule of training, many environments at a time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ngym_cli import runs, summary
from ngym_cli.agents import Agent
from ngym_cli.building import Facts, build_venv
from ngym_cli.config import RunConfig
from ngym_cli.recording import Table, TrialRecorder, write_table

#: Environments side by side. Where the state is carried across trials a session must be long, so fewer of them.
MOST_ENVS = 128
MOST_ENVS_CARRIED = 16


@dataclass(frozen=True)
class Evaluation:
    """Trials of an evaluation and what they say.

    Attributes:
        table: one row per trial, columns as in the trial table of a run.
        summary: see ``summarise``.
    """

    table: Table
    summary: dict[str, Any]


def evaluate(
    policy: Any, config: RunConfig, facts: Facts, trials: int, seed: int, deterministic: bool = True
) -> Evaluation:
    """Run an agent on fresh trials.

    Every environment contributes its first trials, the same number each (give or take one), so that short trials are
    not favoured.

    Args:
        policy: a trained policy.
        config: resolved configuration; task, wrappers and reset rule are taken from it.
        facts: what is known of the task.
        trials: number of trials.
        seed: of the environments and of drawn actions.
        deterministic: take the most probable action.
    """
    began = time.perf_counter()
    n_envs = min(trials, MOST_ENVS if config.reset_state == "trial" else MOST_ENVS_CARRIED)
    env_seed, action_seed = (int(s) for s in np.random.SeedSequence(seed).generate_state(2))
    venv = build_venv(config, n_envs)
    try:
        venv.seed(env_seed)
        recorder = TrialRecorder(None, config.task, facts.dt, n_envs, facts.rt_from)
        agent = Agent(policy, n_envs, action_seed, deterministic)
        quota = trials // n_envs + (np.arange(n_envs) < trials % n_envs)
        steps = _run(venv, agent, recorder, quota)
    finally:
        venv.close()
    table = _first_trials(recorder.collect(), quota)
    found = summarise(table, facts)
    found.update(
        deterministic=deterministic, seed=seed, reset_state=config.reset_state, steps=steps,
        seconds=round(time.perf_counter() - began, 3),
    )  # fmt: skip
    return Evaluation(table, found)


def _run(venv: Any, agent: Agent, recorder: TrialRecorder, quota: np.ndarray) -> int:
    observations = venv.reset()
    starts = np.ones(len(quota), bool)
    done = np.zeros(len(quota), int)
    steps = 0
    while np.any(done < quota):
        observations, _, starts, _ = venv.step(agent.act(observations, starts).actions)
        steps += len(quota)
        if venv.finished is not None:
            recorder.add(venv.finished, steps)
            done += np.bincount(venv.finished["env"], minlength=len(quota))
    return steps


def _first_trials(table: Table, quota: np.ndarray) -> Table:
    """Keep the first trials of each environment, as many as its quota."""
    order = np.argsort(table["env"], kind="stable")
    envs = table["env"][order]
    place = np.arange(len(envs)) - np.searchsorted(envs, envs)
    keep = np.sort(order[place < quota[envs]])
    return {name: values[keep] for name, values in table.items()} | {"trial": np.arange(len(keep))}


def summarise(table: Table, facts: Facts) -> dict[str, Any]:
    """Return what an evaluation reports.

    Returns:
        ``trials``, ``performance`` with its 95 % Wilson interval ``performance_ci``, ``chance``, ``ceiling`` (None
        where not known), ``reward_per_trial``, rates and means as in ``ngym_cli.summary.summarise``, and
        ``conditions``: a row per value of each condition.
    """
    names = summary.condition_names(facts.conditions, table)
    ceiling = facts.ceiling or {}
    return {
        **summary.summarise(table),
        "performance_ci": summary.interval(table["performance"]),
        "chance": facts.chance,
        "ceiling": ceiling.get("performance"),
        "conditions": summary.by_condition(table, names),
        "choices": summary.choice_probabilities(table),
    }


def save(evaluation: Evaluation, folder: Path) -> None:
    """Write ``trials.parquet`` and ``summary.json`` into a folder, complete or not at all."""
    with runs.atomic_path(folder) as temporary:
        temporary.mkdir()
        write_table(evaluation.table, temporary / "trials.parquet")
        runs.write_json(temporary / "summary.json", evaluation.summary)
