"""Construction of trials: what a task describes, with the changes of wrappers and the consequences of actions."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from neurogym.sampling.distributions import Distribution
from neurogym.sampling.generator import Generators
from neurogym.trials import Trials
from neurogym.trials.cursor import FIRST_BLOCK
from neurogym.trials.records import condition_column, varies

#: Most steps of trials that are made at a time to measure their lengths.
MOST_STEPS_AT_ONCE = 1_280_000


def make_trials(task: Any, n: int, conditions: Mapping[str, Any], answered: bool = True) -> Trials:
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
    if conditions and not task.traits.one_by_one:
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


def _check(task: Any, n: int, conditions: Mapping[str, Any]) -> None:
    """Check each different value of conditions."""
    for name, value in conditions.items():
        for single in np.unique(value) if varies(value, n) and np.ndim(value) == 1 else [value]:
            task.conditions.check(name, single)


def sample(task: Any, rng: np.random.Generator, n: int, conditions: Mapping[str, Any]) -> Trials:
    """Trials of a task without wrappers; a copy of the task describes them, so that the session is not touched."""
    _check(task, n, conditions)
    twin = copy.copy(task)
    twin.session, twin.np_random = copy.copy(task.session), rng
    twin.session.task = twin
    trials = Trials(twin, n, {name: condition_column(value, n) for name, value in conditions.items()})
    twin.session.describe(trials)
    _complete(twin, trials, answered=True)
    return trials


def conditions_of_wrappers(task: Any) -> set[str]:
    """Conditions that the wrappers of a task take for themselves."""
    accepts = task.session.stack.accepts
    return accepts.difference(task.conditions) if accepts else accepts


def make_checked(task: Any, n: int, conditions: dict[str, np.ndarray], answered: bool = True) -> Trials:
    """:func:`make_trials` with conditions that have been checked, each an array (n,)."""
    stack, of_wrappers = task.session.stack, conditions_of_wrappers(task)
    plan = {name: value for name, value in conditions.items() if name in of_wrappers}
    of_task = {name: value for name, value in conditions.items() if name not in of_wrappers}
    trials = Trials(task, n, {**stack.plan(n, plan), **of_task})
    _fill(task, trials, answered)
    return trials


def make_together(tasks: Sequence[Any]) -> Trials:
    """Next trial of each of several tasks with equal parameters, described jointly.

    Args:
        tasks: Tasks that are equal in :meth:`neurogym.core.TrialEnv.next_trial_depends_on` and in all parameters.

    Returns:
        A block with one trial for each, the one that it would have made by itself.
    """
    trials = Trials(tasks[0], len(tasks))
    trials.owners, trials.rng = tasks, Generators([task.np_random for task in tasks])
    _fill(tasks[0], trials, answered=True)
    return trials


def _fill(task: Any, trials: Trials, answered: bool) -> None:
    """Describe trials, apply the wrappers' changes, and compute the consequences of actions."""
    task.session.describe(trials)
    trials.rows()
    _ = trials.ob
    task.session.stack.revise(trials)
    _complete(task, trials, answered)


def _complete(task: Any, trials: Trials, answered: bool) -> None:
    """Compute the consequences of actions, and the onset of reaction times."""
    trials.rows()
    if task.rule is not None and answered:
        task.rule.compile(trials, task.abort)
    elif task.rule is not None:
        task.rule.set_go(trials)
    trials.set_default_go()


def trial_lengths(task: Any, n: int) -> np.ndarray:
    """Lengths of ``n`` new trials (of 8, if all are alike), in steps; the session of the task is not disturbed."""
    task = copy.deepcopy(task)
    try:
        count, lengths = 0, []
        longest = int(make_trials(copy.deepcopy(task), FIRST_BLOCK, {}).length.max()) if task.session.stack.ahead else 1
        at_once = min(256, max(1, MOST_STEPS_AT_ONCE // longest)) if task.session.stack.ahead else 1
        while count < (8 if length_is_fixed(task) else n):
            size = min(n - count, at_once)
            lengths.append(make_trials(task, size, {}).length)
            count += size
        return np.concatenate(lengths)
    except NotImplementedError:
        draws = Trials(task, n)
        return np.sum([draws.sample_time(name) / task.dt for name in task.timing], axis=0)


def trial_length_stats(task: Any, n: int) -> dict[str, float]:
    """Mean, s.d., 95th percentile and maximum of the trial length, in steps; see :func:`trial_lengths`."""
    steps = trial_lengths(task, n)
    stats = {"mean": steps.mean(), "std": steps.std(), "percentile_95": np.percentile(steps, 95), "max": steps.max()}
    return {name: round(float(value), 3) for name, value in stats.items()}


def length_is_fixed(task: Any) -> bool:
    """Whether every trial of a task has the same length."""
    durations = [Distribution.of(spec) for spec in task.timing.values()]
    return not task.traits.lengths_differ and all(each.kind == "constant" for each in durations)
