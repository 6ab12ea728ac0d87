"""Design of experiments with fitted models: implementation of ``ngym fit TABLE --design TASK``."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurogym.behaviour.models.base import ParallelTrials, Policy
from neurogym.behaviour.table import Behaviour, Session, session
from ngym_cli.agents import defaults
from ngym_cli.agents.acting import rollout
from ngym_cli.agents.from_config import build_batch
from ngym_cli.config.model import ResolvedConfig, from_dict
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.errors import UserError, option
from ngym_cli.evaluation.fitted_agent import FittedAgent, FittedModel, actions_of, stimuli_of
from ngym_cli.fitting import fitted, requests, validation
from ngym_cli.fitting.design import Candidate, candidate_of, compare
from ngym_cli.fitting.folder import BASELINE, DesignRecord, FitFolder, FitRecord
from ngym_cli.fitting.request import FitRequest
from ngym_cli.fitting.requests import FitHooks
from ngym_cli.fitting.settings import read_data

#: Sessions that each model simulates for each subject, most subjects, most draws for the time of a choice.
REPEATS, SUBJECTS, TRIES = 10, 3, 60


@dataclass(frozen=True)
class DesignTask:
    """A task in which the models are compared.

    Attributes:
        name: name of the task.
        config: resolved configuration.
        properties: properties of the task.
    """

    name: str
    config: ResolvedConfig
    properties: TaskProperties


def run(request: FitRequest, hooks: FitHooks) -> FitRecord:
    """Fit models, compare them in the tasks of a request, and return the record of the fit with the design.

    Raises:
        UserError: if the table, a model, a task or the folder does not suit.
    """
    tasks = [_task(text, request.seed) for text in request.design]
    record = requests.run(request, hooks)
    if not tasks:
        return record
    candidates, table = _candidates(request, record)
    subjects = table.subjects
    timed = all(each.policy.has_times for each in candidates[0].values())
    trials = sorted(set(request.design_trials))
    rows = []
    for task in tasks:
        agents = {
            label: [_agent(each[label].policy, table, task, request.task_stimuli) for each in candidates]
            for label in candidates[0]
        }
        simulated = {}
        for k, (label, models) in enumerate(agents.items()):
            hooks.progress(f"{label} in {task.name}", k, len(agents))
            simulated[label] = [
                (candidates[who], play(model, task.config, trials[-1], request.seed + who, subjects[who]))
                for who, model in enumerate(models)
            ]
        rows += compare(task.name, simulated, trials, table.stimuli, timed)
    design: DesignRecord = {
        "trials": trials,
        "repeats": REPEATS * len(candidates),
        "scored": "choices and times" if timed else "choices",
        "rows": rows,
    }
    path = record["path"]
    folder = FitFolder(Path(path))
    folder.write({**folder.read(), "design": design})
    return {**folder.read(), "path": path}


def _task(text: str, seed: int) -> DesignTask:
    config = from_dict({"alg": defaults.FITTED, "reset_state": "never", "seed": seed, "task": text})
    return DesignTask(text, *defaults.prepare(config))


def _candidates(request: FitRequest, record: FitRecord) -> tuple[list[dict[str, Candidate]], Behaviour]:
    """Return the candidates of the first subjects by label, and the table of the fit."""
    settings = request.model_copy(update={"model": tuple(record["settings"]["model"])})
    data, folder = validation.prepared(read_data(settings)), FitFolder(Path(record["path"]))
    models = {label: each for label, each in fitted.models_of(settings).items() if label != BASELINE}
    candidates = []
    for k, table in enumerate(list(validation.groups_of(data).values())[:SUBJECTS]):
        rows = {}
        for label, model in models.items():
            stored = folder.load(label)
            policy = None if stored is None else fitted.stored_policy(model, stored[1], k, data.table)
            if stored is None or policy is None:
                raise UserError(
                    f"{option('--design')}: {label} keeps no policy; an own class needs to_arrays and from_arrays"
                )
            rows[label] = candidate_of(label, model, policy, table, fitted.stored_laplace(stored[1], k), request.seed)
        candidates.append(rows)
    return candidates, data.table


def _agent(policy: Policy, table: Behaviour, task: DesignTask, stimuli: str | None) -> FittedModel:
    sources = stimuli_of(table.stimuli, stimuli, task.properties)
    return FittedModel(policy, sources, actions_of(task.properties, len(table.choices)), "reward" not in table.roles)


class RecordingAgent(FittedAgent):
    """Fitted model that writes down its stimuli, choices and rewards, shape (trials,) for each environment."""

    def __init__(self, model: FittedModel, venv: object, seed: int):
        super().__init__(model, venv, seed, False)  # type: ignore[arg-type]
        self.rows: list[list[tuple[np.ndarray, int, float]]] = [[] for _ in self.probes]

    def note(self, env: int, trial: ParallelTrials) -> None:
        """See `FittedAgent.note`."""
        self.rows[env].append((trial.stimuli[0].copy(), int(trial.choice[0]), float(trial.reward[0])))


def play(model: FittedModel, config: ResolvedConfig, trials: int, seed: int, subject: str) -> list[Session]:
    """Return sessions in which a fitted model acts in a task, with times where the model has times.

    Args:
        model: the model.
        config: resolved configuration of the task.
        trials: of each session.
        seed: random seed.
        subject: name of the subject.
    """
    env_seed, action_seed, time_seed = (int(s) for s in np.random.SeedSequence([seed, 5]).generate_state(3))
    with contextlib.closing(build_batch(config, REPEATS, model.around)) as venv:
        venv.seed(env_seed)
        agent = RecordingAgent(model, venv, action_seed)
        for _ in rollout(venv, agent):
            if min(map(len, agent.rows)) >= trials:
                break
    sessions = []
    for k, rows in enumerate(agent.rows):
        stimuli, choice, reward = (np.array(column) for column in zip(*rows[:trials], strict=True))
        sessions.append(session(choice, subject, str(k + 1), stimuli=stimuli, reward=reward))
    return _with_times(model.policy, sessions, np.random.default_rng(time_seed))


def _with_times(policy: Policy, sessions: list[Session], rng: np.random.Generator) -> list[Session]:
    """Return sessions with times drawn given the choices; a choice that is too rare to be drawn has none."""
    if not policy.has_times:
        return sessions
    for _ in range(TRIES):
        missing = [np.isnan(each.rt) & (each.choice >= 0) for each in sessions]
        if not any(map(np.any, missing)):
            break
        for each, rows, (choice, rt) in zip(sessions, missing, policy.simulate(sessions, rng), strict=True):
            same = rows & (choice == each.choice)
            each.rt[same] = rt[same]
    return sessions
