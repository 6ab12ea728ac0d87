"""Explained variance of neurons: averages, what is held out, the noise ceiling and the baselines."""

from __future__ import annotations

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
    units, conditions = RNG.normal(size=(60, 4)), np.repeat(np.arange(6), 10).astype(str)
    neurons = units @ RNG.normal(size=(4, 3)) + 2
    assert explained(regressed_on_units(units, neurons, conditions), neurons).min() > 0.99
    times, strength = np.tile([f"stimulus {k}" for k in range(10)], 6), np.repeat(np.arange(6.0), 10)
    side = np.repeat(["left", "right", "left", "right", "right", "left"], 10)
    linear = strength[:, None] * np.tile(np.arange(10), 6)[:, None] + 3 * (side == "left")[:, None]
    both = {"strength": strength, "side": side}
    assert explained(regressed_on_variables(linear, times, both), linear).min() > 0.999
    assert explained(regressed_on_variables(linear, times, {"strength": strength}), linear).max() < 0.999
