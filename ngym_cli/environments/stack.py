"""Environments from a configuration: the task with wrappers, and a batch of environments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import gymnasium as gym

from neurogym.core import TrialEnv, TrialWrapper
from neurogym.envs.multi import ScheduleEnvs
from neurogym.sampling.scheduler import RandomBlockSchedule, SequentialBlockSchedule, SequentialSchedule
from neurogym.wrappers.hooks import Hooks
from ngym_cli.config import RunConfig, TaskSettings, checked
from ngym_cli.config.durations import durations_for_task
from ngym_cli.config.tasks import Task, find_task
from ngym_cli.config.wrappers import bind, find_wrapper
from ngym_cli.environments.trial_batch import TrialBatch
from ngym_cli.errors import UserError

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

    from neurogym.vector.batch import Batch


#: Schedules that would otherwise begin with the same task in every environment.
IN_STEP = (RandomBlockSchedule, SequentialBlockSchedule, SequentialSchedule)


class Staggered(TrialWrapper):
    """Wrapper that begins each session with a task that depends on the position in the batch.

    A batch thus has trials of all tasks at any time, in training as in an evaluation shorter than a block.

    Args:
        env: the whole stack.
        place: index of this environment in the batch.
    """

    metadata = {"description": "begins with another task in each environment of a batch"}
    hooks = Hooks(history_dependent=True)
    task: ScheduleEnvs

    def __init__(self, env: gym.Env, place: int):
        super().__init__(env)
        self.place = place

    @classmethod
    def on(cls, env: gym.Env, place: int) -> gym.Env:
        """Wrap environments with several tasks in blocks or in turn; return other environments unchanged."""
        inner = env.unwrapped
        in_step = type(inner) is ScheduleEnvs and isinstance(inner.schedule, IN_STEP)
        return cls(env, place) if in_step else env

    def start_session(self) -> None:
        """Choose the task of the first trial; the schedule continues from that task."""
        self.task.set_i(int(self.task.presented[self.place % len(self.task.presented)]))


#: Function that adds wrappers to an environment.
Around = Callable[[gym.Env], gym.Env]


def make_env(task: Task, settings: TaskSettings, learning: bool = False) -> gym.Env:
    """Make an environment with the stack of wrappers; arguments and errors as of `env_maker`."""
    return env_maker(task, settings, learning)()


def env_maker(task: Task, settings: TaskSettings, learning: bool = False) -> Callable[[], gym.Env]:
    """Return a function that makes environments with the stack of wrappers; names are checked now.

    Args:
        task: the task.
        settings: arguments of task and wrappers.
        learning: whether an agent learns in the environment; tasks held out are not presented then.

    Raises:
        UserError: if the task or a wrapper does not exist or refuses its arguments; also by the function.
    """
    presented = _without_held_out(task, settings)
    if not learning and presented is not settings:
        make_env(task, settings, learning=True)  # refuses unknown names
        settings = presented
    kwargs: dict[str, object] = dict(settings.task_args)
    if settings.dt is not None:
        kwargs["dt"] = settings.dt
    if settings.timing:
        kwargs["timing"] = durations_for_task(settings.timing)
    if settings.rewards:
        kwargs["rewards"] = dict(settings.rewards)
    make_task = task.maker(**kwargs)
    wrappers = [bind(entry.name, entry.args, another_task) for entry in settings.wrappers]

    def make() -> gym.Env:
        env = make_task()
        if not isinstance(env, gym.Env) or not isinstance(env.unwrapped, TrialEnv):
            raise UserError(f"task {task.name}: {type(env).__name__} is not a trial-based task (neurogym.TrialEnv)")
        for wrap in wrappers:
            env = wrap(env)
        return env

    return make


def _without_held_out(task: Task, settings: TaskSettings) -> TaskSettings:
    """Return settings with which every task is presented; the same object if no task is held out."""
    several = [entry.name for entry in settings.wrappers if find_wrapper(entry.name) is ScheduleEnvs]
    found = settings
    if task.several and "held_out" in settings.task_args:
        found = found.model_copy(update={"task_args": _but_held_out(settings.task_args)})
    if any(entry.name in several and "held_out" in entry.args for entry in settings.wrappers):
        wrappers = [
            entry.model_copy(update={"args": _but_held_out(entry.args)}) if entry.name in several else entry
            for entry in settings.wrappers
        ]
        found = found.model_copy(update={"wrappers": wrappers})
    return found


def _but_held_out(args: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in args.items() if name != "held_out"}


def inner_task(env: gym.Env) -> TrialEnv:
    """Return the task inside a stack that ``make_env`` made."""
    task = env.unwrapped
    assert isinstance(task, TrialEnv), f"{type(task).__name__} is not made of trials"
    return task


def another_task(written: object, dt: float) -> gym.Env:
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


def _as_is(env: gym.Env) -> gym.Env:
    return env


def build_venv(config: RunConfig, n_envs: int, around: Around = _as_is, learning: bool = True) -> VecEnv:
    """Make the batch of environments (a ``TrialVecEnv``; images with channels first) that a learner learns from.

    Args:
        config: task, wrappers and reset rule are taken from it.
        n_envs: number of environments.
        around: puts further wrappers around each stack; called once per environment, in order.
        learning: whether tasks held out are not presented.

    Raises:
        UserError: see ``make_env``.
    """
    from ngym_cli.environments.sb3_batch import TrialVecEnv

    venv = TrialVecEnv(_stacks(config, n_envs, around, learning), config.reset_state)
    return _for_networks(venv)


def _for_networks(venv: VecEnv) -> VecEnv:
    """Return the batch, images with channels first."""
    from stable_baselines3.common.preprocessing import is_image_space
    from stable_baselines3.common.vec_env import VecTransposeImage

    return VecTransposeImage(venv) if is_image_space(venv.observation_space) else venv


def build_batch(config: RunConfig, n_envs: int, around: Around = _as_is) -> TrialBatch | VecEnv:
    """Make a batch to be acted on without a learner: like ``build_venv``, but Stable-Baselines3 is not imported.

    Tasks of images have channels first, as in ``build_venv``.
    """
    batch = _stacks(config, n_envs, around, learning=False)
    if len(batch.single_observation_space.shape or ()) != 3:
        return TrialBatch(batch, config.reset_state)
    from ngym_cli.environments.sb3_batch import TrialVecEnv

    return _for_networks(TrialVecEnv(batch, config.reset_state))


def _stacks(config: RunConfig, n_envs: int, around: Around, learning: bool) -> Batch:
    from neurogym.vector import make_vec

    make, place = env_maker(find_task(config.task), config, learning), itertools.count()
    return make_vec(lambda: around(Staggered.on(make(), next(place))), n_envs)
