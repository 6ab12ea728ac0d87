"""What can be done with a wrapper follows from what it declares."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym import wrappers
from neurogym.vector import TrialVectorEnv, make_vec
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.stack import traits
from neurogym.wrappers.tasks import Traits


class Passive(TrialWrapper):
    """Changes nothing."""


class Clearer(TrialWrapper):
    """The next trial is clear after an error."""

    hooks = Hooks(changes=("conditions",), follows_agent=True, history_dependent=True)
    told: list

    def start_session(self):
        self.told, self.clear = [], False

    def trial_ended(self, info):
        self.told.append(info["trial"]["coh"])
        self.clear = info["outcome"] != "correct"

    def plan(self, n, conditions):
        return {**conditions, "coh": np.full(n, 51.2)} if self.clear else conditions


def test_one_that_is_told_how_trials_end_follows_the_agent():
    env = Clearer(ngym.make("RDM-v0"))
    assert traits(env)[:3] == (False, True, True)
    assert isinstance(make_vec(lambda: Clearer(ngym.make("RDM-v0")), 2), TrialVectorEnv)
    env.reset(seed=0)
    expected, clear = [], []
    for _ in range(3000):
        *_, info = env.step(env.action_space.sample())
        if info["new_trial"]:
            expected.append(info["trial"]["coh"])
            if info["outcome"] != "correct":
                clear.append(env.unwrapped.trial["coh"])
    assert env.told == expected and len(expected) > 50
    assert set(clear) == {51.2} != set(expected)


def test_one_that_does_nothing_leaves_everything_possible():
    assert traits(Passive(ngym.make("RDM-v0"))) == traits(ngym.make("RDM-v0")) == Traits(ahead=True, batched=True)
    assert isinstance(make_vec(lambda: Passive(ngym.make("RDM-v0")), 2), TrialVectorEnv)


@pytest.mark.parametrize(
    "name", ["SideBias", "TrialHistory", "BiasCorrection", "VariableMapping", "TimeOut", "PerfPhases"]
)
def test_those_that_keep_something_from_trial_to_trial_are_known_to_link_trials(name):
    assert getattr(wrappers, name).hooks.history_dependent


@pytest.mark.parametrize("name", ["PassReward", "Noise", "CatchTrials", "ComputeMeanPerf", "ReactionTime"])
def test_those_whose_trials_stay_independent_are_known_not_to(name):
    assert not getattr(wrappers, name).hooks.history_dependent


@pytest.mark.parametrize(
    ("method", "entry"),
    [
        ("plan", "changes"),
        ("revise", "changes"),
        ("observe", "shows"),
        ("trial_ended", "follows_agent"),
        ("step", "own_step"),
        ("new_trial", "own_new_trial"),
    ],
)
def test_a_declaration_that_leaves_an_overridden_method_out_is_refused(method, entry):
    with pytest.raises(TypeError, match=f"Mine overrides {method}, but its hooks do not declare {entry}"):
        type("Mine", (TrialWrapper,), {"hooks": Hooks(), method: lambda self, *args, **kwargs: None})


def test_a_word_that_no_wrapper_changes_is_refused():
    with pytest.raises(ValueError, match="did you mean 'rewards'"):
        Hooks(changes=("reward",))


def test_wrappers_of_scripts_that_declare_nothing_are_taken_for_the_most_that_they_could_do():
    class Stepping(TrialWrapper):
        def step(self, action):
            return super().step(action)

    class Planning(TrialWrapper):
        def plan(self, n, conditions):
            return conditions

    assert traits(Stepping(ngym.make("RDM-v0")))[:3] == (True, False, False)
    assert traits(Planning(ngym.make("RDM-v0")))[:3] == (True, True, False)
    assert "conditions" in Planning.hooks.changes and not Planning.hooks.follows_agent


def test_the_declaration_of_an_instance_may_follow_from_its_arguments():
    task = ngym.make("RDM-v0")
    assert not wrappers.TrialHistory(task).hooks.follows_agent
    assert wrappers.TrialHistory(ngym.make("RDM-v0"), after_error="reset").hooks.follows_agent
    assert wrappers.Noise(ngym.make("RDM-v0"), perf_th=0.8).hooks.own_step
    assert isinstance(make_vec(lambda: wrappers.Noise(ngym.make("RDM-v0")), 2), TrialVectorEnv)


def test_a_task_that_is_told_how_trials_end_follows_the_agent():
    class Following(type(ngym.make("RDM-v0").unwrapped)):
        def start_session(self):
            self.errors = 0

        def trial_ended(self, info):
            self.errors += info["outcome"] == "error"

        def _new_trials(self, trials):
            super()._new_trials(trials)
            trials.info["errors"] = np.full(trials.n, self.errors)

    env = Following()
    assert env.traits.follows_agent and not traits(env).ahead
    env.reset(seed=0)
    errors = 0
    for _ in range(2000):
        *_, info = env.step(env.action_space.sample())
        if info["new_trial"]:
            assert info["trial"]["errors"] == errors
            errors += info["outcome"] == "error"
    assert errors > 10
