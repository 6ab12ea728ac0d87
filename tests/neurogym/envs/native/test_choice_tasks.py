"""Tasks of value, accumulation and planning."""

import numpy as np
import pytest
from neurogym.envs.native.pulsedecisionmaking import PulseDecisionMaking

import neurogym as ngym


def test_the_option_chosen_pays_what_it_is_worth(make_trials, play):
    env, _ = make_trials("EconomicDecisionMaking-v0")
    for juice, action, reward, performance in (
        (("a", "b"), 1, 0.22, 0.0),
        (("a", "b"), 2, 0.4, 1.0),
        (("b", "a"), 1, 0.4, 1.0),
        (("b", "a"), 2, 0.22, 0.0),
    ):
        act = lambda env, action=action: action * env.in_period("decision")  # noqa: E731
        report = play(env, act, trials=1, juice=juice, offer=(4, 1))[0]
        assert report["trial_reward"] == pytest.approx(reward)
        assert report["performance"] == performance
        assert report["gt"] == (2 if juice[0] == "a" else 1)


def test_offers_are_shown_with_kind_and_amount(make_trials, play, shown_values):
    env, trials = make_trials("EconomicDecisionMaking-v0")
    a1, b1, a2, b2, n1, n2 = shown_values(trials, "offer_on", range(1, 7)).T
    np.testing.assert_array_equal(a1, trials.info["a_first"])
    np.testing.assert_array_equal((a1 + b1, a2 + b2, a1), (np.ones(trials.n), np.ones(trials.n), b2))
    amount_a = np.where(trials.info["a_first"], n1, n2) * 5
    np.testing.assert_allclose(amount_a, trials.info["n_a"], rtol=1e-6)
    ceiling = env.ceiling()
    assert (ceiling["performance"], round(ceiling["reward"], 4)) == (1.0, 0.3622)
    assert np.mean([r["trial_reward"] for r in play(env, trials=900)]) == pytest.approx(ceiling["reward"], abs=0.02)


@pytest.mark.parametrize(("worth", "better"), [(2.2, "b"), (4.5, "a")])
def test_what_a_drop_of_b_is_worth_can_be_said(make_trials, play, worth, better):
    env, _ = make_trials("EconomicDecisionMaking-v0", b_to_a=1 / worth)
    assert env.R_A / env.R_B == pytest.approx(worth)
    for juice in (("a", "b"), ("b", "a")):
        report = play(env, trials=1, juice=juice, offer=(4, 1))[0]
        assert juice[report["gt"] - 1] == better
        assert report["trial_reward"] == pytest.approx(0.22 if better == "a" else 4 * 0.22 / worth)


def test_offers_can_be_noisy(make_trials, shown_values):
    env, trials = make_trials("EconomicDecisionMaking-v0", sigma=0.5, dt=50)
    kind = trials.info["a_first"][:, None]
    noise = shown_values(trials, "offer_on", [1])[:, 0] - kind[:, 0]
    assert noise.std() > 0 and env.ceiling() is None
    assert env.sigma == pytest.approx(0.5 / 50**0.5)
    assert make_trials("EconomicDecisionMaking-v0")[0].ceiling()["performance"] == 1.0


def test_equal_offers_are_both_right(make_trials, play):
    env, _ = make_trials("EconomicDecisionMaking-v0", rewards={"correct": 0.0})
    act = lambda env: 2 * env.in_period("decision")  # noqa: E731
    assert play(env, act, trials=1)[0]["performance"] == 1


@pytest.mark.parametrize("dt", [10, 100])
def test_the_side_with_more_pulses_is_right(make_trials, shown_values, dt):
    env, trials = make_trials("PulseDecisionMaking-v0", dt=dt, n=3000)
    info = trials.info
    seen = sum(shown_values(trials, f"cue{i}", [1, 2]) for i in range(6))
    np.testing.assert_array_equal(seen, np.column_stack([info["count1"], info["count2"]]))
    untied = info["count1"] != info["count2"]
    np.testing.assert_array_equal(seen.argmax(axis=1)[untied], info["ground_truth"][untied])
    assert 1 - 0.5 * np.mean(~untied) == pytest.approx(env.ceiling()["performance"], abs=0.01)
    assert info["ground_truth"].mean() == pytest.approx(0.5, abs=0.03)


def test_asked_pulses_are_shown_and_decide(make_trials):
    env, _ = make_trials("PulseDecisionMaking-v0")
    trial = env.new_trial(pulse1=(1, 1, 0, 0, 0, 1), pulse2=(0, 1, 0, 0, 0, 0))
    assert trial["ground_truth"] == 0 and tuple(trial["pulse1"]) == (1, 1, 0, 0, 0, 1)
    assert env.ob[:, 1].sum() == 3 and env.ob[:, 2].sum() == 1
    with pytest.raises(ValueError, match="contradicts"):
        env.new_trial(pulse1=(1,) * 6, pulse2=(0,) * 6, ground_truth=1)
    with pytest.raises(ValueError, match="pulse1"):
        env.new_trial(pulse1=(1, 0))
    assert PulseDecisionMaking(n_bin=3).observation_space.shape == (3,)
    assert "bin2" in PulseDecisionMaking(n_bin=3).timing and "bin3" not in PulseDecisionMaking(n_bin=3).timing


def test_log_odds_of_the_shapes_draw_the_target(make_trials):
    env, trials = make_trials("ProbabilisticReasoning-v0", n=6000)
    info = trials.info
    np.testing.assert_allclose(info["log_odd"], env.shape_weight[info["shapes"]].sum(axis=1))
    likely = info["log_odd"] > 0
    decided = info["log_odd"] != 0
    right = np.mean((likely == info["ground_truth"])[decided]) * decided.mean() + 0.5 * np.mean(~decided)
    assert right == pytest.approx(env.ceiling()["performance"], abs=0.012)
    middle = np.abs(info["log_odd"] - 0.4) < 0.11
    expected = np.mean(1 / (1 + 10 ** -info["log_odd"][middle]))
    assert info["ground_truth"][middle].mean() == pytest.approx(expected, abs=0.06)


def test_shapes_stay_where_they_appeared_until_the_delay(make_trials, shown_values):
    _env, trials = make_trials("ProbabilisticReasoning-v0", n=50)
    for i in range(4):
        picture = shown_values(trials, f"stimulus{i}", range(1, 41)).reshape(50, 4, 10)
        assert np.all(picture.sum(axis=(1, 2)) == i + 1)
        rows = np.arange(50)
        assert np.all(picture[rows, trials.info["locs"][:, i], trials.info["shapes"][:, i]] == 1)
    assert not shown_values(trials, "delay", range(1, 41)).any()


def test_shapes_fit_a_ground_truth_that_is_asked_for(make_trials):
    env, _ = make_trials("ProbabilisticReasoning-v0", n=10)
    trials = env.make_trials(2000, ground_truth=np.ones(2000, int))
    assert trials.info["ground_truth"].all() and np.mean(trials.info["log_odd"] > 0) > 0.85
    trial = env.new_trial(shapes=(9, 9, 5, 5), locs=(3, 2, 1, 0))
    assert trial["log_odd"] == pytest.approx(20.6) and trial["ground_truth"] == 1
    with pytest.raises(ValueError, match="locs"):
        env.new_trial(locs=(0, 0, 1, 2))


def test_two_step_transitions_and_rewards(make_trials):
    _env, trials = make_trials("DawTwoStep-v0", n=20_000)
    info = trials.info
    assert info["common"].mean() == pytest.approx(0.8, abs=0.01)
    np.testing.assert_array_equal(info["transition"][:, 1] == 1, info["common"])
    good = np.take_along_axis(info["reward"], info["hi_state"][:, None], axis=1)
    bad = np.take_along_axis(info["reward"], 1 - info["hi_state"][:, None], axis=1)
    assert (good.mean(), bad.mean()) == pytest.approx((0.9, 0.1), abs=0.02)
    assert np.mean(np.diff(info["hi_state"]) != 0) == pytest.approx(0.025, abs=0.005)


def test_two_step_shows_the_state_reached_and_reports_the_first_choice():
    env = ngym.make("DawTwoStep-v0").unwrapped
    ob, _ = env.reset(seed=0)
    for action in (1, 2, 2, 1):
        np.testing.assert_array_equal(ob, [1, 0, 0])
        state = env.trial["transition"][action]
        ob, reward, _, _, info = env.step(action)
        np.testing.assert_array_equal(ob, np.eye(3)[state])
        assert reward == env.trial["reward"][state - 1] and not info["new_trial"]
        ob, reward, _, _, info = env.step(0)
        assert info["new_trial"] and reward == 0 and info["choice"] == action
        assert info["performance"] == (action == info["trial"]["hi_state"] + 1)
    ob, reward, _, _, info = env.step(0)
    assert (info["outcome"], reward) == ("abort", -0.1)
    np.testing.assert_array_equal(ob, [1, 0, 0])
    env.step(1)
    assert env.step(2)[1] == -0.1
    assert env.last["aborts"] == 1 and env.last["outcome"] in ("correct", "error")
