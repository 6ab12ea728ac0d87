"""Fitted models of choices as agents that act in tasks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from neurogym.behaviour.models.base import ParallelTrials, Policy
from neurogym.core import TrialWrapper
from neurogym.spaces import names_of
from neurogym.trials import Trials
from ngym_cli.agents.acting import Act, Agent
from ngym_cli.config.values import split_entries
from ngym_cli.environments.properties import TaskProperties
from ngym_cli.environments.trial_batch import TrialBatch, batch_of, trials_of
from ngym_cli.errors import UserError, option, unknown

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

#: Per-row fields: whether a response is possible, the stimuli of the trial, and the time in s since the onset that
#: reaction times count from with that of the last row in which a response is possible.
OPEN, STIMULI, TIME = "fitted_open", "fitted_stimuli", "fitted_time"
#: Simulated times whose median says whether a task leaves enough time for the answers of a model.
TIMES = 200
#: NAME=COLUMN with a factor and an offset; ``signed COLUMN`` is negative where the first choice is correct.
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
SOURCE_PATTERN = re.compile(rf"([^=]+)=((?:signed )?\w+)(?:\*([-+]?{_NUMBER}))?([-+]{_NUMBER})?")
SIGNED = "signed "  #: prefix of a strength that has the sign of the correct side


@dataclass(frozen=True)
class Stimulus:
    """Source of a stimulus of the model among the columns of the task's trials.

    Attributes:
        name: name in the model.
        column: entry of the task's trials.
        factor: factor on the value.
        offset: added after the factor.
        signed: whether the value is negative where the first choice is correct.
    """

    name: str
    column: str
    factor: float = 1.0
    offset: float = 0.0
    signed: bool = False


def stimuli_of(names: Iterable[str], text: str | None, properties: TaskProperties) -> tuple[Stimulus, ...]:
    """Return the source of each stimulus of a model.

    Args:
        names: stimuli of the model.
        text: ``NAME=COLUMN`` or ``NAME=COLUMN*FACTOR+OFFSET``, with commas between; other stimuli are found by name.
        properties: properties of the task.

    Raises:
        UserError: if a stimulus or a column does not exist.
    """
    requested: dict[str, tuple[str, float, float]] = {}
    flag = "--task-stimuli"
    for entry in split_entries(text):
        match = SOURCE_PATTERN.fullmatch(entry)
        if match is None:
            raise UserError(f"{option(flag)} '{entry}': expected NAME=COLUMN, NAME=COLUMN*2 or NAME=COLUMN*0.1-2")
        if match[1].strip() in requested:
            raise UserError(f"{option(flag)}: '{match[1].strip()}' appears twice")
        requested[match[1].strip()] = match[2], float(match[3] or 1), float(match[4] or 0)
    columns = [
        key for key, value in properties.inner.trial.items() if np.ndim(value) == 0 and not isinstance(value, str)
    ]
    sources = []
    for name in names:
        plain = name.removeprefix(SIGNED)
        column, factor, offset = requested.pop(name if name in requested else plain, (plain, 1.0, 0.0))
        signed = name.startswith(SIGNED) or column.startswith(SIGNED)
        column = column.removeprefix(SIGNED)
        if column not in columns:
            cure = option(f"{flag} {plain}=NAME")
            where = f"entry of the trials of {properties.id} (for stimulus {plain} of the fit, {cure})"
            raise unknown(where, column, columns)
        sources.append(Stimulus(name, column, factor, offset, signed))
    for name in requested:
        raise unknown("stimulus of the fit", name, names)
    return tuple(sources)


def actions_of(properties: TaskProperties, choices: int) -> np.ndarray:
    """Return the action of each choice.

    Raises:
        UserError: if the task has another number of choices, or actions that are not choices.
    """
    space = properties.inner.action_space
    if properties.inner.rule is None or not isinstance(space, gym.spaces.Discrete):
        raise UserError(
            f"{properties.id} has no simple response rule (one choice in each trial); fitted models cannot act in it"
        )
    named = names_of(space).get("choice")
    hold = properties.inner.rule.hold
    actions = [a for a in range(int(space.n)) if a != hold] if named is None else np.atleast_1d(named).tolist()
    if len(actions) != choices:
        raise UserError(f"{properties.id} has {len(actions)} choices, the fit {choices}")
    return np.asarray(actions)


class TrialProbe(TrialWrapper):
    """Reports for each row whether a response is possible, and the stimuli of the trial.

    Args:
        env: the whole stack.
        stimuli: sources of the stimuli.
        low: action of the first choice, which gives strengths a negative sign.
        onset: period that reaction times count from; empty for the response periods.
    """

    metadata = {"description": "reports response periods and stimuli to a fitted model"}

    def __init__(self, env: gym.Env, stimuli: tuple[Stimulus, ...], low: int, onset: str = ""):
        super().__init__(env)
        self.stimuli, self.low, self.onset = stimuli, low, onset
        self.seen: dict[str, np.ndarray] = {}

    def revise(self, trials: Trials) -> None:
        """Mark the rows of the response periods and write down stimuli and times."""
        rule, trial = trials.env.rule, trials.rows().trial
        is_open = trials.fields[OPEN] = np.zeros(trials.total, bool)
        is_open[trials.rows(rule.answer).index] = True
        trials.fields[TIME] = self._times(trials)
        values = np.zeros((trials.total, max(1, len(self.stimuli))))  # fields of batches have at least one column
        right = trials.gt[trials.offset + trials.length - 1] if trials.has_gt else None
        for k, each in enumerate(self.stimuli):
            column = np.broadcast_to(np.asarray(trials.info[each.column], float), (trials.n,))
            value = column * each.factor + each.offset
            if each.signed and right is not None:
                value = np.where(right == self.low, -value, value)
            values[:, k] = value[trial]
        trials.fields[STIMULI] = values

    def _times(self, trials: Trials) -> np.ndarray:
        """Return time since the onset and that of the last response row of the trial in s, shape (rows, 2)."""
        every, answer = trials.rows(), trials.rows(trials.env.rule.answer)
        onset = trials.rows(self.onset) if self.onset in trials.starts else answer
        first, last = np.full(trials.n, trials.total), np.zeros(trials.n, int)
        np.minimum.at(first, onset.trial, onset.index)
        np.maximum.at(last, answer.trial, answer.index)
        seconds = trials.env.dt / 1000
        times = np.zeros((trials.total, 2))
        times[every.index, 0] = (every.index - first[every.trial]) * seconds
        times[every.index, 1] = ((last - first) * seconds)[every.trial]
        return times

    def observe(self, ob: np.ndarray, action: object, reward: object, field: Callable[[str], np.ndarray]) -> np.ndarray:
        """Keep the values of the row that is observed."""
        is_open, values = np.asarray(field(OPEN)), np.asarray(field(STIMULI))
        values = values.reshape(*is_open.shape, -1)[..., : len(self.stimuli)]
        self.seen = {OPEN: is_open, STIMULI: values, TIME: np.asarray(field(TIME))}
        return ob


@dataclass(frozen=True)
class FittedModel:
    """Fitted model that acts in a task, one choice in each trial.

    Attributes:
        policy: of the fitted model.
        stimuli: sources of the stimuli.
        actions: action of each choice.
        by_correctness: whether rewards of the fit were correctness (0, 1), and not the rewards of a table.
        onset: period that simulated times count from; empty to answer in the first step that allows it.
        hurried: number of trials in which a model of times answered at once, because the task leaves too little time.
    """

    policy: Policy
    stimuli: tuple[Stimulus, ...]
    actions: np.ndarray
    by_correctness: bool
    onset: str = ""
    hurried: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse a model of pulses, whose times no stimulus of a task says."""
        if self.policy.sees_pulses:
            raise UserError("a model of pulses cannot act in a task; its predictions are in the fit (ngym plot)")

    def around(self, env: gym.Env) -> gym.Env:
        """Return the stack with the probe."""
        return TrialProbe(env, self.stimuli, int(self.actions[0]), self.onset)

    def acting(self, venv: TrialBatch | VecEnv, seed: int, deterministic: bool) -> FittedAgent:
        """Return the agent in a batch of environments."""
        return FittedAgent(self, venv, seed, deterministic)


@dataclass(frozen=True)
class Answer:
    """Action of a model in a trial, and the time in s after which it is taken; infinity for an omission."""

    action: int
    time: float


class FittedAgent(Agent):
    """Waits until a response is possible, and for the time of the model if it has times; learns from ended trials.

    Args:
        model: the model.
        venv: batch of environments, each with a state of its own.
        seed: random seed of the choices.
        deterministic: choose the most probable action instead of drawing one.
    """

    def __init__(self, model: FittedModel, venv: TrialBatch | VecEnv, seed: int, deterministic: bool):
        self.model, self.deterministic = model, deterministic
        self.trials: TrialBatch = trials_of(venv)
        self.probes: list[TrialProbe] = [_probe(env) for env in batch_of(venv).envs]
        self.rng = np.random.default_rng(seed)
        self.presented = np.zeros((len(self.probes), len(model.stimuli)))
        self.answers: list[Answer | None] = [None] * len(self.probes)
        self._usual_time = 0.0
        if model.onset and not deterministic:
            none = np.zeros((TIMES, len(model.stimuli)))
            times = model.policy.respond(model.policy.begin(TIMES), none, np.random.default_rng(seed))[1]  # type: ignore[attr-defined]
            self._usual_time = float(np.nanmedian(times))
        hold = batch_of(venv).tasks[0].rule.hold
        self.hold = int(model.actions[0]) if hold is None else hold

    def initial_state(self, n_envs: int) -> list[Any]:
        """Return the state of the model in each environment before the first trial."""
        return [self.model.policy.begin(1) for _ in range(n_envs)]

    def act(self, observations: np.ndarray, state: list[Any]) -> tuple[Act, list[Any]]:
        """See `Agent`."""
        if self.trials.finished is not None:
            state = self._learn(state, self.trials.finished)
        is_open, stimuli, times = self._seen(OPEN), self._seen(STIMULI), self._seen(TIME)
        actions = np.full(len(state), self.hold)
        for env in np.flatnonzero(is_open).tolist():
            answer = self.answers[env]
            if answer is None:
                answer = self.answers[env] = self._answer(state[env], stimuli[env : env + 1], times[env, 1])
            if answer.time <= times[env, 0]:
                actions[env] = answer.action
        self.presented = stimuli.copy()
        return Act(actions), state

    def _answer(self, state: Any, stimuli: np.ndarray, latest: float) -> Answer:
        """Return the answer of the model to the stimuli (1, stimuli) of a trial that ends ``latest`` s after onset."""
        if self._usual_time and self._usual_time <= latest:
            choice, time = self.model.policy.respond(state, stimuli, self.rng)  # type: ignore[attr-defined]
            half_a_step = 0.0005 * self.probes[0].task.dt
            return Answer(int(self.model.actions[choice[0]]), time[0] - half_a_step if choice[0] >= 0 else np.inf)
        if self.model.onset:
            self.model.hurried.append(1)
        p = self.model.policy.probabilities(state, stimuli)[0]
        pick = p.argmax() if self.deterministic else (self.rng.random() > np.cumsum(p)[:-1]).sum()
        return Answer(int(self.model.actions[pick]), -np.inf)

    def _seen(self, name: str) -> np.ndarray:
        first = self.probes[0].seen[name]
        is_batch = first.ndim == (1 if name == OPEN else 2)
        return first if is_batch else np.stack([probe.seen[name] for probe in self.probes])

    def _learn(self, state: list[Any], finished: Mapping[str, np.ndarray]) -> list[Any]:
        """Return the state after the trials that have ended."""
        after = list(state)
        for k, env in enumerate(finished["env"].tolist()):
            self.answers[env] = None
            same = np.flatnonzero(self.model.actions == finished["choice"][k])
            choice = np.array([same[0] if len(same) else -1])
            reward = finished["performance" if self.model.by_correctness else "reward"][k : k + 1].astype(float)
            reward = np.where(choice < 0, 0.0, reward)
            none = np.full(1, -1)
            trial = ParallelTrials(self.presented[env : env + 1], choice, reward, none, none)
            after[env] = self.model.policy.advance(after[env], trial)
            self.note(env, trial)
        return after

    def note(self, env: int, trial: ParallelTrials) -> None:
        """Receive a trial that has ended in an environment; its arrays have a single entry."""


def _probe(env: gym.Env) -> TrialProbe:
    while not isinstance(env, TrialProbe):
        assert isinstance(env, gym.Wrapper)
        env = env.env
    return env
