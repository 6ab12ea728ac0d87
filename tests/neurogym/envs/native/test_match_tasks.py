"""Tasks that compare a test with a remembered sample."""

import numpy as np
import pytest

import neurogym as ngym


def decoded(shown_values, trials, period, env):
    """Angle (rad) that the ring shows in a period without noise."""
    ring = shown_values(trials, period, env.observation_space.name["stimulus"])
    return np.mod(np.angle(ring @ np.exp(1j * env.theta)), 2 * np.pi)


def test_anti_reach_shows_the_opposite_direction(make_trials, shown_values):
    for anti in (True, False):
        env, trials = make_trials("AntiReach-v0", anti=anti)
        answer = env.theta[trials.info["ground_truth"]]
        away = np.abs(np.angle(np.exp(1j * (decoded(shown_values, trials, "stimulus", env) - answer))))
        np.testing.assert_allclose(away, np.pi if anti else 0, atol=1e-5)
    assert env.new_trial(anti=True)["anti"] is True


@pytest.mark.parametrize("units", [2, 16])
def test_categories_are_visible_and_decide(make_trials, units):
    env, trials = make_trials("DelayMatchCategory-v0", sigma=0, dim_ring=units)
    halves = []
    for period in ("sample", "test"):
        ring = trials.ob[trials.offset + trials.starts[period], 1:] - 0.5
        halves.append((ring @ np.cos(env.theta) < 0).astype(int))
    np.testing.assert_array_equal(halves[0], trials.info["sample_category"])
    match = trials.info["ground_truth"] == "match"
    np.testing.assert_array_equal(halves[0] == halves[1], match)
    np.testing.assert_array_equal(trials.gt[trials.rows("test").index[:1]], [1 if match[0] else 2])
    assert ngym.make("DelayMatchCategory-v0").observation_space.shape == (3,)
    with pytest.raises(ValueError, match="dim_ring"):
        ngym.make("DelayMatchCategory-v0", dim_ring=1)


def test_test_equals_the_sample_or_is_opposite(make_trials, shown_values):
    env, trials = make_trials("DelayMatchSample-v0", sigma=0, dim_ring=8)
    distance = np.abs(
        np.angle(
            np.exp(1j * (decoded(shown_values, trials, "sample", env) - decoded(shown_values, trials, "test", env)))
        )
    )
    np.testing.assert_allclose(distance, np.where(trials.info["ground_truth"] == 1, 0, np.pi), atol=1e-5)


def test_distractors_keep_their_distance(make_trials):
    _env, trials = make_trials("DelayMatchSampleDistractor1D-v0")
    for k in (1, 2, 3):
        away = np.abs(np.angle(np.exp(1j * (trials.info[f"test{k}"] - trials.info["sample"]))))
        match = trials.info["ground_truth"] == k
        np.testing.assert_allclose(away[match], 0, atol=1e-6)
        assert away[~match].min() >= np.pi / 4 - 1e-6
    noise = trials.ob[trials.rows("sample").index][:, 1:].std()
    assert noise == pytest.approx(np.sqrt(0.5 + 0.01), rel=0.02)  # of the cosine, and sigma / sqrt(dt) = 0.1


@pytest.mark.parametrize("match", [1, 2, 3])
def test_answering_anything_but_the_match_fails(make_trials, play, match):
    env, _ = make_trials("DelayMatchSampleDistractor1D-v0")
    report = play(env, lambda env: int(env.in_period(f"test{match}")), trials=1, ground_truth=match)[0]
    assert (report["performance"], report["trial_reward"], report["rt"]) == (1, 1, 0)
    early = play(env, lambda env: int(env.in_period("delay1")), trials=1, ground_truth=match)[0]
    assert (early["performance"], early["trial_reward"], early["outcome"]) == (0, -1, "error")
    silent = play(env, lambda env: 0, trials=1, ground_truth=match)[0]
    assert (silent["performance"], silent["trial_reward"], silent["outcome"]) == (0, 0, "miss")


def test_pairs_and_ground_truth_belong_together(make_trials, shown_values):
    env, trials = make_trials("DelayPairedAssociation-v0", sigma=0)
    first, second = (shown_values(trials, period, range(1, 5)).argmax(axis=1) + 1 for period in ("stim1", "stim2"))
    go = np.isin(10 * first + second, (13, 24))
    np.testing.assert_array_equal(go, trials.info["ground_truth"])
    assert len(np.unique(trials.info["pair"], axis=0)) == 4
    assert env.new_trial(pair=(1, 4))["ground_truth"] == 0
    assert tuple(env.new_trial(pair=(2, 4), ground_truth=1)["pair"]) == (2, 4)
    with pytest.raises(ValueError, match="contradict"):
        env.new_trial(pair=(1, 4), ground_truth=1)


def test_withholding_after_an_unrelated_pair_is_right(make_trials, play):
    env, _ = make_trials("DelayPairedAssociation-v0")
    silent = play(env, lambda env: 0, trials=40)
    assert {(r["trial"]["ground_truth"], r["performance"]) for r in silent} == {(0, 1.0), (1, 0.0)}


def test_each_of_two_tests_pays_once(make_trials, play):
    env, _ = make_trials("DualDelayMatchSample-v0")
    assert {report["trial_reward"] for report in play(env)} == {2.0}
    only_second = play(env, lambda env: int(env.gt_now) * env.in_period("test2"), trials=20)
    assert {(r["performance"], r["trial_reward"], r["outcome"]) for r in only_second} == {(0.5, 1.0, "error")}
    changing = play(env, lambda env: 0 if not env.gt_now else 1 + env.t_ind % 2, trials=40)
    assert {round(report["trial_reward"], 6) for report in changing} <= {0.0, 1.0, 2.0}


def test_cue_says_which_item_is_tested(make_trials, shown_values):
    env, trials = make_trials("DualDelayMatchSample-v0", sigma=0)
    for order in (0, 1):
        ours = trials.info["test_order"] == order
        for path, period in enumerate(("1", "2")):
            item = 1 + (path != order)
            cues = shown_values(trials, f"cue{period}", [5, 6])[ours]
            np.testing.assert_array_equal(cues, np.tile(np.eye(2)[item - 1], (ours.sum(), 1)))
            channels = env.observation_space.name[f"stimulus{item}"]
            same = (shown_values(trials, "sample", channels) == shown_values(trials, f"test{period}", channels)).all(
                axis=1
            )
            match = trials.info[f"ground_truth{item}"] == 1
            np.testing.assert_array_equal(same[ours], match[ours])
    assert not trials.ob[trials.rows(["test1", "test2"]).index, 0].any()
