"""Batches of trial environments that are stepped together; no torch, and Stable-Baselines3 for learners only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Space

from neurogym.core import TrialEnv, TrialWrapper
from neurogym.envs.multi import ScheduleEnvs
from neurogym.sampling.scheduler import RandomBlockSchedule, SequentialBlockSchedule, SequentialSchedule
from neurogym.vector import LoopVectorEnv, make_vec
from neurogym.vector.loop import BatchStepResult
from neurogym.wrappers.hooks import Hooks
from ngym_cli.config.model import RunConfig
from ngym_cli.config.tasks import find_task
from ngym_cli.environments.stack import env_maker
from ngym_cli.errors import NotFinite

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

_NOTHING: dict[str, object] = {}

#: Column with the position of a trial in its session; a session begins at 0.
SESSION_TRIAL = "session_trial"
#: Values of ``reset_state`` that name a stretch of several trials.
STRETCHES = ("session", "block")
#: Values of ``reset_state`` of a complete configuration.
RESETS = ("trial", *STRETCHES, "never")


def reported_units(names: Iterable[object]) -> tuple[str, ...]:
    """Return which of `STRETCHES` the columns of a trial's record report.

    >>> reported_units(["ground_truth", "session_trial", "side_bias_block"])
    ('session', 'block')
    """
    names = list(names)
    return tuple(unit for unit in STRETCHES if any(_reports(name, unit) for name in names))


def _reports(name: object, unit: str) -> bool:
    """Return whether a column says where a session or a block begins: ``session_trial``, ``block``, ``..._block``."""
    if not isinstance(name, str):  # a task may describe its trials by keys of any type
        return False
    return name == SESSION_TRIAL if unit == "session" else name == "block" or name.endswith("_block")


class Boundaries:
    """Environments of a batch in which a new session or block begins.

    Args:
        unit: ``"session"`` or ``"block"``. A block begins where the block that trials report changes.
    """

    def __init__(self, unit: str):
        self.unit = unit
        self._now: list[tuple[object, ...]] | None = None

    def forget(self) -> None:
        """Read the present trials again before the next step."""
        self._now = None

    def look(self, venv: LoopVectorEnv) -> None:
        """Read the present trials unless they are known; to be called before each step."""
        if self._now is None:
            self._now = self._labels(venv, np.arange(venv.num_envs))

    def crossed(self, venv: LoopVectorEnv, ended: np.ndarray) -> np.ndarray:
        """Return where the trial that has just begun is the first of a session or block, bool (environments,).

        Args:
            venv: the batch, after the step.
            ended: whether a trial ended with the last step, bool (environments,).
        """
        crossed = np.zeros(len(ended), bool)
        envs = np.flatnonzero(ended)
        if self._now is None or not len(envs):
            return crossed
        for i, label in zip(envs.tolist(), self._labels(venv, envs), strict=True):
            crossed[i] = begins(self.unit, self._now[i], label)
            self._now[i] = label
        return crossed

    def _labels(self, venv: LoopVectorEnv, envs: np.ndarray) -> list[tuple[object, ...]]:
        """Return the entries that tell sessions or blocks apart in the present trials of environments."""
        return labels(venv.present(envs), self.unit, len(envs))


def labels(columns: Mapping[str, np.ndarray], unit: str, n: int) -> list[tuple[object, ...]]:
    """Return the entries that tell the sessions or blocks of n trials apart.

    Args:
        columns: records of the trials, each entry with shape (n,).
        unit: ``"session"`` or ``"block"``.
        n: number of trials.
    """
    reported = {name: values for name, values in columns.items() if _reports(name, unit)}
    listed = [[None if value != value else value for value in reported[name].tolist()] for name in sorted(reported)]
    return list(zip(*listed, strict=True)) if listed else [()] * n


def begins(unit: str, earlier: tuple[object, ...], later: tuple[object, ...]) -> bool:
    """Return whether the later of two successive trials, given by their labels, is the first of a session or block."""
    return 0 in later if unit == "session" else later != earlier


class FirstActions:
    """Time in the present trial of each environment of the first action other than fixation.

    Args:
        venv: the batch, of tasks with discrete actions one of which holds fixation.
    """

    def __init__(self, venv: LoopVectorEnv):
        task = venv.tasks[0]
        self.hold = task.rule.hold if isinstance(task, TrialEnv) and task.rule is not None else 0
        self.dt, n = venv.dt, venv.num_envs
        self.step = 0  # steps so far, in which the others are counted
        self.begun, self.first, self.waits = np.zeros(n, np.int64), np.zeros(n, np.int64), np.ones(n, bool)

    @classmethod
    def of(cls, venv: LoopVectorEnv) -> FirstActions | None:
        """Return the record for a batch; None if no action holds fixation."""
        task = venv.tasks[0]
        holds = isinstance(venv.single_action_space, gym.spaces.Discrete) and not getattr(task, "goes_on", False)
        return cls(venv) if holds and (task.rule is None or task.rule.hold is not None) else None

    def forget(self) -> None:
        """Begin the first trials."""
        self.step = 0
        self.restart(np.arange(len(self.begun)))

    def restart(self, envs: np.ndarray) -> None:
        """Begin a trial in some environments."""
        self.begun[envs], self.waits[envs] = self.step, True

    def add(self, actions: np.ndarray, finished: dict[str, np.ndarray] | None) -> None:
        """Take the actions of a step, and add the time (ms) to the columns of trials that ended.

        Args:
            actions: shape (environments,).
            finished: columns of the trials that ended, if any.
        """
        acts = (actions != np.asarray(self.hold)) & self.waits
        if acts.any():
            self.first[acts] = self.step
            self.waits &= ~acts
        self.step += 1
        if finished is not None:
            envs = finished["env"]
            since = (self.first[envs] - self.begun[envs]) * self.dt
            finished["first_action"] = np.where(self.waits[envs], np.nan, since)
            self.restart(envs)

    def state(self) -> list[np.ndarray]:
        """Return what the times of the present trials depend on."""
        return [self.step - self.begun, self.step - self.first, self.waits.astype(np.int64)]

    def set_state(self, state: Sequence[np.ndarray]) -> None:
        """Restore the result of `state`."""
        self.step = 0
        self.begun[:], self.first[:], self.waits[:] = -state[0], -state[1], state[2] > 0


class TrialBatch:
    """Steps a ``neurogym.vector.TrialVectorEnv``, with the methods of a ``VecEnv`` that a rollout needs.

    ``dones[i]`` is True where the recurrent state must be reset and no value is carried over: where the environment
    itself ends, and at the end of each trial, session or block if ``reset_state`` says so.

    Args:
        venv: the batch.
        reset_state: ``"trial"``, ``"session"``, ``"block"`` or ``"never"``.

    Attributes:
        trial_ended: bool (environments,), whether a trial ended with the last step.
        finished: the trials that ended in the last step, as equally long arrays, or None.
        ground_truth: the right action at the row just acted on, one per environment, or None.
    """

    def __init__(self, venv: LoopVectorEnv, reset_state: str = "never"):
        if reset_state not in RESETS:
            raise ValueError(f"reset_state must be one of {', '.join(RESETS)}, not {reset_state!r}")
        self.replace(venv)
        self.reset_state = reset_state
        self._boundaries = Boundaries(reset_state) if reset_state in STRETCHES else None
        self.num_envs = venv.num_envs
        self.observation_space: Space[Any] = venv.single_observation_space
        self.action_space: Space[Any] = venv.single_action_space
        self.trial_ended = np.zeros(venv.num_envs, bool)
        self.finished: dict[str, np.ndarray] | None = None
        self.ground_truth: np.ndarray | None = None
        self._seeds: list[int | None] = [None] * venv.num_envs
        self._no_infos = [_NOTHING] * venv.num_envs

    def replace(self, venv: LoopVectorEnv) -> None:
        """Step another batch of as many environments from now on."""
        self.venv = venv
        self._first_actions = FirstActions.of(venv)
        self._goes_on = np.array([getattr(task, "goes_on", False) for task in venv.tasks])

    @property
    def unwrapped(self) -> Any:
        """The batch itself, because all wrappers are inside."""
        return self

    def reset(self) -> np.ndarray:
        """Start all environments, from the seeds given to ``seed`` if there are any."""
        seeds = None if all(seed is None for seed in self._seeds) else self._seeds
        observations, _ = self.venv.reset(seed=seeds)  # one for each
        self._seeds = [None] * self.num_envs
        if self._boundaries is not None:
            self._boundaries.forget()
        if self._first_actions is not None:
            self._first_actions.forget()
        check_finite(observations, np.zeros(0))
        self.finished = None
        return observations

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, object]]]:
        """Take a step.

        Returns:
            Observations (environments, ...), rewards (environments,), dones (environments,), and one dictionary per
            environment, empty except for environments that ended.
        """
        if self._boundaries is not None:
            self._boundaries.look(self.venv)
        moved = self.venv.move(actions)
        check_finite(moved.observations, moved.rewards)
        self.finished, self.ground_truth = self.venv.finished, moved.truth
        ended, infos, self.trial_ended = moved.terminated, self._no_infos, moved.new_trial
        if moved.last_seen:  # an environment ended
            over = moved.terminated | moved.truncated
            infos, self.trial_ended = self._last_infos(moved), moved.new_trial | over
            ended = over & ~self._goes_on
        if self._first_actions is not None:
            self._first_actions.add(actions, self.finished)
            if moved.last_seen:
                self._first_actions.restart(np.array([*moved.last_seen]))
        if self.reset_state == "trial":
            ended = self.trial_ended
        elif self._boundaries is not None:
            ended = ended | self._boundaries.crossed(self.venv, self.trial_ended)
        return moved.observations, moved.rewards, ended, infos

    def _last_infos(self, moved: BatchStepResult) -> list[dict[str, object]]:
        """Return infos in Stable-Baselines3's form, empty except for environments that ended."""
        listed = list(self._no_infos)
        for index, observation in moved.last_seen.items():
            cut_off = bool(moved.truncated[index] and not moved.terminated[index])
            info: Mapping[str, object] = moved.infos[index]
            listed[index] = {**info, "TimeLimit.truncated": cut_off, "terminal_observation": observation}
        return listed

    def state(self) -> dict[str, Any]:
        """Return everything that the coming steps depend on, as plain data."""
        actions = {} if self._first_actions is None else {"first_actions": self._first_actions.state()}
        return {**self.venv.state(), **actions}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from the result of `state`, in a batch made in the same way."""
        rest = dict(state)
        actions = rest.pop("first_actions", None)  # not in states of earlier versions
        self.venv.set_state(rest)
        if self._first_actions is not None and actions is not None:
            self._first_actions.set_state(actions)

    def close(self) -> None:
        """Close the batch."""
        self.venv.close()

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the environments at the next reset, each with a seed derived from the given seed."""
        if seed is None:
            self._seeds = [None] * self.num_envs
        else:
            self._seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(self.num_envs)]
        return self._seeds


def trials_of(venv: TrialBatch | VecEnv | None) -> TrialBatch:
    """Return the environments made of trials, inside Stable-Baselines3's wrappers where there are any.

    Raises:
        ValueError: if there are none.
    """
    inner = None if venv is None else venv.unwrapped
    if not isinstance(inner, TrialBatch):
        raise ValueError(f"expected trial-based tasks ({__name__}.TrialBatch), not {type(inner).__name__}")
    return inner


def batch_of(venv: TrialBatch | VecEnv | None) -> LoopVectorEnv:
    """Return the toolkit's batch inside a vectorised environment; see `trials_of`."""
    return trials_of(venv).venv


def check_finite(observations: np.ndarray, rewards: np.ndarray) -> None:
    """Raise NotFinite if a number is not finite; a single product shows if all are finite."""
    for noun, values in (("reward", rewards), ("an observation", observations)):
        flat = values.reshape(-1)
        if values.dtype.kind == "f" and not math.isfinite(flat.dot(flat)):
            bad = ~np.isfinite(values.reshape(len(values), -1))
            if bad.any():
                env = int(np.flatnonzero(bad.any(axis=1))[0])
                raise NotFinite(noun, float(values[env].reshape(-1)[bad[env]][0]), env)


# -- batches of a configuration ---------------------------------------------------------------------------------------

#: Schedules that would otherwise begin with the same task in every environment.
IN_STEP = (RandomBlockSchedule, SequentialBlockSchedule, SequentialSchedule)


class RandomStart(TrialWrapper):
    """Wrapper that begins each session with a task that depends on the position in the batch.

    A batch thus has trials of all tasks at any time, in training as in an evaluation shorter than a block.

    Args:
        env: the whole stack.
        index: index of this environment in the batch.
    """

    metadata = {"description": "begins with another task in each environment of a batch"}
    hooks = Hooks(history_dependent=True)
    task: ScheduleEnvs

    def __init__(self, env: gym.Env, index: int):
        super().__init__(env)
        self.place = index

    @classmethod
    def on(cls, env: gym.Env, index: int) -> gym.Env:
        """Wrap environments with several tasks in blocks or in turn; return other environments unchanged."""
        inner = env.unwrapped
        in_step = type(inner) is ScheduleEnvs and isinstance(inner.schedule, IN_STEP)
        return cls(env, index) if in_step else env

    def start_session(self) -> None:
        """Choose the task of the first trial; the schedule continues from that task."""
        self.task.set_i(int(self.task.presented[self.place % len(self.task.presented)]))


#: Function that adds wrappers to an environment.
EnvWrapper = Callable[[gym.Env], gym.Env]


def unchanged(env: gym.Env) -> gym.Env:
    """Return an environment as it is."""
    return env


def make_batch(config: RunConfig, n_envs: int, around: EnvWrapper = unchanged, learning: bool = True) -> LoopVectorEnv:
    """Make the batch of environments of a configuration.

    Args:
        config: task and wrappers are taken from it.
        n_envs: number of environments.
        around: puts further wrappers around each stack; called once per environment, in order.
        learning: whether tasks held out are not presented.

    Raises:
        UserError: see ``make_env``.
    """
    make = env_maker(find_task(config.task), config, learning)
    envs = [make() for _ in range(n_envs)]
    stacks = iter([around(RandomStart.on(env, index)) for index, env in enumerate(envs)])
    return make_vec(lambda: next(stacks), n_envs)
