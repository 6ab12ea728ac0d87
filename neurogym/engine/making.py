"""Construction of trials: what a task describes, with the changes of wrappers and the consequences of actions."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.engine.stepping import Stepping
from neurogym.sampling.generator import Generators
from neurogym.trials import Trials
from neurogym.trials.cursor import FIRST_BLOCK
from neurogym.trials.records import condition_column, varies

#: Most steps of trials that are made at a time to measure their lengths.
MOST_STEPS_AT_ONCE = 1_280_000


def make_trials(task: Stepping, n: int, conditions: Mapping[str, Any], answered: bool = True) -> Trials:
    """Make trials that are not stepped by the task, wrappers included.

    Args:
        task: The task.
        n: Number of trials.
        conditions: Conditions, a value for all trials or an array (n,).
        answered: Whether to compute the consequences of actions, which only trials that are stepped need.

    Raises:
        ValueError: If no trial can be made with a value. Of an unknown condition, or a number that is not among its
            values, there is a warning.
    """
    of_wrappers = conditions_of_wrappers(task)
    if conditions and not task.one_by_one:
        _check(task, n, {name: conditions[name] for name in conditions.keys() - of_wrappers})
    columns = {name: condition_column(value, n) for name, value in conditions.items()}
    try:
        trials = make_checked(task, n, columns, answered)
    except (IndexError, KeyError) as error:
        raise ValueError(f"trials with {conditions!r} cannot be made: {error}") from error
    for name in columns:
        if name not in task.conditions and name not in of_wrappers:
            trials.info.setdefault(name, columns[name])
    return trials


def _check(task: Stepping, n: int, conditions: Mapping[str, Any]) -> None:
    """Check each different value of conditions."""
    for name, value in conditions.items():
        for single in np.unique(value) if varies(value, n) and np.ndim(value) == 1 else [value]:
            task.check_conditions({name: single})


def sample(task: Stepping, rng: np.random.Generator, n: int, conditions: Mapping[str, Any]) -> Trials:
    """Trials of a task without wrappers; a copy of the task describes them, so that the session is not touched."""
    _check(task, n, conditions)
    twin = copy.copy(task)
    twin.np_random = rng
    trials = Trials(twin, n, {name: condition_column(value, n) for name, value in conditions.items()})
    twin.describe(trials)
    _complete(twin, trials, answered=True)
    return trials


def conditions_of_wrappers(task: Stepping) -> set[str]:
    """Conditions that the wrappers of a task take for themselves."""
    accepts = task.stack.accepts
    return accepts.difference(task.conditions) if accepts else accepts


def make_checked(task: Stepping, n: int, conditions: dict[str, np.ndarray], answered: bool = True) -> Trials:
    """:func:`make_trials` with conditions that have been checked, each an array (n,)."""
    stack, of_wrappers = task.stack, conditions_of_wrappers(task)
    plan = {name: value for name, value in conditions.items() if name in of_wrappers}
    of_task = {name: value for name, value in conditions.items() if name not in of_wrappers}
    trials = Trials(task, n, {**stack.plan(n, plan), **of_task})
    _fill(task, trials, answered)
    return trials


def make_together(tasks: Sequence[Stepping]) -> Trials:
    """Next trial of each of several tasks with equal parameters, described jointly.

    Args:
        tasks: Tasks that are equal in :meth:`Stepping.next_trial_depends_on` and in all parameters.

    Returns:
        A block with one trial for each, the one that it would have made by itself.
    """
    trials = Trials(tasks[0], len(tasks))
    trials.owners, trials.rng = tasks, Generators([task.np_random for task in tasks])
    _fill(tasks[0], trials, answered=True)
    return trials


def _fill(task: Stepping, trials: Trials, answered: bool) -> None:
    """Describe trials, apply the wrappers' changes, and compute the consequences of actions."""
    task.describe(trials)
    trials.rows()
    _ = trials.ob
    task.stack.revise(trials)
    _complete(task, trials, answered)


def _complete(task: Stepping, trials: Trials, answered: bool) -> None:
    """Compute the consequences of actions, and the onset of reaction times."""
    trials.rows()
    if task.rule is not None and answered:
        task.rule.compile(trials, task.abort)
    elif task.rule is not None:
        task.rule.set_go(trials)
    trials.set_default_go()


def trial_lengths(task: Stepping, n: int) -> np.ndarray:
    """Lengths of ``n`` new trials (of 8, if all are alike), in steps; the session of the task is not disturbed."""
    task = copy.deepcopy(task)
    try:
        count, lengths = 0, []
        longest = int(make_trials(copy.deepcopy(task), FIRST_BLOCK, {}).length.max()) if task.stack.ahead else 1
        at_once = min(256, max(1, MOST_STEPS_AT_ONCE // longest)) if task.stack.ahead else 1
        while count < (8 if task.length_is_fixed() else n):
            size = min(n - count, at_once)
            lengths.append(make_trials(task, size, {}).length)
            count += size
        return np.concatenate(lengths)
    except NotImplementedError:
        draws = Trials(task, n)
        return np.sum([draws.sample_time(name) / task.dt for name in task.timing], axis=0)
