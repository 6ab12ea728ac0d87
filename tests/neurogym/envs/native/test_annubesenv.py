"""AnnubesEnv: sessions, catch trials, limits, noise and copies."""

import copy

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.native.annubesenv import AnnubesEnv


def longest_run(flags):
    runs = np.split(flags, np.flatnonzero(np.diff(flags.astype(int))) + 1)
    return max((len(run) for run in runs if run[0]), default=0)


def test_needs_no_arguments_and_pays_every_stimulus_step(make_trials, play):
    env, trials = make_trials("AnnubesEnv-v0")
    assert list(env.observation_space.name) == ["fixation", "start", "v", "a"]
    assert trials.info["catch"].mean() == pytest.approx(0.5, abs=0.06)
    assert {report["trial_reward"] for report in play(env)} == {10.0}


def test_performance_is_the_fraction_of_right_steps(make_trials, play):
    env, _ = make_trials("AnnubesEnv-v0", catch_prob=0)
    first = env.t_ind
    reports = play(env, lambda env: int(env.t_ind % 2 == first % 2 and env.in_period("stimulus")), trials=3)
    assert [round(report["performance"], 6) for report in reports] == [0.5] * 3


def test_joint_stimuli_drive_the_channels_of_all_their_modalities(make_trials):
    env, trials = make_trials("AnnubesEnv-v0", session={("v", "o"): 1.0, "a": 1.0}, noise_std=0, intensities=[0.7])
    assert env.modalities == ["v", "o", "a"]
    at = env.observation_space.name
    during = trials.ob[trials.offset + trials.starts["stimulus"]]
    for k, stimulus in enumerate(trials.info["stim_types"]):
        active = {name for name in env.modalities if during[k, at[name]] > 0}
        assert active == set(stimulus)
        assert trials.info["stim_values"][k] == pytest.approx(dict.fromkeys(stimulus, 0.7))
        assert trials.info["catch"][k] == (not stimulus)


def test_noise_is_scaled_by_the_time_constant_and_only_on_active_channels(make_trials):
    env, trials = make_trials(
        "AnnubesEnv-v0", session={"v": 1.0, "a": 0.0}, catch_prob=0, intensities=[0.5], noise_std=0.1
    )
    rows = trials.rows("stimulus").index
    at = env.observation_space.name
    assert trials.ob[rows, at["v"]].std() == pytest.approx(0.1 * np.sqrt(2), rel=0.05)
    assert not trials.ob[:, at["a"]].any()


@pytest.mark.parametrize(("limits", "v", "catch"), [(3, 3, None), ({"v": 2, "catch": 1}, 2, 1)])
def test_limits_on_sequences_hold_across_blocks(limits, v, catch):
    env = ngym.make("AnnubesEnv-v0", session={"v": 0.9, "a": 0.1}, max_sequential=limits).unwrapped
    env.reset(seed=0)
    blocks = [env.make_trials(40) for _ in range(20)]
    types = [stimulus for block in blocks for stimulus in block.info["stim_types"]]
    assert longest_run(np.array(["v" in stimulus for stimulus in types])) == v
    if catch:
        assert longest_run(np.array([not stimulus for stimulus in types])) == catch
    assert blocks[0].info["sequential_count"][0] is not blocks[0].info["sequential_count"][1]
    assert env.metadata["history_dependent"] and not AnnubesEnv.metadata["history_dependent"]


def test_every_trial_may_be_a_catch_trial(make_trials):
    _, trials = make_trials("AnnubesEnv-v0", catch_prob=1)
    assert trials.info["catch"].all() and not trials.gt.any()


def test_a_copy_goes_its_own_way_unless_frozen():
    for frozen in (False, True):
        env = ngym.make("AnnubesEnv-v0", frozen_seed=frozen, random_seed=1, max_sequential=2).unwrapped
        env.reset(seed=1)
        twin = copy.deepcopy(env)
        types = [[each.new_trial()["stim_types"] for _ in range(60)] for each in (env, twin)]
        assert (types[0] == types[1]) == frozen


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"session": {"catch": 1.0}}, ValueError),
        ({"session": {"v": -1.0}}, ValueError),
        ({"session": {"v": 0.0}}, ValueError),
        ({"session": ["v"]}, TypeError),
        ({"session": {1: 1.0}}, TypeError),
        ({"catch_prob": 1.5}, ValueError),
        ({"intensities": {"v": [1.0]}}, ValueError),
        ({"max_sequential": "two"}, TypeError),
        ({"max_sequential": {"x": 2}}, ValueError),
        ({"max_sequential": 0}, ValueError),
        ({"session": {"v": 1.0}, "catch_prob": 0, "max_sequential": 3}, ValueError),
        ({"session": {("v", "a"): 1, "v": 1, "a": 1}, "catch_prob": 0, "max_sequential": 3}, ValueError),
        ({"catch_prob": 1, "max_sequential": {"catch": 3}}, ValueError),
    ],
)
def test_impossible_sessions_are_refused(arguments, error):
    with pytest.raises(error):
        AnnubesEnv(**arguments)
