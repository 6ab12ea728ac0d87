"""Base class of tasks: :class:`TrialEnv`.

A task describes its trials in ``_new_trials`` and declares in ``rule`` how they are answered::

    class Match(TrialEnv):
        default_timing = {"fixation": 200, "stimulus": 500, "decision": 200}
        default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0}
        rule = Rule(fixate=("fixation", "stimulus"), answer=("decision",))

        def __init__(self, dt=100, rewards=None, timing=None, sigma=1.0):
            super().__init__(dt=dt, rewards=rewards, timing=timing)
            self.sigma = sigma / np.sqrt(dt)
            self.conditions = {"ground_truth": [0, 1]}
            self.observation_space = spaces.Box(-np.inf, np.inf, shape=(3,), name={"fixation": 0, "stimulus": [1, 2]})
            self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

        def _new_trials(self, trials):
            truth = trials.draw("ground_truth")
            trials.add_ob(1, ["fixation", "stimulus"], where="fixation")
            trials.add_ob(np.eye(2)[truth], "stimulus", where="stimulus")
            trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
            trials.set_groundtruth(truth, "decision", where="choice")

It describes many trials at once: what it draws has one entry per trial. The periods of ``default_timing`` follow each
other; a task with other periods adds them (``trials.add_period``). A class may instead describe one trial at a time
(``_new_trial``, in which ``self.add_period``, ``self.add_ob``, ... mean the same for that trial), and program its own
``_step`` where the ordinary rule does not do: it is then a :class:`neurogym.compat.trial_env.TrialEnv`.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from neurogym import scores
from neurogym.ceilings.effects import ObserverSettings
from neurogym.compat.leniency import is_strict, warn_once
from neurogym.compat.members import forgive_reset, passed_on
from neurogym.engine.making import make_trials, sample
from neurogym.engine.session import Session
from neurogym.messages.names import unknown
from neurogym.metadata import RENDER_MODES, TaskInfo, describe
from neurogym.parameters import arguments, changes
from neurogym.parameters.changes import Conditions, TrackedDict
from neurogym.plotting.frames import picture
from neurogym.sampling.distributions import Distribution
from neurogym.scores import Score
from neurogym.spaces import Action
from neurogym.trials import Info, InvalidOperationError, ResetResult, StepResult, Trials
from neurogym.wrappers.base import OrderEnforcing, TrialWrapper, no_action
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.tasks import Traits

__all__ = ["Hooks", "InvalidOperationError", "OrderEnforcing", "TrialEnv", "TrialWrapper", "no_action"]

#: Methods of NeuroGym's tasks: a class that defines one of them is served by :mod:`neurogym.compat.trial_env`.
ORIGINAL = frozenset({"_new_trial", "new_trial", "_step", "post_step"})
#: Members of NeuroGym's environments that scripts set, of tasks that do not inherit them.
SETTABLE = frozenset({"choices", "performance", "rng", "tmax"})
#: The module :mod:`neurogym.compat.trial_env`, which sets this, since it derives from the class below.
original_style: Any = None
#: What one entry of each kind of parameter is called.
ONE_OF = {"parameters": "parameter", "rewards": "reward", "timing": "period"}


def _table(name: str, kind: type[TrackedDict]) -> property:
    """Attribute of a task that is a dictionary; what is assigned is copied."""

    def get(task: Any) -> TrackedDict:
        try:
            table: TrackedDict = vars(task)[name]
        except KeyError:
            raise AttributeError(f"{type(task).__name__} has no {name}") from None
        if table.task is not task and "_is_made" in vars(task):
            table.task, table.assign = task, functools.partial(_assign_entries, task, name)
        return table

    def assign(task: Any, values: Mapping[str, object]) -> None:
        vars(task)[name] = kind(values)
        if "_is_made" in vars(task):
            changes.forget_trials(task)

    return property(get, assign, None, f"The {name} of the task, a dictionary.")


def _assign_entries(task: Any, name: str, entries: dict[str, object]) -> None:
    """Replace the entries of ``rewards``, ``timing`` or ``conditions``, as scripts for NeuroGym do.

    Raises:
        TypeError: In strict mode, for rewards and timing of tasks that are not in NeuroGym's style.
    """
    present = getattr(task, name)
    changed = {key: value for key, value in entries.items() if key not in present or present[key] is not value}
    if name == "conditions" or present.keys() - entries.keys():
        setattr(task, name, entries)
    elif is_strict() and not isinstance(task, original_style.TrialEnv):
        raise TypeError(f"{name} is read-only; expected env.update({name}={changed!r})")
    else:
        task._change({name: changed}, {})


class TrialEnv(gym.Env):
    """An environment made of trials, and trials made of periods.

    A task declares; its :class:`~neurogym.engine.session.Session` makes the trials and steps through them. At step t
    the agent sees row t of the trial and acts; the reward and ``info`` returned belong to that row. The step that ends
    a trial reports it and returns row 0 of the next one.

    Names of NeuroGym's environments that are not listed here (``t``, ``start_ind``, ``obs``, ...) are found as well;
    :class:`neurogym.compat.trial_env.TrialEnv` has them.

    Args:
        dt: Time step in ms.
        num_trials_before_reset: Accepted for old scripts; a session has no end of its own.
        r_tmax: Reward added when a trial runs out (tasks that program ``_step``).
        rewards: Replaces entries of the class's ``default_rewards``.
        timing: Replaces entries of the class's ``default_timing`` (ms; forms: :mod:`neurogym.sampling.distributions`).
        abort: Whether breaking fixation ends the trial (declared rules).

    Attributes:
        default_timing: Period to duration, class attribute.
        default_rewards: Event to reward, class attribute.
        rule: The declared response rule, or None if the task programs ``_step``.
        rewards: Event to reward, read-only: :meth:`update` changes it, from the next trial on.
        timing: Period to duration, likewise.
        conditions: What can be asked of :meth:`new_trial`: name to a sequence of values or a distribution.
        session: Position in the trials, and what happened so far.
        state: Names of attributes that change during a session, beyond those of base classes and the parameters; a
            saved session has them. Of a class that lists none it has all.

    Raises:
        ValueError: For a malformed duration, or if ``dt`` is not a positive number. Of unknown rewards and periods
            there is a warning.
    """

    metadata: dict[str, Any] = TaskInfo.of({"render_modes": [*RENDER_MODES]})
    observation_space: Any = None
    action_space: Any = None
    rule: ClassVar[Any] = None
    default_timing: ClassVar[Mapping[str, object]] = {}
    default_rewards: ClassVar[Mapping[str, object]] = {}
    rewards = _table("rewards", TrackedDict)
    timing = _table("timing", TrackedDict)
    conditions = _table("conditions", Conditions)
    session: Session
    state: ClassVar[tuple[str, ...]]
    _arguments: Mapping[str, Any]  # replaced as a whole, never changed
    _arguments_to_set: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, original: bool = False, **kwargs: object):
        """Complete a task: metadata, constructor, arguments as attributes, and methods of NeuroGym's tasks.

        Args:
            original: Whether the class serves tasks in NeuroGym's style.
            **kwargs: Passed on.
        """
        super().__init_subclass__(**kwargs)
        if ORIGINAL & cls.__dict__.keys() and not original:
            original_style.serve(cls)
        if "__init__" in cls.__dict__:
            constructor = cls.__dict__["__init__"]
            cls._arguments_to_set = cls._arguments_to_set.union(changes.attributes_of(constructor))
            cls.__init__ = arguments.recorded(constructor)  # type: ignore[method-assign]
        if "metadata" in cls.__dict__:
            cls.metadata = TaskInfo.of({"render_modes": [*RENDER_MODES], **cls.metadata})
        describe(cls)

    @arguments.recorded
    def __init__(
        self,
        dt: float = 100,
        num_trials_before_reset: int = 10_000_000,
        r_tmax: float = 0,
        rewards: Mapping[str, object] | None = None,
        timing: Mapping[str, object] | None = None,
        abort: bool = False,
    ):
        if not np.isscalar(dt) or isinstance(dt, str) or not np.isfinite(dt) or dt <= 0:
            raise ValueError(f"dt must be a positive number of ms, got {dt!r}")
        self.dt = dt
        self.session = Session(self)
        if r_tmax:
            self.r_tmax = r_tmax
        self.abort = abort
        self.rewards = self._merged("reward", self.default_rewards, rewards)
        self.timing = self._merged("period", self.default_timing, timing)
        self.conditions = {}
        for spec in self.timing.values():
            Distribution.of(spec)

    @staticmethod
    def _merged(kind: str, default: Mapping[str, object], given: Mapping[str, object] | None) -> dict[str, object]:
        for name in given or ():
            if default and name not in default:
                warn_once(unknown(kind, name, default), "it is not used")
        return {**default, **(given or {})}

    def __getattr__(self, name: str) -> Any:
        """Return a member of NeuroGym's environments that tasks here do without."""
        return original_style.older_member(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; that of an argument has the effect of ``update``, older members that of NeuroGym's."""
        if name in SETTABLE and not isinstance(self, original_style.TrialEnv):
            original_style.set_older_member(self, name, value)
        elif name in self._arguments_to_set and "_is_made" in vars(self) and not hasattr(type(self), name):
            changes.assign(self, name, value)
        else:
            object.__setattr__(self, name, value)

    # -- what a task declares -----------------------------------------------------------------------------------------

    def _new_trials(self, trials: Trials) -> None:
        """Describe ``trials.n`` trials: draw conditions, add periods, observations and ground truth."""
        raise NotImplementedError(f"{type(self).__name__} must define _new_trials, _new_trial or new_trial")

    def trial_ended(self, info: Info) -> None:
        """Called when a trial has ended, before the next is made; a task that overrides this follows the agent.

        Args:
            info: What ``step`` returns of the trial.
        """

    def start_session(self) -> None:
        """Called by every ``reset``: forget blocks, counters and whatever else was carried across trials."""

    def next_trial_depends_on(self) -> Hashable:
        """Part of the session's state on which the next trial depends, as a hashable value; None if undeclared.

        Worth saying of a task that follows the agent: in a batch, tasks that are equal in it describe their next trials
        together. ``_new_trials`` is then asked once, of one of them, for one trial of each; what it draws comes from
        ``trials.rng`` (or ``trials.draw``, ...), with a first axis that is the trial. What it takes from
        ``trials.per_trial`` may differ among them.
        """
        return None

    @property
    def traits(self) -> Traits:
        """Capabilities of the task without wrappers."""
        follows = type(self).trial_ended is not TrialEnv.trial_ended
        one_by_one = getattr(type(self), "one_by_one", False)
        return Traits(
            ahead=not one_by_one and not follows,
            batched=self.rule is not None and not getattr(type(self), "overrides_step", False),
            history_dependent=bool(self.metadata.get("history_dependent", False)),
            follows_agent=follows,
            one_by_one=one_by_one,
            own_step="step" in vars(self) or type(self).step is not TrialEnv.step,
            observation_depends_on_step=self.rule is not None and bool(self.rule.jumps),
        )

    # -- scores -------------------------------------------------------------------------------------------------------

    def oracle(self) -> Action:
        """The best action at the current row: the ground truth, unless a task knows better."""
        return self.gt_now

    @property
    def ideal_observer(self) -> ObserverSettings | None:
        """Settings by which an ideal observer is made from the task's own noise-free trials; None if it cannot be."""
        return None

    def closed_form(self) -> Score | None:
        """Ceiling with the present parameters if it is known from a formula, with rewards of correct and wrong answers.

        Rewards that make it better to skip a trial are taken into account by :meth:`ceiling`.
        """
        return None

    def ceiling(self) -> Score | None:
        """Score of the ideal observer with the present parameters, given the inputs that this observer needs.

        That of a stack with wrappers is :func:`neurogym.ceilings.ceiling`.

        Returns:
            ``performance``, ``reward``, ``error`` (Monte-Carlo standard error) and ``method``, or None.
        """
        return scores.score("ceiling of a task", self)

    def chance(self) -> dict[str, float]:
        """``performance`` and ``reward`` per trial of an agent that draws every action uniformly."""
        return scores.score("chance", self)

    # -- parameters ---------------------------------------------------------------------------------------------------

    def update(
        self, *, rewards: Mapping[str, Any] | None = None, timing: Mapping[str, Any] | None = None, **parameters: Any
    ) -> None:
        """Change rewards, durations and other parameters, from the next trial on.

        Args:
            rewards: Event to reward, those that change.
            timing: Period to duration, those that change.
            **parameters: Arguments of the task, such as ``cohs``.

        Raises:
            ValueError: If a name is unknown, the task refuses a value, or a space would change.

        Example:
            >>> import neurogym as ngym
            >>> env = ngym.make("PerceptualDecisionMaking-v0")
            >>> env.unwrapped.update(rewards={"correct": 5}, timing={"delay": 500}, cohs=[0, 25.6])
        """
        tables = {kind: table for kind, table in (("rewards", rewards), ("timing", timing)) if table}
        for kind, changed in {"parameters": parameters, **tables}.items():
            for name in changed:
                if not self._takes(kind, name):
                    raise ValueError(unknown(ONE_OF[kind], name, self._known_names(kind)))
        if parameters or tables:
            self._change(tables, parameters)

    def _known_names(self, kind: str) -> list[str]:
        """Names that :meth:`update` accepts: ``"parameters"``, or entries of ``"rewards"`` or ``"timing"``."""
        return [*changes.names_of(self), "rewards", "timing"] if kind == "parameters" else list(getattr(self, kind))

    def _takes(self, kind: str, name: str) -> bool:
        """Whether :meth:`update` can change a parameter, reward or period; any can be put into an empty dictionary."""
        return name in self._known_names(kind) or (kind != "parameters" and not getattr(self, kind))

    def _change(self, tables: Mapping[str, Mapping[str, object]], parameters: Mapping[str, object]) -> None:
        """Change entries of ``rewards`` and ``timing``, and parameters whose names are known."""
        changed = dict(parameters)
        for name in tables.keys() & changes.parameters_of(type(self)).keys():
            defaults = {"rewards": self.default_rewards, "timing": self.default_timing}[name]
            present = {k: value for k, value in getattr(self, name).items() if not defaults or k in defaults}
            changed[name] = {**present, **tables[name]}
        if changed:
            changes.change(self, changed)
        for name, table in tables.items():
            dict.update(getattr(self, name), table)
        changes.forget_trials(self)

    # -- trials -------------------------------------------------------------------------------------------------------

    def make_trials(self, n: int, **conditions: object) -> Trials:
        """``n`` new trials, wrappers included, that are not stepped here: material for batches and data sets.

        Args:
            n: Number of trials.
            **conditions: Conditions, a value for all trials or an array (n,).

        Raises:
            ValueError: If no trial can be made with a value. Of an unknown condition, or a number that is not among its
                values, there is a warning.
        """
        return make_trials(self, n, conditions)

    def sample(self, rng: np.random.Generator, n: int, **conditions: object) -> Trials:
        """``n`` trials of the task without its wrappers, drawn from a generator; the session is not touched.

        Args:
            rng: Source of everything random in the trials.
            n: Number of trials; 1 for tasks that describe one trial at a time.
            **conditions: Conditions, a value for all trials or an array (n,).

        Raises:
            ValueError: If no trial can be made with a value.

        Example:
            >>> import neurogym as ngym
            >>> task = ngym.make("PerceptualDecisionMaking-v0").unwrapped
            >>> trials = task.sample(np.random.default_rng(0), 3, coh=51.2)
            >>> trials.n, trials.info["coh"].tolist(), trials.ob.shape == (trials.total, 3)
            (3, [51.2, 51.2, 51.2], True)
        """
        return sample(self, rng, n, conditions)

    def new_trial(self, **conditions: object) -> Info:
        """Begin a new trial and return the record.

        Args:
            **conditions: Conditions of the trial, in place of randomly drawn ones.

        Raises:
            ValueError: If a condition or its value is unknown.
        """
        return self.session.new_trial(**conditions)

    trial = passed_on("session", "trial", "Record of the current trial, a dictionary.")

    @property
    def ob(self) -> np.ndarray:
        """Observations of the current trial, a row for each step; writable."""
        trials, k = self.session.block_and_index()
        return trials.ob[trials.span(k)]

    @ob.setter
    def ob(self, value: ArrayLike) -> None:
        self.session.replace("ob", self.ob, value)

    @property
    def gt(self) -> np.ndarray:
        """Ground truth of the current trial, an entry for each step; writable."""
        trials, k = self.session.block_and_index()
        if self.session.described is None and not trials.has_gt:
            raise AttributeError(f"{type(self).__name__} has no ground truth")
        return trials.gt[trials.span(k)]

    @gt.setter
    def gt(self, value: ArrayLike) -> None:
        self.session.replace("gt", self.gt, value)

    def in_period(self, period: str, t: float | None = None) -> bool:
        """Whether time ``t`` (ms; default: now) lies in a period, start included, end excluded.

        Raises:
            ValueError: If there is no such period.
        """
        trials, k = self.session.block_and_index()
        start = trials.starts.get(period)
        if start is None:
            raise ValueError(unknown("period", period, trials.starts))
        step = self.session.cursor.step if t is None else t / self.dt
        return bool(start.item(k) <= step < trials.ends[period].item(k))

    # -- Gymnasium ----------------------------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None, **old: object) -> ResetResult:
        """Start a session at row 0 of the first trial, without taking a step.

        Args:
            seed: Restarts the generator; determines the whole session, wrappers included.
            options: Conditions of the first trial, as for :meth:`new_trial`.
            **old: ``no_step`` and ``step_fn`` of older versions, without effect here and in ``options``.

        Raises:
            ValueError: If a condition or its value is unknown.
        """
        forgive_reset(old)
        session = self.session
        session.begin(seed)
        session.top.new_trial(**{name: v for name, v in (options or {}).items() if name not in ("no_step", "step_fn")})
        return session.cursor.ob[session.cursor.row].copy(), {}

    def step(self, action: Action) -> StepResult:
        """Act on the current row.

        Args:
            action: The action.

        Returns:
            Observation of the next row (row 0 of the next trial if this one ended), reward, terminated, truncated and
            info with ``new_trial`` and ``gt``; at the end of a trial also ``trial`` (the finished one),
            ``performance``, ``outcome``, ``choice``, ``rt`` (ms, nan without a response), ``trial_reward``,
            ``trial_steps``, ``aborts`` and ``decision_onset`` (ms, from which reaction times count).

        Raises:
            ResetNeeded: If there is no trial yet.
            ValueError: If the action is not in the action space, or ``_step`` does not return five values.
        """
        return self.session.step(action)

    def render(self, mode: str | None = None) -> np.ndarray | None:
        """Draw the trial so far, or after the last step of a trial the whole trial.

        Args:
            mode: ``"rgb_array"``; default what the task was made with (``render_mode``). ``"human"`` draws nothing.

        Returns:
            Shape (height, width, 3), 0 to 255; None if nothing is to be drawn.

        Raises:
            ResetNeeded: If there is no trial yet.
        """
        return picture(self) if (mode or self.render_mode) == "rgb_array" else None

    def __str__(self) -> str:
        """``<TaskName>``."""
        return f"<{type(self).__name__}>"
