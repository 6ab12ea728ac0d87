"""Contributed tasks in which a trial is a course of actions: levers, angles, snails, memories, a curriculum."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.contrib.anglereproduction import AngleReproduction
from neurogym.envs.contrib.cvlearning import CVLearning
from neurogym.envs.contrib.leverpress import LeverPress, LeverPressWithPoke, LeverPressWithPokeRest
from neurogym.envs.contrib.memoryrecall import MemoryRecall
from neurogym.envs.contrib.pneumostomeopening import Pneumostomeopening


def follow(env, actions):
    """Take the actions; returns the rewards and the last info."""
    steps = [env.step(action) for action in actions]
    return [step[1] for step in steps], steps[-1][-1]


def average_reward(env, steps=6000):
    env.reset(seed=0)
    return np.mean([env.step(env.oracle())[1] for _ in range(steps)])


def test_lever_press():
    env = LeverPress()
    env.reset(seed=0)
    env.new_trial(wait=3)
    np.testing.assert_array_equal(env.ob[:, 0], [0, 0, 0, 1, 0, 0, 0])
    rewards, info = follow(env, [0, 1, 0, 1, 1, 1, 1])
    assert rewards == [0, -1, 0, 0, 0, 0, 10]
    assert info["performance"] == 1
    env.new_trial(wait=1)
    rewards, info = follow(env, [0, 1, 1, 0])
    assert info["new_trial"]
    assert info["outcome"] == "error"
    assert sum(rewards) == 0
    assert average_reward(env) == pytest.approx(env.optimal_reward, rel=0.05)


def test_lever_press_with_poke():
    env = LeverPressWithPoke(show_count=True)
    env.reset(seed=0)
    seen = [env.step(action)[0][0] for action in (1, 1, 0, 1, 1)]
    assert seen == [3, 2, 2, 1, 0]
    _, reward, _, _, info = env.step(0)
    assert reward == 1
    assert info["performance"] == pytest.approx(5 / 6)
    assert average_reward(env) == pytest.approx(env.optimal_reward)
    env.reset(seed=0)
    rng, p = np.random.default_rng(0), 2 / 3
    rewards = [env.step(int(rng.random() < p))[1] for _ in range(20_000)]
    assert np.mean(rewards) == pytest.approx(env.optimal_random_reward, rel=0.05)


def test_lever_press_with_poke_and_rest():
    env = LeverPressWithPokeRest()
    ob, _ = env.reset(seed=0)
    assert ob[0] == 1
    rewards, info = follow(env, [2, 1, 1, 1, 1, 0])
    np.testing.assert_allclose(rewards, [0, -0.1, -0.1, -0.1, -0.1, 1.9])
    assert info["performance"] == pytest.approx(1)
    thirst = [env.step(2)[0][0] for _ in range(14)]
    assert thirst[0] == 0
    assert thirst[-1] == 1
    env.reset(seed=0)
    follow(env, [1, 1, 1, 1, 0])
    rewards, info = follow(env, [1, 1, 1, 1, 0])  # not thirsty so soon
    assert rewards[-1] == pytest.approx(-0.1)
    assert info["performance"] == 0


def test_memory_recall_needs_the_memory():
    env = MemoryRecall(stim_dim=20)
    env.reset(seed=0)
    trials = env.make_trials(300)
    cue_right = []
    for k in range(trials.n):
        ob = trials.ob[trials.offset[k] : trials.offset[k] + trials.length[k]]
        stored = ob[ob[:, -1] == 1, :-1]
        start = trials.starts["recall"][k]
        assert len(stored) == trials.info["recalls"][k] == len(ob) - start
        targets = trials.gt[trials.offset[k] + start : trials.offset[k] + trials.length[k]]
        assert {tuple(t) for t in targets} == {tuple(s) for s in stored}
        cue = ob[start:, :-1]
        cue_right.append(np.mean(np.where(cue == 0, 0.5, cue == targets)))
    assert np.mean(cue_right) == pytest.approx(0.7, abs=0.02)
    with pytest.raises(ValueError, match="p_recall"):
        MemoryRecall(p_recall=0.8)


@pytest.mark.parametrize("dt", [10, 100])
def test_angles_are_reached(dt):
    env = AngleReproduction(dt=dt)
    env.reset(seed=0)
    for _ in range(5):
        env.new_trial()
        target = [env.trial["ground_truth1"], env.trial["ground_truth2"]]
        planned = env.ob.copy()
        private, info = [], {"new_trial": False}
        ends = [env.end_ind["go1"], env.end_ind["go2"]]
        while not info["new_trial"]:
            private.append(env.ob[env.t_ind, 16:32].copy())
            info = env.step(env.oracle())[-1]
        np.testing.assert_allclose(private, planned[:, 16:32], atol=1e-5)
        angle = np.arctan2(private[ends[0]] @ np.sin(env.theta), private[ends[0]] @ np.cos(env.theta))
        assert abs((angle - target[0] + np.pi) % (2 * np.pi) - np.pi) <= env.turn / 2 + 1e-4
        assert info["performance"] == pytest.approx(1)


def test_turning_the_wrong_way_is_seen_and_paid_less():
    env = AngleReproduction()
    env.reset(seed=0)
    env.new_trial(ground_truth1=np.pi / 2, ground_truth2=np.pi / 2)
    for _ in range(env.start_ind["go1"]):
        env.step(1)
    np.testing.assert_allclose(env.ob[env.t_ind, 16:32], np.cos(env.theta - np.pi), atol=1e-6)
    assert env.gt_now == 2
    ob, reward, *_ = env.step(1)
    np.testing.assert_allclose(ob[16:32], np.cos(env.theta - np.pi - env.turn), atol=1e-6)
    assert reward == env.rewards["fail"]
    info = {"new_trial": False}
    while not info["new_trial"]:
        info = env.step(0)[-1]
    assert info["performance"] < 0.5


def test_snail_breathes_at_the_surface():
    env = Pneumostomeopening()
    env.reset(seed=0)
    env.new_trial(depth=3)
    rewards, _ = follow(env, [0, 2, 2, 0, 1])
    np.testing.assert_allclose(rewards, [0, 0.1, 0.1, 1.0, 0.5])
    trained = Pneumostomeopening(phase="training")
    trained.reset(seed=0)
    trained.new_trial(depth=1)
    assert follow(trained, [0, 1])[0] == [-1.0, 1.0]


def test_snail_without_oxygen_dies():
    env = Pneumostomeopening()
    env.reset(seed=0)
    for k in range(10):
        _ob, _, terminated, _, info = env.step(3)
        assert terminated == info["new_trial"] == (k == 9)


def learn(env, answer, trials):
    """Stages visited while ``answer(task)`` acts in the decision period."""
    stages, count = [], 0
    while count < trials:
        action = answer(env) if env.in_period("decision") else 0
        info = env.step(action)[-1]
        if info["new_trial"]:
            stages.append(info["trial"]["stage"])
            count += 1
    return stages


def test_curriculum_goes_up_with_good_days():
    env = CVLearning(dt=100, trials_day=30, perf_len=5, keep_days=1)
    env.reset(seed=0)
    stages = learn(env, lambda task: task.gt_now, 600)
    assert stages[0] == 0
    assert stages[-1] == 4
    assert np.all(np.diff(stages) >= 0)
    assert [stages.count(k) for k in (0, 1, 2)] == [60, 60, 60]  # keep_days + 1 good days each
    assert stages.count(3) >= 60


def test_free_choice_pays_until_a_side_is_repeated():
    env = CVLearning(max_num_reps=3)
    env.reset(seed=0)
    results = []
    while len(results) < 4:
        _, reward, _, _, info = env.step(1 if env.in_period("decision") else 0)
        if info["new_trial"]:
            results.append((reward, info["performance"]))
    assert results == [(1.0, 1.0)] * 3 + [(0.0, 0.0)]
    assert env.trial["ground_truth"] == 2


def test_reminder_after_a_bad_run():
    env = CVLearning(stages=[1, 2], trials_day=20, perf_len=5)
    env.reset(seed=0)
    up = learn(env, lambda task: task.gt_now, 45)
    assert up[-1] == 2
    wrong = learn(env, lambda task: 3 - task.gt_now if task.stage == 2 else task.gt_now, 40)
    assert 1 in wrong  # back to stage 1
    assert learn(env, lambda task: task.gt_now, 30)[-1] == 2


def test_wrong_answer_may_be_corrected_in_stage_1():
    env = CVLearning(stages=[1])
    env.reset(seed=0)
    while not env.in_period("decision"):
        env.step(0)
    right = env.gt_now
    rewards, info = follow(env, [3 - right, right])
    assert rewards == [0.0, 1.0]
    assert info["performance"] == 0


def test_last_stage_is_the_full_task():
    env = ngym.make("CVLearning-v0", th_stage=-1).unwrapped
    env.reset(seed=0)
    cohs = {env.new_trial()["coh"] for _ in range(100)}
    assert cohs == {0, 6.4, 12.8, 25.6, 51.2}
    assert env.chance()["performance"] < 0.6
