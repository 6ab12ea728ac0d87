"""Explained variance of neurons: averages, what is held out, the noise ceiling and the baselines."""

import numpy as np
import pytest

from neurogym.analysis.encoding import (
    HALVES,
    Averages,
    aligned,
    explained,
    noise_ceiling,
    regressed_on_units,
    regressed_on_variables,
    split,
    without_each,
)

RNG = np.random.default_rng(0)


def test_trials_of_each_condition_are_held_out_and_the_seed_decides_which():
    conditions = np.repeat(["a", "b", "c", "d"], [1, 2, 5, 40])
    held = split(conditions, 40, 3)
    assert held.neurons.sum() == 10
    assert [int(held.trials[conditions == name].sum()) for name in "abcd"] == [0, 1, 2, 10]
    assert np.array_equal(held.trials, split(conditions, 40, 3).trials)
    assert not np.array_equal(held.neurons, split(conditions, 40, 4).neurons)


def test_trials_of_different_lengths_are_averaged_where_at_least_half_last():
    trials = [np.full((4, 1), 1.0), np.full((6, 1), 3.0), np.full((9, 1), 5.0)]
    averages = Averages.of({"delay": (trials, ["x", "x", "x"])})
    assert averages.rows == {("delay", "x"): slice(0, 6)}
    assert averages.values[:, 0].tolist() == [3, 3, 3, 3, 4, 4] and averages.trials.tolist() == [3, 3, 3, 3, 2, 2]
    short = Averages.of({"delay": ([np.zeros((2, 1))], ["x"]), "other": ([np.zeros((2, 1))], ["x"])})
    (first, second), times, conditions = aligned([averages, short])
    assert first[:, 0].tolist() == [3, 3] and second.shape == (2, 1)
    assert times.tolist() == ["delay 0", "delay 1"] and conditions.tolist() == ["x", "x"]


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_a_perfect_model_reaches_the_ceiling_and_constant_rates_explain_nothing(noise):
    signal = RNG.normal(size=(8, 15, 200)).cumsum(1)  # conditions, steps, neurons
    signal /= signal.std((0, 1))
    trials = [signal[k % 8] + noise * RNG.normal(size=(15, 200)) for k in range(96)]
    names = np.array([str(k % 8) for k in range(96)])
    test = np.arange(96) % 24 < 8
    of = lambda rows: Averages.of({"": ([trials[k] for k in np.flatnonzero(rows)], names[rows])})  # noqa: E731
    halves = []
    for _ in range(HALVES):
        first = np.zeros(96, bool)
        for k in range(8):
            first[RNG.permutation(np.flatnonzero(names == str(k)))[:6]] = True
        halves.append((of(first).values, of(~first).values))
    observed = of(test).values
    ceiling = noise_ceiling(halves, observed).mean()
    expected = 1 / (1 + noise**2 / 4)  # variance of the signal, and of the noise of an average of four
    assert ceiling == pytest.approx(expected, abs=0.02)
    assert explained(signal.reshape(-1, 200), observed).mean() == pytest.approx(ceiling, abs=0.02)
    assert explained(np.broadcast_to(observed.mean(0), observed.shape), observed).max() <= 1e-9


def test_units_and_task_variables_predict_what_they_determine():
    units = RNG.normal(size=(60, 4))
    neurons = units @ RNG.normal(size=(4, 3)) + 2
    assert explained(regressed_on_units(units, neurons, (neurons, neurons)), neurons).min() > 0.99
    times, strength = np.tile([f"stimulus {k}" for k in range(10)], 6), np.repeat(np.arange(6.0), 10)
    side = np.repeat(["left", "right", "left", "right", "right", "left"], 10)
    linear = strength[:, None] * np.tile(np.arange(10), 6)[:, None] + 3 * (side == "left")[:, None]
    both = {"strength": strength, "side": side}
    assert explained(regressed_on_variables(linear, times, both), linear).min() > 0.999
    assert explained(regressed_on_variables(linear, times, {"strength": strength}), linear).max() < 0.999


def test_the_penalty_is_the_best_for_other_trials_whatever_conditions_have_in_common():
    """Conditions that cannot be extrapolated from one another need no penalty; noise needs a large one."""
    units = np.kron(np.eye(6), np.ones((10, 1))) + 0.1 * RNG.normal(size=(60, 6))  # a unit for each condition
    neurons = units @ RNG.normal(size=(6, 20))
    halves = tuple(neurons + 0.1 * RNG.normal(size=neurons.shape) for _ in range(2))
    assert explained(regressed_on_units(units, neurons, halves), neurons).mean() > 0.99
    noise = [RNG.normal(size=(60, 20)) for _ in range(3)]
    many = RNG.normal(size=(60, 50))
    fitted = regressed_on_units(many, noise[0], (noise[1], noise[2]))
    assert explained(fitted, noise[0]).mean() < 0.6  # without a penalty .83


def test_conditions_are_predicted_from_the_others_where_units_generalise():
    times, strength = np.tile([f"stimulus {k}" for k in range(8)], 5), np.repeat(np.arange(5.0), 8)
    ramp = strength * np.tile(np.arange(8), 5)
    neurons, conditions = np.outer(ramp, RNG.normal(size=6)), strength.astype(str)
    fits = {
        "same code": lambda rows: regressed_on_units(ramp[:, None], neurons, (neurons, neurons), rows),
        "a unit for each condition": lambda rows: regressed_on_units(
            ramp[:, None] * (strength[:, None] == np.arange(5)), neurons, (neurons, neurons), rows
        ),
        "variables": lambda rows: regressed_on_variables(neurons, times, {"strength": strength}, rows),
    }
    scores = {name: explained(without_each(fit, conditions), neurons).mean() for name, fit in fits.items()}
    assert min(scores["same code"], scores["variables"]) > 0.99 and scores["a unit for each condition"] < 0.5
