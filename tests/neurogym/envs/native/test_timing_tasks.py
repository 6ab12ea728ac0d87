"""Tasks of measured and produced intervals."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.timing import possible_durations


def test_possible_durations_are_whole_steps():
    np.testing.assert_allclose(possible_durations(("uniform", (300, 600)), 80), [240, 320, 400, 480, 560])
    np.testing.assert_allclose(possible_durations((530, 610, 690), 100), [500, 600])
    np.testing.assert_allclose(possible_durations(83, 20), [80])
    assert possible_durations(("truncated_exponential", (100, 50)), 10) == ("uniform", (50.0, np.inf))


def test_the_longer_stimulus_is_first_or_second_equally_often(make_trials):
    env, trials = make_trials("IntervalDiscrimination-v0", n=4000)
    first, second = trials.info["duration1"], trials.info["duration2"]
    assert not np.any(first == second)
    np.testing.assert_array_equal(trials.info["ground_truth"], np.where(first > second, 1, 2))
    assert np.mean(trials.info["ground_truth"] == 1) == pytest.approx(0.5, abs=0.03)
    assert set(first) <= set(env.conditions["duration1"])
    shown_values = np.zeros((trials.n, 2))
    np.add.at(shown_values, trials.rows().trial, trials.ob[:, 1:])
    np.testing.assert_allclose(shown_values * env.dt, np.column_stack([first, second]))


def test_durations_can_be_asked_for(make_trials):
    env, _ = make_trials("IntervalDiscrimination-v0")
    trial = env.new_trial(duration1=560, duration2=240)
    assert (trial["duration1"], trial["duration2"], trial["ground_truth"]) == (560, 240, 1)
    assert env.new_trial(duration2=560)["ground_truth"] == 2
    with pytest.raises(ValueError, match="different durations"):
        env.new_trial(duration1=240, ground_truth=1)
    with pytest.raises(ValueError, match="different durations"):
        make_trials("IntervalDiscrimination-v0", timing={"stim1": 400, "stim2": 400})


@pytest.mark.parametrize("dt", [10, 80, 100])
def test_motor_timing_shows_the_set_signal_and_pays_the_nearest_step(make_trials, play, dt):
    env, trials = make_trials("MotorTiming-v0", dt=dt)
    signal = np.zeros(trials.n)
    np.add.at(signal, trials.rows().trial, trials.ob[:, 3])
    assert np.all(signal == max(1, 50 // dt))
    for report in play(env, trials=20):
        assert report["trial_reward"] == 1
        assert abs(report["rt"] - report["trial"]["production"]) <= dt / 2


def test_reward_of_a_produced_interval_falls_with_its_error(make_trials, play):
    env, _ = make_trials("MotorTiming-v0", dt=10)
    for late, reward in ((0, 1.0), (60, (1 - 60 / 185) ** 1.5), (180, 0.1), (190, 0.0), (-60, (1 - 60 / 185) ** 1.5)):
        go = lambda env, late=late: int(env.t - env.start_t["set"] == 800 + late)  # noqa: E731
        report = play(env, go, trials=1, production_ind=0)[0]
        assert report["trial_reward"] == pytest.approx(reward)
        assert report["performance"] == (reward > 0)
        assert report["rt"] == 800 + late


@pytest.mark.parametrize("dt", [20, 80])
def test_flashes_and_response_are_equally_spaced(make_trials, play, dt):
    env, trials = make_trials("OneTwoThreeGo-v0", dt=dt)
    interval = trials.info["interval"] / dt
    onsets = [trials.starts[name] for name in ("s1", "s2", "s3")]
    np.testing.assert_array_equal(onsets[1] - onsets[0], interval)
    np.testing.assert_array_equal(onsets[2] - onsets[1], interval)
    rows = trials.rows()
    right = trials.gt == 1
    np.testing.assert_array_equal(rows.trial[right], np.arange(trials.n))
    np.testing.assert_array_equal(rows.step[right] - onsets[2], interval)
    for report in play(env, trials=10):
        assert (report["trial_reward"], report["rt"]) == (1, report["trial"]["interval"])


def test_an_asked_interval_is_laid_out(make_trials):
    env, _ = make_trials("OneTwoThreeGo-v0", dt=20)
    env.new_trial(interval=1000)
    assert env.start_t["s2"] - env.start_t["s1"] == 1000
    with pytest.raises(ValueError, match="not longer than flash"):
        make_trials("OneTwoThreeGo-v0", timing={"interval1": 80})


def test_hierarchical_reasoning_judges_the_interval_that_is_shown(make_trials):
    env, trials = make_trials("HierarchicalReasoning-v0", dt=10, n=3000)
    assert env.mid_point == 850
    interval = (trials.starts["flash2"] - trials.ends["flash1"]) * 10
    np.testing.assert_array_equal(interval, trials.info["interval"])
    clear = interval != 850
    np.testing.assert_array_equal((interval > 850)[clear], trials.info["long_interval"][clear])
    assert trials.info["long_interval"].mean() == pytest.approx(0.5, abs=0.03)
    side = trials.gt[trials.offset + trials.starts["decision"]] - 3
    towards = trials.info["long_interval"] == (trials.info["rule"] == 1)
    np.testing.assert_array_equal(side == trials.info["stimulus"], towards)


def test_rules_come_in_blocks_that_go_on_across_blocks_of_trials():
    env = ngym.make("HierarchicalReasoning-v0").unwrapped
    env.reset(seed=0)
    rule = np.concatenate([env.make_trials(33).info["rule"] for _ in range(40)])
    starts = np.flatnonzero(np.diff(rule)) + 1
    lengths = np.diff(np.concatenate([[0], starts]))
    assert lengths[1:].min() == 10 and lengths.max() == 20


def test_a_trial_is_correct_only_with_the_right_rule(make_trials, play):
    env, _ = make_trials("HierarchicalReasoning-v0")

    def wrong_rule(env):
        return 3 - env.gt_now if env.in_period("rule_target") else env.gt_now

    reports = play(env, wrong_rule, trials=10)
    assert {(r["performance"], r["trial_reward"], r["outcome"]) for r in reports} == {(0, 0, "error")}
    assert all(r["trial"]["rule_choice"] == 2 - r["trial"]["rule"] for r in reports)

    def late(env):  # only the last step of the rule period counts
        last = env.t_ind == env.end_ind["rule_target"] - 1
        return wrong_rule(env) if env.in_period("rule_target") and not last else env.gt_now

    assert {report["performance"] for report in play(env, late, trials=10)} == {1}


def test_a_rule_that_is_not_hidden_is_the_one_reported(make_trials, play):
    env, _ = make_trials("HierarchicalReasoning-v0", hidden=False)

    def rule_0_then(env, right):
        if env.in_period("rule_target"):
            return 1
        if not env.in_period("decision"):
            return 0
        trial = env.trial
        towards = not trial["long_interval"]
        return 3 + (trial["stimulus"] if towards == right else 1 - trial["stimulus"])

    assert {r["performance"] for r in play(env, lambda env: rule_0_then(env, True), trials=20)} == {1}
    assert {r["performance"] for r in play(env, lambda env: rule_0_then(env, False), trials=20)} == {0}
    assert {r["performance"] for r in play(env, lambda env: env.gt_now, trials=20)} == {1}
    reports = play(env, lambda env: 1 if env.in_period("rule_target") else env.gt_now, trials=20)
    assert {(r["performance"], r["trial"]["rule"]) for r in reports} == {(1, 0)}
    assert all(r["trial"]["pro_choice"] != r["trial"]["long_interval"] for r in reports)


@pytest.mark.parametrize(("first_rule", "rules"), [(None, {0, 1}), (1.0, {1}), (0.0, {0}), (0.5, {0, 1})])
def test_a_rule_can_be_the_only_one(make_trials, first_rule, rules):
    _, trials = make_trials("HierarchicalReasoning-v0", n=500, first_rule=first_rule)
    assert set(trials.info["rule"]) == rules


def test_gains_are_drawn_and_cued_throughout_the_trial(make_trials, play):
    env, trials = make_trials("ReadySetGo-v0", gain=(1, 1.5), dt=20)
    assert env.observation_space.name["gain"] == 3
    gain = trials.info["gain"]
    assert set(gain) == {1.0, 1.5} and np.mean(gain == 1) == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(trials.ob[:, 3], gain[trials.rows().trial])
    np.testing.assert_allclose(trials.info["production"], gain * trials.info["measure"])
    reports = play(env, trials=40)
    assert all(report["performance"] == 1 for report in reports)
    assert {report["trial"]["gain"] for report in play(env, trials=5, gain=1.5)} == {1.5}
    for first in (1, [1.5]):
        assert make_trials("ReadySetGo-v0", gain=first)[0].observation_space.shape == (3,)


@pytest.mark.parametrize("task", ["ReadySetGo-v0", "ReadySetGoSinglePrior-v0", "ReadySetGoDoublePrior-v0"])
def test_without_noise_the_ceiling_is_one_at_any_time_step(task):
    assert ngym.make(task).unwrapped.ceiling()["performance"] == 1
    assert ngym.make(task, dt=20).unwrapped.ceiling()["performance"] == 1


@pytest.mark.parametrize(
    ("task", "kwargs"),
    [
        ("ReadySetGoSinglePrior-v0", {"dt": 20, "weber": 0.1, "training": False}),
        ("ReadySetGoSinglePrior-v0", {"dt": 10, "weber": 0.05, "prod_margin": 0.1, "training": False}),
        ("ReadySetGoDoublePrior-v0", {"dt": 20, "weber": 0.1, "prod_margin": 0.1, "training": False}),
    ],
)
def test_the_ceiling_of_noisy_measurements_is_that_of_the_best_response_to_each(make_trials, task, kwargs):
    env, trials = make_trials(task, n=60_000, **kwargs)
    interval, measured = trials.info["interval"], trials.info["measured"]
    spread = (measured / interval - 1).std()
    assert spread == pytest.approx(kwargs["weber"], rel=0.03)
    np.testing.assert_allclose((trials.starts["set"] - trials.starts["ready"]) * env.dt, measured)
    responses = np.arange(300, 1500, env.dt)
    hits = np.abs(responses - interval[:, None]) <= np.maximum(env.prod_margin * interval, env.dt)[:, None] + 1e-6
    best = 0.0
    for cue in np.unique(trials.info["cue"]):
        kinds = np.unique(measured[trials.info["cue"] == cue])
        for kind in kinds:
            best += hits[(trials.info["cue"] == cue) & (measured == kind)].sum(axis=0).max()
    assert best / trials.n == pytest.approx(env.ceiling()["performance"], abs=0.015)


def test_the_ceiling_of_intervals_that_earlier_trials_foretell_is_not_known():
    assert ngym.make("ReadySetGoSinglePrior-v0", weber=0.1).unwrapped.ceiling() is None
    assert ngym.make("ReadySetGoSinglePrior-v0", weber=0.1, scenario=0).unwrapped.ceiling() is not None


def test_the_ceiling_of_cues_that_are_noisy_too_is_not_known():
    assert ngym.make("ReadySetGoDoublePrior-v0", weber=0.1, input_noise=0.1, training=False).unwrapped.ceiling() is None
    with pytest.raises(ValueError, match="weber"):
        ngym.make("ReadySetGoDoublePrior-v0", weber=-0.1)
