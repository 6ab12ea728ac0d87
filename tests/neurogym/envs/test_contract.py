"""Every task of the registry keeps to the contract."""

import functools

import pytest

from neurogym.envs import registration
from neurogym.envs.contract import CHECKS, NothingToCheck, Subject, random_steps

TASKS = registration.every_task()

#: Arguments that change what is shown.
VARIANTS = (
    ("ReadySetGo-v0", ("gain", (1, 1.5))),
    ("ReadySetGoSinglePrior-v0", ("weber", 0.1)),
    ("ReadySetGoDoublePrior-v0", ("weber", 0.1)),
)


@functools.cache
def subject(task: str, *arguments: tuple) -> Subject:
    return Subject(task, functools.partial(registration.make, task, **dict(arguments)))


def _hold(check, task):
    try:
        CHECKS[check](task)
    except NothingToCheck as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("task", TASKS)
def test_contract(task, check):
    _hold(check, subject(task))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: f"{variant[0]}-{variant[1][0]}")
def test_contract_with_arguments(variant, check):
    _hold(check, subject(*variant))


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_survives_a_long_random_session(task):
    random_steps(subject(task), 100_000)
