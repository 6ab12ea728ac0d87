"""Contract of tasks, for the tests of the registry and for a user's own task.

Each check takes a :class:`Subject` and raises :class:`ContractError` with the problem in one line, or
:class:`NothingToCheck`.
"""

from __future__ import annotations

from collections.abc import Callable

from neurogym.envs.contract import behaviour, description, necessity, subject
from neurogym.envs.contract.behaviour import random_steps
from neurogym.envs.contract.subject import ContractError, NothingToCheck, Subject

__all__ = ["ADVICE", "CHECKS", "ContractError", "NothingToCheck", "Subject", "random_steps"]

#: Every check by name, in the order in which they are run.
CHECKS: dict[str, Callable[[Subject], None]] = {
    check.__name__: check
    for check in (
        subject.trials_are_described,
        behaviour.gymnasium_checker,
        subject.ground_truth_is_an_action,
        subject.channels_carry_something,
        behaviour.same_seed_same_session,
        behaviour.time_steps,
        behaviour.random_steps,
        description.metadata,
        behaviour.oracle,
        behaviour.random_is_chance,
        description.conditions,
        description.arguments,
        behaviour.ground_truth_is_best_paid,
        behaviour.batch_equals_single,
        necessity.necessary,
    )
}

#: Checks of what would be nicer: a task that fails one of them works all the same.
ADVICE = frozenset({"metadata", "conditions", "arguments", "random_is_chance", "necessary", "time_steps"})
