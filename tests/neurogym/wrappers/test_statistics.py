"""Frequencies, durations and rates that wrappers promise, within four standard errors."""

import itertools

import numpy as np
import pytest

import neurogym as ngym
from neurogym import wrappers as w
from neurogym.sampling.scheduler import RandomBlockSchedule


def rdm(**kwargs):
    return ngym.make("PerceptualDecisionMaking-v0", **kwargs)


def records(env, n: int = 4000, seed: int = 0) -> dict[str, np.ndarray]:
    env.unwrapped.session.begin(seed)
    blocks = [env.unwrapped.make_trials(100) for _ in range(n // 100)]
    return {name: np.concatenate([block.info[name] for block in blocks]) for name in blocks[0].info}


def close(result: float, expected: float, n: int) -> bool:
    return abs(result - expected) < 4 * np.sqrt(max(expected * (1 - expected), 1e-3) / n)


def runs(values: np.ndarray) -> np.ndarray:
    """Lengths of runs, without the last one, which may be cut."""
    at = np.flatnonzero(values[1:] != values[:-1]) + 1
    return np.diff([0, *at])


def test_side_bias_frequencies_and_blocks() -> None:
    probs = [[0.05, 0.15, 0.8], [0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]
    result = records(w.SideBias(rdm(dim_ring=3), probs, block_dur=10), 20_000)
    for block, row in enumerate(probs):
        inside = result["ground_truth"][result["side_bias_block"] == block]
        for choice, p in enumerate(row):
            assert close(np.mean(inside == choice), p, len(inside))
    assert set(runs(result["side_bias_block"])) == {10}
    assert np.array_equal(result["probs"], np.array(probs)[result["side_bias_block"]])


def test_block_lengths_by_probability_and_by_range() -> None:
    result = records(w.SideBias(rdm(), [[0.2, 0.8], [0.8, 0.2]], block_dur=0.1))["side_bias_block"]
    assert close(np.mean(result[1:] != result[:-1]), 0.1, len(result))
    lengths = runs(records(w.SideBias(rdm(), [[0.2, 0.8], [0.8, 0.2]], block_dur=(3, 7)))["side_bias_block"])
    assert set(lengths) == {3, 4, 5, 6, 7}
    assert abs(lengths.mean() - 5) < 4 * lengths.std() / np.sqrt(len(lengths))


def test_random_ground_truth_and_scheduled_probabilities() -> None:
    result = records(w.RandomGroundTruth(rdm(), p=[0.3, 0.7]))
    assert close(np.mean(result["ground_truth"]), 0.7, 4000)
    env = w.ScheduleAttr(
        w.RandomGroundTruth(rdm()), RandomBlockSchedule(2, [90, 90]), [{"p": (0.8, 0.2)}, {"p": (0.2, 0.8)}]
    )
    result = records(env)
    assert set(runs(result["schedule_attr_block"])) == {90} and result["schedule_attr_block"][0] == 0
    for block, p in ((0, 0.2), (1, 0.8)):
        inside = result["ground_truth"][result["schedule_attr_block"] == block]
        assert close(inside.mean(), p, len(inside))


def _transitions(truth: np.ndarray, n: int) -> np.ndarray:
    counts = np.zeros((n, n))
    np.add.at(counts, (truth[:-1], truth[1:]), 1)
    return counts / counts.sum(axis=1, keepdims=True)


def test_transitions_of_one_matrix() -> None:
    matrix = np.array([[0.8, 0.1, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    result = _transitions(records(w.TrialHistoryV2(rdm(dim_ring=3), matrix.tolist()), 9000)["ground_truth"], 3)
    assert np.all(np.abs(result - matrix) < 0.04)
    assert np.all(np.abs(_transitions(records(w.TrialHistoryV2(rdm()))["ground_truth"], 2) - 0.5) < 0.04)


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda env: w.TrialHistory(env, 0.9, block_dur=50, num_blocks=3), "trial_history"),
        (lambda env: w.TrialHistory(env, 0.9, block_dur=50, rand_blcks=True), "trial_history"),
        (lambda env: w.TrialHistory_NAlt(env, tr_prob=0.9, block_dur=50), "trial_history_nalt"),
        (lambda env: w.TrialHistoryEvolution(env, 0.9, ctx_dur=50, death_prob=0.01), "trial_history_evolution"),
    ],
)
def test_transitions_within_blocks(make, key: str) -> None:
    result = records(make(rdm(dim_ring=4)), 8000)
    blocks, truth, matrices = result[f"{key}_block"], result["ground_truth"], result["probs"]
    preferred = matrices[np.arange(1, len(truth)), truth[:-1]].argmax(axis=1)
    assert close(np.mean(truth[1:] == preferred), 0.9, len(truth))
    assert min(runs(blocks)) >= 50 and np.all(runs(blocks) % 50 == 0)


def test_contexts_of_the_two_choice_forms() -> None:
    repeating = records(w.Persistence(rdm(), 0.7))["ground_truth"]
    assert close(np.mean(repeating[1:] == repeating[:-1]), 0.7, 4000)
    result = records(w.TrialHistory(rdm(), 0.8, block_dur=200))
    same = result["ground_truth"][1:] == result["ground_truth"][:-1]
    matrices = result["probs"][1:, 0, 0]
    for p in (0.2, 0.8):
        assert close(same[np.isclose(matrices, p)].mean(), p, int(np.isclose(matrices, p).sum()))
    assert len(w.TrialHistory(rdm(), 0.8, num_blocks=3).tr_mats) == 2  # ascending and descending are the same for two


def test_generations_are_replaced_at_the_stated_rate() -> None:
    result = records(w.TrialHistoryEvolution(rdm(dim_ring=4), ctx_dur=20, death_prob=0.01), 20_000)
    generations = result["trial_history_evolution_generation"]
    assert close(len(np.unique(generations)) / (20_000 / 20), 0.2, 1000)


def _play(env, answer, trials: int = 400) -> list[dict]:
    """Infos at the ends of trials of an agent that answers with ``answer(ground truth)``."""
    env.reset(seed=0)
    infos: list[dict] = []
    while len(infos) < trials:
        *_, info = env.step(answer(int(env.unwrapped.gt_now)))
        if info["new_trial"]:
            infos.append(info)
    return infos


def test_errors_reset_the_history() -> None:
    short = {"stimulus": 100, "delay": 0}
    always = _play(w.TrHReset(rdm(timing=short), rep_prob=(0.0, 1.0), block_dur=10_000), lambda gt: gt)
    truth = np.array([info["trial"]["ground_truth"] for info in always])
    same = truth[1:] == truth[:-1]
    assert same.all() or not same.any()  # never wrong: one block, and it is deterministic
    never = _play(w.TrHReset(rdm(timing=short), rep_prob=(0.0, 1.0), block_dur=10_000), lambda gt: 3 - gt if gt else 0)
    truth = np.array([info["trial"]["ground_truth"] for info in never])
    assert close(np.mean(truth[1:] == truth[:-1]), 0.5, len(truth))


def test_catch_trials_pay_nothing_and_only_the_weak_ones_are_caught() -> None:
    env = w.CatchTrials(rdm(timing={"stimulus": 100}), catch_prob=0.3, stim_th=50, alt_rew=-0.25)
    infos = _play(env, lambda gt: gt, 1500)
    caught = np.array([info["trial"]["catch_trials_catch"] for info in infos])
    weak = np.array([info["trial"]["coh"] for info in infos]) <= 12.8
    rewards = np.array([info["trial_reward"] for info in infos])
    assert not caught[~weak].any() and close(caught[weak].mean(), 0.3, int(weak.sum()))
    assert np.all(rewards == np.where(caught, -0.25, 1.0))
    assert all(info["performance"] == 1 and info["outcome"] == "correct" for info in infos)
    assert not any(
        i["trial"]["catch_trials_catch"] for i in _play(w.CatchTrials(rdm(), 1.0, start=20), lambda gt: gt, 20)
    )


def test_the_cost_of_waiting_grows() -> None:
    env = w.ReactionTime(rdm(), urgency=-0.01, urgency_growth=-0.002)
    env.reset(seed=0)
    onset = env.unwrapped.start_ind["stimulus"]
    paid = [env.step(0)[1] for _ in range(onset + 6)]
    waited = np.maximum(0, np.arange(onset + 6) - onset)
    assert paid == pytest.approx(-0.01 - 0.002 * waited)


def test_misses_cost_what_is_added() -> None:
    infos = _play(w.MissTrialReward(rdm(timing={"stimulus": 100}), r_miss=-0.4), lambda gt: 0, 20)
    assert {info["outcome"] for info in infos} == {"miss"}
    assert np.allclose([info["trial_reward"] for info in infos], -0.4)
    reaching = w.MissTrialReward(ngym.make("ReachingDelayResponse-v0"), r_miss=-0.4)
    reaching.reset(seed=0)
    while not (step := reaching.step(np.array([-1.0, 0.0], np.float32)))[4]["new_trial"]:
        pass
    assert np.isclose(step[1], -0.9)


def test_a_time_out_follows_every_error() -> None:
    rng = np.random.default_rng(0)
    env = w.TimeOut(rdm(timing={"stimulus": 100}), time_out=700)
    infos = _play(env, lambda gt: int(rng.integers(1, 3)) if gt else 0, 200)
    for before, after in itertools.pairwise(infos):
        expected = 100 if before["performance"] == 1 else 700
        assert after["periods"]["period_fixation"] == expected
        assert after["trial"]["time_out_on"] == (expected == 700)


def test_no_time_out_follows_the_sure_bet() -> None:
    rng = np.random.default_rng(0)
    env = w.TimeOut(ngym.make("PostDecisionWager-v0"), time_out=900)
    infos = _play(env, lambda gt: int(rng.integers(1, 4)) if gt else 0, 200)
    bets = [info["performance"] for info in infos if 0 < info["performance"] < 1]
    assert len(bets) > 10
    for before, after in itertools.pairwise(infos):
        assert after["trial"]["time_out_on"] == (before["outcome"] in ("error", "miss", "abort")), before


def test_mapping_and_session_durations() -> None:
    env = w.VariableMapping(ngym.make("NAltConditionalVisuomotor-v0", n_stims=4), 0.05, 10, 0.01, 20)
    result = records(env, 30_000)
    sessions = runs(result["variable_mapping_session"])
    assert sessions.min() >= 20 and abs(sessions.mean() - (20 + 99)) < 4 * sessions.std() / np.sqrt(len(sessions)) + 2
    ends = np.flatnonzero(result["variable_mapping_map"][1:] != result["variable_mapping_map"][:-1]) + 1
    within = result["variable_mapping_session"][ends] == result["variable_mapping_session"][ends - 1]
    assert np.diff([0, *ends])[within].min() >= 10  # the end of a session may cut a mapping short
    assert np.array_equal(
        [int(m.split("-")[s]) for m, s in zip(result["variable_mapping_map"], result["stims"], strict=True)],
        result["ground_truth"],
    )


def test_choices_in_play() -> None:
    for task in (rdm(dim_ring=4), ngym.make("NAltPerceptualDecisionMaking-v0", n_ch=4)):
        env = w.Variable_nch(w.TrialHistory(task, 0.9), block_nch=20, blocks_probs=[1, 0, 1], sorted_ch=False)
        result = records(env, 8000)
        sizes = result["variable_nch_n"]
        assert set(sizes) == {2, 4} and close(np.mean(sizes[::20] == 2), 0.5, 400)
        path = result["ground_truth"] - np.min(env.task.choices) + 1
        assert all(str(p) in active.split("-") for p, active in zip(path, result["variable_nch_choices"], strict=True))


def test_noise_has_the_stated_level_and_leaves_the_trial_alone() -> None:
    env = w.Noise(w.PassReward(rdm(sigma=0, cohs=[0])), std_noise=0.3)
    env.reset(seed=0)
    visible, stored = [], []
    for _ in range(4000):
        ob, *_ = env.step(0)
        visible.append(ob)
        stored.append(np.append(env.unwrapped.ob[env.unwrapped.t_ind], 0.0))
    difference = np.array(visible) - np.array(stored)
    assert np.all(np.abs(difference.std(axis=0) - 0.3) < 4 * 0.3 / np.sqrt(2 * 4000))
    assert np.all(np.abs(difference.mean(axis=0)) < 4 * 0.3 / np.sqrt(4000))


def test_adaptive_noise_brings_about_the_performance_asked_for() -> None:
    env = w.Noise(rdm(timing={"stimulus": 100}), perf_th=0.7, w=100, step_noise=0.001)
    env.reset(seed=0)
    rng, performances, level = np.random.default_rng(1), [], 0.0
    while len(performances) < 6000:  # an agent that errs as often as the noise says
        truth = int(env.unwrapped.gt_now)
        *_, info = env.step((3 - truth if rng.random() < level else truth) if truth else 0)
        if info["new_trial"]:
            performances.append(info["performance"])
            level = min(1.0, info["std_noise"])
    assert abs(np.mean(performances[-4000:]) - 0.7) < 0.03


def test_combined_tasks_start_when_they_should() -> None:
    env = w.Combine(
        rdm(timing={"stimulus": 1500}), "GoNogo-v0", delay=500, mix=(0.2, 0.3, 0.5), share_action_space=False
    )
    env.reset(seed=0)
    kinds, starts = [], []
    for _ in range(1500):
        trial = env.new_trial()
        kinds.append(trial["combine_type"])
        if trial["combine_type"] != 0:
            starts.append(env.start_t["distractor_fixation"])
            assert not env.ob[:5, 3:].any() and env.ob[5, 3:].any()
        else:
            assert not env.ob[:, 3:].any()
        assert env.ob[:, :3].any() == (trial["combine_type"] != 1)
    assert set(starts) == {500.0}
    for kind, p in enumerate((0.2, 0.3, 0.5)):
        assert close(np.mean(np.array(kinds) == kind), p, 1500)


def test_combined_tasks_pay_and_score_both() -> None:
    env = w.Combine(rdm(timing={"stimulus": 1500}), "GoNogo-v0", delay=500, share_action_space=False)
    infos = _play(env, lambda gt: gt, 150)
    assert all(info["performance"] == 1 for info in infos)
    for info in infos:
        trial = info["trial"]
        expected = (trial["combine_type"] != 1) + (trial["combine_type"] != 0) * (trial["distractor_ground_truth"] == 1)
        assert info["trial_reward"] == expected
    rng = np.random.default_rng(0)
    infos = _play(env, lambda gt: int(rng.integers(6)), 150)
    for info in infos:
        scores = [info["trial"]["main_performance"], info["trial"]["distractor_performance"]]
        assert info["performance"] == np.nanmin(scores)


def test_shared_actions_go_to_both_tasks() -> None:
    pair = [ngym.make("GoNogo-v0"), ngym.make("GoNogo-v0")]
    with pytest.raises(ValueError, match="share_action_space=False"):
        w.Combine(rdm(), pair[0])
    env = w.Combine(*pair, delay=2000)
    infos = _play(env, lambda gt: gt, 100)
    assert all(info["performance"] == 1 for info in infos)


def test_side_bias_on_one_of_two_combined_tasks() -> None:
    biased = w.SideBias(rdm(timing={"stimulus": 100}), [[0.9, 0.1]], 100)
    env = w.Combine(biased, "GoNogo-v0", delay=0, mix=(1, 0, 0), share_action_space=False)
    env.reset(seed=0)
    truth = [env.new_trial()["ground_truth"] for _ in range(1000)]
    assert close(np.mean(truth), 0.1, 1000)


def test_tasks_one_after_the_other() -> None:
    tasks = [rdm(), ngym.make("GoNogo-v0"), ngym.make("DelayComparison-v0")]
    lengths = [5, 7]
    env = w.TransferLearning(tasks, lengths, task_cue=True)
    env.reset(seed=0)
    seen = [env.trial["task"], *(env.new_trial()["task"] for _ in range(29))]
    assert seen == [t.spec.id for t, n in zip(tasks, (5, 7, 18), strict=True) for _ in range(n)]
    assert lengths == [5, 7]


def test_new_stimuli_of_a_mapping_are_different_however_many_there_are() -> None:
    env = w.VariableMapping(
        ngym.make("NAltConditionalVisuomotor-v0", n_ch=5, n_stims=32), sess_end_prob=1.0, min_sess_dur=300
    )
    env.reset(seed=0)
    shown: dict[int, dict[int, bytes]] = {}
    for _ in range(880):
        trial = env.new_trial()
        stimulus = env.unwrapped.view_ob("stimulus")[0]
        shown.setdefault(trial["variable_mapping_session"], {})[trial["stims"]] = stimulus.round().tobytes()
    assert len(shown) == 3
    for patterns in shown.values():
        assert len(patterns) == len(set(patterns.values())) == 32


def test_wrappers_refuse_tasks_whose_channels_or_conditions_do_not_fit() -> None:
    with pytest.raises(ValueError, match="stimulus on the last channels"):
        w.Modality(ngym.make("PostDecisionWager-v0"), 1, 2)
    with pytest.raises(ValueError, match="stim_th needs a task with coherences"):
        w.CatchTrials(ngym.make("ContextDecisionMaking-v0"), stim_th=50)
