"""From a configuration to environments: the task, its wrappers, the batch, and what is known of them."""

from __future__ import annotations

import inspect as inspection
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.ceilings import blind, chance, needs_reward, sees_reward
from neurogym.ceilings.stack import verdict
from neurogym.core import TrialEnv
from neurogym.envs.multi import ScheduleEnvs
from neurogym.messages.plain_data import is_plain
from neurogym.state import CannotSave
from neurogym.state import check as check_state
from ngym_cli.config import RunConfig, TaskSettings, checked, from_dict
from ngym_cli.config.tasks import Task, find_task, keyword_parameters, user_errors
from ngym_cli.config.values import duration_for_task, written_duration
from ngym_cli.config.wrappers import ALWAYS, find_wrapper, wrap
from ngym_cli.environments.staggering import Staggered
from ngym_cli.errors import UserError

#: Steps that every new stack is tried for, with random actions, before anything is written.
TRIAL_STEPS = 200
#: Trials whose length is looked at.
TRIALS_SEEN = 16


@dataclass(frozen=True)
class Facts:
    """What a run needs to know of its task and wrappers.

    Attributes:
        id: registered id of the task.
        dt: time step in ms.
        trial_steps: steps of the longest of some trials.
        carries: whether task or wrappers carry information across trials.
        conditions: the task's conditions, name to values or distribution.
        chance: performance of random choices, or None.
        blind: performance of the best agent that sees nothing but the time in the trial, or None.
        ceiling: ``performance``, ``reward``, ``error`` and ``method`` of the best possible agent, or None.
        no_ceiling: why the ceiling is not known; empty where it is.
        lacks_reward: whether the task needs the last reward as input and the agent is not shown it.
        session: trials of a session, if the task has sessions that follow each other.
        rt_from: name of the period that reaction times count from.
        observation_space: of the whole stack.
        action_space: of the task.
        labels: channel and action names.
        tasks: of several tasks in one session, ``chance``, ``blind`` and ``ceiling`` of each by name.
        measures: what task and wrappers are about, names in ``neurogym.analysis.measures.MEASURES``.
    """

    id: str
    dt: float
    trial_steps: int
    carries: bool
    conditions: dict[str, Any]
    chance: float | None
    blind: float | None
    ceiling: dict[str, Any] | None
    no_ceiling: str
    lacks_reward: bool
    session: int | None
    rt_from: str
    observation_space: gym.Space
    action_space: gym.Space
    labels: dict[str, Any] = field(default_factory=dict)
    tasks: dict[str, dict[str, float | None]] = field(default_factory=dict)
    measures: tuple[str, ...] = ()

    @property
    def chance_among_answers(self) -> float | None:
        """Performance of an agent that answers when it should and draws its answer, or None.

        It is known where all answers bear one label: two or more choices beside fixation.
        """
        found = {name: np.size(list(where) if isinstance(where, range) else where)
                 for name, where in self.labels.get("action", {}).items() if name != "fixation"}  # fmt: skip
        (n,) = found.values() if len(found) == 1 else (0,)
        return 1 / n if n > 1 else None

    @property
    def references(self) -> dict[str, float | None]:
        """Performance of random actions, of the best agent that sees nothing, and of the ideal observer."""
        return {"chance": self.chance, "blind": self.blind, "ceiling": (self.ceiling or {}).get("performance")}


def make_env(task: Task, settings: TaskSettings) -> gym.Env:
    """Make one environment with its stack of wrappers.

    Raises:
        UserError: if the task or a wrapper does not exist or refuses its arguments.
    """
    kwargs: dict[str, Any] = dict(settings.task_args)
    if settings.dt is not None:
        kwargs["dt"] = settings.dt
    if settings.timing:
        kwargs["timing"] = {period: duration_for_task(value) for period, value in settings.timing.items()}
    if settings.rewards:
        kwargs["rewards"] = dict(settings.rewards)
    env = task.make(**kwargs)
    if not isinstance(env, gym.Env) or not isinstance(env.unwrapped, TrialEnv):
        raise UserError(f"task {task.name}: {type(env).__name__} is not a trial-based task (neurogym.TrialEnv)")
    for entry in settings.wrappers:
        env = wrap(env, entry.name, entry.args, another_task)
    return env


def another_task(written: Any, dt: float) -> gym.Env:
    """Make the further task that a wrapper takes.

    Args:
        written: a task's name, or a table of ``task`` and what ``TaskSettings`` has.
        dt: time step of the first task (ms).

    Raises:
        UserError: see ``make_env``.
    """
    if not isinstance(written, Mapping):
        return make_env(find_task(str(written)), TaskSettings(dt=dt or None))
    settings = checked(TaskSettings, {"dt": dt or None, **{k: v for k, v in written.items() if k != "task"}})
    return make_env(find_task(str(written.get("task", ""))), settings)


def build_venv(config: RunConfig, n_envs: int, around: Callable[[gym.Env], gym.Env] = lambda env: env) -> Any:
    """Make the batch of environments (a ``TrialVecEnv``; images with channels first) that is learned from or evaluated.

    Args:
        config: task, wrappers and reset rule are taken from it.
        n_envs: how many.
        around: puts further wrappers around each stack; called once per environment, in order.

    Raises:
        UserError: see ``make_env``.
    """
    from stable_baselines3.common.preprocessing import is_image_space
    from stable_baselines3.common.vec_env import VecTransposeImage

    from neurogym.vector import make_vec
    from ngym_cli.environments.sb3_batch import TrialVecEnv

    task, place = find_task(config.task), itertools.count()
    venv = TrialVecEnv(
        make_vec(lambda: around(Staggered.on(make_env(task, config), next(place))), n_envs), config.reset_state
    )
    return VecTransposeImage(venv) if is_image_space(venv.observation_space) else venv


def inspect(config: RunConfig, trained: bool = False) -> Facts:
    """Build one environment, try it with random actions, and report what is known of it.

    Args:
        config: task and wrappers are taken from it.
        trained: whether an agent is to be trained on it, so that checkpoints must be able to hold its state.

    Raises:
        UserError: if it cannot be built, fails while it is stepped, or has an attribute that cannot be saved.
    """
    task = find_task(config.task)
    env = make_env(task, config)
    with user_errors(f"task {config.task}", task.own):
        rt_from = _try_out(env)
    if 0 in (getattr(env.observation_space, "shape", None) or ()):
        raise UserError(f"task {config.task} shows nothing: its observations have shape {env.observation_space.shape}")
    if trained:
        try:
            check_state(lambda: make_env(task, config), env)
        except CannotSave as error:
            raise UserError(f"task {config.task}: {error}") from error
    with user_errors(f"task {config.task}", task.own):
        return facts_of(env, task, rt_from, memory=config.reset_state != "trial")


def ceiling_of(config: RunConfig) -> dict[str, Any] | None:
    """Return the score of the ideal observer of a task with its wrappers, None where it is not known.

    Raises:
        UserError: if the task cannot be built.
    """
    task = find_task(config.task)
    env = make_env(task, config)
    with user_errors(f"task {config.task}", task.own):
        env.reset(seed=0)
        return verdict(env, config.reset_state != "trial").score


def facts_of(env: gym.Env, task: Task, rt_from: str = "", memory: bool = True) -> Facts:
    """Return what is known of a stack that has been reset.

    Args:
        env: the whole stack.
        task: what it was made from.
        rt_from: name of the period that reaction times count from.
        memory: whether the agent remembers earlier trials.
    """
    inner: Any = env.unwrapped
    best = verdict(env, memory)
    carries = _carries(env, task)
    session = getattr(inner, "session", None)
    return Facts(
        id=task.id,
        dt=float(getattr(inner, "dt", 1.0)),
        trial_steps=int(inner.trial_length_stats(TRIALS_SEEN)["max"]),
        carries=carries,
        conditions=dict(getattr(inner, "conditions", {}) or {}),
        chance=chance_of(env),
        blind=blind_of(env),
        ceiling=best.score,
        no_ceiling=best.why,
        lacks_reward=needs_reward(env) and not sees_reward(env),
        session=session if carries and isinstance(session, int) and session > 0 else None,
        rt_from=rt_from,
        observation_space=env.observation_space,
        action_space=env.action_space,
        labels={
            "observation": dict(getattr(env.observation_space, "name", {}) or {}),
            "action": dict(getattr(env.action_space, "name", {}) or {}),
        },
        tasks=_each_task(inner, memory, sees_reward(env)) if isinstance(inner, ScheduleEnvs) else {},
        measures=_measures(env, task),
    )


def _measures(env: gym.Env, task: Task) -> tuple[str, ...]:
    """Return what a task and its wrappers say that they are about."""
    told = [task.metadata, *(getattr(layer, "metadata", None) or {} for layer in [env.unwrapped, *_layers(env)])]
    return tuple(dict.fromkeys(name for part in told if isinstance(part, Mapping) for name in part.get("measures", ())))


def _each_task(several: ScheduleEnvs, memory: bool, told: bool) -> dict[str, dict[str, float | None]]:
    """Return chance, blind score and ceiling of each of several tasks."""
    return {
        name: {
            "chance": chance_of(env),
            "blind": blind_of(env),
            "ceiling": (verdict(env, memory, told).score or {}).get("performance"),
        }
        for name, env in zip(several.names, several.envs, strict=True)
    }


def _carries(env: gym.Env, task: Task) -> bool:
    """Say whether a task or one of its wrappers carries information across trials."""
    told = (task.metadata, getattr(env.unwrapped, "metadata", None) or {})
    return any(bool(part.get("carries")) for part in told) or any(getattr(w, "carries", False) for w in _layers(env))


def _layers(env: gym.Env) -> list[gym.Env]:
    from neurogym.vector import layers

    return layers(env)


def chance_of(env: gym.Env) -> float | None:
    """Return what an agent scores that draws every action at random, or None where the task says something else."""
    task: Any = env.unwrapped
    value = chance(env) if type(task).chance is TrialEnv.chance else task.chance()
    if isinstance(value, Mapping):
        value = value.get("performance")
    return None if value is None else float(value)


def blind_of(env: gym.Env) -> float | None:
    """Return what the best agent scores that sees nothing but the time in the trial, or None where not known."""
    found = blind(env)
    return None if found is None else float(found["performance"])


def _try_out(env: gym.Env) -> str:
    """Step an environment with random actions; return the period that reaction times count from."""
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(TRIAL_STEPS):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        if not env.observation_space.contains(observation):
            raise ValueError(
                f"an observation of shape {np.shape(observation)} and type {getattr(observation, 'dtype', None)} "
                f"is not in {env.observation_space}"
            )
        if not np.isfinite(float(reward)):
            raise ValueError(f"reward {reward} is not a finite number")
        if terminated or truncated:
            env.reset()
    task: Any = env.unwrapped
    return str(task.make_trials(1).go_period) if hasattr(task, "make_trials") else ""


def resolve(config: RunConfig) -> tuple[RunConfig, Facts]:
    """Spell out every default of task and wrappers.

    ``ngym_cli.agents.from_config.complete`` does the same for the agent.
    No torch is imported.

    Returns:
        The configuration and what is known of the task.

    Raises:
        UserError: on anything in it that does not exist or does not fit together.
    """
    task = find_task(config.task)
    facts = inspect(config, trained=True)
    inner: Any = make_env(task, config.model_copy(update={"wrappers": []})).unwrapped
    found = config.model_dump()
    found["dt"] = facts.dt
    found["task_args"] = {**_plain_defaults(task), **config.task_args}
    takes = keyword_parameters(task.entry)
    if not task.several and (takes is None or "timing" in takes):
        found["timing"] = {**_written(getattr(inner, "timing", {}) or {}), **config.timing}
    rewards = getattr(inner, "rewards", {})
    if not task.several and isinstance(rewards, Mapping) and (takes is None or "rewards" in takes):
        numbers = {key: value for key, value in rewards.items() if isinstance(key, str) and _is_finite(value)}
        found["rewards"] = {**numbers, **config.rewards}
    found["wrappers"] = [
        {"name": entry.name, **_wrapper_defaults(entry.name), **entry.args} for entry in config.wrappers
    ]
    if config.reset_state == "auto":
        carries = facts.carries or any(_stage_carries(config, k) for k in range(len(config.stages)))
        found["reset_state"] = "never" if carries else "trial"
    return from_dict(found), facts


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _stage_carries(config: RunConfig, index: int) -> bool:
    own = config.in_stage(index)
    try:
        task = find_task(own.task)
        return _carries(make_env(task, own), task)
    except UserError as error:
        raise UserError(f"stage {config.stages[index].name or index + 1}: {error}") from error


def _plain_defaults(task: Task) -> dict[str, Any]:
    """Return the task's own arguments with their defaults, those that an old name stands for included."""
    registered = {} if task.own else dict(gym.registry[task.name].kwargs) if task.name in gym.registry else {}
    without = ("dt", "timing", "rewards")
    if task.several:
        parameters = inspection.signature(task.entry).parameters
        return {name: p.default for name, p in parameters.items() if name not in without and is_plain(p.default)}
    fixed = {name: value for name, value in registered.items() if name not in without and is_plain(value)}
    return {**_defaults(task.entry, without), **fixed}


def _wrapper_defaults(name: str) -> dict[str, Any]:
    cls = find_wrapper(name)
    return {**_defaults(cls, ("env", "envs")), **ALWAYS.get(cls.__name__, {})}


def _defaults(entry: Any, without: tuple[str, ...]) -> dict[str, Any]:
    """Return the default arguments that can be written down (numbers, truth values, words, lists of them)."""
    parameters = keyword_parameters(entry) or {}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in parameters.items()
        if name not in without and is_plain(value)
    }


def _written(timing: Mapping[str, Any]) -> dict[str, Any]:
    written = {period: written_duration(value) for period, value in timing.items()}
    return {period: value for period, value in written.items() if value is not None}
