"""Attributes, arguments, labels and record keys of tasks that scripts know."""

import warnings

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs import registration
from neurogym.wrappers import RandomGroundTruth, ScheduleAttr, SideBias

ATTRIBUTES = {
    "AntiReach": {"dim_ring": 32},
    "ContextDecisionMaking": {"dim_ring": 2, "cohs": [5, 15, 50], "contexts": [0]},
    "DelayComparison": {"vall": [18, 10, 22, 14, 26, 18, 30, 22, 34, 26], "vmin": 10, "vmax": 34},
    "DelayMatchCategory": {"dim_ring": 2},
    "DelayPairedAssociation": {"pairs": [(1, 3), (1, 4), (2, 3), (2, 4)], "association": 0},
    "DualDelayMatchSample": {"choices": [1, 2]},
    "EconomicDecisionMaking": {
        "B_to_A": 1 / 2.2,
        "R_A": 0.22,
        "R_B": 0.1,
        "juices": [("a", "b"), ("b", "a")],
        "offers": [(0, 1), (1, 3), (1, 2), (1, 1), (2, 1), (3, 1), (4, 1), (6, 1), (2, 0)],
    },
    "GoNogo": {"actions": [0, 1]},
    "HierarchicalReasoning": {"choices": [0, 1]},
    "MultiSensoryIntegration": {"cohs": [5, 15, 50], "dim_ring": 2},
    "PerceptualDecisionMaking": {"dim_ring": 2, "cohs": [0, 6.4, 12.8, 25.6, 51.2]},
    "PostDecisionWager": {"cohs": [0, 3.2, 6.4, 12.8, 25.6, 51.2], "wagers": [False, True]},
    "ProbabilisticReasoning": {"shapes": list(range(10)), "n_shape": 10},
    "Reaching1D": {"dim_ring": 16},
    "ReachingDelayResponse": {"lowbound": 0, "highbound": 1},
    "SpatialSuppressMotion": {"theta": [-np.pi / 2, np.pi / 2, 0, np.pi]},
}


@pytest.mark.parametrize("task", ATTRIBUTES)
def test_attributes(task):
    env = ngym.make(f"{task}-v0").unwrapped
    for name, value in ATTRIBUTES[task].items():
        result = getattr(env, name)
        if isinstance(np.ravel(np.asarray(value))[0], str):
            assert list(result) == value
        else:
            np.testing.assert_allclose(np.asarray(result, dtype=float), np.asarray(value, dtype=float))


SET = {
    "ContextDecisionMaking": ("cohs", [7], "coh_2"),
    "DelayComparison": ("vpairs", [(30, 20)], "vpair"),
    "DelayPairedAssociation": ("pairs", [(2, 4)], "pair"),
    "EconomicDecisionMaking": ("offers", [(3, 1)], "offer"),
    "IBL": ("cohs", [7], "coh"),
    "MultiSensoryIntegration": ("cohs", [7], "coh"),
    "NAltPerceptualDecisionMaking": ("cohs", [7], "coh"),
    "PerceptualDecisionMaking": ("cohs", [7], "coh"),
    "PerceptualDecisionMakingDelayResponse": ("cohs", [7], "coh"),
    "PostDecisionWager": ("wagers", [True], "wager"),
    "RandomDotMotion": ("cohs", [7], "coh"),
}


@pytest.mark.parametrize("task", SET)
def test_a_set_attribute_changes_the_trials(task):
    env = ngym.make(f"{task}-v0")
    env.reset(seed=0)
    attribute, values, key = SET[task]
    setattr(env.unwrapped, attribute, values)
    for _ in range(20):
        np.testing.assert_array_equal(env.unwrapped.new_trial()[key], values[0])


def test_pairs_fit_the_ground_truth_that_is_asked_for():
    env = ngym.make("DelayPairedAssociation-v0").unwrapped
    env.reset(seed=0)
    for together in (0, 1):
        pairs = {tuple(env.new_trial(ground_truth=together)["pair"]) for _ in range(60)}
        assert pairs == ({(1, 3), (2, 4)} if together else {(1, 4), (2, 3)})


@pytest.mark.parametrize("task", ["Bandit-v0", "DawTwoStep-v0", "MatchingPenny-v0"])
def test_timing_of_tasks_without_periods_is_said_to_be_of_no_use(task):
    with pytest.warns(UserWarning, match="no periods"):
        ngym.make(task, timing={"fixation": 100})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ngym.make(task)


def test_arms_of_one_trial_can_be_asked_for():
    env = ngym.make("Bandit-v0", n=3, p=(0.2, 0.3, 0.4)).unwrapped
    env.reset(seed=0)
    assert env.trial["p"].tolist() == [0.2, 0.3, 0.4] and env.trial["rewards"].tolist() == [1, 1, 1]
    env.new_trial(p=(1, 0, 0), rewards=(5, 0, 0))
    assert env.oracle() == 0
    assert env.step(0)[1] == 5
    with pytest.raises(ValueError, match=r"p=\(1, 0\) is not drawn"):
        env.make_trials(1, p=(1, 0))


def test_arms_can_be_scheduled():
    from neurogym.utils.scheduler import SequentialBlockSchedule

    env = ScheduleAttr(ngym.make("Bandit-v0"), SequentialBlockSchedule(2, [5, 5]), [{"p": (1, 0)}, {"p": (0, 1)}])
    env.reset(seed=0)
    paid = [env.step(0)[1] for _ in range(10)]
    assert paid == [1] * 5 + [0] * 5


def test_annubes_takes_the_older_name_and_records_the_stimulus():
    env = ngym.make("AnnubesEnv-v0", session={"v": 1, "a": 1}, stim_intensities=[0.5], catch_prob=0.3).unwrapped
    env.reset(seed=0)
    trials = [env.new_trial() for _ in range(60)]
    assert {trial["stim_type"] for trial in trials} == {"v", "a", "catch"}
    assert all(trial["catch"] == (trial["stim_type"] == "catch") for trial in trials)
    assert {v for trial in trials for v in trial["stim_values"].values()} == {0.5}
    with pytest.raises(ValueError, match="two names of the same"):
        ngym.make("AnnubesEnv-v0", intensities=[1], stim_intensities=[1])


@pytest.mark.parametrize("task", ["dm1", "ctxdm2", "multidm"])
def test_stimulus_duration_of_yang19_is_recorded(task):
    env = ngym.make(f"yang19.{task}-v0").unwrapped
    env.reset(seed=0)
    results = {trial["stim_period"] for trial in (env.new_trial() for _ in range(40))}
    assert results == {200, 400, 600}


@pytest.mark.parametrize("task", ["go", "rtanti", "dms", "dnmc"])
def test_old_label_of_the_ring(task):
    env = ngym.make(f"yang19.{task}-v0", dim_ring=8)
    names = env.observation_space.name
    assert list(names["stimulus"]) == list(range(1, 9)) and "stimulus" in names
    assert list(names) == ["fixation", "stimulus_mod1", "stimulus_mod2"]
    wide = ngym.wrappers.PassReward(env).observation_space.name
    assert list(wide["stimulus"]) == list(range(1, 9)) and wide["reward"] == 17
    env.reset(seed=0)
    before = env.unwrapped.ob.copy()
    env.unwrapped.add_ob(1, where="stimulus")
    np.testing.assert_allclose((env.unwrapped.ob - before)[:, 1:9], 1, atol=1e-6)
    assert "stimulus" not in ngym.make("yang19.dm1-v0").observation_space.name


def test_tags_of_contributed_tasks_are_listed():
    tags = set(ngym.all_tags())
    for id_ in ngym.all_envs(contrib=True):
        assert set(registration.metadata(id_)["tags"]) <= tags
    assert "snail" in tags


@pytest.mark.parametrize("task", ["DualDelayMatchSample-v0", "HierarchicalReasoning-v0"])
def test_wrappers_do_not_decide_a_ground_truth_that_is_not_taken(task):
    """Choices can be read, but a bias that nothing follows would be silent."""
    for wrap in (RandomGroundTruth, lambda env: SideBias(env, [[0.8, 0.2], [0.2, 0.8]])):
        with pytest.raises(AttributeError, match="does not take one ground truth"):
            wrap(ngym.make(task))
