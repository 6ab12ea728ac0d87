"""Tasks that had been removed from the reference."""

import numpy as np
import pytest

import neurogym as ngym


def test_alternatives_not_in_play_are_never_right(make_trials):
    env, _ = make_trials("NAltPerceptualDecisionMaking-v0", n_ch=4, zero_irrelevant_stim=True, sigma=0, ob_nch=True)
    for _ in range(30):
        trial = env.new_trial(sel_chs=(2, 4))
        assert trial["ground_truth"] in (2, 4)
        stimulus = env.view_ob("stimulus")[0]
        assert (stimulus[[1, 3]] == 0).all() and stimulus[5] == 2
        assert stimulus[trial["ground_truth"]] == pytest.approx((1 + trial["coh"] / 100) / 2)
    with pytest.raises(ValueError, match="in play"):
        env.new_trial(sel_chs=(2, 4), ground_truth=1)


def test_coherence_grows_with_the_number_of_alternatives():
    two, eight = (ngym.make("NAltPerceptualDecisionMaking-v0", n_ch=n).unwrapped.cohs for n in (2, 8))
    assert two[-1] == pytest.approx(51.2 * 1.239, abs=0.1)
    assert eight[-1] > two[-1]


def test_mapping_of_patterns_is_shared_and_can_be_reversed():
    first, second = (ngym.make("NAltConditionalVisuomotor-v0", n_stims=3).unwrapped for _ in range(2))
    assert np.array_equal(first.patterns, second.patterns) and first.mapping == second.mapping
    first.reset(seed=0)
    for stim in range(3):
        assert first.new_trial(stims=stim)["ground_truth"] == first.mapping[stim]
        reverse = first.mapping[::-1]
        assert first.new_trial(stims=stim, mapping=reverse)["ground_truth"] == reverse[stim]
    with pytest.raises(ValueError, match="does not lead"):
        first.new_trial(stims=0, ground_truth=1 + first.mapping[0] % 3)


def test_delay_estimation_pays_by_the_distance_around_the_wheel(make_trials):
    _env, trials = make_trials("DelayEstimation-v0", n=300, sigma=0)
    target = trials.info["ground_truth"]
    row = trials.offset + trials.starts["decision"]
    reward = trials.fields["reward"][row, 1:]
    assert (reward.argmax(axis=1) == target).all() and reward.max() == 1
    assert reward[np.arange(300), (target + 90) % 180] == pytest.approx(np.zeros(300))
    assert reward[np.arange(300), (target + 45) % 180] == pytest.approx(np.full(300, 0.5))
    items = trials.ob[trials.offset, 1:17].reshape(300, 8, 2)
    shown_values = np.linalg.norm(items, axis=2) > 0.5
    assert np.array_equal(shown_values.sum(axis=1), trials.info["set_size"])
    cued = items[np.arange(300), trials.info["cue"]]
    assert np.arctan2(cued[:, 1], cued[:, 0]) % (2 * np.pi) == pytest.approx(2 * np.pi * target / 180, abs=1e-3)


@pytest.mark.parametrize(
    ("kwargs", "periods", "actions"),
    [({}, 6, 3), ({"simultaneous_stim": True}, 4, 3), ({"gng": True}, 6, 2)],
)
def test_configurable_task(make_trials, play, kwargs, periods, actions):
    env, trials = make_trials("GenTask-v0", n=50, sigma=0, cohs=(50,), **kwargs)
    assert len(trials.starts) == periods and env.action_space.n == actions
    first = trials.ob[trials.offset + trials.starts["stim1"], 1]
    assert first == pytest.approx(np.where(trials.info["ground_truth"] == 1, 0.75, 0.25))
    assert all(report["performance"] == 1 for report in play(env))


@pytest.mark.parametrize("task", ["Priors-v0", "RDMHist-v0"])
def test_correct_sides_repeat_or_alternate_in_blocks(make_trials, task):
    env, _ = make_trials(task)
    env.start_session()
    trials = env.make_trials(4000)
    side, p = trials.info["ground_truth"], trials.info["rep_prob"]
    repeats = side[1:] == side[:-1]
    assert repeats[p[1:] == 0.8].mean() == pytest.approx(0.8, abs=0.03)
    assert repeats[p[1:] == 0.2].mean() == pytest.approx(0.2, abs=0.03)
    assert np.array_equal(np.flatnonzero(np.diff(p)) + 1, np.arange(200, 4000, 200))


@pytest.mark.parametrize("task", ["CueSetGo-v0", "ReadySetGoSinglePrior-v0", "ReadySetGoDoublePrior-v0"])
@pytest.mark.parametrize("ramp_end", [1.0, 0.95])
def test_ramp_reaches_its_height_when_the_interval_is_over(make_trials, play, task, ramp_end):
    env, _ = make_trials(task, ramp_end=ramp_end)
    env.start_session()
    trials = env.make_trials(20)
    for k in range(20):
        rows = slice(trials.offset[k], trials.offset[k] + trials.length[k])
        reached = np.flatnonzero(trials.gt[rows, 0] >= ramp_end)[0] - trials.starts["set"][k]
        assert reached * env.dt == pytest.approx(trials.info["interval"][k], abs=env.dt)
        if "estimation" in trials.starts:
            measured = (trials.starts["set"][k] - trials.starts["ready"][k]) * env.dt
            assert measured == pytest.approx(trials.info["interval"][k], abs=env.dt)
    assert sorted(trials.info["scenario"][: len(env.scenarios)]) == list(range(len(env.scenarios)))
    high_at_set = play(env, act=lambda e: np.ones(1, np.float32), trials=5)
    late = play(env, act=lambda e: e.oracle() * 0.94, trials=5)
    assert all(report["performance"] == 0 for report in high_at_set + late)


def test_rate_discrimination_of_one_modality_leaves_the_other_at_baseline(make_trials):
    env, _ = make_trials("RateDiscrimination-v0", sigma=0)
    env.new_trial(modality="visual", rate=16)
    stimulus = env.view_ob("stimulus")[0]
    assert stimulus == pytest.approx([1.4, 0.2, 0.6, 0.2, 1.2])
    assert env.view_groundtruth("decision")[0] == 1
    noisy = ngym.make("RateDiscrimination-v0").unwrapped
    noisy.reset(seed=0)
    assert noisy.make_trials(50).ob.min() == 0


def test_sensory_noise_is_only_on_what_is_shown_and_has_a_known_ceiling(make_trials):
    usual = {"sigma": 0.2, "baseline": 0.1, "lowest": 0.3, "span": 0.2, "sensory": True, "dt": 50}
    env, _ = make_trials("RateDiscrimination-v0", **usual)
    rows = env.make_trials(300, modality="visual", rate=9)
    stimulus = rows.ob[rows.rows("stimulus").index]
    np.testing.assert_allclose(stimulus[:, [0, 2]].mean(axis=0), [0.4, 0.6], atol=0.04)
    np.testing.assert_allclose(stimulus[:, [0, 2]].std(axis=0), 0.2 * np.sqrt(2 * 100 / 50), atol=0.02)
    np.testing.assert_allclose(stimulus[:, [1, 3]], 0.1, atol=1e-6)
    assert rows.ob.min() < 0 and env.observation_space.contains(rows.ob[rows.ob.argmin() // 5])
    before = rows.ob[rows.rows("fixation").index]
    np.testing.assert_allclose(before, np.tile([0.1, 0.1, 0.1, 0.1, 1.1], (len(before), 1)), atol=1e-6)


def test_the_ceiling_of_sensory_noise_is_that_of_the_summed_difference(make_trials):
    settings = {"dt": 50, "sigma": 0.021**0.5, "baseline": 0, "lowest": 5 / 12, "span": 1 / 6, "sensory": True}
    env, _ = make_trials("RateDiscrimination-v0", **settings)
    assert env.ceiling()["performance"] == pytest.approx(0.8314, abs=1e-4)  # Song et al. 2017, by an ideal observer
    right = []
    for modality in ("visual", "auditory", "both"):
        trials = env.make_trials(2000, modality=modality)
        ob = trials.ob.reshape(trials.n, -1, 5)
        faster = (ob[..., :2] - ob[..., 2:4]).sum(axis=(1, 2)) > 0
        right.append(np.mean(faster == (trials.info["rate"] > 12.5)))
    assert np.mean(right) == pytest.approx(env.ceiling()["performance"], abs=0.02)


def test_dual_task_scores_both_tasks(play):
    env = ngym.make("DualTask-v0").unwrapped
    withheld = play(env, act=lambda e: 0, trials=60)
    for report in withheld:
        wanted = report["trial"]["go"] + report["trial"]["paired"]
        assert report["performance"] == 1 - wanted / 2
        assert report["trial_reward"] == -wanted
    assert {report["trial_reward"] for report in play(env, trials=60)} == {0.0, 1.0, 2.0}


def test_dual_task_changes_its_rules_between_blocks(make_trials):
    env, _ = make_trials("DualTask-v0", block_dur=20)
    env.start_session()
    trials = env.make_trials(60)
    rules = trials.info["rules"].reshape(3, 20, 2)
    assert (rules == rules[:, :1]).all()
    assert (rules[0, 0] != rules[1, 0]).any() and (rules[1, 0] != rules[2, 0]).any()
