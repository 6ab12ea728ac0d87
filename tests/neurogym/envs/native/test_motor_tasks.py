"""Continuous control: reaching on a circle, choice probabilities over time."""

import numpy as np
import pytest

import neurogym as ngym


def angle_of(ring, theta):
    return np.mod(np.angle(ring @ np.exp(1j * theta)), 2 * np.pi)


def test_target_is_shown_and_paid_for_as_it_is():
    env = ngym.make("Reaching1D-v0", dt=20).unwrapped
    env.reset(seed=0)
    for _ in range(4 * 100):
        reaching = env.in_period("reach")
        target = env.trial["ground_truth"]
        if reaching:
            assert angle_of(env.ob[env.t_ind, :16], env.theta) == pytest.approx(target, abs=1e-5)
        ob, reward, _, _, info = env.step(env.action_space.sample())
        private = angle_of(ob[16:], env.theta)
        if not info["new_trial"]:
            distance = abs(np.angle(np.exp(1j * (private - target))))
            assert reward == pytest.approx(max(1 - distance, -0.1) if reaching else 0, abs=1e-5)
        else:
            assert private == pytest.approx(np.pi, abs=1e-5)


@pytest.mark.parametrize("dt", [10, 50, 100])
@pytest.mark.parametrize("task", ["Reaching1D-v0", "Reaching1DWithSelfDistraction-v0"])
def test_every_target_is_reached(task, dt):
    env = ngym.make(task, dt=dt).unwrapped
    env.reset(seed=0)
    for _ in range(20):
        ended = False
        while not ended:
            target = env.trial["ground_truth"]
            before = env.oracle()
            angle = env.angle + (0, 1, -1)[before] * env.speed * dt / 1000
            info = env.step(before)[4]
            assert info["gt"] == before
            ended = info["new_trial"]
        assert abs(np.angle(np.exp(1j * (angle - target)))) <= env.speed * dt / 2000 + 1e-6
        assert info["performance"] == pytest.approx(1)


def test_pace_does_not_depend_on_the_time_step(make_trials, play):
    rewards = [
        np.mean([r["trial_reward"] * dt for r in play(make_trials("Reaching1D-v0", dt=dt)[0], trials=200)])
        for dt in (10, 50)
    ]
    assert rewards[0] == pytest.approx(rewards[1], rel=0.05)


def test_trials_as_made_show_the_way_that_the_ground_truth_takes():
    env = ngym.make("Reaching1D-v0").unwrapped
    env.reset(seed=1)
    for _ in range(5):
        planned, gt = env.ob.copy(), env.gt.copy()
        for step in range(len(gt) - 1):
            ob = env.step(gt[step])[0]
            np.testing.assert_allclose(ob, planned[step + 1], atol=1e-5)
        env.step(gt[-1])


def test_own_angle_masks_the_target_threefold():
    env = ngym.make("Reaching1DWithSelfDistraction-v0").unwrapped
    ob, _ = env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(60):
        private = np.cos(env.theta - env.angle)
        target = 0.3 * np.cos(env.theta - env.trial["ground_truth"]) * env.in_period("reach")
        np.testing.assert_allclose(ob, private + target, atol=1e-5)
        ob = env.step(env.action_space.sample())[0]


def test_choice_probabilities_are_probabilities_at_every_frame(make_trials, play):
    env, trials = make_trials("SpatialSuppressMotion-v0", n=200)
    assert np.all(trials.length == 36)
    assert trials.gt.min() >= 0
    np.testing.assert_allclose(trials.gt.sum(axis=1), 1, rtol=1e-6)
    assert {report["trial_steps"] for report in play(env, trials=3)} == {36}


def test_large_gratings_of_high_contrast_are_first_seen_to_move_backwards(make_trials):
    env, _ = make_trials("SpatialSuppressMotion-v0")
    env.new_trial(contrast=0.99, direction=1)
    high = env.gt.copy()
    assert env.trial["diameter"] == 8 and np.count_nonzero(env.ob[0]) == 3 * 8
    assert high[14, 1] == pytest.approx(0.475, abs=1e-3) and high[14, 0] == pytest.approx(0.32, abs=1e-3)
    assert high[-1].argmax() == 0
    env.new_trial(contrast=0.05, direction=1)
    assert env.trial["diameter"] == 1 and np.count_nonzero(env.ob[0]) == 3
    assert np.all(env.gt[:, 0] >= env.gt[:, 1] - 1e-6)
    assert env.new_trial(diameter=8)["contrast"] == 0.99
    with pytest.raises(ValueError, match="diameter"):
        env.new_trial(diameter=8, contrast=0.05)


def test_overlap_with_people_is_paid(make_trials, play):
    env, _ = make_trials("SpatialSuppressMotion-v0")
    uniform = play(env, lambda env: np.full(4, 0.25, np.float32), trials=4)
    assert all(0.4 < report["performance"] < 0.9 for report in uniform)
    assert all(report["trial_reward"] == pytest.approx(report["performance"]) for report in uniform)
    nothing = play(env, lambda env: np.zeros(4, np.float32), trials=1)[0]
    assert nothing["performance"] == pytest.approx(0.5)


def test_the_shortest_way_scores_one_even_if_the_target_is_out_of_reach(make_trials, play):
    env, _ = make_trials("Reaching1D-v0", speed=0.5, timing={"reach": 500})
    assert all(report["performance"] == pytest.approx(1) for report in play(env, trials=30))
