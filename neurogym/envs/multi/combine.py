"""Two tasks at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym import rules, spaces
from neurogym.core import TrialEnv
from neurogym.envs.multi.fitting import JointParameters, check_tasks
from neurogym.envs.registration import make
from neurogym.envs.task import ProgrammedTask
from neurogym.metadata import TaskInfo
from neurogym.spaces import Action
from neurogym.trials import Info, StepResult
from neurogym.wrappers.stack import traits

TYPES = ("main", "distractor", "both")


@dataclass(frozen=True, eq=False)
class Part:
    """Place of one of the two tasks in the joint trial.

    Attributes:
        task: The task.
        prefix: Before the names of its periods, conditions and channels.
        start: Step at which it starts.
        columns: Its channels.
    """

    task: TrialEnv
    prefix: str
    start: int
    columns: slice


class Combine(JointParameters, ProgrammedTask):
    """Do a main task and a distractor task in the same trial.

    Every trial has one of three types: main task only, distractor only, both. The observation is that of the main
    task followed by that of the distractor, zeros while a task is not running; the distractor starts after ``delay``.
    A trial ends when all its tasks have ended, and is correct if all were. Its record has the type as
    ``combine_type``, the distractor's conditions under ``distractor_<name>``, and the performance in each task as
    ``main_performance`` and ``distractor_performance``. Wrappers that act on the trials of one task go inside.

    Args:
        env: The main task, wrapped or not.
        distractor: The other task, wrapped or not, or its id.
        delay: Start of the distractor (ms).
        dt: Accepted for old scripts; must be the tasks' time step.
        mix: Probability of main only, distractor only, both.
        share_action_space: Whether one action goes to both tasks (their actions must be equally many); otherwise an
            action is a pair, counted in lexicographic order.
        defaults: Reward of each task for doing nothing; with shared actions the distractor's reward and ground
            truth count where the main task's reward is its default and the distractor's is not.
        trial_cue: Whether a first channel shows the trial's type (0, 1, 2).
        task2: Another name for ``distractor``.

    Raises:
        TypeError: If one of the tasks is not trial-based.
        ValueError: If actions, time steps or probabilities do not fit, or a wrapper is inside that must be outside.
    """

    metadata = TaskInfo(
        doi="10.1038/s41467-020-14824-w",
        order="replaces tasks; pass_reward, pass_action and noise go outside",
    )
    state = ("envs", "_running")

    def __init__(
        self,
        env: gym.Env,
        distractor: gym.Env | str | None = None,
        delay: float = 800,
        dt: float | None = None,
        mix: Sequence[float] = (0.3, 0.3, 0.4),
        share_action_space: bool = True,
        defaults: Sequence[float] = (0, 0),
        trial_cue: bool = False,
        task2: gym.Env | str | None = None,
    ):
        second = distractor if distractor is not None else task2
        if second is None:
            raise ValueError("Combine needs a second task: distractor=..., an environment or an id")
        if isinstance(second, str):
            second = make(second, dt=env.unwrapped.dt)  # type: ignore[attr-defined]
        self.envs = [env, second]
        _check(self.envs, dt, mix, share_action_space)
        self.tasks: list[TrialEnv] = [each.unwrapped for each in self.envs]  # type: ignore[misc]
        super().__init__(dt=self.tasks[0].dt)
        self.delay, self.mix, self.defaults = delay, np.asarray(mix, dtype=float), tuple(defaults)
        self.share_action_space, self.trial_cue = share_action_space, trial_cue
        self._sizes = [spaces.n_actions(each.action_space) for each in self.envs]
        first, middle, end = np.cumsum([trial_cue, *(each.observation_space.shape[0] for each in self.envs)]).tolist()  # type: ignore[index]
        late = max(0, int(np.ceil(delay / self.dt - 1e-6)))
        self._parts = (
            Part(self.tasks[0], "", 0, slice(first, middle)),
            Part(self.tasks[1], "distractor_", late, slice(middle, end)),
        )
        self.observation_space = self._space()
        own_actions = spaces.names_of(env.action_space)
        self.action_space = (
            spaces.Discrete(self._sizes[0], name=own_actions or None)
            if share_action_space
            else spaces.Discrete(self._sizes[0] * self._sizes[1])
        )
        main, distracting = self.tasks
        self.timing = {**{f"distractor_{name}": spec for name, spec in distracting.timing.items()}, **main.timing}
        self.rewards = {**distracting.rewards, **main.rewards}
        self.conditions = {"combine_type": list(range(3)), **main.conditions}
        self.conditions |= {f"distractor_{name}": values for name, values in distracting.conditions.items()}
        linked = any(traits(each).history_dependent for each in self.envs)
        self.metadata = type(self).metadata.replace(history_dependent=linked)
        self._running = [False, False]

    def _space(self) -> spaces.Box:
        boxes = [each.observation_space for each in self.envs]
        names: dict[str, spaces.Index] = {"trial_type": 0} if self.trial_cue else {}
        for role, box in zip(self._parts, boxes, strict=True):
            for name, index in spaces.names_of(box).items():
                label = role.prefix + name
                while label in names:  # a distractor that is itself a combination
                    label = "distractor_" + label
                names[label] = (np.asarray(index) + role.columns.start).tolist()
        cue = np.array([2.0], np.float32)
        high = np.concatenate([cue[: self.trial_cue], *(np.maximum(box.high, 0) for box in boxes)])  # type: ignore[attr-defined]
        low = np.concatenate([cue[: self.trial_cue] * 0, *(np.minimum(box.low, 0) for box in boxes)])  # type: ignore[attr-defined]
        return spaces.Box(low, high, name=names, dtype=np.float32)

    def name_here(self, j: int, kind: str, name: str) -> str:
        """Name in this environment: the distractor's periods and parameters have a prefix; rewards are shared."""
        return f"distractor_{name}" if j and kind != "rewards" else name

    def name_in(self, j: int, kind: str, name: str) -> str | None:
        """The name without the prefix in the distractor, None for names of the other task; a reward is that of both."""
        if kind == "rewards":
            return name
        if name.startswith("distractor_"):
            return name.removeprefix("distractor_") if j else None
        return None if j else name

    @property  # type: ignore[misc]
    def choices(self) -> Sequence[object] | np.ndarray:
        """Refuse wrappers that draw the ground truth, since these must wrap a single task.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError("Combine has two tasks: put the wrapper on one of them, inside Combine")

    def start_session(self) -> None:
        """Begin a session in both tasks, each with a separate random stream."""
        for env in self.envs:
            env.reset(seed=int(self.np_random.integers(2**31)))

    # -- trials -------------------------------------------------------------------------------------------------------

    def _new_trial(self, **kwargs: Any) -> Info:
        kind = kwargs.pop("combine_type", None)
        kind = self._drawn_kind() if kind is None else int(kind)
        requested: list[dict[str, object]] = [{}, {}]
        for name, value in kwargs.items():
            requested[name.startswith("distractor_")][name.removeprefix("distractor_")] = value
        self._running = [kind != 1, kind != 0]
        record: Info = {"combine_type": kind, "task_type": TYPES[kind]}
        for env, role, conditions, runs in zip(self.envs, self._parts, requested, self._running, strict=True):
            trial = env.new_trial(**conditions)  # type: ignore[attr-defined]
            role.task.session.finish_pending_step()
            if not runs:
                trial = {k: np.nan if np.isscalar(v) and not isinstance(v, str) else None for k, v in trial.items()}
            record |= {role.prefix + name: value for name, value in trial.items()}
        record |= {"main_performance": float("nan"), "distractor_performance": float("nan")}
        self._lay_out(kind)
        return record

    def _drawn_kind(self) -> int:
        """Draw a trial type from ``mix`` with the result of ``Generator.choice``, four times faster."""
        edges = self.mix.cumsum()
        return int((edges / edges[-1]).searchsorted(self.np_random.random(), side="right"))

    def _lay_out(self, kind: int) -> None:
        """Periods, observations and ground truth of both tasks, the distractor's later."""
        trials, length = self.session.this_trial, 0
        for role, runs in zip(self._parts, self._running, strict=True):
            ends = role.task.end_ind
            for name, start in role.task.start_ind.items():
                begin, steps = (start + role.start, ends[name] - start) if runs else (0, 0)
                trials.add_period(role.prefix + name, steps * self.dt, after=begin * self.dt)
            length = max(length, (len(role.task.ob) + role.start) * runs)
        if length > trials.length.item():  # a task that has been made longer than its periods
            trials.length = np.array([length])
        ob, gt = trials.ob, trials.gt
        if self.trial_cue:
            ob[:, 0] = kind
        truth = np.zeros((2, len(gt)), np.int64)
        for j, role in enumerate(self._parts):
            rows = slice(role.start, role.start + len(role.task.ob))
            if self._running[j]:
                ob[rows, role.columns] = role.task.ob
                if role.task.session.cursor.gt is not None:
                    truth[j, rows] = role.task.gt
        gt[...] = self._joint(*truth)

    def _joint(self, main: Action, distractor: Action) -> Action:
        """Correct joint action, given the correct actions of both tasks."""
        return np.where(main != 0, main, distractor) if self.share_action_space else main * self._sizes[1] + distractor

    # -- stepping -----------------------------------------------------------------------------------------------------

    def _step(self, action: int) -> StepResult:
        shared, running, defaults = self.share_action_space, self._running, self.defaults
        cursor = self.session.cursor
        rewards, truths = list(defaults), [0, 0]
        infos: list[Info] = [{}, {}]
        step = cursor.row - cursor.first
        actions = (action, action) if shared else divmod(int(action), self._sizes[1])
        for j, role in enumerate(self._parts):
            if running[j] and step >= role.start:
                rewards[j], truths[j], infos[j] = self._advance(j, actions[j], step - role.start)
        info: Info = {"task_type": self.trial["task_type"], "env_info": infos[0], "distractor_info": infos[1]}
        if shared:
            use_other = rewards[0] == defaults[0] and rewards[1] != defaults[1]
            reward, info["gt"] = (rewards[1], truths[1]) if use_other else (rewards[0], truths[0])
            if not use_other and truths[0] == 0:
                info["gt"] = truths[1]
        else:
            reward, info["gt"] = sum(rewards), self._joint(*truths)
        ended = info["new_trial"] = not (running[0] or running[1])
        if ended or cursor.row + 1 >= cursor.end:
            self._score()
        return self.ob_now, float(reward), False, False, info

    def _advance(self, j: int, action: int, step: int) -> tuple[float, int, Info]:
        """Advance a task by a step; return reward, ground truth and info."""
        task = self.tasks[j]
        cursor = task.session.cursor
        row, gt = cursor.first + step, cursor.gt
        truth = 0 if gt is None else gt[row]
        event, reward, programmed = task.session.act_at(row, action)
        ended = event >= rules.END
        if event & rules.OUTCOME == rules.ABORT:
            self.report(rules.ABORT)
        if ended:
            self._stop(j)
        reward = float(reward)
        info = {"reward": reward, "gt": truth, "new_trial": ended}
        return reward, truth, info if programmed is None else {**programmed.info, **info}

    def _stop(self, j: int) -> None:
        """Clear observations and ground truth of a task whose trial has ended."""
        self._running[j] = False
        step, later = self.t_ind + 1, slice(self.t_ind + 1, None)
        self.ob[later, self._parts[j].columns] = 0
        remaining_task = self._parts[1 - j]
        remaining = np.zeros((2, max(0, len(self.ob) - step)), np.int64)
        if self._running[1 - j] and remaining_task.task.session.cursor.gt is not None:
            steps = np.arange(step, len(self.ob)) - remaining_task.start
            inside = (steps >= 0) & (steps < len(remaining_task.task.gt))
            remaining[1 - j, inside] = remaining_task.task.gt[steps[inside]]
        self.gt[later] = self._joint(*remaining)

    def _score(self) -> None:
        """Performance in the joint trial, and in each task."""
        kind = self.trial["combine_type"]
        each = zip(("main", "distractor"), self.tasks, (kind != 1, kind != 0), strict=True)
        scores = {name: float(task.session.performance) for name, task, runs in each if runs}
        self.performance = min(scores.values())
        self.trial |= {f"{name}_performance": score for name, score in scores.items()}
        if self.session.event != rules.ABORT or self.performance >= 0.5:
            self.report()

    def __str__(self) -> str:
        """The two tasks."""
        return f"<{type(self).__name__} of {self.envs[0]} and {self.envs[1]}>"


def _check(envs: list[gym.Env], dt: float | None, mix: Sequence[float], share: bool) -> None:
    for env in envs:
        if not isinstance(env.action_space, gym.spaces.Discrete) or len(env.observation_space.shape or ()) != 1:
            raise ValueError(f"Combine needs discrete actions and one-dimensional observations, which {env} has not")
    check_tasks(envs, "Combine", steps_wrappers=False)
    main, distractor = envs
    if dt is not None and dt != main.unwrapped.dt:  # type: ignore[attr-defined]
        raise ValueError(f"dt must be that of the tasks, got {dt!r}")
    sizes = [spaces.n_actions(env.action_space) for env in envs]
    if share and sizes[0] != sizes[1]:
        raise ValueError(
            f"tasks that share actions need equally many, {main} has {sizes[0]} and {distractor} {sizes[1]}; "
            "share_action_space=False makes an action a pair"
        )
    if len(mix) != 3 or min(mix) < 0 or not abs(sum(mix) - 1) <= 1e-8:
        raise ValueError(f"mix must be three probabilities (main only, distractor only, both), got {mix!r}")
