"""Arguments that tasks have in common are taken once, and shown by each task."""

import inspect

import pytest

import neurogym as ngym
from neurogym.envs.constructors import usual_arguments


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
