import functools

import gymnasium as gym
import numpy as np
import pytest

import neurogym as ngym
from neurogym import TrialWrapper, wrappers
from neurogym.ceilings import ceiling, needs_reward, why_unknown
from neurogym.ceilings.stack import verdict
from neurogym.ceilings.stored import table
from neurogym.core import TrialEnv
from neurogym.envs import registration
from neurogym.wrappers.forwarding import Forwarding
from tests.neurogym.ceilings.observers import Alternating, Beliefs, Constant, score
from tests.neurogym.wrappers.stacks import TASKS, put

RDM = functools.partial(ngym.make, "PerceptualDecisionMaking-v0")
BLOCKS = np.array([[[0.8, 0.2], [0.8, 0.2]], [[0.2, 0.8], [0.2, 0.8]]])
REPEATS = np.array([[[0.2, 0.8], [0.8, 0.2]], [[0.8, 0.2], [0.2, 0.8]]])


def told(env: gym.Env) -> gym.Env:
    """The agent is shown its last reward and action."""
    return wrappers.PassAction(wrappers.PassReward(env))


@pytest.mark.parametrize("name", wrappers.WRAPPERS)
def test_every_wrapper_says_what_it_does_to_the_ceiling(name):
    cls = getattr(wrappers, name)
    if issubclass(cls, TrialEnv):  # several tasks: states its ceiling, or that it has none
        assert cls.ceiling is not TrialEnv.ceiling or name == "Combine"
        return
    says = [c for c in cls.__mro__ if "effect_on_ceiling" in vars(c) or vars(c).get("ceiling_effect") is not None]
    assert says[0] not in (Forwarding, TrialWrapper), f"{name} leaves it open"
    env = put(name, TASKS["Conditional" if name == "VariableMapping" else "RDM"])
    result = verdict(env)
    assert (result.score is None) == bool(result.why)


def test_a_wrapper_that_does_not_say_makes_it_unknown():
    class Silent(TrialWrapper):
        """Says nothing."""

    class Louder(wrappers.PassReward):
        """Changes what it inherits."""

        def observe(self, ob, action, reward, field):
            return super().observe(ob, action, 2 * reward, field)

    class Other(wrappers.PassReward):
        """Is another name."""

    assert ceiling(Silent(RDM())) is None and "silent" in why_unknown(Silent(RDM()))
    assert ceiling(Louder(RDM())) is None
    assert ceiling(Other(RDM())) == RDM().ceiling()
    assert ceiling(gym.wrappers.TimeLimit(RDM(), 100)) is None
    assert Silent(RDM()).ceiling() is None and Silent(RDM()).unwrapped.ceiling() is not None


LEAVING = [
    lambda: told(RDM()),
    lambda: wrappers.Identity(RDM()),
    lambda: wrappers.CatchTrials(RDM()),
    lambda: wrappers.TimeOut(RDM(), 500),
    lambda: wrappers.ReactionTime(RDM()),
    lambda: wrappers.MissTrialReward(RDM(), -1.0),
    lambda: wrappers.BiasCorrection(RDM()),
]


@pytest.mark.parametrize("make", LEAVING)
def test_what_is_left_is_left(make):
    assert ceiling(make())["performance"] == RDM().ceiling()["performance"]


STACKS = {
    "as it is": (lambda: told(RDM()), lambda n: Beliefs(), 0.01, 0),
    "noise 0.5": (lambda: wrappers.Noise(RDM(), 0.5), lambda n: Beliefs(), 0.26, 0),
    "noise 0.1": (lambda: wrappers.Noise(RDM(), 0.1), lambda n: Beliefs(), 0.02, 0),
    "0.9 / 0.1": (lambda: wrappers.RandomGroundTruth(RDM(), [0.9, 0.1]), lambda n: Constant(0.9), 0.01, 0),
    "sides in blocks": (
        lambda: told(wrappers.SideBias(RDM(), [[0.8, 0.2], [0.2, 0.8]], 100)),
        lambda n: Alternating(n, 100, BLOCKS[..., 0]),
        0.01,
        200,
    ),
    "history": (
        lambda: told(wrappers.TrialHistory(RDM(), 0.8)),
        lambda n: Alternating(n, 200, REPEATS[..., 0]),
        0.01,
        400,
    ),
    "history and noise": (
        lambda: told(wrappers.Noise(wrappers.TrialHistory(RDM(), 0.8), 0.3)),
        lambda n: Alternating(n, 200, REPEATS[..., 0]),
        0.10,
        400,
    ),
    "persistence": (
        lambda: told(wrappers.Persistence(RDM(), 0.8)),
        lambda n: Alternating(n, 200, np.array([[0.8, 0.2]] * 2)),
        0.01,
        20,
    ),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n != "as it is")) for n in STACKS])
def test_an_ideal_agent_reaches_the_ceiling_of_the_real_stack_and_does_not_exceed_it(name):
    make, beliefs, variance, warm = STACKS[name]
    n = 96
    reached, error = score(make, beliefs(n), warm + 200, n, variance, warm)
    stated = ceiling(make())
    assert abs(reached - stated["performance"]) < 4 * np.hypot(error, stated["error"]) + 1e-3


@pytest.mark.parametrize(
    ("make", "performance"),
    [
        (lambda: wrappers.RandomGroundTruth(RDM(), [0.9, 0.1]), 0.966),
        pytest.param(STACKS["sides in blocks"][0], 0.940, marks=pytest.mark.long),
        pytest.param(STACKS["history"][0], 0.939, marks=pytest.mark.long),
    ],
)
def test_known_ceilings(make, performance):
    assert ceiling(make())["performance"] == pytest.approx(performance, abs=0.003)


def test_noise_lowers_the_ceiling_more_the_more_there_is():
    levels = [ceiling(wrappers.Noise(RDM(), std))["performance"] for std in (0.0, 0.2, 0.5, 2.0)]
    assert levels[0] == pytest.approx(RDM().ceiling()["performance"], abs=0.003)
    assert np.all(np.diff(levels) < -0.01)
    assert ceiling(wrappers.Noise(RDM(), perf_th=0.8)) is None


def test_who_forgets_earlier_trials_gains_nothing_from_blocks():
    biased = wrappers.SideBias(RDM(), [[0.8, 0.2], [0.2, 0.8]], 100)
    assert ceiling(biased, memory=False)["performance"] == pytest.approx(RDM().ceiling()["performance"], abs=0.004)
    assert ceiling(told(biased), memory=False) is None


def test_noise_on_the_reward_hides_what_was_right():
    assert ceiling(wrappers.Noise(told(wrappers.TrialHistory(RDM(), 0.8)), 0.1)) is None
    assert ceiling(wrappers.Noise(told(RDM()), 0.1)) is not None
    assert ceiling(wrappers.Noise(told(ngym.make("TwoStep-v0")), 0.1)) is None


@pytest.mark.parametrize(
    "task", [task for task in registration.every_task() if "without_reward" in table().get(task, {})]
)
def test_tasks_that_need_the_last_reward_say_so(task):
    env = ngym.make(task)
    assert needs_reward(env)
    without, with_it = ceiling(env)["performance"], ceiling(told(env))["performance"]
    assert without == table()[task]["without_reward"]["performance"] < with_it == table()[task]["performance"]
    assert env.unwrapped.ceiling()["performance"] == with_it
    assert ceiling(told(env), memory=False) is None


def test_a_two_step_agent_that_does_not_see_its_reward_can_only_guess():
    assert ceiling(ngym.make("DawTwoStep-v0"))["performance"] == 0.5


@pytest.mark.parametrize("task", registration.every_task())
def test_the_flag_and_the_table_agree(task):
    assert needs_reward(ngym.make(task)) == ("without_reward" in table().get(task, {}))


def test_changed_arguments_and_timings_are_computed():
    usual = table()["DelayComparison-v0"]["performance"]
    assert ngym.make("DelayComparison-v0", sigma=2.0).ceiling()["performance"] < usual - 0.05
    shorter = ngym.make("DelayComparison-v0", timing={"stimulus1": 100}).ceiling()
    assert 0.5 < shorter["performance"] < usual - 0.01
    assert shorter["error"] < 0.005


def test_several_tasks_are_weighted_by_how_often_they_come():
    from neurogym.sampling.scheduler import IndependentSchedule

    tasks = [RDM(), ngym.make("PerceptualDecisionMaking-v0", timing={"stimulus": 500})]
    each = [task.ceiling()["performance"] for task in tasks]
    mixed = wrappers.ScheduleEnvs(tasks, IndependentSchedule(2, [0.75, 0.25]), env_input=True)
    assert mixed.ceiling()["performance"] == pytest.approx(0.75 * each[0] + 0.25 * each[1])
    assert wrappers.TransferLearning(tasks, [10]).ceiling()["performance"] == pytest.approx(each[1])
    assert wrappers.MultiEnvs(tasks).ceiling()["performance"] == pytest.approx(each[0])
    assert wrappers.ScheduleEnvs(tasks, IndependentSchedule(2)).ceiling() is None  # not told which one it is
