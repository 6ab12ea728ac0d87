"""Every task of the registry keeps to the contract."""

import functools

import pytest

from neurogym.envs import registration
from neurogym.envs.contract import CHECKS, Subject, random_steps

TASKS = registration.every_task()


@functools.cache
def subject(task: str) -> Subject:
    return Subject(task, functools.partial(registration.make, task))


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("task", TASKS)
def test_contract(task, check):
    CHECKS[check](subject(task))


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_survives_a_long_random_session(task):
    random_steps(subject(task), 100_000)
