"""Trial-based environments and the wrappers that act on trials.

A task is a subclass of :class:`TrialEnv`. Tasks of this package describe many trials at once (``_new_trials``) and
declare their response rule (``rule``); a task may instead describe one trial at a time (``_new_trial``) and program
its own ``_step``. The cycle is the same for all: at step t the agent sees row t of the trial, acts, and the reward and
``info`` returned belong to that row. The step that ends a trial reports the finished trial and returns row 0 of the
next one.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from neurogym import rules
from neurogym.rules import Rule
from neurogym.trials import InvalidOperationError, Trials
from neurogym.utils import ngym_random
from neurogym.utils.generator import LegacyGenerator
from neurogym.utils.names import unknown
from neurogym.utils.patterns import Patterns

__all__ = ["BaseEnv", "EpochEnv", "InvalidOperationError", "PeriodEnv", "TrialEnv", "TrialWrapper", "env_string"]

ROWS_PER_BLOCK = 1024  #: aim for this many rows when trials are made ahead
MOST_TRIALS = 512


class BaseEnv(gym.Env):
    """A Gymnasium environment with a time step.

    Args:
        dt: Time step in ms.

    Raises:
        ValueError: If ``dt`` is not a positive number.
    """

    metadata: dict[str, Any] = {"render_modes": []}
    observation_space: Any
    action_space: Any

    def __init_subclass__(cls, **kwargs: Any):
        """Let tasks leave out the metadata that Gymnasium asks for."""
        super().__init_subclass__(**kwargs)
        if "metadata" in cls.__dict__:
            cls.metadata = {"render_modes": [], **cls.metadata}

    def __init__(self, dt: float = 100):
        """See the class."""
        if not np.isscalar(dt) or isinstance(dt, str) or not np.isfinite(dt) or dt <= 0:
            raise ValueError(f"dt must be a positive number of ms, got {dt!r}")
        self.dt = dt
        self.performance: float = 0.0
        self.rewards: dict[str, Any] = {}

    @property
    def rng(self) -> LegacyGenerator:
        """The environment's one generator, which also answers to the names of the old ``RandomState``."""
        return LegacyGenerator(self.np_random)

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Start the generator and the action space from ``seed``; ``reset(seed=seed)`` does the same and more."""
        self.np_random = np.random.Generator(np.random.PCG64(seed))
        self._np_random_seed = -1 if seed is None else seed
        self.action_space.seed(seed)
        return [seed]

    def render(self) -> None:
        """Nothing is drawn; see :func:`neurogym.utils.plotting.plot_env`."""


class TrialEnv(BaseEnv):
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
        ValueError: For an unknown reward or period, or a malformed duration.
    """

    default_timing: ClassVar[Mapping[str, Any]] = {}
    default_rewards: ClassVar[Mapping[str, Any]] = {}
    rule: ClassVar[Rule | None] = None
    adaptive: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any):
        """A task may override ``new_trial`` or ``_new_trial``; both mean the same."""
        super().__init_subclass__(**kwargs)
        if "new_trial" in cls.__dict__:
            cls._new_trial = cls.__dict__["new_trial"]
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
        """See the class."""
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
        self.tmax_default = 10_000
        self._top: Any = self
        self._wrappers: list[TrialWrapper] = []
        self._ahead: Trials | None = None  # trials made in advance, and the next of them
        self._ahead_next = 0
        self._block: Trials | None = None  # the block of the current trial, its place there and its rows
        self._at = 0
        self._first = self._row = self._end = 0
        self._tables: tuple | None = None
        self._building: Trials | None = None
        self._reward_sum, self._aborts = 0.0, 0
        self.last: dict[str, Any] | None = None  # info of the trial that ended last in this session
        self.num_finished = 0  # trials that ended in this session

    @staticmethod
    def _merged(kind: str, default: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
        for name in given or ():
            if default and name not in default:
                raise ValueError(unknown(kind, name, default))
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
        """Score of the ideal observer with the present parameters, where it is known.

        What was computed in advance holds for the default parameters; a task may know better.

        Returns:
            ``performance``, ``reward``, ``error`` (Monte-Carlo standard error) and ``method``, or None.
        """
        from neurogym.envs.ceilings import stored_ceiling

        return stored_ceiling(self)

    def chance(self) -> dict[str, float]:
        """``performance`` and ``reward`` per trial of an agent that draws every action uniformly."""
        from neurogym.envs.chance import chance

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
                raise ValueError(unknown("trial condition", name, self.conditions))
            values = self.conditions[name]
            if isinstance(values, tuple) and len(values) == 2 and isinstance(values[0], str):
                if values[0] not in ngym_random.DISTRIBUTIONS:
                    allowed = value in values
                else:
                    low, high = ngym_random.minmax(values)
                    allowed = bool(low <= value <= high)
            elif isinstance(values, Patterns):
                allowed = value in values
            else:
                allowed = bool(np.any([np.array_equal(value, v) for v in values]))
            if not allowed:
                raise ValueError(f"trial condition {name}={value!r} is not possible, expected one of {values}")

    def make_trials(self, n: int, **given: Any) -> Trials:
        """``n`` new trials, wrappers included, that are not stepped here: material for batches and data sets.

        Args:
            n: Number of trials.
            **given: Conditions, a value for all trials or an array (n,).

        Raises:
            ValueError: If a condition or its value is unknown.
        """
        theirs = {name for wrapper in self._wrappers for name in wrapper.accepts} - set(self.conditions)
        plan = {name: _per_trial(given.pop(name), n) for name in list(given) if name in theirs}
        for wrapper in reversed(self._wrappers):
            plan = wrapper.plan(n, plan)
        if self._many:
            for name, value in given.items():
                for one in np.unique(value) if _varies(value, n) and np.ndim(value) == 1 else [value]:
                    self._check_conditions({name: one})
        asked = {name: _per_trial(value, n) for name, value in given.items()}
        if self._many:
            trials = Trials(self, n, {**plan, **asked})
            self._new_trials(trials)
        elif n == 1:
            trials = self._make_one({**{name: value[0] for name, value in plan.items()}, **given})
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
            ValueError: If a condition or its value is unknown.
        """
        if self._building is not None:  # a user's override calls its parent
            return TrialEnv._new_trial(self, **kwargs) or {}
        if kwargs or not self._plannable:
            self._take(self.make_trials(1, **kwargs), 0)
        else:
            if self._ahead is None or self._ahead_next >= self._ahead.n:
                self._ahead, self._ahead_next = self.make_trials(self._block_size()), 0
            self._ahead_next += 1
            self._take(self._ahead, self._ahead_next - 1)
        self.num_tr += 1
        return self.trial

    @property
    def _plannable(self) -> bool:
        return self._many and not self.adaptive and not any(w.adaptive for w in self._wrappers)

    def _block_size(self) -> int:
        """Trials to make ahead: few after a reset, then enough rows to make the work per trial small."""
        if not self._plannable:
            return 1
        if self._ahead is None:
            return 8
        return int(np.clip(ROWS_PER_BLOCK // max(1, self._ahead.total // self._ahead.n), 1, MOST_TRIALS))

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

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a session: row 0 of its first trial. No step is taken.

        Args:
            seed: Starts the generator anew; the whole session, wrappers included, follows from it.
            options: Accepted for Gymnasium; none are used.
        """
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
        result = self._step(action)
        if not isinstance(result, tuple) or len(result) != 5:
            count = len(result) if isinstance(result, tuple) else 1
            raise ValueError(
                f"{type(self).__name__}._step returned {count} values; return five: "
                "observation, reward, terminated, truncated, info"
            )
        ob, reward, terminated, truncated, info = result
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
        if ob is _NOW:
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

    # -- the current trial --------------------------------------------------------------------------------------------

    @property
    def ob_now(self) -> Any:
        """Stands for the observation of the row that is current after the step."""
        return _NOW

    @property
    def gt_now(self) -> Any:
        """Ground truth at the current row."""
        if self._gt is None:
            raise AttributeError(f"{type(self).__name__} has no ground truth")
        return self._gt[self._row]

    @property
    def t_ind(self) -> int:
        """Step within the trial."""
        return self._row - self._first

    @property
    def t(self) -> float:
        """Time within the trial (ms)."""
        return (self._row - self._first) * self.dt

    @property
    def tmax(self) -> float:
        """Length of the current trial (ms); can be set to end it sooner."""
        return (self._end - self._first) * self.dt if self._block is not None else self.tmax_default

    @tmax.setter
    def tmax(self, value: float) -> None:
        steps = max(1, int(value / self.dt + 1e-6))
        if self._building is not None or self._block is None:
            self.tmax_default = value
        else:
            self._end = min(self._first + steps, self._first + int(self._block.length[self._at]))

    def _limits(self) -> tuple[Trials, int]:
        trials = self._building if self._building is not None else self._block
        if trials is None:
            raise InvalidOperationError("there is no trial yet: call reset() or new_trial() first")
        return trials, 0 if self._building is not None else self._at

    @property
    def start_ind(self) -> dict[str, int]:
        """First step of each period."""
        trials, k = self._limits()
        return {name: int(start[k]) for name, start in trials.starts.items()}

    @property
    def end_ind(self) -> dict[str, int]:
        """Step after the last of each period."""
        trials, k = self._limits()
        return {name: int(end[k]) for name, end in trials.ends.items()}

    @property
    def start_t(self) -> dict[str, float]:
        """Start of each period (ms)."""
        return {name: step * self.dt for name, step in self.start_ind.items()}

    @property
    def end_t(self) -> dict[str, float]:
        """End of each period (ms)."""
        return {name: step * self.dt for name, step in self.end_ind.items()}

    def in_period(self, period: str, t: float | None = None) -> bool:
        """Whether time ``t`` (ms; default: now) lies in a period, start included, end excluded."""
        trials, k = self._limits()
        if period not in trials.starts:
            raise ValueError(unknown("period", period, trials.starts))
        step = self._row - self._first if t is None else t / self.dt
        return bool(trials.starts[period][k] <= step < trials.ends[period][k])

    def _view(self, name: str) -> np.ndarray:
        trials, k = self._limits()
        first = int(trials.offset[k]) if trials._rows or name in trials.fields else 0
        array = trials.ob if name == "ob" else trials.gt
        first = int(trials.offset[k])
        return array[first : first + int(trials.length[k])]

    @property
    def ob(self) -> np.ndarray:
        """Observations of the current trial, shape (steps, *observation shape); writable."""
        return self._view("ob")

    @ob.setter
    def ob(self, value: np.ndarray) -> None:
        self.ob[...] = value

    @property
    def gt(self) -> np.ndarray:
        """Ground truth of the current trial, shape (steps, *action shape); writable."""
        if self._building is None and self._gt is None:
            raise AttributeError(f"{type(self).__name__} has no ground truth")
        return self._view("gt")

    @gt.setter
    def gt(self, value: np.ndarray) -> None:
        self.gt[...] = value

    # -- describing one trial (templates, wrappers) -------------------------------------------------------------------

    def add_period(
        self, period: Any, duration: Any = None, before: Any = None, after: Any = None, **kwargs: Any
    ) -> None:
        """Add a period to the trial being described; see :meth:`neurogym.trials.Trials.add_period`."""
        if self._building is None:
            raise InvalidOperationError("add_period: the trial is complete; periods are added in _new_trial")
        self._building.add_period(period, duration, before, after, **kwargs)

    def sample_time(self, period: str) -> float:
        """A duration of a period (ms), drawn from ``timing`` and floored to whole steps."""
        trials = self._building if self._building is not None else Trials(self, 1)
        return float(trials.sample_time(period)[0])

    def _span(self, period: str) -> slice:
        start, end = self.start_ind, self.end_ind
        if period not in start:
            raise ValueError(unknown("period", period, start))
        return slice(start[period], end[period])

    def view_ob(self, period: str | None = None) -> np.ndarray:
        """Writable rows of the observations in a period."""
        return self.ob if period is None else self.ob[self._span(period)]

    def view_groundtruth(self, period: str | None = None) -> np.ndarray:
        """Writable rows of the ground truth in a period."""
        return self.gt if period is None else self.gt[self._span(period)]

    def _edit_ob(self, change: Callable[[np.ndarray], Any], period: Any, where: Any) -> None:
        for name in [period] if period is None or isinstance(period, str) else period:
            view = self.view_ob(name)
            columns = self._limits()[0]._target(where, self.observation_space, "channel")
            if columns is None:
                view[...] = change(view)
            else:
                view[:, columns] = change(view[:, columns])

    def add_ob(self, value: Any, period: Any = None, where: Any = None) -> None:
        """Add to the observations of the current trial.

        Args:
            value: A number, an array that broadcasts against (rows, channels), or a callable of the present block.
            period: Name, names, or None for the whole trial.
            where: Label or indices of channels; None for all.
        """
        self._edit_ob(lambda block: block + (value(block) if callable(value) else np.asarray(value)), period, where)

    def set_ob(self, value: Any, period: Any = None, where: Any = None) -> None:
        """Like :meth:`add_ob`, but replaces what was there."""
        self._edit_ob(lambda block: value(block * 0) if callable(value) else np.asarray(value), period, where)

    def add_randn(self, mu: float = 0, sigma: float = 1, period: Any = None, where: Any = None) -> None:
        """Add Gaussian noise; ``sigma`` is the s.d. per step (divide by sqrt(dt) yourself)."""
        self._edit_ob(
            lambda block: block + mu + sigma * self.np_random.standard_normal(block.shape),
            period,
            where,
        )

    def set_groundtruth(self, value: Any, period: Any = None, where: str | None = None) -> None:
        """Set the right action in a period; with ``where``, ``value`` indexes the list under that label."""
        if where is not None:
            value = np.asarray(self._limits()[0]._target(where, self.action_space, "action"))[value]
        for name in [period] if period is None or isinstance(period, str) else period:
            self.view_groundtruth(name)[...] = value

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
            steps = sum(draws.sample_time(name) / env.dt for name in env.timing)
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


class _Now:
    """Placeholder for the observation that is current after the step."""

    def __repr__(self) -> str:
        return "<observation of the current row>"

    def __deepcopy__(self, memo: dict) -> _Now:
        return self

    def __reduce__(self) -> str:
        return "_NOW"


_NOW = _Now()


class _Forwarding:
    """Public names that a wrapper lacks are looked up inside, as scripts for older Gymnasium expect."""

    def __getattr__(self, name: str) -> Any:
        """The attribute of the wrapped environment."""
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.env, name)


class OrderEnforcing(_Forwarding, gym.wrappers.OrderEnforcing):
    """Gymnasium's wrapper that refuses ``step`` before ``reset``; ``new_trial`` may come before."""


class TrialWrapper(_Forwarding, gym.Wrapper, gym.utils.RecordConstructorArgs):
    """A wrapper that acts on trials.

    It may define any of three hooks, each for many trials or environments at once: :meth:`plan` before trials are
    made, :meth:`revise` after, :meth:`observe` on every observation. A stack that uses only these also runs on a batch.
    A subclass may also override ``new_trial(**kwargs)``, ``step`` and ``reset`` in the ordinary way.

    Attributes:
        carries: True if what the agent sees depends on earlier trials, so that memory across trials is useful.
        adaptive: True if ``plan`` or ``revise`` depend on what the agent did.
        accepts: Conditions that ``plan`` takes for itself, from wrappers outside or from ``new_trial``.
        decides: Conditions that the wrapper determines; no other wrapper of the stack may.
        inside_of: Names of wrappers that must be put on after this one.

    Raises:
        TypeError: If the innermost environment is not a :class:`TrialEnv`.
        ValueError: If the wrapper cannot be put on what is there already; the message says which order is needed.
    """

    carries: ClassVar[bool] = False
    adaptive: ClassVar[bool] = False
    accepts: ClassVar[tuple[str, ...]] = ()
    decides: ClassVar[tuple[str, ...]] = ()
    inside_of: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> TrialWrapper:
        """Keep the arguments, from which Gymnasium makes the stack again (``env.spec.make()``)."""
        self = super().__new__(cls)
        if args or kwargs:
            arguments = inspect.signature(cls.__init__).bind(self, *args, **kwargs).arguments
            self._saved_kwargs = {name: value for name, value in arguments.items() if name not in ("self", "env")}
        return self

    def __init__(self, env: gym.Env):
        """See the class."""
        gym.Wrapper.__init__(self, env)
        if not isinstance(env.unwrapped, TrialEnv):
            raise TypeError(f"{type(self).__name__} needs a trial-based task, not {env.unwrapped}")
        self.task: TrialEnv = env.unwrapped
        self._check_order(self.task._wrappers)
        self.task.set_top(self)

    def _check_order(self, inner: list[TrialWrapper]) -> None:
        name = type(self).__name__
        for other in inner:
            its = type(other).__name__
            for condition in set(self.decides) & set(other.decides):
                raise ValueError(f"{name} and {its} both decide {condition}: put only one of them on a task")
            if any(cls.__name__ in self.inside_of for cls in type(other).__mro__):
                raise ValueError(f"{name} must be inside {its}: put {name} on first, then {its}")

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Conditions of the next ``n`` trials: ``given`` comes from the wrappers outside; return it changed."""
        return given

    def revise(self, trials: Trials) -> None:
        """Change trials that were just made: periods, observations, ground truth, rewards."""

    def observe(self, ob: Any, action: Any, reward: Any, field: Callable[[str], np.ndarray]) -> Any:
        """The observation(s) as the agent sees them.

        Args:
            ob: Shape (*observation shape) or (environments, *observation shape).
            action: Last action(s), zeros after a reset.
            reward: Last reward(s), zero after a reset.
            field: Looks up a per-step field of the trials at the row(s) observed.
        """
        return ob

    def start_session(self) -> None:
        """Called by every ``reset`` of the task: forget what was carried across trials."""

    @property
    def batched(self) -> bool:
        """Whether the wrapper only uses the hooks, so that it works on a batch."""
        cls = type(self)
        return not self.adaptive and all(
            getattr(cls, name) is getattr(TrialWrapper, name) for name in ("step", "reset", "new_trial")
        )

    def new_trial(self, **kwargs: Any) -> dict[str, Any]:
        """Begin a new trial with some conditions fixed; returns its record."""
        return self.env.new_trial(**kwargs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start a session; the first observation passes through :meth:`observe`."""
        ob, info = self.env.reset(seed=seed, options=options)
        return self.observe(ob, no_action(self.action_space), 0.0, self.task.field), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Act; the observation passes through :meth:`observe`."""
        ob, reward, terminated, truncated, info = self.env.step(action)
        return self.observe(ob, action, reward, self.task.field), reward, terminated, truncated, info


def no_action(space: gym.Space) -> Any:
    """What stands for the last action before there was one: zero, or zeros."""
    return 0 if isinstance(space, gym.spaces.Discrete) else np.zeros(space.shape, space.dtype)  # type: ignore[arg-type]


def _varies(value: Any, n: int) -> bool:
    """Whether a condition is given as an array with one entry per trial, rather than one value for all."""
    return isinstance(value, np.ndarray) and value.ndim > 0 and n > 1 and len(value) == n


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
    task = env.unwrapped
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
