"""The heading of a task: usual arguments, ranges, periods."""

import inspect
import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

import neurogym as ngym
from neurogym.envs import registration
from neurogym.envs.task import Count, NonNegative, Trials, usual_arguments
from neurogym.parameters.arguments import OneOf, Range, declared_ranges


class Task(ngym.TrialEnv):
    default_rewards = {"correct": 1.0}
    default_timing = {"fixation": 100}

    @usual_arguments(dt=20)
    def __init__(self, sigma: float = 1.0, cohs: tuple = (1,)):
        self.scaled = sigma * self.dt


def test_the_signature_has_all_arguments_in_the_order_of_neurogym():
    parameters = inspect.signature(Task).parameters
    assert list(parameters) == ["dt", "rewards", "timing", "sigma", "cohs", "abort"]
    assert parameters["dt"].default == 20 and parameters["abort"].default is False


def test_arguments_reach_the_task_by_place_and_by_name():
    env = Task(40, {"correct": 2}, {"fixation": 200}, 0.5, abort=True)
    assert (env.dt, env.rewards["correct"], env.timing["fixation"], env.scaled, env.abort) == (40, 2, 200, 20.0, True)
    assert Task().scaled == 20.0


@pytest.mark.parametrize("arguments", [{"sigam": 1}, {"dt": 10, "num_trials": 3}])
def test_unknown_arguments_are_refused(arguments):
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        Task(**arguments)


class Ranged(ngym.TrialEnv):
    default_timing = {"fixation": 100, "stimulus": 200}

    def __init__(self, dt: float = 100, sigma: NonNegative = 1.0, n: "Count | None" = None):
        super().__init__(dt=dt)
        self.sigma, self.n = sigma, n
        self.observation_space, self.action_space = ngym.spaces.Box(0, 1, shape=(1,)), ngym.spaces.Discrete(2)

    def _new_trials(self, trials: Trials) -> None:
        trials.add_ob(self.sigma, "stimulus")


@pytest.mark.parametrize("arguments", [{"sigma": -1}, {"sigma": "1"}, {"sigma": float("nan")}, {"n": 0}, {"n": 1.5}])
def test_values_outside_a_declared_range_are_refused(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"{name} must be .* at least"):
        Ranged(**arguments)
    env = Ranged(sigma=0, n=3)
    with pytest.raises(ValueError, match=f"{name} must be .* at least"):
        env.update(**arguments)


@pytest.mark.parametrize(("name", "value"), [("sigma", -1), ("dim_ring", 1)])
def test_every_task_refuses_noise_below_zero_and_a_ring_of_one(name, value):
    tasks = [id_ for id_ in registration.every_task() if name in inspect.signature(registration.entry(id_)).parameters]
    assert len(tasks) > 10
    for id_ in tasks:
        with pytest.raises(ValueError, match=f"{name} must be .* at least"):
            registration.make(id_, **{name: value})


def test_periods_are_those_of_the_timing_unless_others_are_added():
    trials = Ranged().make_trials(2)
    assert {name: start.tolist() for name, start in trials.starts.items()} == {"fixation": [0, 0], "stimulus": [1, 1]}
    assert trials.ob[:, 0].tolist() == [0, 1, 1] * 2


#: Arguments that take a number or a list, or a table, and are checked by the task itself.
CHECKED_BY_THE_TASK = {("ReadySetGo-v0", "gain"): [0, -1, (1, 0), ()], ("AnnubesEnv-v0", "max_sequential"): [0, -1]}


def _ranges(id_: str) -> dict[str, Range | OneOf]:
    """Declared ranges of the arguments of a task, and of the classes to which it passes arguments on."""
    results: dict[str, Range | OneOf] = {}
    for cls in reversed(type(registration.make(id_).unwrapped).__mro__):
        if "__init__" in vars(cls) and cls.__module__.startswith("neurogym.envs."):
            results |= declared_ranges(vars(cls)["__init__"])
    return results


def _outside(allowed: Range | OneOf) -> Iterator[Any]:
    """Values that are not in a range, of every kind that there is."""
    if isinstance(allowed, OneOf):
        yield from ("no such word", 1)
        return
    wrong: list[Any] = ["text", math.nan]
    wrong += [allowed.low if allowed.above else allowed.low - 1] if allowed.low > -math.inf else []
    wrong += [allowed.high + 1] if allowed.high < math.inf else []
    wrong += [allowed.low + 0.5] if allowed.whole else []
    if allowed.size is None:
        yield from [*wrong, [1.0]]
    else:
        good = [allowed.high if allowed.high < math.inf else max(allowed.low, 0) + 1] * (allowed.size or 2)
        yield from [*([*good[1:], value] for value in wrong), [], [good]]


ARGUMENTS = [(id_, name) for id_ in registration.every_task() for name in _ranges(id_)]


def test_every_numeric_argument_declares_its_range():
    for id_ in registration.every_task():
        for name, parameter in inspect.signature(registration.entry(id_)).parameters.items():
            plain = re.match(r"(int|float)\b", str(parameter.annotation))
            number = isinstance(parameter.default, (int, float)) and not isinstance(parameter.default, bool)
            duration = parameter.annotation == "object"  # checked like the durations in timing
            if (plain or number) and not duration and name != "dt" and (id_, name) not in CHECKED_BY_THE_TASK:
                assert name in _ranges(id_), f"{id_}: {name} needs a range"


@pytest.mark.parametrize(("id_", "name"), ARGUMENTS)
def test_every_task_refuses_arguments_out_of_their_range(id_, name):
    for wrong in _outside(_ranges(id_)[name]):
        with pytest.raises(ValueError, match=f"{name}.* must be |unknown {name}"):
            registration.make(id_, **{name: wrong})


@pytest.mark.parametrize(("id_", "name"), CHECKED_BY_THE_TASK)
def test_tasks_refuse_numbers_that_they_check_themselves(id_, name):
    for wrong in CHECKED_BY_THE_TASK[id_, name]:
        with pytest.raises(ValueError, match=f"{name} must be"):
            registration.make(id_, **{name: wrong})
