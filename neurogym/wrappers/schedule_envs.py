"""Several tasks in one environment, one trial at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym import spaces
from neurogym.compat.leniency import forgive
from neurogym.core import TrialEnv, TrialWrapper
from neurogym.mixing import MixedRule, Parts, empty_column, interleave, records_of, view_of
from neurogym.trials import Trials
from neurogym.utils.names import unknown
from neurogym.utils.scheduler import BaseSchedule
from neurogym.wrappers.several import carries, check_spaces, check_tasks, distinct, name_of

STOCK_BYTES = 2e6  #: memory for trials that the tasks of one environment have made ahead
MOST_IN_STOCK = 512  #: trials of one task


class ScheduleEnvs(TrialEnv):
    """Present several tasks, each trial from the one that a schedule names.

    The trial's task is in its record as ``task``. Every task keeps a random stream of its own, and the first
    observation of a trial is that of its task. Wrappers that act on the trials of one task go inside, on that task;
    those that show the agent more (``PassReward``, ``PassAction``, ``Noise``) go outside.

    Args:
        envs: The tasks, wrapped or not.
        schedule: Gives the task of each trial; None: the caller chooses with :meth:`set_i`.
        env_input: Whether channels ``task`` tell the agent which task runs (one-hot).
        names: Name of each task in the record; default its id.
        pad: Whether tasks with fewer channels or actions are widened: channels are 0, actions are never right.

    Attributes:
        envs: The tasks.
        i_env: Index of the task of the current trial.

    Raises:
        TypeError: If one of ``envs`` is no trial-based task.
        ValueError: If spaces or time steps differ, the schedule has another number of conditions, or a wrapper is
            inside that must be outside.
    """

    metadata = {
        "description": "draws the task of each trial from a schedule; optional channels tell which",
        "paper_name": "Task representations in neural networks trained to perform many cognitive tasks",
        "paper_link": "https://doi.org/10.1038/s41593-018-0310-2",
        "order": "replaces tasks; pass_reward, pass_action and noise go outside",
    }

    def __init__(
        self,
        envs: Sequence[gym.Env],
        schedule: BaseSchedule | None = None,
        env_input: bool = False,
        names: Sequence[str] | None = None,
        pad: bool = False,
    ):
        self.envs = list(envs)
        check_spaces(self.envs, schedule, pad)
        check_tasks(self.envs, type(self).__name__)
        self.tasks: list[TrialEnv] = [env.unwrapped for env in self.envs]  # type: ignore[misc]
        super().__init__(dt=self.tasks[0].dt)
        self.schedule, self.env_input = schedule, env_input
        self.names = distinct([name_of(env) for env in self.envs] if names is None else names)
        self.fast = all(task.declared and task._plannable for task in self.tasks)
        self.rule = MixedRule(self.tasks) if self.fast else None  # type: ignore[assignment,misc]
        self.abort = any(task.abort for task in self.tasks)
        self.timing = {
            period: spec
            for period, spec in self.tasks[0].timing.items()
            if all(period in task.timing for task in self.tasks)
        }
        self.rewards = {}
        for task in reversed(self.tasks):
            self.rewards |= task.rewards
        self.conditions = {"task": self.names}
        for task in reversed(self.tasks):
            self.conditions |= task.conditions
        told = any(task.metadata.get("needs_reward") for task in self.tasks)
        linked = any(carries(env) for env in self.envs)
        self.metadata = {**type(self).metadata, "carries": linked, "needs_reward": told}
        widest = max(self.envs, key=lambda env: env.observation_space.shape or ())
        self._width = widest.observation_space.shape[0] if widest.observation_space.shape else 0
        self.observation_space = widest.observation_space
        if env_input:
            self.observation_space = spaces.append_channels(widest.observation_space, "task", len(self.envs), 0, 1)
        self.action_space = max((env.action_space for env in self.envs), key=lambda space: getattr(space, "n", 0))
        self._chosen = 0 if schedule is None else None
        self._acting = 0
        self._columns: dict[str, tuple[np.dtype, tuple[int, ...]]] = {}  # what any task's record may have
        self._periods: list[str] = []
        self._stock: list[Trials | None] = [None] * len(self.tasks)  # trials made ahead, and the next of each
        self._next = [0] * len(self.tasks)
        self._stock_size = 4

    # -- which task ---------------------------------------------------------------------------------------------------

    @property
    def i_env(self) -> int:
        """Index of the task of the current trial."""
        return self.names.index(self.trial["task"]) if self.trial else self._chosen or 0

    @property
    def env(self) -> gym.Env:
        """The environment of the current trial's task."""
        return self.envs[self.i_env]

    def set_i(self, i: int) -> None:
        """Let the next trial come from task ``i``; a schedule goes on from there, without one the task stays.

        Raises:
            ValueError: If there is no such task.
        """
        if not 0 <= i < len(self.envs):
            raise ValueError(f"i must be one of the {len(self.envs)} tasks 0 to {len(self.envs) - 1}, got {i!r}")
        self._chosen, self._ahead = i, None

    def _draw(self, n: int, asked: np.ndarray | None) -> np.ndarray:
        """Task of each of the next n trials."""
        if asked is not None:
            return np.array([self.names.index(name) for name in asked])
        if self.schedule is None:
            return np.full(n, self._chosen)
        first = []
        if self._chosen is not None:
            first, self.schedule.i, self._chosen = [self._chosen], self._chosen, None
        return np.concatenate([first, self.schedule.draw(n - len(first)) if n > len(first) else []]).astype(np.int64)

    # -- trials -------------------------------------------------------------------------------------------------------

    @property
    def _many(self) -> bool:
        return True

    @property
    def _plannable(self) -> bool:
        return self.fast and super()._plannable

    @property
    def _fixed(self) -> bool:
        return False

    @property
    def declared(self) -> bool:
        """Whether stepping is a look-up: every task has a declared rule and does not depend on the agent."""
        return self.fast

    @property  # type: ignore[misc]
    def choices(self) -> Any:
        """What the ground truth can be, if it is the same in all tasks.

        Raises:
            AttributeError: If tasks differ in it or one has no finite set.
        """
        first, *others = [np.asarray(task.choices) for task in self.tasks]
        if any(not np.array_equal(first, other) for other in others):
            raise AttributeError("the tasks of ScheduleEnvs do not have the same choices: wrap each task instead")
        return first

    def start_session(self) -> None:
        """Begin a session in every task, each with its own stream drawn from this environment's."""
        self._chosen = 0 if self.schedule is None else None
        self._stock = [None] * len(self.tasks)
        if self.schedule is not None:
            self.schedule.reset()
            self.schedule.seed(int(self.np_random.integers(2**31)))
        if self.fast and not self._columns:
            self._columns, self._periods, size = records_of(self.tasks, self.names)
            self._stock_size = int(np.clip(STOCK_BYTES / (len(self.tasks) * size), 4, MOST_IN_STOCK))
        for env, task in zip(self.envs, self.tasks, strict=True):
            seed = int(self.np_random.integers(2**31))
            if self.fast:
                task.begin_session(seed)
            else:
                env.reset(seed=seed)

    def _check_conditions(self, given: dict[str, Any]) -> None:  # type: ignore[override]
        for name, value in given.items():
            if name not in self.conditions:
                forgive(unknown("trial condition", name, self.conditions), "it is only put into the record")
            if name == "task" and value not in self.names:
                raise ValueError(unknown("task", value, self.names))

    def _new_trials(self, trials: Trials) -> None:
        asked = {name: np.asarray(values) for name, values in trials.given.items()}
        source = self._draw(trials.n, asked.pop("task", None))
        same = all(getattr(task.action_space, "n", 0) == getattr(self.action_space, "n", 0) for task in self.tasks)
        revised = any(type(w).revise is not TrialWrapper.revise for w in self._wrappers)
        tables = self.fast and same and not revised
        parts: Parts = []
        for j in range(len(self.tasks)):
            at = np.flatnonzero(source == j)
            if len(at) and tables and not asked:
                parts += self._from_stock(j, at)
            elif len(at):
                parts.append((j, self._part(j, {k: v[at] for k, v in asked.items()}, len(at)), at))
        interleave(trials, parts, tables)
        if self.fast:
            self.rule.parts = parts  # type: ignore[union-attr]
        for name, (dtype, shape) in self._columns.items():
            if name not in trials.info:
                trials.info[name] = empty_column((trials.n, *shape), [dtype])
        for name in self._periods:
            if name not in trials.starts:
                trials.starts[name], trials.ends[name] = np.zeros((2, trials.n), np.int64)
        if self.env_input:
            rows = trials.rows()
            trials.ob[rows.index, self._width + source[rows.trial]] = 1
        if "task" in trials.info:
            trials.info["subtask"] = trials.info["task"]
        trials.info["task"] = np.array(self.names, dtype=object)[source]

    def _part(self, j: int, asked: dict[str, np.ndarray], n: int) -> Trials:
        """``n`` trials of task ``j``."""
        task = self.tasks[j]
        mine = {k: v for k, v in asked.items() if k in {*task.conditions, *task._taken_by_wrappers()} or not task._many}
        if self.fast:
            return task._make(n, mine)
        if task._many and not any(type(layer).new_trial is not TrialWrapper.new_trial for layer in task._wrappers):
            task._take(task._make(n, mine), 0)
        else:
            self.envs[j].new_trial(**{k: v[0] for k, v in mine.items()})  # type: ignore[attr-defined]
        return view_of(task._block, task._at, 1)

    def _from_stock(self, j: int, at: np.ndarray) -> Parts:
        """Trials of task ``j`` for the places ``at``; a few more than needed are made at a time."""
        parts: Parts = []
        while len(at):
            stock = self._stock[j]
            if stock is None or self._next[j] == stock.n:
                size = len(at) if stock is None else max(self._stock_size, len(at))
                self._stock[j], self._next[j] = self.tasks[j].make_trials(size), 0
                continue
            n = min(len(at), stock.n - self._next[j])
            parts.append((j, view_of(stock, self._next[j], n), at[:n]))
            self._next[j], at = self._next[j] + n, at[n:]
        return parts

    # -- tasks that program their steps -------------------------------------------------------------------------------

    def _step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.fast:
            return super()._step(action)
        self._acting = self.i_env
        task = self.tasks[self._acting]
        step = self._row - self._first
        task._row, task.performance, task._event = task._first + step, self.performance, 0
        self.r_tmax = task.r_tmax
        ob, reward, terminated, truncated, info = task._step(action)
        self.performance = task.performance
        self._note(task._event)
        self._end = min(self._end, self._first + task._end - task._first)
        if self._row + 1 < self._end:  # what _step wrote into the next row
            self._ob[self._row + 1, : self._width] = task._ob[task._row + 1]
        return ob, reward, terminated, truncated, info

    def post_step(self, ob: Any, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]) -> tuple:
        """The last word of the task that was stepped."""
        return self.tasks[self._acting].post_step(ob, reward, terminated, truncated, info)

    # -- about the tasks ----------------------------------------------------------------------------------------------

    def oracle(self) -> Any:
        """The best action at the current row, as the trial's task knows it."""
        task = self.tasks[self.i_env]
        if type(task).oracle is TrialEnv.oracle:
            return self.gt_now
        task.trial = self.trial
        return task.oracle()

    def ceiling(self) -> dict[str, Any] | None:
        """Mean over the tasks, weighted by how often each comes, if the ceiling of each is known."""
        from neurogym.ceilings.mixture import mixture

        return mixture(self, memory=True, told=True)

    @property
    def shares(self) -> np.ndarray:
        """How often each task comes in the long run, shape (tasks,)."""
        if self.schedule is None:
            return np.eye(len(self.envs))[self._chosen or 0]
        return self.schedule.shares

    def __str__(self) -> str:
        """The tasks, one per line."""
        listed = "".join(f"\n  {env}" for env in self.envs)
        return f"<{type(self).__name__} of {len(self.envs)} tasks{listed}>"


class MultiEnvs(ScheduleEnvs):
    """Several tasks of which the caller chooses one with ``set_i``: :class:`ScheduleEnvs` without a schedule.

    Args:
        envs: The tasks, wrapped or not.
        env_input: Whether channels ``task`` tell the agent which task runs (one-hot).
    """

    metadata = {**ScheduleEnvs.metadata, "description": "presents that of several tasks which the caller chooses"}

    def __init__(self, envs: Sequence[gym.Env], env_input: bool = False):
        super().__init__(envs, None, env_input)
