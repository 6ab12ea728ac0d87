"""Trial-based environments and the wrappers that act on trials.

A task is a subclass of :class:`TrialEnv`. Tasks of this package describe many trials at once (``_new_trials``) and
declare their response rule (``rule``); a task may instead describe one trial at a time (``_new_trial``) and program
its own ``_step``. The cycle is the same for all: at step t the agent sees row t of the trial, acts, and the reward and
``info`` returned belong to that row. The step that ends a trial reports the finished trial and returns row 0 of the
next one.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from neurogym import rules
from neurogym.compat.leniency import forgive
from neurogym.compat.members import OldMembers, five_values, forgive_reset
from neurogym.current import NOW, BaseEnv, CurrentTrial
from neurogym.rules import Rule
from neurogym.trials import InvalidOperationError, Trials
from neurogym.utils import ngym_random
from neurogym.utils.names import unknown
from neurogym.utils.patterns import Patterns, Vectors
from neurogym.wrapper import OrderEnforcing, TrialWrapper, no_action

__all__ = [
    "BaseEnv",
    "EpochEnv",
    "InvalidOperationError",
    "OrderEnforcing",
    "PeriodEnv",
    "TrialEnv",
    "TrialWrapper",
    "env_string",
    "no_action",
]

FIRST_BLOCK, GROWTH = 8, 8  #: trials made ahead after a reset, and how many times more each time thereafter
BLOCK_BYTES = 3 << 19  #: memory for the most that are made ahead, within these limits:
FEWEST_ROWS, MOST_ROWS = 1024, 8192


class TrialEnv(OldMembers, CurrentTrial):
    """An environment made of trials, and trials made of periods.

    Args:
        dt: Time step in ms.
        num_trials_before_reset: Accepted for old scripts; a session has no end of its own.
        r_tmax: Reward added when a trial runs out (tasks that program ``_step``).
        rewards: Replaces entries of the class's ``default_rewards``.
        timing: Replaces entries of the class's ``default_timing`` (ms; forms in :mod:`neurogym.utils.ngym_random`).
        abort: Whether breaking fixation ends the trial (declared rules).

    Attributes:
        default_timing: Period to duration, class attribute.
        default_rewards: Event to reward, class attribute.
        rule: The declared response rule, or None if the task programs ``_step``.
        adaptive: True if the next trial depends on what the agent did, so that no trial can be made ahead.
        conditions: What can be asked of :meth:`new_trial`: name to a sequence of values or a distribution.
        trial: The current trial's record, a dictionary.

    Raises:
        ValueError: For a malformed duration. Of unknown rewards and periods there is a warning.
    """

    default_timing: ClassVar[Mapping[str, Any]] = {}
    default_rewards: ClassVar[Mapping[str, Any]] = {}
    rule: ClassVar[Rule | None] = None
    adaptive: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any):
        """A task may override ``new_trial`` or ``_new_trial``; both mean the same."""
        super().__init_subclass__(**kwargs)
        if "new_trial" in cls.__dict__:
            cls._new_trial = cls.__dict__["new_trial"]  # type: ignore[method-assign]
            del cls.new_trial

    def __init__(
        self,
        dt: float = 100,
        num_trials_before_reset: int = 10_000_000,
        r_tmax: float = 0,
        rewards: Mapping[str, Any] | None = None,
        timing: Mapping[str, Any] | None = None,
        abort: bool = False,
    ):
        super().__init__(dt)
        self.num_tr_exp = num_trials_before_reset
        self.r_tmax = r_tmax
        self.abort = abort
        self.rewards = self._merged("reward", self.default_rewards, rewards)
        self.timing = self._merged("period", self.default_timing, timing)
        for spec in self.timing.values():
            ngym_random.parse(spec)
        self.conditions: dict[str, Any] = {}
        self.num_tr = 0
        self.trial: dict[str, Any] = {}
        self._top: Any = self
        self._wrappers: list[TrialWrapper] = []
        self._ahead: Trials | None = None  # trials made in advance, and the next of them
        self._ahead_next = self._ahead_size = self._ahead_most = 0
        self._tables: tuple | None = None
        self._reward_sum, self._aborts = 0.0, 0
        self.last: dict[str, Any] | None = None  # info of the trial that ended last in this session
        self.num_finished = 0  # trials that ended in this session

    @staticmethod
    def _merged(kind: str, default: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
        for name in given or ():
            if default and name not in default:
                forgive(unknown(kind, name, default), "it is not used")
        return {**default, **(given or {})}

    # -- hooks for tasks ----------------------------------------------------------------------------------------------

    def _new_trials(self, trials: Trials) -> None:
        """Describe ``trials.n`` trials: draw conditions, add periods, observations and ground truth."""
        raise NotImplementedError(f"{type(self).__name__} must define _new_trials, _new_trial or new_trial")

    def _new_trial(self, **kwargs: Any) -> dict[str, Any] | None:
        """Describe one trial with ``self.add_period``, ``self.add_ob``, ...; return its record.

        A task that describes many trials at once inherits this; a subclass may call it by ``super()``.
        """
        trials = self._building
        assert trials is not None
        trials.given.update({name: np.array([value]) for name, value in kwargs.items()})
        self._new_trials(trials)
        return _record_of(trials, 0)

    def _step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What an action does at the current row. The default applies the declared rule."""
        fields, row = self._block.fields, self._row
        if "event" not in fields:
            raise NotImplementedError(f"{type(self).__name__} must define _step or declare a rule")
        event = fields["event"][row, action]
        self._note(event & 7)
        self.performance += float(fields["performance"][row, action])
        return self.ob_now, float(fields["reward"][row, action]), False, False, {"new_trial": bool(event >= rules.END)}

    def post_step(self, ob: Any, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]) -> tuple:
        """Last word on what ``step`` returns; the observation is already that of the next row."""
        return ob, reward, terminated, truncated, info

    def start_session(self) -> None:
        """Called by every ``reset``: forget blocks, counters and whatever else was carried across trials."""

    def oracle(self) -> Any:
        """The best action at the current row: the ground truth, unless a task knows better."""
        return self.gt_now

    def ceiling(self) -> dict[str, Any] | None:
        """Score of the ideal observer with the present parameters, if it is given the inputs that it needs.

        That of a stack with wrappers is :func:`neurogym.ceilings.ceiling`.

        Returns:
            ``performance``, ``reward``, ``error`` (Monte-Carlo standard error) and ``method``, or None.
        """
        from neurogym.ceilings.stored import task_ceiling

        return task_ceiling(self)

    def chance(self) -> dict[str, float]:
        """``performance`` and ``reward`` per trial of an agent that draws every action uniformly."""
        from neurogym.ceilings import chance

        return chance(self)

    # -- trials -------------------------------------------------------------------------------------------------------

    @property
    def choices(self) -> Any:
        """Values that the ground truth can take.

        Raises:
            AttributeError: If the task has no finite set of them.
        """
        if "_choices" in self.__dict__:
            return self._choices
        values = self.conditions.get("ground_truth")
        if values is None or (isinstance(values, tuple) and values and isinstance(values[0], str)):
            raise AttributeError(f"{type(self).__name__} has no choices (no finite ground truth)")
        return np.asarray(values)

    @choices.setter
    def choices(self, values: Any) -> None:
        self._choices = values

    @property
    def _many(self) -> bool:
        """Whether the task describes many trials at once."""
        return type(self)._new_trial is TrialEnv._new_trial

    @property
    def declared(self) -> bool:
        """Whether stepping is a look-up in the tables of a declared rule."""
        return self.rule is not None and type(self)._step is TrialEnv._step

    def _check_conditions(self, given: Mapping[str, Any]) -> None:
        for name, value in given.items():
            if name not in self.conditions:
                forgive(unknown("trial condition", name, self.conditions), "it is only put into the record")
                continue
            values = self.conditions[name]
            if isinstance(values, tuple) and len(values) == 2 and isinstance(values[0], str):
                if values[0] not in ngym_random.DISTRIBUTIONS:
                    allowed = value in values
                else:
                    low, high = ngym_random.minmax(values)
                    allowed = bool(low <= value <= high)
            elif isinstance(values, (Patterns, Vectors)):
                allowed = value in values
            else:
                allowed = bool(np.any([np.array_equal(value, v) for v in values]))
            if not allowed:
                text = f"trial condition {name}={value!r} is not drawn by the task, expected one of {values}"
                listed = isinstance(values, (Patterns, Vectors)) or not _is_number(next(iter(values), 0))
                if listed or not _is_number(value):
                    raise ValueError(text)
                forgive(text, "it is used as it is")

    def make_trials(self, n: int, **given: Any) -> Trials:
        """``n`` new trials, wrappers included, that are not stepped here: material for batches and data sets.

        Args:
            n: Number of trials.
            **given: Conditions, a value for all trials or an array (n,).

        Raises:
            ValueError: If no trial can be made with a value. Of an unknown condition, or a number that is not among its
                values, there is a warning.
        """
        if self._many:
            for name in given.keys() - self._taken_by_wrappers():
                value = given[name]
                for one in np.unique(value) if _varies(value, n) and np.ndim(value) == 1 else [value]:
                    self._check_conditions({name: one})
        columns = {name: _per_trial(value, n) for name, value in given.items()}
        try:
            trials = self._make(n, columns)
        except (IndexError, KeyError) as error:
            raise ValueError(f"trials with {given!r} cannot be made: {error}") from error
        for name in columns.keys() - self.conditions.keys() - self._taken_by_wrappers():
            trials.info.setdefault(name, columns[name])
        return trials

    def _taken_by_wrappers(self) -> set[str]:
        """Conditions that a wrapper takes for itself."""
        return {name for wrapper in self._wrappers for name in wrapper.accepts} - set(self.conditions)

    def _make(self, n: int, given: dict[str, np.ndarray]) -> Trials:
        """:meth:`make_trials` with conditions that are known to be possible, each an array (n,)."""
        theirs = self._taken_by_wrappers()
        plan = {name: value for name, value in given.items() if name in theirs}
        asked = {name: value for name, value in given.items() if name not in theirs}
        for wrapper in reversed(self._wrappers):
            plan = wrapper.plan(n, plan)
        if self._many:
            trials = Trials(self, n, {**plan, **asked})
            self._new_trials(trials)
        elif n == 1:
            trials = self._make_one({name: value[0] for name, value in {**plan, **asked}.items()})
        else:
            raise ValueError(f"{type(self).__name__} describes one trial at a time; make_trials(1) is the most")
        trials.rows()
        _ = trials.ob
        for wrapper in self._wrappers:
            wrapper.revise(trials)
        if self.rule is not None:
            self.rule.compile(trials, self.abort)
        trials.set_default_go()
        return trials

    def _make_one(self, kwargs: dict[str, Any]) -> Trials:
        outer, self._building = self._building, Trials(self, 1)
        durations = [name for name in kwargs if name.startswith("period_")]
        self._building.given = {name: _per_trial(kwargs.pop(name), 1) for name in durations}
        try:
            self.trial = {}
            record = self._new_trial(**kwargs)
            self.trial = self.trial if record is None else record
            trials = self._building
        finally:
            self._building = outer
        trials.info = {name: _per_trial(value, 1) for name, value in (self.trial or {}).items()}
        return trials

    def new_trial(self, **kwargs: Any) -> dict[str, Any]:
        """Begin a new trial and return its record.

        Args:
            **kwargs: Conditions of the trial, in place of randomly drawn ones.

        Raises:
            ValueError: See :meth:`make_trials`.
        """
        if self._building is not None:  # a user's override calls its parent
            return TrialEnv._new_trial(self, **kwargs) or {}
        if kwargs or not self._plannable:
            self._take(self.make_trials(1, **kwargs), 0)
        else:
            ahead = self._ahead
            if ahead is None or self._ahead_next >= ahead.n:
                ahead = self._make_ahead()
            self._ahead_next += 1
            self._take(ahead, self._ahead_next - 1)
        self.num_tr += 1
        return self.trial

    @property
    def _plannable(self) -> bool:
        return self._many and not self.adaptive and not any(w.adaptive for w in self._wrappers)

    def _block_size(self) -> int:
        """Trials to make ahead: few after a reset, then enough to make the work per trial small."""
        return FIRST_BLOCK if self._ahead is None else self._ahead_size

    def _make_ahead(self) -> Trials:
        """The next trials of the session."""
        block = self.make_trials(self._block_size())
        if self._ahead is None:  # judged once, so that it does not matter which blocks were seen later
            self._ahead_size, self._ahead_most = FIRST_BLOCK, _trials_that_fit(block)
        self._ahead_size = min(GROWTH * self._ahead_size, self._ahead_most)
        self._ahead, self._ahead_next = block, 0
        return block

    def _take(self, block: Trials, k: int) -> None:
        self._block, self._at = block, k
        self._first = self._row = int(block.offset[k])
        self._end = self._first + int(block.length[k])
        self.trial = _record_of(block, k)
        self._tables = (
            (block.fields["event"], block.fields["reward"], block.fields["performance"]) if self.declared else None
        )
        self._ob = block.fields["ob"]
        self._gt = block.fields["gt"] if block.has_gt else None
        self._n_actions = getattr(self.action_space, "n", 0)

    # -- stepping -----------------------------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None, **old: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Start a session: row 0 of its first trial. No step is taken.

        Args:
            seed: Starts the generator anew; the whole session, wrappers included, follows from it.
            options: Accepted for Gymnasium; none are used.
            **old: ``no_step`` and ``step_fn`` of older versions, without effect.
        """
        if old:
            forgive_reset(old)
        self.begin_session(seed)
        self._top.new_trial()
        return self._ob[self._row].copy(), {}

    def begin_session(self, seed: int | None = None) -> None:
        """All of :meth:`reset` but the first trial.

        Args:
            seed: Starts the generator anew.
        """
        if seed is not None:
            gym.Env.reset(self, seed=seed)
        for spec in self.timing.values():
            if seed is not None and hasattr(spec, "seed"):
                spec.seed(int(self.np_random.integers(2**31)))
        self._ahead, self._ahead_next = None, 0
        self.num_tr, self._reward_sum, self._aborts, self.performance = 0, 0.0, 0, 0.0
        self.last, self.num_finished = None, 0
        self.start_session()
        for wrapper in self._wrappers:
            wrapper.start_session()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act on the current row.

        Returns:
            Observation of the next row (row 0 of the next trial if this one ended), reward, terminated, truncated and
            info with ``new_trial`` and ``gt``; at the end of a trial also ``trial`` (the finished one),
            ``performance``, ``outcome``, ``choice``, ``rt`` (ms, nan without a response), ``trial_reward``,
            ``trial_steps`` and ``aborts``.

        Raises:
            ValueError: If the action is not in the action space, or ``_step`` does not return five values.
        """
        if action.__class__ is np.ndarray and self._n_actions:  # as policies give it
            action = int(action.item())
        row = self._row
        if self._tables is not None:
            if not 0 <= action < self._n_actions:
                raise ValueError(f"action {action!r} is not in {self.action_space}")
            events, rewards, performance = self._tables
            event = events[row, action]
            reward = float(rewards[row, action])
            self.performance += float(performance[row, action])
            self._reward_sum += reward
            if event & 7 == rules.ABORT:
                self._aborts += 1
            info: dict[str, Any] = {"new_trial": False}
            if self._gt is not None:
                info["gt"] = self._gt[row]
            if event >= rules.END:
                self._finish(action, event & 7, info)
            else:
                self._row = row + 1
            return self._ob[self._row].copy(), reward, False, False, info
        return self._programmed_step(action)

    def _programmed_step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """The cycle around a task's own ``_step``."""
        if self._block is None:
            raise gym.error.ResetNeeded("call reset() before step()")
        self._event = rules.NONE
        ob, reward, terminated, truncated, info = five_values(self._step(action), self)
        ended = info.setdefault("new_trial", False)
        if self._gt is not None and "gt" not in info:
            info["gt"] = self._gt[self._row]
        if self.rule is None and not self.declared:
            reward += float(np.broadcast_to(self._block.bonus, (self._block.n,))[self._at])
        if not ended and self._row + 1 >= self._end:
            ended = info["new_trial"] = True
            reward += self.r_tmax
            self._event = self._event or rules.MISS
        self._reward_sum += reward
        if ended:
            self._finish(action, self._event, info)
        else:
            self._row += 1
        if ob is NOW:
            ob = self._ob[self._row].copy()
        return self.post_step(ob, reward, terminated, truncated, info)

    def _note(self, event: int) -> None:
        """What the current step meant (a constant of :mod:`neurogym.rules`); for tasks that program ``_step``."""
        self._event = event
        self._aborts += event == rules.ABORT

    def _finish(self, action: Any, event: int, info: dict[str, Any]) -> None:
        """Report the trial that ended and begin the next."""
        block, row = self._block, self._row
        if event == rules.NONE or (event == rules.MISS and self._tables is None and self.performance >= 0.5):
            event = rules.CORRECT if self.performance >= 0.5 else rules.ERROR
        moved = np.any(np.asarray(action) != 0) if self.rule is None else action != self.rule.hold
        responded = bool(moved and event in (rules.CORRECT, rules.ERROR))
        info["new_trial"] = True
        info["trial"] = self.trial
        info["performance"] = float(self.performance)
        info["outcome"] = rules.OUTCOMES[event]
        info["choice"] = action
        info["rt"] = float((row - self._first - block.go[self._at]) * self.dt) if responded else float("nan")
        info["trial_reward"] = self._reward_sum
        info["trial_steps"] = info["tr_dur"] = row - self._first + 1
        info["aborts"] = self._aborts
        info["periods"] = block.periods(self._at)
        self._reward_sum, self._aborts, self.performance = 0.0, 0, 0.0
        self.last = info
        self.num_finished += 1
        self._top.new_trial()

    # -- about the task -----------------------------------------------------------------------------------------------

    def trial_length_stats(self, num_trials: int = 10_000) -> dict[str, float]:
        """Mean, s.d., 95th percentile and maximum of the trial length, in steps; the session is not disturbed."""
        env = copy.deepcopy(self)
        try:
            done, lengths = 0, []
            while done < (8 if env._fixed else num_trials):
                size = min(num_trials - done, 256) if env._plannable else 1
                lengths.append(env.make_trials(size).length)
                done += size
            steps = np.concatenate(lengths)
        except NotImplementedError:
            if not env.timing:
                return {"mean": 0.0, "std": 0.0, "percentile_95": 0.0, "max": 0.0}
            draws = Trials(env, num_trials)
            steps = np.sum([draws.sample_time(name) / env.dt for name in env.timing], axis=0)
        return {
            "mean": round(float(steps.mean()), 3),
            "std": round(float(steps.std()), 3),
            "percentile_95": round(float(np.percentile(steps, 95)), 3),
            "max": round(float(steps.max()), 3),
        }

    @property
    def _fixed(self) -> bool:
        """Whether every trial has the same length."""
        return all(ngym_random.parse(spec)[0] == "constant" for spec in self.timing.values())

    def set_top(self, wrapper: Any) -> None:
        """Let ``wrapper`` be asked for new trials; called when a :class:`TrialWrapper` is put on."""
        self._top = wrapper
        self._ahead, self._ahead_next = None, 0
        if isinstance(wrapper, TrialWrapper) and wrapper not in self._wrappers:
            self._wrappers.append(wrapper)

    def field(self, name: str) -> np.ndarray:
        """Value of one of the block's per-step fields at the current row."""
        return self._block.fields[name][self._row]

    def __str__(self) -> str:
        """``<TaskName>``."""
        return env_string(self, short=True)


PeriodEnv = EpochEnv = TrialEnv


def _trials_that_fit(block: Trials) -> int:
    """How many trials like those of a block to make ahead."""
    rows = np.clip(BLOCK_BYTES / (block.nbytes / block.total), FEWEST_ROWS, MOST_ROWS)
    return max(1, int(rows * block.n / block.total))


def _varies(value: Any, n: int) -> bool:
    """Whether a condition is given as an array with one entry per trial, rather than one value for all."""
    return isinstance(value, np.ndarray) and value.ndim > 0 and n > 1 and len(value) == n


def _is_number(value: Any) -> bool:
    return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf"


def _per_trial(value: Any, n: int) -> np.ndarray:
    """A condition as an array whose first axis is the trial."""
    if _varies(value, n):
        return value
    if np.ndim(value) == 0 and not isinstance(value, (dict, set)):
        return np.full(n, value) if not isinstance(value, str) else np.array([value] * n)
    array = np.empty(n, dtype=object)
    for i in range(n):
        array[i] = value
    return array


def _record_of(trials: Trials, k: int) -> dict[str, Any]:
    """The record of one trial, with Python numbers for scalars."""
    record = {}
    for name, values in trials.info.items():
        value = values[k]
        record[name] = value.item() if isinstance(value, np.generic) else value
    return record


def env_string(env: gym.Env, short: bool = False) -> str:
    """A description of a task: name, text, paper, rewards, tags; the short form is ``<TaskName>``."""
    task: Any = env.unwrapped
    if short:
        return f"<{type(task).__name__}>"
    meta = task.metadata
    lines = [f"### {type(task).__name__}", "", (type(task).__doc__ or "Missing description").strip(), ""]
    paper, link = meta.get("paper_name"), meta.get("paper_link")
    lines.append("Reference paper: " + (f"{paper} ({link or 'missing link'})" if paper else "missing paper"))
    if getattr(task, "rewards", None):
        lines.append("Rewards: " + ", ".join(f"{name} {value}" for name, value in dict(task.rewards).items()))
    if getattr(task, "timing", None):
        lines.append("Timing: " + ", ".join(f"{k} {ngym_random.phrase(v)}" for k, v in task.timing.items()))
    lines.append("Tags: " + (", ".join(meta.get("tags", [])) or "none"))
    return "\n".join(lines)
