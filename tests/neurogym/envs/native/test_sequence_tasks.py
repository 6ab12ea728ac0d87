"""Tasks in which several items, or several sessions, follow each other."""

import numpy as np
import pytest

import neurogym as ngym


def test_n_back_asks_for_items_that_equal_the_one_n_before(make_trials):
    env = ngym.make("NBack-v0", n=3, length=9, n_items=5).unwrapped
    env.reset(seed=0)
    trials = env.make_trials(200)
    steps = int(trials.length[0])
    ob, gt = trials.ob.reshape(200, steps, -1), trials.gt.reshape(200, steps)
    onsets = [int(trials.starts[f"item{k}"][0]) for k in range(9)]
    items = ob[:, onsets, 1:].argmax(axis=2)
    for k in range(3, 9):
        start, end = trials.starts[f"response{k}"][0], trials.ends[f"response{k}"][0]
        match = items[:, k] == items[:, k - 3]
        assert np.array_equal(gt[:, start:end], np.repeat(np.where(match, 1, 2)[:, None], end - start, axis=1))
        assert (ob[:, start:end, 0] == 0).all()
    assert "response2" not in trials.starts
    assert trials.info["matches"].mean() / 6 == pytest.approx(1 / 3, abs=0.04)


def test_n_back_scores_each_item_once(play):
    env = ngym.make("NBack-v0").unwrapped
    always_match = play(env, act=lambda e: int(e.gt_now != 0), trials=60)
    for report in always_match:
        assert report["performance"] == pytest.approx(report["trial"]["matches"] / 10)
        assert report["trial_reward"] == pytest.approx(report["trial"]["matches"])


def test_sternberg_probe_is_in_the_list_or_not(make_trials):
    _, trials = make_trials("Sternberg-v0", n=300)
    for k in range(300):
        rows = slice(trials.offset[k], trials.offset[k] + trials.length[k])
        ob = trials.ob[rows, 1:]
        listed = np.flatnonzero(ob[trials.starts["list"][k] : trials.ends["list"][k]].any(axis=0))
        probe = ob[trials.starts["probe"][k]].argmax()
        assert len(listed) == trials.info["set_size"][k]
        assert (probe in listed) == (trials.info["ground_truth"][k] == 1)
        assert ob[trials.starts["delay"][k] : trials.ends["delay"][k]].sum() == 0


def test_sternberg_refuses_lists_that_hold_everything():
    with pytest.raises(ValueError, match="set_sizes"):
        ngym.make("Sternberg-v0", set_sizes=(1, 10))


def test_reversals_come_within_the_block_lengths(make_trials):
    _, trials = make_trials("ReversalLearning-v0", n=3000)
    blocks = np.diff(np.flatnonzero(np.diff(trials.info["better"])))
    assert blocks.min() >= 30 and blocks.max() <= 50


def test_better_picture_pays_more_often_wherever_it_is(make_trials, play):
    env = ngym.make("ReversalLearning-v0").unwrapped
    good = np.mean([report["trial_reward"] for report in play(env, trials=2000)])
    bad = [
        report["trial_reward"]
        for report in play(env, act=lambda e: (0, 2, 1)[int(e.gt_now)] if e.gt_now else 0, trials=2000)
    ]
    assert good == pytest.approx(0.8, abs=0.03)
    assert np.mean(bad) == pytest.approx(0.2, abs=0.03)
    _, trials = make_trials("ReversalLearning-v0", n=500)
    left = trials.ob[trials.rows("decision").index][:, 1:3].argmax(axis=1)[:: trials.ends["decision"][0] - 3]
    assert np.array_equal(left == trials.info["better"], trials.info["ground_truth"] == 1)


@pytest.mark.parametrize(("arms", "total"), [("correlated", 1), ("easy", 1), ("medium", 1), ("hard", 1)])
def test_dependent_arms_add_up_to_one(make_trials, arms, total):
    _, trials = make_trials("ChangingBandit-v0", n=2000, arms=arms)
    assert trials.info["p0"] + trials.info["p1"] == pytest.approx(np.full(2000, total))


def test_arms_stay_for_a_session(make_trials):
    env, _ = make_trials("ChangingBandit-v0", session=50)
    env.start_session()
    trials = env.make_trials(1000)
    p = trials.info["p0"].reshape(20, 50)
    assert (p == p[:, :1]).all() and len(np.unique(p[:, 0])) == 20
    assert np.array_equal(np.flatnonzero(trials.ob[:, 0]), np.arange(0, 1000, 50))


def test_bandit_with_several_arms():
    env = ngym.make("ChangingBandit-v0", n=4)
    assert env.action_space.n == 4
    with pytest.raises(ValueError, match="two arms"):
        ngym.make("ChangingBandit-v0", n=4, arms="easy")


def test_two_step_transitions_and_rewards(play):
    env = ngym.make("TwoStep-v0").unwrapped
    env.reset(seed=0)
    common, paid = [], []
    for _ in range(3000):
        better = env.trial["better"]
        ob = env.step(1)[0]
        stage = 1 + int(ob[1:3].argmax())
        reward = env.step(0)[1]
        common.append(stage == 1)
        paid.append(reward == (stage == better))
    assert np.mean(common) == pytest.approx(0.8, abs=0.03)
    assert np.mean(paid) == pytest.approx(0.9, abs=0.03)


def test_rule_switching_cue_decides_which_feature_counts(make_trials):
    _, trials = make_trials("CuedRuleSwitching-v0", n=2000, p_switch=0.25)
    info = trials.info
    expected = np.where(info["rule"] == "colour", info["colour"], info["orientation"])
    assert np.array_equal(info["ground_truth"], expected)
    assert info["switch"].mean() == pytest.approx(0.25, abs=0.04)
    assert np.array_equal(info["switch"][1:], info["rule"][1:] != info["rule"][:-1])
    assert np.array_equal(info["congruent"], info["colour"] == info["orientation"])
