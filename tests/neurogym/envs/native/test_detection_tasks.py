"""Detection in noise, of bumps and of tones."""

import numpy as np
import pytest


@pytest.mark.parametrize("dt", [10, 20, 100])
def test_bump_is_where_the_ground_truth_begins(make_trials, dt):
    _env, trials = make_trials("Detection-v0", dt=dt, sigma=0)
    present = trials.info["ground_truth"] == 1
    bump, right = np.zeros(trials.n), np.zeros(trials.n)
    rows = trials.rows()
    np.add.at(bump, rows.trial, trials.ob[:, 1])
    np.add.at(right, rows.trial, trials.gt)
    np.testing.assert_allclose(bump, np.where(present, 0.5 * max(1, 100 // dt), 0))
    onset = trials.starts["stimulus"] + trials.info["delay"] / dt
    np.testing.assert_array_equal(right[present], (trials.length - onset)[present])
    assert not right[~present].any() and np.isnan(trials.info["delay"][~present]).all()


def test_trials_with_and_without_a_bump_have_the_same_noise(make_trials):
    _env, trials = make_trials("Detection-v0", n=3000, dt=20)
    rows = trials.rows("stimulus")
    noise = trials.ob[rows.index, 1] - 0.5 * (
        (trials.gt[rows.index] == 1)
        & ((rows.step - trials.starts["stimulus"][rows.trial]) * 20 < trials.info["delay"][rows.trial] + 100)
    )
    present = trials.info["ground_truth"][rows.trial] == 1
    assert noise[present].std() == pytest.approx(noise[~present].std(), rel=0.02)


def test_hits_false_alarms_misses_and_correct_rejections(make_trials, play):
    env, _ = make_trials("Detection-v0", delay=300)
    for ground_truth, act, reward, performance in (
        (1, lambda env: int(env.gt_now), 1, 1),
        (1, lambda env: int(env.in_period("stimulus")), -1, 0),
        (1, lambda env: 0, -1, 0),
        (0, lambda env: 0, 0, 1),
        (0, lambda env: int(env.in_period("stimulus")), -1, 0),
    ):
        report = play(env, act, trials=1, ground_truth=ground_truth)[0]
        assert (report["trial_reward"], report["performance"]) == (reward, performance)
    assert env.new_trial(ground_truth=1)["delay"] == 300


@pytest.mark.parametrize("arguments", [{"delay": 1450}, {"delay": -1}, {"stim_dur": 0}])
def test_bumps_that_never_fit_are_refused(make_trials, arguments):
    with pytest.raises(ValueError, match="stim_dur"):
        make_trials("Detection-v0", **arguments)


@pytest.mark.parametrize("dt", [10, 50, 100])
def test_tone_sounds_at_its_place_and_is_known_once_over(make_trials, dt):
    _env, trials = make_trials("ToneDetection-v0", dt=dt, sigma=0)
    rows, where = trials.rows(), trials.info["condition"]
    on = trials.ob[:, 0] > 0
    duration = max(1, 50 // dt)
    np.testing.assert_array_equal(np.bincount(rows.trial[on], minlength=trials.n), duration * (where > 0))
    np.testing.assert_allclose(rows.step[on][::duration] * dt, 500 * where[where > 0])
    expected = trials.gt > 0
    first = np.array([rows.step[expected & (rows.trial == k)].min() for k in np.flatnonzero(where)[:20]])
    np.testing.assert_allclose(first * dt, 500 * where[where > 0][:20] + duration * dt)


def test_last_step_is_paid(make_trials, play):
    env, _ = make_trials("ToneDetection-v0")
    for condition, answer, reward in ((0, 0, 1), (2, 2, 1), (2, 0, -0.1), (2, 3, 0), (0, 1, 0)):
        act = lambda env, answer=answer: answer if env.t_ind == 39 else 1  # noqa: E731
        report = play(env, act, trials=1, condition=condition)[0]
        assert (report["trial_reward"], report["trial_steps"]) == (reward, 40)
        assert report["performance"] == (reward == 1)
    assert env.new_trial(ground_truth=3)["condition"] == 3
    with pytest.raises(ValueError, match="tones"):
        make_trials("ToneDetection-v0", timing={"stimulus": 1000})
