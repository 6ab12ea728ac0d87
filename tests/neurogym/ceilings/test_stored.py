import gymnasium as gym
import pytest

import neurogym as ngym
from neurogym.ceilings import blind, chance
from neurogym.ceilings.observer import IdealObserver
from neurogym.ceilings.stored import table
from neurogym.envs import registration
from neurogym.wrappers import Monitor

#: a curriculum whose stages differ
UNKNOWN = {"CVLearning-v0"}


def ceiling(task: str, **kwargs) -> dict | None:
    return ngym.make(task, **kwargs).unwrapped.ceiling()


@pytest.mark.parametrize("task", registration.every_task())
def test_every_task_states_its_ceiling(task):
    result = ceiling(task)
    if task in UNKNOWN:
        assert result is None
        return
    assert set(result) == {"performance", "reward", "error", "method"}
    assert 0 < result["performance"] <= 1 and 0 <= result["error"] < 0.005


@pytest.mark.parametrize(
    ("task", "performance", "reward"),
    [
        ("PerceptualDecisionMaking-v0", 0.8957, 0.8957),
        ("ContextDecisionMaking-v0", 0.9409, 0.9409),
        ("DelayComparison-v0", 0.9958, 0.9958),
        ("EconomicDecisionMaking-v0", 1.0, 0.3622),
    ],
)
def test_published_ceilings(task, performance, reward):
    result = ceiling(task)
    assert result["performance"] == pytest.approx(performance, abs=3e-4)
    assert result["reward"] == pytest.approx(reward, abs=3e-4)


def test_shorter_stimulus_has_a_lower_ceiling():
    result = ceiling("PerceptualDecisionMaking-v0", timing={"fixation": 300, "stimulus": 500, "decision": 300})
    assert result["performance"] == pytest.approx(0.8645, abs=1e-4)


def test_a_stored_ceiling_holds_for_the_default_parameters_only():
    assert ceiling("DelayComparison-v0") == table()["DelayComparison-v0"]
    assert ceiling("Romo-v0") == ceiling("DelayComparison-v0", sigma=1.0) == ceiling("DelayComparison-v0")
    assert ceiling("DelayComparison-v0", sigma=2.0) != ceiling("DelayComparison-v0")
    assert ceiling("ReversalLearning-v0", p_reward=0.9) is None
    assert ceiling("ChangingBandit-v0", arms="hard") is None


def test_blocks_raise_the_ceiling():
    plain, blocks = (ngym.make(task).ceiling() for task in ("RDM-v0", "perceptualdecisionmaking.ibl20-v0"))
    assert blocks["performance"] > plain["performance"] + 0.02


@pytest.mark.parametrize("task", ["PerceptualDecisionMaking-v0", "ContextDecisionMaking-v0"])
def test_posterior_over_templates_agrees_with_the_exact_value(task):
    env = ngym.make(task).unwrapped
    simulated, exact = IdealObserver(env, env.ideal_observer).scores(timings=5, trials=4000), ceiling(task)
    assert abs(simulated.performance.mean() - exact["performance"]) < 4 * simulated.error + 0.001


def test_every_stored_ceiling_belongs_to_a_task():
    assert set(table()) <= set(registration.every_task())


class _Fixates(gym.ActionWrapper):
    """Replaces every action."""

    def action(self, action):
        return 0


class _FixatesInStep(ngym.TrialWrapper):
    """The same, as a wrapper of trials."""

    def step(self, action, *rest):
        return self.env.step(0, *rest)


@pytest.mark.parametrize("wrapper", [_Fixates, _FixatesInStep])
@pytest.mark.parametrize("dt", [100, 50])
def test_wrappers_that_change_actions_change_the_score_of_random_actions(wrapper, dt):
    env = wrapper(ngym.make("PerceptualDecisionMaking-v0", dt=dt))
    assert chance(env)["performance"] == 0.0 and blind(env) is None


def test_wrappers_that_only_look_leave_the_score_of_random_actions():
    env = ngym.make("PerceptualDecisionMaking-v0")
    for wrapped in (Monitor(env, verbose=False), gym.wrappers.TransformObservation(env, lambda ob: ob, None)):
        assert chance(wrapped) == chance(env) and blind(wrapped) == blind(env)
