"""Tasks as seen by wrappers: interface, capabilities, and checks of what a wrapper needs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, cast

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from neurogym.spaces import Action
from neurogym.trials import Info, StepResult, Trials
from neurogym.trials.cursor import has_trials
from neurogym.trials.types import TaskLike


class Traits(NamedTuple):
    """Capabilities of a task, a wrapper or a stack."""

    ahead: bool  #: trials can be made before they begin: none depends on what the agent did
    batched: bool  #: a step is a look-up in what was made ahead, so that many environments can be stepped as one
    history_dependent: bool  #: a trial depends on earlier ones, so that memory across trials is useful

    @property
    def links_trials(self) -> bool:
        """Older name of ``history_dependent``."""
        return self.history_dependent


class TrialTask(TaskLike, Protocol):
    """Interface of tasks as seen by wrappers; :class:`neurogym.core.TrialEnv` implements this protocol."""

    trial: Info
    r_tmax: float
    top: Any

    @property
    def t_ind(self) -> int:
        """Step within the trial."""

    @property
    def gt_now(self) -> Action:
        """Ground truth at the current row."""

    @property
    def ob(self) -> np.ndarray:
        """Observations of the current trial."""

    @ob.setter
    def ob(self, value: ArrayLike) -> None: ...

    @property
    def gt(self) -> np.ndarray:
        """Ground truth of the current trial."""

    @gt.setter
    def gt(self, value: ArrayLike) -> None: ...

    @property
    def choices(self) -> Sequence[object] | np.ndarray:
        """Values that the ground truth can take."""

    @property
    def traits(self) -> Traits:
        """Capabilities of the task."""

    @property
    def wrappers(self) -> list[Any]:
        """Wrappers that act on the task's trials."""

    def in_period(self, period: str) -> bool:
        """Whether the current step lies in a period."""

    def field(self, name: str) -> Any:
        """Value of a per-step field at the current row."""

    def set_top(self, wrapper: gym.Env) -> None:
        """Make a wrapper the source of new trials."""

    def use(self, wrapper: gym.Env) -> None:
        """Make the hooks of the stepped stack the active hooks."""

    def shown_by(self, wrapper: gym.Env) -> object:
        """Wrappers that show observations, provided that all only use hooks."""

    def step(self, action: Action, stack: Any = None) -> StepResult:
        """Act, and return the observation as shown by a stack of wrappers."""


def task_of(env: gym.Env, wrapper: str) -> TrialTask:
    """The innermost environment of a stack.

    Args:
        env: The stack.
        wrapper: Name of the wrapper that is to be put on it, for the message.

    Raises:
        TypeError: If it is not trial-based.
    """
    if not has_trials(env):
        raise TypeError(f"{wrapper} needs a trial-based task, not {env.unwrapped}")
    return cast(TrialTask, env.unwrapped)


def require_periods(task: TrialTask, wrapper: str, *needed: str) -> None:
    """Refuse a task that lacks a period that a wrapper needs.

    Raises:
        ValueError: If a period is missing; the message lists the periods of the task.
    """
    periods = periods_of(task)
    for name in needed:
        if name not in periods:
            raise ValueError(
                f"{wrapper} needs a period called {name}; {task} has {', '.join(sorted(periods)) or 'none'}"
            )


def periods_of(task: TrialTask) -> set[str]:
    """Return the names of a task's periods: the keys of ``timing``, or the periods of a sample trial."""
    return set(task.timing or trial_of(task).starts)


def trial_of(task: TrialTask) -> Trials:
    """Return a trial made by a copy of a task; the task itself is not disturbed."""
    tried: Any = copy.deepcopy(task)
    tried.reset(seed=0)
    return cast(Trials, tried.make_trials(1))
