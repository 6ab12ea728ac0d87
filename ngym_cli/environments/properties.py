"""Known properties of a task with wrappers; the scores of reference agents are computed on request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings.random_agent import blind, chance
from neurogym.ceilings.stack import StackCeiling, needs_reward, sees_reward, verdict
from neurogym.core import TrialEnv
from neurogym.envs.episodes import EpisodeTask
from neurogym.envs.multi import ScheduleEnvs
from neurogym.recording.rollout import ModelAgent, rollout
from neurogym.sampling.distributions import Distribution
from neurogym.spaces import Index, n_actions, names_of
from neurogym.state import CannotSave
from neurogym.state import check as check_state
from neurogym.vector import layers
from neurogym.wrappers.stack import traits
from ngym_cli.config.extensions import user_errors
from ngym_cli.config.model import RunConfig
from ngym_cli.config.tasks import Task, find_task
from ngym_cli.environments.stack import env_maker, make_env
from ngym_cli.environments.trial_batch import STRETCHES, reported_units
from ngym_cli.errors import UserError

#: Steps with random actions for which every new stack is tried before anything is written.
TRIAL_STEPS = 200
#: Trials from which the length of a trial is measured.
TRIALS_SEEN = 16


#: Columns with given or correct answers, as opposed to conditions.
ANSWER_COLUMNS = ("ground_truth", "choice")

#: A condition with more values than this is not broken down value by value.
MAX_CONDITION_VALUES = 12


@dataclass(frozen=True, eq=False)
class TaskProperties:
    """Properties of a task and wrappers that a run needs.

    The scores of reference agents take seconds for some tasks; each score is computed on first access.

    Attributes:
        env: the stack, which has been reset; it is not stepped.
        inner: the task without wrappers.
        task: task from which the stack was made.
        id: registered id of the task.
        dt: time step (ms).
        observation_space: that of the whole stack.
        action_space: that of the whole stack.
        memory: whether the agent remembers earlier trials.
        rt_from: name of the period that reaction times count from.
        trial_steps: steps of the longest of some trials.
        history_dependent: whether task or wrappers carry information across trials.
        timing: durations of the task before wrappers changed them.
        rewards: rewards of the task before wrappers changed them.
    """

    env: gym.Env
    inner: TrialEnv
    task: Task
    id: str
    dt: float
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    memory: bool
    rt_from: str
    trial_steps: int
    history_dependent: bool
    timing: Mapping[str, object] = field(default_factory=dict)
    rewards: Mapping[str, object] = field(default_factory=dict)

    # -- the task -----------------------------------------------------------------------------------------------------

    @cached_property
    def conditions(self) -> dict[str, object]:
        """The task's conditions, name to values or distribution."""
        return dict(self.inner.conditions)

    @cached_property
    def lacks_reward(self) -> bool:
        """Whether the task needs the last reward as input and the agent does not see the last reward."""
        return needs_reward(self.env) and not sees_reward(self.env)

    @cached_property
    def session(self) -> int | None:
        """Trials of a session, if the task has sessions that follow each other."""
        return getattr(self.inner, "trials_per_session", None) if self.history_dependent else None

    @cached_property
    def block(self) -> int:
        """Most trials of a block in which something stays the same from trial to trial; 0 without such blocks."""
        layers_ = [self.inner, *layers(self.env)] if self.history_dependent else []
        lengths = [np.max(getattr(layer, "block_dur", None) or 0) for layer in layers_]
        return int(max((1 / d if 0 < d < 1 else d for d in lengths), default=0))

    @cached_property
    def labels(self) -> dict[str, dict[str, Index]]:
        """Names of channels under ``observation``, of actions under ``action``."""
        spaces = {"observation": self.observation_space, "action": self.action_space}
        return {space_name: dict(names_of(space)) for space_name, space in spaces.items()}

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """Measures declared by task and wrappers, names in ``neurogym.analysis.measures.MEASURES``."""
        metadata = [self.task.metadata, *(layer.metadata for layer in (self.inner, *layers(self.env)))]
        names = (name for entry in metadata for name in entry.get("measures", ()))
        return tuple(dict.fromkeys(names))

    @property
    def has_performance(self) -> bool:
        """Whether performance is defined: not for episodes of Gymnasium, which have no right answer."""
        return not isinstance(self.inner, EpisodeTask)

    @cached_property
    def fixation_in(self) -> str:
        """Periods in which the task asks for fixation, in words; empty where it asks for none, or does not say."""
        tasks = [inner_task(env) for env in self.inner.envs] if isinstance(self.inner, ScheduleEnvs) else [self.inner]
        words = dict.fromkeys(filter(None, map(fixation_periods, tasks)))
        return next(iter(words)) if len(words) == 1 else "the fixation of each task" if words else ""

    # -- scores of reference agents -----------------------------------------------------------------------------------

    @cached_property
    def chance(self) -> float | None:
        """Performance of an agent that draws every action at random, or None where chance is defined otherwise."""
        with self._asking():
            return chance_of(self.env, self.inner)

    @cached_property
    def blind(self) -> float | None:
        """Performance of the best agent that sees nothing but the time in the trial, or None where not known."""
        with self._asking():
            return at_most(blind_of(self.env), self.ceiling)

    @cached_property
    def ceiling(self) -> dict[str, Any] | None:
        """``performance``, ``reward``, ``error`` and ``method`` of the best possible agent, or None."""
        return self._best.score

    @cached_property
    def no_ceiling(self) -> str:
        """Reason for an unknown ceiling, with how a user's own task gives one; empty where the ceiling is known."""
        why, declares = self._best.why, type(self.inner).ceiling is not TrialEnv.ceiling
        if not why or declares or not self.task.own or not self.has_performance:
            return why
        return f"{why}; a method ceiling(self) that returns {{'performance': ...}} gives one"

    @cached_property
    def _best(self) -> StackCeiling:
        with self._asking():
            return verdict(self.env, self.memory)

    @cached_property
    def tasks(self) -> dict[str, dict[str, float | None]]:
        """Scores ``chance``, ``blind`` and ``ceiling`` of each task by name, for sessions of several tasks."""
        several, reward_is_seen = self.inner, sees_reward(self.env)
        if not isinstance(several, ScheduleEnvs):
            return {}
        with self._asking():
            ceilings = [verdict(env, self.memory, reward_is_seen).score for env in several.envs]
            return {
                name: {
                    "chance": chance_of(env, inner_task(env)),
                    "blind": at_most(blind_of(env), score),
                    "ceiling": (score or {}).get("performance"),
                }
                for name, env, score in zip(several.names, several.envs, ceilings, strict=True)
            }

    @cached_property
    def chance_among_answers(self) -> float | None:
        """Performance of an agent that responds at the right time with a random answer, or None.

        The value is known of discrete actions if all answers have the same label: two or more choices besides fixation.
        """
        if not n_actions(self.env.action_space):
            return None
        sizes = {name: np.size(where) for name, where in self.labels["action"].items() if name != "fixation"}
        (n,) = sizes.values() if len(sizes) == 1 else (0,)
        return 1 / n if n > 1 else None

    @cached_property
    def references(self) -> dict[str, float | None]:
        """Performance of random actions, of the best agent that sees nothing, and of the ideal observer."""
        return {"chance": self.chance, "blind": self.blind, "ceiling": (self.ceiling or {}).get("performance")}

    def _asking(self) -> AbstractContextManager[None]:
        return _errors_of(self.task)


@contextmanager
def _errors_of(task: Task) -> Iterator[None]:
    """Turn errors of a task within a block into errors of the user."""
    try:
        yield
    except BaseException as error:
        with user_errors(f"task {task.name}", task.own):
            raise error


def inspect(config: RunConfig, trained: bool = False, task: Task | None = None) -> TaskProperties:
    """Build an environment, try random actions, and return the properties of the task.

    Args:
        config: provides task and wrappers.
        trained: whether an agent will be trained, so that checkpoints must be able to store the environment's state.
        task: the task of that name, if known.

    Raises:
        UserError: if the environment cannot be built, fails in a step, has an attribute that cannot be saved, or does
            not report the sessions or blocks at which the recurrent state is to be reset.
    """
    task = find_task(config.task) if task is None else task
    make = env_maker(task, config)
    env = make()
    timing, rewards = make.timing, make.rewards
    inner = inner_task(env)
    with _errors_of(task):
        rt_from = _try_out(env, inner)
    if 0 in (env.observation_space.shape or ()):
        raise UserError(f"task {config.task} shows nothing: its observations have shape {env.observation_space.shape}")
    _refuse_reset(config, inner)
    if trained:
        try:
            check_state(make, env)
        except CannotSave as error:
            raise UserError(f"task {config.task}: {error}") from error
    with _errors_of(task):
        properties = properties_of(env, task, rt_from, memory=config.reset_state != "trial")
    return replace(properties, timing=timing, rewards=rewards)


def _refuse_reset(config: RunConfig, inner: TrialEnv) -> None:
    """Raise UserError if the state is to be reset at sessions or blocks that trials do not report."""
    if config.reset_state not in STRETCHES:
        return
    units = reported_units(inner.trial)
    if config.reset_state not in units:
        raise UserError(
            f"reset_state {config.reset_state!r}: the trials of {config.task} report no {config.reset_state}s; "
            f"expected {', '.join(('auto', 'trial', *units))} or never"
        )


def ceiling_of(config: RunConfig) -> dict[str, Any] | None:
    """Return the score of the ideal observer of a task with wrappers, None where unknown.

    Raises:
        UserError: if the task cannot be built.
    """
    task = find_task(config.task)
    env = make_env(task, config)
    with _errors_of(task):
        env.reset(seed=0)
        return properties_of(env, task, memory=config.reset_state != "trial").ceiling


def inner_task(env: gym.Env) -> TrialEnv:
    """Return the task inside a stack that ``make_env`` made."""
    task = env.unwrapped
    assert isinstance(task, TrialEnv), f"{type(task).__name__} is not made of trials"
    return task


def properties_of(env: gym.Env, task: Task, rt_from: str = "", memory: bool = True) -> TaskProperties:
    """Return the properties of a stack that has been reset.

    Args:
        env: the whole stack.
        task: task from which the stack was made.
        rt_from: name of the period that reaction times count from.
        memory: whether the agent remembers earlier trials.
    """
    inner = inner_task(env)
    steps = int(inner.trial_length_stats(TRIALS_SEEN)["max"])
    spaces = env.observation_space, env.action_space
    linked = is_history_dependent(env, task)
    return TaskProperties(env, inner, task, task.id, float(inner.dt), *spaces, memory, rt_from, steps, linked)


def fixation_periods(task: TrialEnv) -> str:
    """Return the periods in which any action but fixation breaks it, in words; empty where no rule says so.

    A task without a moment of the answer has none: each of its actions counts.
    """
    rule = task.rule
    if rule is None or rule.hold is None or not rule.fixate or not rule.answer:
        return ""
    if rule.fixate == "*":
        return f"all periods but {' and '.join(rule.answer)}"
    fixate = [rule.fixate] if isinstance(rule.fixate, str) else rule.fixate
    return " and ".join(name for name in fixate if name in task.timing and name not in rule.answer)


def is_history_dependent(env: gym.Env, task: Task) -> bool:
    """Return whether a task or a wrapper carries information across trials."""
    return traits(env).history_dependent or bool(task.metadata.get("history_dependent"))


def chance_of(env: gym.Env, task: TrialEnv) -> float | None:
    """Return the performance of random actions in a stack, or None where its task defines chance otherwise."""
    value: object = chance(env) if type(task).chance is TrialEnv.chance else task.chance()
    if isinstance(value, Mapping):
        value = value.get("performance")
    return None if value is None else float(value)  # type: ignore[arg-type]  # a user's task may say anything


def blind_of(env: gym.Env) -> float | None:
    """Return the best score of an agent that sees nothing but the time in the trial, or None where unknown."""
    result = blind(env)
    return None if result is None else float(result["performance"])


def at_most(blind_score: float | None, ceiling: Mapping[str, Any] | None) -> float | None:
    """Return a simulated no-stimulus baseline without the sampling error by which it may exceed the ceiling.

    A ceiling that is exceeded by more than that is not reported, see `neurogym.ceilings.checks`.
    """
    if blind_score is None or ceiling is None:
        return blind_score
    return min(blind_score, float(ceiling["performance"]))


def _try_out(env: gym.Env, inner: TrialEnv) -> str:
    """Step an environment with random actions; return the period that reaction times count from."""
    env.action_space.seed(0)
    for step in islice(rollout(env, ModelAgent(env), seed=0), TRIAL_STEPS):
        if not env.observation_space.contains(step.ob):
            raise ValueError(
                f"an observation of shape {np.shape(step.ob)} and type {np.asarray(step.ob).dtype} "
                f"is not in {env.observation_space}"
            )
        if not np.isfinite(step.reward):
            raise ValueError(f"reward {step.reward} is not a finite number")
    return str(inner.make_trials(1).go_period)


def listed_conditions(conditions: Mapping[str, object]) -> list[str]:
    """Return a task's conditions with a few known values, answers excluded."""
    broken_down = [name for name, values in conditions.items() if _few(values) or name == "task"]
    return [name for name in broken_down if name not in ANSWER_COLUMNS]


def _few(values: Any) -> bool:

    return not isinstance(values, Distribution) and 1 < len(values) <= MAX_CONDITION_VALUES and np.ndim(values[0]) == 0
