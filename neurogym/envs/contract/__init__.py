"""Contract of tasks, for the tests of the registry and for a user's own task.

Each check takes a :class:`Subject` and raises :class:`ContractError` with the problem in one line, or
:class:`NothingToCheck`.
"""

from __future__ import annotations

from collections.abc import Callable

from neurogym.envs.contract.behaviour import (
    batch_equals_single,
    ground_truth_is_best_paid,
    gymnasium_checker,
    oracle,
    random_is_chance,
    random_steps,
    same_seed_same_session,
    time_steps,
)
from neurogym.envs.contract.description import arguments, conditions, metadata
from neurogym.envs.contract.necessity import necessary
from neurogym.envs.contract.subject import (
    ContractError,
    NothingToCheck,
    Subject,
    channels_carry_something,
    ground_truth_is_an_action,
    trials_are_described,
)

__all__ = ["ADVICE", "CHECKS", "ContractError", "NothingToCheck", "Subject", "check_all", "random_steps"]

#: Every check by name, in the order in which they are run.
CHECKS: dict[str, Callable[[Subject], None]] = {
    check.__name__: check
    for check in (
        trials_are_described,
        gymnasium_checker,
        ground_truth_is_an_action,
        channels_carry_something,
        same_seed_same_session,
        time_steps,
        random_steps,
        metadata,
        oracle,
        random_is_chance,
        conditions,
        arguments,
        ground_truth_is_best_paid,
        batch_equals_single,
        necessary,
    )
}

#: Checks of what would be nicer: a task that fails one of them works all the same.
ADVICE = frozenset({"metadata", "conditions", "arguments", "random_is_chance", "necessary", "time_steps"})


def check_all(subject: Subject) -> list[str]:
    """Run all contract checks and return a line for each problem; empty if the task passes."""
    problems = []
    for name, check in CHECKS.items():
        try:
            check(subject)
        except NothingToCheck:
            continue
        except ContractError as error:
            problems.append(f"{name}: {subject.name}: {error}")
        except Exception as error:
            problems.append(f"{name}: {subject.name}: {type(error).__name__}: {error}")
    return problems
