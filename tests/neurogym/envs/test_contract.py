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


#: Checks of many steps, which tasks of each sort run in every suite, and the others among the long tests.
SLOW = ("gymnasium_checker", "same_seed_same_session", "random_steps", "oracle", "random_is_chance", "necessary")
SAMPLE = ("AngleReproduction-v0", "AnnubesEnv-v0", "CVLearning-v0", "DawTwoStep-v0", "GoNogo-v0", "MatchingPenny-v0",
          "NBack-v0", "PatchLeaving-v0", "PerceptualDecisionMaking-v0", "RandomDotMotion-v0", "ReadySetGo-v0",
          "ReachingDelayResponse-v0", "yang19.dms-v0")  # fmt: skip
CASES = [
    pytest.param(case, check, marks=[pytest.mark.long] * (check in SLOW and case[0] not in SAMPLE))
    for case in [*((task,) for task in TASKS), *VARIANTS]
    for check in CHECKS
]


@functools.cache
def subject(task: str, *arguments: tuple) -> Subject:
    return Subject(task, functools.partial(registration.make, task, **dict(arguments)))


@pytest.mark.parametrize(
    ("case", "check"), CASES, ids=lambda part: part if isinstance(part, str) else "-".join(map(str, part))
)
def test_contract(case, check):
    try:
        CHECKS[check](subject(*case))
    except NothingToCheck as reason:
        pytest.skip(str(reason))


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_survives_a_long_random_session(task):
    random_steps(subject(task), 100_000)
