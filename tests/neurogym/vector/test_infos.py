"""Infos of batches are in Gymnasium's form, and its own vector wrappers work on them."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import vector as theirs

import neurogym as ngym
from neurogym.vector import TrialVectorEnv, make_vec
from neurogym.wrappers import PassAction, PassReward

IDS = ["PerceptualDecisionMaking-v0", "GoNogo-v0", "DawTwoStep-v0", "ReachingDelayResponse-v0", "Pneumostomeopening-v0"]


def stacks(id_):
    return lambda: PassAction(PassReward(ngym.make(id_)))


def same(a, b):
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a is b or np.array_equal(a, b) or (a != a and b != b) or str(a) == str(b)


@pytest.mark.parametrize("id_", IDS)
def test_lists_of_dictionaries_are_what_each_environment_said(id_):
    batch, singles = theirs.DictInfoToList(make_vec(stacks(id_), 3)), [stacks(id_)() for _ in range(3)]
    batch.reset(seed=4), [env.reset(seed=4 + i) for i, env in enumerate(singles)]
    ended = 0
    for _ in range(200):
        actions = batch.action_space.sample()
        *_, infos = batch.step(actions)
        for env, action, info in zip(singles, actions, infos, strict=True):
            _, _, terminated, truncated, expected = env.step(action)
            if terminated or truncated:
                env.reset()
                assert info.pop("final_info")["outcome"] == expected["outcome"]
                assert env.observation_space.contains(info.pop("final_obs"))
            expected.pop("tr_dur", None), info.pop("tr_dur", None)
            scalars = {
                k: v for k, v in expected.pop("trial", {}).items() if np.ndim(v) == 0 and not isinstance(v, dict)
            }
            message = info.pop("trial", {})
            assert same({k: message[k] for k in scalars}, scalars)
            assert same(info, expected), (info, expected)
            ended += expected["new_trial"]
    assert ended > 5


@pytest.mark.parametrize("id_", ["PerceptualDecisionMaking-v0", "ReachingDelayResponse-v0"])
def test_infos_say_for_whom_they_count(id_):
    batch = make_vec(stacks(id_), 4)
    batch.reset(seed=0)
    for _ in range(150):
        *_, infos = batch.step(batch.action_space.sample())
        assert infos["new_trial"].dtype == bool and infos["_new_trial"].all()
        if batch.finished is None:
            assert not infos["new_trial"].any() and "performance" not in infos
            continue
        np.testing.assert_array_equal(np.flatnonzero(infos["_performance"]), batch.finished["env"])
        np.testing.assert_array_equal(infos["performance"][infos["new_trial"]], batch.finished["performance"])
        assert all(np.array_equal(infos["trial"][f"_{name}"], infos["new_trial"]) for name in batch.tasks[0].conditions)


VECTOR_WRAPPERS = {
    "ClipAction": lambda env: theirs.ClipAction(env),
    "ClipReward": lambda env: theirs.ClipReward(env, -0.5, 0.5),
    "DtypeObservation": lambda env: theirs.DtypeObservation(env, np.float64),
    "FlattenObservation": lambda env: theirs.FlattenObservation(env),
    "NormalizeObservation": lambda env: theirs.NormalizeObservation(env),
    "NormalizeReward": lambda env: theirs.NormalizeReward(env),
    "RecordEpisodeStatistics": lambda env: theirs.RecordEpisodeStatistics(env),
    "RescaleAction": lambda env: theirs.RescaleAction(env, -1.0, 1.0),
    "RescaleObservation": lambda env: theirs.RescaleObservation(env, 0.0, 1.0),
    "ReshapeObservation": lambda env: theirs.ReshapeObservation(env, (env.single_observation_space.shape[0], 1)),
    "TransformAction": lambda env: theirs.TransformAction(env, lambda action: action),
    "TransformObservation": lambda env: theirs.TransformObservation(env, lambda ob: ob),
    "TransformReward": lambda env: theirs.TransformReward(env, lambda reward: reward),
    "VectorizeTransformAction": lambda env: theirs.VectorizeTransformAction(
        env, gym.wrappers.TransformAction, func=lambda action: action, action_space=env.single_action_space
    ),
    "VectorizeTransformObservation": lambda env: theirs.VectorizeTransformObservation(
        env, gym.wrappers.TransformObservation, func=lambda ob: ob, observation_space=env.single_observation_space
    ),
    "VectorizeTransformReward": lambda env: theirs.VectorizeTransformReward(
        env, gym.wrappers.TransformReward, func=lambda reward: reward
    ),
    "DictInfoToList": lambda env: theirs.DictInfoToList(env),
}


@pytest.mark.parametrize("name", VECTOR_WRAPPERS)
@pytest.mark.parametrize("id_", ["PerceptualDecisionMaking-v0", "ReachingDelayResponse-v0"])
def test_gymnasiums_vector_wrappers_run(name, id_):
    inner = make_vec(stacks(id_), 3)
    box = isinstance(inner.single_action_space, gym.spaces.Box)
    if name in ("ClipAction", "RescaleAction") and not box:
        pytest.skip("for actions that are vectors")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "Observation" in name and not isinstance(inner, TrialVectorEnv):
            with pytest.raises(ValueError, match="autoreset_mode"):  # an environment may end and be reset in one step
                VECTOR_WRAPPERS[name](inner)
            return
        if name == "RescaleObservation" and np.isinf(inner.single_observation_space.high).any():
            pytest.skip("for observations with bounds")
        env = VECTOR_WRAPPERS[name](inner)
        obs, _ = env.reset(seed=0)
        for _ in range(60):
            actions = inner.action_space.sample()
            if name == "RescaleAction":
                actions = np.clip(actions, -1, 1)
            obs, rewards, terminated, truncated, _ = env.step(actions)
    assert len(obs) == len(rewards) == len(terminated) == len(truncated) == 3


@pytest.mark.parametrize("id_", ["PerceptualDecisionMaking-v0", "ReachingDelayResponse-v0"])
def test_a_mask_says_which_environments_are_reset(id_):
    batch, singles = make_vec(stacks(id_), 3), [stacks(id_)() for _ in range(3)]
    with pytest.raises(ValueError, match="first reset is of all"):
        batch.reset(options={"reset_mask": np.array([True, False, False])})
    batch.reset(seed=1)
    obs = [env.reset(seed=1 + i)[0] for i, env in enumerate(singles)]
    for step in range(60):
        actions = batch.action_space.sample()
        seen = batch.step(actions)[0]
        obs = [env.step(action)[0] for env, action in zip(singles, actions, strict=True)]
        if step in (17, 40):
            mask = np.array([False, True, step == 40])
            seen, _ = batch.reset(seed=50 + step, options={"reset_mask": mask})
            for i in np.flatnonzero(mask):
                obs[i], _ = singles[i].reset(seed=50 + step + int(i))
        np.testing.assert_array_equal(seen, obs)
    with pytest.raises(ValueError, match="reset_mask needs 3 booleans"):
        batch.reset(options={"reset_mask": [1, 0]})


def test_options_are_conditions_of_the_first_trial():
    env = ngym.make("PerceptualDecisionMaking-v0")
    batch = make_vec(lambda: ngym.make("PerceptualDecisionMaking-v0"), 3)
    for seed in range(5):
        env.reset(seed=seed, options={"coh": 51.2, "ground_truth": 1})
        assert env.unwrapped.trial == {"coh": 51.2, "ground_truth": 1}
        batch.reset(seed=seed, options={"coh": 51.2})
        while batch.finished is None:
            batch.step(np.zeros(3, int))
        assert set(batch.finished["coh"]) == {51.2}
        env.step(0)


@pytest.mark.parametrize("id_", [*IDS, "MatchingPenny-v0", "VisualSearch-v0"])
def test_a_step_without_infos_does_the_same(id_):
    reported, quiet = (make_vec(stacks(id_) if "Visual" not in id_ else lambda: ngym.make(id_), 3) for _ in range(2))
    reported.reset(seed=2), quiet.reset(seed=2)
    reported.action_space.seed(1)
    ends = 0
    for _ in range(120):
        actions = reported.action_space.sample()
        *result, infos = reported.step(actions)
        moved = quiet.move(actions)
        for ours, theirs_ in zip(moved[:4], result, strict=True):
            np.testing.assert_array_equal(ours, theirs_)
        np.testing.assert_array_equal(moved.new_trial, infos["new_trial"])
        if moved.truth is not None:
            np.testing.assert_array_equal(moved.truth, infos["gt"])
        assert repr(reported.finished) == repr(quiet.finished)
        assert sorted(moved.last_seen) == np.flatnonzero(moved.terminated | moved.truncated).tolist()
        ends += int(moved.new_trial.sum())
    assert ends > 0 or id_ == "VisualSearch-v0"
