"""Tasks as seen by wrappers: capabilities, and checks of what a wrapper needs."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import gymnasium as gym

from neurogym.trials import Trials
from neurogym.trials.cursor import has_trials


class Traits(NamedTuple):
    """Capabilities of a task, or of a task with wrappers."""

    ahead: bool = False  #: trials can be made before they begin: none depends on what the agent did
    batched: bool = False  #: a step is a look-up in tables, so that many environments can be stepped as one
    history_dependent: bool = False  #: a trial depends on earlier ones, so that memory across trials is useful
    follows_agent: bool = False  #: what a trial is like depends on what the agent did before
    one_by_one: bool = False  #: trials are described one at a time
    own_step: bool = False  #: ``step`` is overridden in Gymnasium's way
    observation_depends_on_step: bool = False  #: such as on the periods to which actions lead
    lengths_differ: bool = False  #: trials differ in length although all durations are constant
    most_ahead: int | None = None  #: most trials to make in advance; None: what fits into memory


def task_of(env: gym.Env, wrapper: str) -> Any:
    """The innermost environment of a stack.

    Args:
        env: The stack.
        wrapper: Name of the wrapper that is to be put on it, for the message.

    Raises:
        TypeError: If it is not trial-based.
    """
    if not has_trials(env):
        raise TypeError(f"{wrapper} needs a trial-based task, not {env.unwrapped}")
    return env.unwrapped


def require_period(env: gym.Env, wrapper: str, name: str) -> None:
    """Refuse a task that lacks a period that a wrapper needs.

    Raises:
        TypeError: If the innermost environment is not trial-based.
        ValueError: If the period is missing; the message lists the periods of the task.
    """
    task = task_of(env, wrapper)
    periods = periods_of(task)
    if name not in periods:
        raise ValueError(f"{wrapper} needs a period called {name}; {task} has {', '.join(sorted(periods)) or 'none'}")


def periods_of(task: Any) -> set[str]:
    """Return the names of a task's periods: the keys of ``timing``, or the periods of a sample trial."""
    return set(task.timing or trial_of(task).starts)


def trial_of(task: Any) -> Trials:
    """Return a trial made by a copy of a task; the task itself is not disturbed."""
    tried = copy.deepcopy(task)
    tried.reset(seed=0)
    trials: Trials = tried.make_trials(1)
    return trials
