"""Agreement with recordings: noise correction, floor of shuffled conditions, averages."""

import numpy as np
import pytest

from neurogym import dynamics

RNG = np.random.default_rng(0)
LATENT = RNG.normal(size=(12, 30, 3)).cumsum(1) / 5  # conditions x steps x dimensions


def recorded(seed: int, noise: float, trials: int = 12, latent: np.ndarray = LATENT) -> dynamics.PopulationTrials:
    """Return noisy trials of units that mix the dimensions linearly."""
    rng = np.random.default_rng(seed)
    clean = latent @ rng.normal(size=(latent.shape[2], 15))
    rows = [clean[c] + noise * rng.normal(size=clean[c].shape) for c in range(len(clean)) for _ in range(trials)]
    return dynamics.PopulationTrials(f"p{seed}", rows, np.repeat([f"c{k}" for k in range(len(clean))], trials))


@pytest.mark.parametrize("noise", [pytest.param(0.05, marks=pytest.mark.long), 3.0])
def test_the_same_signal_agrees_whatever_the_noise(noise):
    results = {each.measure: each for each in dynamics.agreement(recorded(1, 0.01), recorded(2, noise))}
    assert list(results) == list(dynamics.AGREEMENTS)
    assert results["prediction"].corrected == pytest.approx(1, abs=0.1)
    assert all(each.value > each.shuffled + 0.1 and not each.p > 0.1 for each in results.values())
    halves = {name: each.halves for name, each in results.items() if np.isfinite(each.halves)}
    assert list(halves) == ["rsa", "cka", "procrustes", "crossnobis", "dsa"]
    assert all(0 < results[name].spread < 0.05 and value <= 1 for name, value in halves.items())
    assert (min(halves.values()) > 0.98) == (noise < 1)  # a noisy recording agrees less with itself
    if noise > 1:
        assert results["prediction"].value < 0.9 and results["cka"].value < results["cka"].corrected


def test_another_signal_is_at_the_floor():
    second = np.random.default_rng(5).normal(size=LATENT.shape).cumsum(1) / 5
    geometry = [name for name in dynamics.AGREEMENTS if name != "dsa"]  # both signals are random walks
    result = dynamics.agreement(recorded(1, 0.1), recorded(2, 0.1, latent=second), measures=geometry)
    assert all(each.p > 0.05 and not each.value > each.halves - 0.1 for each in result)


def test_averages_take_the_place_of_trials():
    network = recorded(1, 0.5)
    clean = recorded(2, 0.0, trials=1)
    assert clean.averaged and not network.averaged
    quick = dynamics.ComparisonSettings(shuffles=2)
    results = {each.measure: each for each in dynamics.agreement(network, clean, quick)}
    assert (
        results["prediction"].value == pytest.approx(results["prediction"].corrected)
        and results["rsa"].corrected <= 1.05
        and "crossnobis" not in results  # noise is not known
        and np.isnan([each.halves for each in results.values()]).all()
    )


def test_a_penalty_is_chosen_without_the_tested_condition():
    x, y = np.random.default_rng(3).normal(size=(2, 8, 5, 40))
    share, total = dynamics.linear_prediction(x, y)
    assert -0.5 < share < 0.1 and total == pytest.approx(((y - y.mean((0, 1))) ** 2).sum())
    with pytest.raises(ValueError, match="conditions >= 3"):
        dynamics.linear_prediction(x[:2], y[:2])
    with pytest.raises(ValueError, match="shared conditions; the network has c0, c1"):
        first = recorded(1, 0.1)
        dynamics.agreement(first, dynamics.PopulationTrials("x", first.trials, np.full(len(first.trials), "elsewhere")))
