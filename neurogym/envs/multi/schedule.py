"""Several tasks in a single environment, alternating between trials.

Where no task depends on what the agent did, each makes its trials in advance, and a block of the environment is put
together from them (:mod:`neurogym.envs.multi.interleave`): then the environment is a task like any other, with the
tables of a declared rule. Otherwise a block is a single trial, and each step is passed on to the stack of the task
that runs (``_step``). In both cases every task keeps its own random stream.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from typing import ClassVar

import gymnasium as gym
import numpy as np

from neurogym import scores, spaces
from neurogym.core import TrialEnv, TrialWrapper
from neurogym.engine.making import conditions_of_wrappers, make_checked
from neurogym.envs.multi.fitting import JointParameters, check_spaces, check_tasks, distinct, joint_conditions, name_of
from neurogym.envs.multi.instructions import Instructions, RuleInput, without
from neurogym.envs.multi.interleave import MixedRule, Records, TaskBlock, interleave
from neurogym.envs.task import ProgrammedTask
from neurogym.metadata import TaskInfo
from neurogym.rules import OUTCOMES
from neurogym.sampling.scheduler import BaseSchedule
from neurogym.scores import Score
from neurogym.spaces import Action
from neurogym.trials import Info, StepResult, Trials
from neurogym.wrappers.base import first_observation
from neurogym.wrappers.forwarding import layers
from neurogym.wrappers.stack import traits
from neurogym.wrappers.tasks import Traits

STOCK_BYTES = 2e6  #: memory for trials that the tasks of one environment have made ahead
MOST_IN_STOCK = 512  #: trials of one task


class ScheduleEnvs(JointParameters, ProgrammedTask):
    """Present several tasks; a schedule selects the task of each trial.

    The trial's task is in its record as ``task``. Every task keeps a random stream of its own, and the first
    observation of a trial is that of its task. Wrappers that act on the trials of one task go inside, on that task;
    those that show the agent more (``PassReward``, ``PassAction``, ``Noise``) go outside.

    Args:
        envs: The tasks, wrapped or not.
        schedule: Gives the task of each trial; None: the caller chooses with :meth:`set_i`.
        env_input: Whether channels ``task`` show the agent which task runs (one-hot).
        names: Name of each task in the record; default its id.
        pad: Whether tasks with fewer channels or actions are widened: channels are 0, actions are never right.
        instructions: Vectors shown in place of the one-hot input, see :func:`read_instructions`.
        held_out: Tasks that the schedule, which is over all others, never selects.

    Attributes:
        envs: The tasks.
        presented: Indices of the tasks that the schedule selects.
        i_env: Index of the task of the current trial.

    Raises:
        TypeError: If one of ``envs`` is not a trial-based task.
        ValueError: If spaces or time steps differ, the schedule has another number of conditions, or a wrapper is
            inside that must be outside.
    """

    state: ClassVar[tuple[str, ...]] = ("envs", "schedule", "_chosen", "_said", "_stock_size")
    metadata = TaskInfo(
        doi="10.1038/s41593-018-0310-2",
        order="replaces tasks; pass_reward, pass_action and noise go outside",
    )

    def __init__(
        self,
        envs: Sequence[gym.Env],
        schedule: BaseSchedule | None = None,
        env_input: bool = False,
        names: Sequence[str] | None = None,
        pad: bool = False,
        instructions: Instructions | None = None,
        held_out: str | Sequence[str] | None = None,
    ):
        self.envs = list(envs)
        self.names = distinct([name_of(env) for env in self.envs] if names is None else names)
        self.presented = without(self.names, held_out) if self.envs else np.arange(0)
        check_spaces(self.envs, schedule, pad, len(self.presented))
        check_tasks(self.envs, type(self).__name__, steps_wrappers=True)
        self.tasks: list[TrialEnv] = [env.unwrapped for env in self.envs]  # type: ignore[misc]
        super().__init__(dt=self.tasks[0].dt)
        self.schedule, self.env_input = schedule, env_input or instructions is not None
        capabilities = [traits(env) for env in self.envs]
        self._all_ahead = all(
            each.ahead and each.batched for each in capabilities
        )  # else each is stepped in its own stack
        self.rule = MixedRule(self.tasks) if self._all_ahead else None  # type: ignore[misc]
        self.abort = any(task.abort for task in self.tasks)
        shared = set.intersection(*(set(task.timing) for task in self.tasks))
        self.timing = {period: spec for period, spec in self.tasks[0].timing.items() if period in shared}
        self.rewards = ChainMap(*(task.rewards for task in self.tasks))  # of several, those of the first task count
        self.conditions = {"task": self.names, **joint_conditions(self.tasks)}
        self.metadata = type(self).metadata.replace(
            history_dependent=any(each.history_dependent for each in capabilities),
            needs_reward=any(task.metadata.get("needs_reward") for task in self.tasks),
        )
        widest = max(self.envs, key=lambda env: env.observation_space.shape or ())
        self._width = widest.observation_space.shape[0] if widest.observation_space.shape else 0
        self.observation_space = widest.observation_space
        if self.env_input:
            self.rule_input = RuleInput(instructions, len(self.envs), self._width)
            self.observation_space = self.rule_input.appended_to(widest.observation_space)
        self.action_space = max((env.action_space for env in self.envs), key=spaces.n_actions)
        self._chosen = 0 if schedule is None else None  # the task; with a schedule only that of the next trial
        self._records: Records | None = None  # what any task's record may have
        self._said: Info = {}  # the task's report of the trial that ended
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
        """Select task ``i`` for the next trial; a schedule continues from there, and without a schedule the task stays.

        Raises:
            ValueError: If there is no such task.
        """
        if not 0 <= i < len(self.envs):
            raise ValueError(f"i must be one of the {len(self.envs)} tasks 0 to {len(self.envs) - 1}, got {i!r}")
        self._chosen = i
        self.session.ahead.restart()

    def _draw(self, n: int, requested: np.ndarray | None) -> np.ndarray:
        """Task of each of the next n trials."""
        if requested is not None:
            return np.array([self.names.index(name) for name in requested])
        if self.schedule is None:
            return np.full(n, self._chosen)
        first = np.array([] if self._chosen is None else [self._chosen], np.int64)
        if len(first):
            self._chosen = None
            self.schedule.i = next((int(k) for k in np.flatnonzero(self.presented == first[0])), self.schedule.i)
        more = n - len(first)
        return np.append(first, self.presented[self.schedule.draw(more)]) if more else first

    # -- trials -------------------------------------------------------------------------------------------------------

    @property
    def traits(self) -> Traits:
        """Capabilities shared by all tasks."""
        inner = [layer for env in self.envs for layer in layers(env) if isinstance(layer, TrialWrapper)]
        return Traits(
            ahead=self._all_ahead,
            batched=self._all_ahead,
            history_dependent=bool(self.metadata["history_dependent"]),
            observation_depends_on_step=any(wrapper.hooks.own_step for wrapper in inner),
            lengths_differ=True,
        )

    @property  # type: ignore[misc]
    def choices(self) -> Sequence[object] | np.ndarray:
        """Possible ground truths, if equal in all tasks.

        Raises:
            AttributeError: If tasks differ in it or one has no finite set.
        """
        first, *rest = [np.asarray(task.choices) for task in self.tasks]
        if any(not np.array_equal(first, choices) for choices in rest):
            raise AttributeError("the tasks of ScheduleEnvs do not have the same choices: wrap each task instead")
        return first

    def start_session(self) -> None:
        """Begin a session in every task, with random streams drawn from this environment's generator."""
        self._chosen = 0 if self.schedule is None else None
        if self.schedule is not None:
            self.schedule.reset()
            self.schedule.seed(int(self.np_random.integers(2**31)))
        if self._all_ahead and self._records is None:
            self._records = Records.of(self.tasks)
            self._stock_size = int(np.clip(STOCK_BYTES / (len(self.tasks) * self._records.size), 4, MOST_IN_STOCK))
        for env, task in zip(self.envs, self.tasks, strict=True):
            seed = int(self.np_random.integers(2**31))
            if self._all_ahead:
                task.session.begin(seed)
            else:
                task.session.next_by_itself = False
                task.session.most_actions = spaces.n_actions(self.action_space)
                env.reset(seed=seed)

    def _new_trials(self, trials: Trials) -> None:
        if not self._all_ahead and trials.n != 1:
            raise ValueError("one of the tasks makes one trial at a time; make_trials(1) is the most")
        requested = {name: np.asarray(values) for name, values in trials.given.items()}
        source = self._draw(trials.n, requested.pop("task", None))
        same = len({spaces.n_actions(of.action_space) for of in (self, *self.tasks)}) == 1
        tables = self._all_ahead and same and not (self.session.stack.revises or self.session.stack.begins_trials)
        blocks: list[TaskBlock] = []
        for j in range(len(self.tasks)):
            at = np.flatnonzero(source == j)
            if len(at) and tables and not requested:
                blocks += self._from_stock(j, at)
            elif len(at):
                blocks.append(TaskBlock(j, self._part(j, {k: v[at] for k, v in requested.items()}, len(at)), at))
        interleave(trials, blocks, tables, self._records)
        if self.env_input:
            self.rule_input.show(trials, source)
        if not self._all_ahead:
            self._show(trials, first_observation(self.envs[blocks[0].task]), 0)
            trials.bonus = 0.0  # the task adds it itself
        if "task" in trials.info:
            trials.info["subtask"] = trials.info["task"]
        trials.info["task"] = np.array(self.names, dtype=object)[source]

    def _part(self, j: int, requested: dict[str, np.ndarray], n: int) -> Trials:
        """``n`` trials of task ``j``."""
        task = self.tasks[j]
        accepted = {*task.conditions, *conditions_of_wrappers(task)}
        conditions = {name: value for name, value in requested.items() if name in accepted or not task.conditions}
        if self._all_ahead:
            return make_checked(task, n, conditions)
        self.envs[j].new_trial(**{name: value[0] for name, value in conditions.items()})  # type: ignore[attr-defined]
        return task.session.this_trial

    def _from_stock(self, j: int, at: np.ndarray) -> list[TaskBlock]:
        """Trials of task ``j`` for the places ``at``; a few more than needed are made at a time."""
        blocks: list[TaskBlock] = []
        while len(at):
            ahead = self.tasks[j].session.ahead
            if ahead.block is None or ahead.is_used_up:
                first = ahead.block is None or ahead.is_stale
                self.tasks[j].session.make_ahead(len(at) if first else max(self._stock_size, len(at)))
                continue
            n = min(len(at), ahead.block.n - ahead.next)
            blocks.append(TaskBlock(j, ahead.block.part(ahead.next, n), at[:n]))
            ahead.next, at = ahead.next + n, at[n:]
        return blocks

    # -- tasks that are stepped in their own stacks -------------------------------------------------------------------

    def _show(self, trials: Trials, ob: np.ndarray, row: int) -> None:
        """Copy a task's observation; additional channels remain unchanged."""
        if np.ndim(ob) == 1:
            trials.ob[row, : len(ob)] = ob
        else:
            trials.ob[row] = ob

    def _step(self, action: Action) -> StepResult:
        if self._all_ahead:
            return super()._step(action)
        env, task, cursor = self.env, self.tasks[self.i_env], self.session.cursor
        ob, reward, terminated, truncated, info = env.step(self._own_action(task, action))
        self._said = {}
        self.performance = task.session.performance
        self.report(task.session.event)
        if info["new_trial"]:
            self._said = {name: info[name] for name in ("choice", "rt", "performance", "outcome") if name in info}
            self.performance = info["performance"]
            # not reported by report(), since breaks of fixation are already counted
            self.session.event = int(np.flatnonzero(info["outcome"] == OUTCOMES)[0])
            self.trial |= {k: v for k, v in info["trial"].items() if k in self.trial and k not in ("task", "subtask")}
        elif not cursor.at_end:
            self._show(cursor.block, ob, cursor.row + 1)  # type: ignore[arg-type]  # a trial is on
            if cursor.gt is not None and task.session.cursor.gt is not None:
                cursor.gt[cursor.row + 1] = task.gt_now
        return self.ob_now, float(reward), terminated, truncated, info

    @staticmethod
    def _own_action(task: TrialEnv, action: Action) -> Action:
        """An action of the task in place of an action that only other tasks have; tables of rules have room for these.

        A task that programs its steps is given a wrong action, or no answer where none is wrong or nothing is right.
        """
        n_actions = spaces.n_actions(task.action_space)
        if task.traits.batched or not n_actions or action < n_actions:
            return action
        hold = (task.rule.hold if task.rule else None) or 0
        wrong = set(range(n_actions)) - {hold, int(task.gt_now)} if task.session.cursor.gt is not None else set()
        return min(wrong, default=hold)

    def post_step(self, ob: np.ndarray, reward: float, terminated: bool, truncated: bool, info: Info) -> StepResult:
        """Report the results of the task and inner wrappers for the trial that ended."""
        if info["new_trial"]:
            info.update(self._said)
        return ob, reward, terminated, truncated, info

    # -- about the tasks ----------------------------------------------------------------------------------------------

    def oracle(self) -> Action:
        """Best action at the current row, from the oracle of the trial's task."""
        task = self.tasks[self.i_env]
        if not self._all_ahead:
            return task.oracle()
        if type(task).oracle is TrialEnv.oracle:
            return self.gt_now
        task.trial = self.trial
        return task.oracle()

    def ceiling(self) -> Score | None:
        """Mean over the tasks, weighted by how often each comes, if the ceiling of each is known."""
        return scores.score("ceiling of several tasks", self)

    @property
    def shares(self) -> np.ndarray:
        """Long-run frequency of each task, shape (tasks,)."""
        among = np.eye(len(self.envs))
        return among[self._chosen or 0] if self.schedule is None else self.schedule.shares @ among[self.presented]

    @property
    def tells_task(self) -> bool:
        """Whether the agent sees which of the presented tasks runs."""
        return self.env_input and self.rule_input.tells(self.presented)

    def __str__(self) -> str:
        """List the tasks, a line for each."""
        listed = "".join(f"\n  {env}" for env in self.envs)
        return f"<{type(self).__name__} of {len(self.envs)} tasks{listed}>"


class MultiEnvs(ScheduleEnvs):
    """Present several tasks, among which the caller selects with ``set_i``.

    This is :class:`ScheduleEnvs` without a schedule.

    Args:
        envs: The tasks, wrapped or not.
        env_input: Whether channels ``task`` show the agent which task runs (one-hot).
    """

    state = ()

    def __init__(self, envs: Sequence[gym.Env], env_input: bool = False):
        super().__init__(envs, None, env_input)
