"""Session of one environment: its trials are made, begun, stepped and reported."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from neurogym.engine.making import make_trials, sample
from neurogym.engine.stepping import Stepping
from neurogym.plotting.frames import picture
from neurogym.state import snapshot
from neurogym.trials import Info, ResetResult, Trials
from neurogym.trials.cursor import PrefetchedTrials
from neurogym.trials.events import EVENT_TABLES
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.forwarding import layers
from neurogym.wrappers.stack import Stack


@runtime_checkable
class _Seeded(Protocol):
    """Duration with a random generator of the same object."""

    def seed(self, seed: int) -> object: ...


class Session(Stepping):
    """An environment made of trials: wrappers, trials and sessions; :class:`neurogym.core.TrialEnv` adds the task.

    Attributes:
        ahead: The trials made in advance.
        top: Source of new trials: the task, or the outermost :class:`TrialWrapper` around it.
        most_ahead: Most trials to make in advance; None: what fits into memory.
        block_described: The block that ``_new_trial`` is describing; None at all other times.
        num_tr: Trials that began in this session.
    """

    remakes = True
    derived: ClassVar[tuple[str, ...]] = ("ahead", "top", "block_described", "_now", "_arguments", "is_made")
    most_ahead: ClassVar[int | None] = None

    def __init__(self, dt: float = 100):
        super().__init__(dt)
        self.ahead = PrefetchedTrials()
        self.top: Any = self
        self.block_described: Trials | None = None
        self.num_tr = 0

    # -- the wrappers -------------------------------------------------------------------------------------------------

    @property
    def wrappers(self) -> list[TrialWrapper]:
        """The wrappers that act on the task's trials, innermost first."""
        return self.stack.wrappers

    @property
    def stack(self) -> Stack:
        """The wrappers, taken together."""
        if self._stack is None:
            self._stack = Stack(self.top)
        return self._stack

    def set_top(self, wrapper: gym.Env) -> None:
        """Make ``wrapper`` the source of new trials; called when a :class:`TrialWrapper` is added."""
        self.top, self._stack, self._made_ahead = wrapper, None, False
        self.ahead.restart()

    def use(self, wrapper: gym.Env) -> None:
        """Make the hooks of the stepped stack the active hooks, if a task is wrapped by several stacks."""
        if wrapper is not self.top and wrapper not in layers(self.top):
            self.set_top(wrapper)

    def shown_by(self, wrapper: gym.Env) -> Stack | None:
        """The wrappers that show observations to the agent, of a stack that only uses hooks; None for other stacks."""
        if "step" in vars(self) or type(self).step is not Session.step:
            return None
        stack = self.stack if wrapper is self.top else Stack(wrapper)
        return stack if stack.only_hooks else None

    @property
    def groups_trials(self) -> bool:
        """Whether the next trials of several such tasks with equal parameters can be described at once."""
        is_declared = type(self).next_trial_depends_on is not Stepping.next_trial_depends_on
        if not is_declared or self.one_by_one or not self.stack.only_shows:
            return False
        return not any(callable(spec) for spec in self.timing.values())  # these may draw from generators of their own

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

    def make_ahead(self, n: int | None = None) -> Trials:
        """Make the next trials of the session and store the block in ``ahead``, with the state before.

        Args:
            n: Number of trials; default few after a reset, later more.
        """
        ahead = self.ahead
        ahead.block = None
        before = snapshot(self.top)
        block = self.make_trials(n or ahead.size(self.most_ahead))
        ahead.take(block, before)
        return block

    def forget_trials_ahead(self) -> None:
        """Discard trials made ahead; called when a parameter has changed."""
        self.ahead.drop()

    def new_trial(self, **kwargs: object) -> Info:
        """Begin a new trial and return the record.

        Args:
            **kwargs: Conditions of the trial, in place of randomly drawn ones.

        Raises:
            ValueError: If a condition or its value is unknown.
        """
        ahead, stack = self.ahead, self.stack
        if kwargs or not stack.ahead:
            return self.begin_trial(self.make_trials(1, **kwargs), 0)
        block: Trials = self.make_ahead() if ahead.is_used_up else ahead.block  # type: ignore[assignment]
        k = ahead.next
        ahead.next = k + 1
        return self.begin_trial(block, k)

    def begin_trial(self, block: Trials, k: int) -> Info:
        """Begin trial ``k`` of a block made for this session; return the record."""
        self.performance, self.trial_reward, self.trial_aborts = 0.0, 0.0, 0
        stack, cursor = self.stack, self.cursor
        if block is cursor.block:
            cursor.go_on(k)
        else:
            cursor.enter(block, k)
            self._is_batched, self._n_actions, self._made_ahead = stack.looks_up, self.accepted_actions, stack.ahead
        self.trial, self._spans_of_trial = block.report(k)
        self.num_tr += 1
        self._is_settled = self.rule is None or not stack.begins_trials
        self.limit_short_way()
        return self.trial

    def begin_next(self) -> None:
        """Begin the next trial, through the outermost wrapper if a wrapper overrides ``new_trial``."""
        ahead, stack = self.ahead, self.stack
        block, k = ahead.block, ahead.next
        if stack.begins_trials:
            self.top.new_trial()
        elif block is None or ahead.is_stale or k >= block.n or not stack.ahead:
            self.new_trial()
        else:  # what new_trial does where trials are ready
            ahead.next = k + 1
            self.begin_trial(block, k)

    def finish_pending_step(self) -> None:
        """Apply the rule to a trial changed by the ``new_trial`` of wrappers."""
        if self._is_settled:
            return
        self._is_settled = True
        trial, step = self.cursor.alone(), self.cursor.step
        for table in EVENT_TABLES:
            trial.fields.pop(table, None)
        self.rule.compile(trial, self.abort)  # type: ignore[union-attr]
        self.cursor.enter(trial, 0)
        self.cursor.row += step

    # -- sessions -----------------------------------------------------------------------------------------------------

    def begin_session(self, seed: int | None = None) -> None:
        """All of :meth:`reset` but the first trial.

        Args:
            seed: Starts the generator anew.
        """
        if seed is not None:
            gym.Env.reset(self, seed=seed)
        for spec in self.timing.values():
            if seed is not None and isinstance(spec, _Seeded):
                spec.seed(int(self.np_random.integers(2**31)))
        self.ahead.restart()
        self.last, self.num_tr, self.num_finished, self._last_gt, self.trial_choice = None, 0, 0, None, None
        self.start_session()
        self.stack.start_session()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> ResetResult:
        """Start a session at row 0 of the first trial, without taking a step.

        Args:
            seed: Restarts the generator; determines the whole session, wrappers included.
            options: Conditions of the first trial, as for :meth:`new_trial`.

        Raises:
            ValueError: If a condition or its value is unknown.
        """
        self.begin_session(seed)
        self.top.new_trial(**(options or {}))
        self._seen = None
        return self.cursor.ob[self.cursor.row].copy(), {}

    def render(self, mode: str | None = None) -> np.ndarray | None:
        """Draw the trial so far, or after the last step of a trial the whole trial.

        Args:
            mode: ``"rgb_array"``; default what the task was made with (``render_mode``). ``"human"`` draws nothing.

        Returns:
            Shape (height, width, 3), 0 to 255; None if nothing is to be drawn.

        Raises:
            ResetNeeded: If there is no trial yet.
        """
        return picture(self._seen, self) if (mode or self.render_mode) == "rgb_array" else None
