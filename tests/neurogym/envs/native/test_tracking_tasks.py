"""Tasks whose outputs follow targets at every step."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.dynamics.known import line_attractor, simulate


def by_trial(trials, values):
    """Values of each trial, shape (trials, steps, ...), of trials that are equally long."""
    return values.reshape(trials.n, int(trials.length[0]), *values.shape[1:])


def test_a_bit_holds_the_sign_of_the_last_pulse(make_trials):
    _env, trials = make_trials("FlipFlop-v0", n=50, n_bits=2, p_pulse=0.2)
    ob, gt = by_trial(trials, trials.ob), by_trial(trials, trials.gt)
    assert (ob[:, 0] != 0).all() and set(np.unique(ob)) == {-1, 0, 1}
    for trial in range(trials.n):
        covered = np.zeros(2)
        changes = -1  # the first step is the beginning
        for step in range(ob.shape[1]):
            after = np.where(ob[trial, step] != 0, ob[trial, step], covered)
            changes += not np.array_equal(after, covered)
            covered = after
            assert np.array_equal(gt[trial, step], covered)
        assert trials.info["flips"][trial] == changes
    assert (ob[:, 0] > 0) @ [1, 2] == pytest.approx(trials.info["start"])
    assert (ob[:, 1:] != 0).mean() == pytest.approx(0.2, abs=0.02)


def test_outputs_are_right_within_the_tolerance_and_paid_by_their_error(make_trials, play):
    env, _ = make_trials("FlipFlop-v0", rewards={"correct": 2.0, "fail": -1.0})
    (half,) = play(env, lambda env: 0.5 * env.gt_now, trials=1)
    assert half["performance"] == pytest.approx(1) and half["trial_reward"] == pytest.approx(0.5)
    (zero,) = play(env, lambda env: np.zeros(3), trials=1)
    assert (zero["performance"], zero["trial_reward"]) == pytest.approx((0, -1)) and zero["outcome"] == "error"
    (one_of_three,) = play(env, lambda env: env.gt_now * [1, -1, -1], trials=1)
    assert one_of_three["performance"] == pytest.approx(1 / 3)


def test_a_wave_has_the_frequency_of_its_cue(make_trials):
    env, trials = make_trials("SineGeneration-v0", n=60, n_waves=2, n_frequencies=3)
    ob, gt = by_trial(trials, trials.ob), by_trial(trials, trials.gt)
    assert (ob == ob[:, :1]).all() and set(np.unique(ob)) == {-1, 0, 1}
    time = np.arange(gt.shape[1]) * env.dt / 1000
    for k in range(2):
        hertz = np.array([0.5, 1.25, 2.0])[ob[:, 0, k].astype(int) + 1]
        assert trials.info[f"frequency{k}"] == pytest.approx(hertz)
        assert gt[:, :, k] == pytest.approx(np.sin(2 * np.pi * hertz[:, None] * time), abs=1e-6)


@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_position_is_the_sum_of_velocities_within_the_arena(make_trials, dimensions):
    env, trials = make_trials("PathIntegration-v0", n=200, dimensions=dimensions, speed=1.5)
    velocity, position = by_trial(trials, trials.ob), by_trial(trials, trials.gt)
    summed = np.cumsum(velocity, axis=1) * env.dt / 1000
    free = (np.abs(position) < 1).all(axis=(1, 2))
    assert 0 < free.sum() and position[free] == pytest.approx(summed[free], abs=1e-5)
    assert np.abs(position).max() <= 1 and position.shape[2] == dimensions
    assert np.abs(np.diff(position, axis=1)).max() < 0.2 and velocity.std() == pytest.approx(1.5, rel=0.1)


def test_velocities_persist_for_their_time_constant(make_trials):
    _env, trials = make_trials("PathIntegration-v0", n=400, persistence=200.0, speed=0.1)
    velocity = by_trial(trials, trials.ob)
    lag = 10  # steps of 20 ms: a time constant
    assert (velocity[:, lag:] * velocity[:, :-lag]).mean() / 0.01 == pytest.approx(np.exp(-1), abs=0.03)


def test_the_known_line_attractor_solves_the_match(make_trials):
    env, trials = make_trials("LineAttractorMatch-v0", n=300)
    network, axis = line_attractor(5, [0, 1, -1], np.random.default_rng(0))
    end = trials.starts["decision"]
    for k in range(trials.n):
        rows = slice(trials.offset[k], trials.offset[k] + end[k])
        states = simulate(network, np.zeros((1, 5)), trials.ob[None, rows].astype(float))[0]
        covered = states[trials.ends["sample"][k] - 1 : trials.starts["test"][k]]
        assert covered @ axis == pytest.approx(trials.info["sample"][k])  # the state waits on the line
        assert covered == pytest.approx(np.outer(covered @ axis, axis))
        assert trials.info["ground_truth"][k] == (1 if abs(states[-1] @ axis) < env.difference / 2 else 2)


@pytest.mark.parametrize(
    ("task", "wrong"),
    [
        ("SineGeneration-v0", {"frequencies": (2.0, 1.0)}),
        ("SineGeneration-v0", {"frequencies": (1.0, 30.0)}),
        ("PathIntegration-v0", {"dimensions": 3}),
        ("PathIntegration-v0", {"speed": 0}),
        ("LineAttractorMatch-v0", {"difference": 1.5}),
    ],
)
def test_arguments_that_make_no_sense_are_refused(task, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ngym.make(task, **wrong)
