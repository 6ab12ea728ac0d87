"""Tasks whose outputs follow targets at every step."""

import numpy as np
import pytest

import neurogym as ngym


def by_trial(trials, values):
    """Values of each trial, shape (trials, steps, ...), of trials that are equally long."""
    return values.reshape(trials.n, int(trials.length[0]), *values.shape[1:])


def test_a_bit_holds_the_sign_of_the_last_pulse(made):
    env, trials = made("FlipFlop-v0", n=50, n_bits=2, p_pulse=0.2)
    ob, gt = by_trial(trials, trials.ob), by_trial(trials, trials.gt)
    assert (ob[:, 0] != 0).all() and set(np.unique(ob)) == {-1, 0, 1}
    for trial in range(trials.n):
        held = np.zeros(2)
        changes = -1  # the first step is the beginning
        for step in range(ob.shape[1]):
            after = np.where(ob[trial, step] != 0, ob[trial, step], held)
            changes += not np.array_equal(after, held)
            held = after
            assert np.array_equal(gt[trial, step], held)
        assert trials.info["flips"][trial] == changes
    assert (ob[:, 0] > 0) @ [1, 2] == pytest.approx(trials.info["start"])
    assert (ob[:, 1:] != 0).mean() == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize("wrong", [{"n_bits": 0}, {"n_bits": 1.5}, {"n_bits": 11}, {"p_pulse": 1.1}])
def test_a_flip_flop_refuses_what_cannot_be(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ngym.make("FlipFlop-v0", **wrong)


def test_outputs_are_right_within_the_tolerance_and_paid_by_their_error(made, play):
    env, _ = made("FlipFlop-v0", rewards={"correct": 2.0, "fail": -1.0})
    (half,) = play(env, lambda env: 0.5 * env.gt_now, trials=1)
    assert half["performance"] == pytest.approx(1) and half["trial_reward"] == pytest.approx(0.5)
    (zero,) = play(env, lambda env: np.zeros(3), trials=1)
    assert (zero["performance"], zero["trial_reward"]) == pytest.approx((0, -1)) and zero["outcome"] == "error"
    (one_of_three,) = play(env, lambda env: env.gt_now * [1, -1, -1], trials=1)
    assert one_of_three["performance"] == pytest.approx(1 / 3)
