"""Tasks of noisy evidence: what is shown, and what the ideal observer makes of it."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.native.contextdecisionmaking import ContextDecisionMaking


def mean_stimulus(trials, channels):
    """Mean of the stimulus period, shape (n, channels)."""
    rows = trials.rows("stimulus")
    count = trials.ends["stimulus"] - trials.starts["stimulus"]
    sums = np.zeros((trials.n, len(channels)))
    np.add.at(sums, rows.trial, trials.ob[rows.index][:, channels])
    return sums / count[:, None]


@pytest.mark.parametrize("explicit", [False, True])
def test_context_says_which_modality_is_right(make_trials, explicit):
    env, trials = make_trials("ContextDecisionMaking-v0", n=4000, use_expl_context=explicit)
    assert env.observation_space.shape == ((7,) if explicit else (5,))
    context = trials.info["context"]
    assert set(context) == ({0, 1} if explicit else {0})
    means = np.stack([mean_stimulus(trials, channels) for channels in ([1, 2], [3, 4])])
    relevant = means[context, np.arange(trials.n)]
    right = relevant.argmax(axis=1) + 1 == trials.info["ground_truth"]
    assert right.mean() == pytest.approx(env.ceiling()["performance"], abs=0.015)
    assert env.ceiling()["performance"] == pytest.approx(0.9409, abs=1e-4)
    second = means[1 - context, np.arange(trials.n)].argmax(axis=1) + 1
    assert np.mean(second == trials.info["ground_truth"]) == pytest.approx(0.5, abs=0.03)
    if explicit:
        cues = trials.ob[:, 5:]
        np.testing.assert_array_equal(cues, np.eye(2)[context[trials.rows().trial]])


def test_fixation_cue_is_the_go_cue(make_trials):
    _env, trials = make_trials("ContextDecisionMaking-v0")
    fixation = trials.ob[:, 0] > 0.5
    np.testing.assert_array_equal(np.flatnonzero(~fixation), np.sort(trials.rows("decision").index))


def test_implicit_context_must_be_a_modality():
    with pytest.raises(ValueError, match="impl_context_modality"):
        ContextDecisionMaking(impl_context_modality=2)
    assert ContextDecisionMaking(impl_context_modality=1).conditions["context"] == (1,)


def test_coherences_of_two_modalities_add_up(make_trials, shown_values):
    _env, trials = make_trials("MultiSensoryIntegration-v0", sigma=0)
    info = trials.info
    np.testing.assert_allclose(info["coh_1"] + info["coh_2"], info["coh"])
    sign = np.where(info["ground_truth"] == 0, 1, -1)
    for m, channels in (("1", [1, 2]), ("2", [3, 4])):
        difference = np.diff(shown_values(trials, "stimulus", channels))[:, 0]
        np.testing.assert_allclose(difference, -sign * info[f"coh_{m}"] / 100, atol=1e-6)


def test_one_modality_is_silent_or_against_the_other(make_trials, shown_values):
    env, trials = make_trials("MultiSensoryIntegration-v0", sigma=0, modalities=("first", "second", "conflict"))
    kind = trials.info["modality"]
    assert not shown_values(trials, "stimulus", [3, 4])[kind == "first"].any()
    assert not shown_values(trials, "stimulus", [1, 2])[kind == "second"].any()
    weaker = np.minimum(trials.info["coh_1"], trials.info["coh_2"])
    assert np.all(weaker[kind == "conflict"] < 0) and np.all(weaker[kind != "conflict"] == 0)
    assert env.new_trial(coh_prop=1.2)["modality"] == "conflict"
    assert env.new_trial(modality="second")["coh_prop"] == 0
    with pytest.raises(ValueError, match="conflict"):
        env.new_trial(coh_prop=0.5, modality="conflict")
    with pytest.raises(ValueError, match="modalities"):
        ngym.make("MultiSensoryIntegration-v0", modalities=("third",))


def test_delayed_report_of_the_stronger_stimulus(make_trials):
    env, trials = make_trials("PerceptualDecisionMakingDelayResponse-v0", n=4000, stim_scale=0.5)
    assert set(trials.info["coh"]) == {0, 3.2, 6.4, 12.8, 25.6}
    right = mean_stimulus(trials, [1, 2]).argmax(axis=1) + 1 == trials.info["ground_truth"]
    assert right.mean() == pytest.approx(env.ceiling()["performance"], abs=0.02)
    assert not trials.ob[trials.rows("decision").index].any()


def test_sure_bet_pays_only_where_it_is_offered(make_trials, play):
    env, _ = make_trials("PostDecisionWager-v0")
    bet = lambda env: 3 if env.in_period("decision") else 0  # noqa: E731
    for wager, reward, performance in ((True, 0.7, 0.7), (False, -0.1, 0.0)):
        report = play(env, bet, trials=1, wager=wager)[0]
        assert report["trial_reward"] == pytest.approx(reward)
        assert report["performance"] == pytest.approx(performance)


def test_wager_follows_the_ground_truth_and_keeps_a_given_reward(make_trials, play):
    env, _ = make_trials("PostDecisionWager-v0")
    assert {(report["gt"], report["trial_reward"]) for report in play(env)} == {(1, 1.0), (2, 1.0)}
    assert make_trials("PostDecisionWager-v0", rewards={"correct": 2.0})[0].rewards["sure"] == pytest.approx(1.4)
    assert make_trials("PostDecisionWager-v0", rewards={"sure": 0.5})[0].rewards["sure"] == 0.5


def test_sure_target_appears_during_the_delay(make_trials):
    _env, trials = make_trials("PostDecisionWager-v0", dt=10)
    wager = trials.info["wager"]
    on = np.zeros(trials.n)
    np.add.at(on, trials.rows().trial, trials.ob[:, 3])
    expected = trials.ends["decision"] - trials.ends["pre_sure"]
    np.testing.assert_array_equal(on, np.where(wager, expected, 0))
    waited = (trials.ends["pre_sure"] - trials.starts["delay"])[wager] * 10
    assert waited.min() >= 500 and waited.max() <= 750
    stimulus = trials.ob[trials.rows("stimulus").index]
    assert set(np.unique(stimulus[:, 0])) == {1.0} and not stimulus[:, 3].any()


def test_single_modalities_foretell_the_precision_of_both(make_trials):
    """Whoever adds up what is shown is as precise with both modalities as the single ones allow."""
    from neurogym.analysis.evidence import cue_combination

    _env, trials = make_trials("MultiSensoryIntegration-v0", n=12_000, modalities=("both", "first", "second"))
    means, info = mean_stimulus(trials, [1, 2, 3, 4]), trials.info
    choice = (means[:, :2] + means[:, 2:]).argmax(axis=1)
    signed = np.where(info["ground_truth"] == 1, 1, -1) * info["coh"]
    ratio = cue_combination(signed, choice, info["modality"], lapse=0.0, n_boot=50).ratio
    assert ratio.low <= 1.03 and ratio.high >= 0.97
    alone = info["modality"] == "first"
    assert np.all(info["coh_2"][alone] == 0)
    np.testing.assert_allclose(info["coh_1"][alone], 0.5 * info["coh"][alone])
