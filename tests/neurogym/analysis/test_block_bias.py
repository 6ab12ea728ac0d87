"""The bias of an observer that knows its blocks is found, and the criteria say what it meets."""

import numpy as np
import pytest
from scipy.special import ndtr

from neurogym.analysis import block_psychometrics


def trials(biases, lapse=0.02, sigma=12.0, n=8000):
    """Choices of an observer whose point of subjective equality is minus the bias of each block."""
    rng = np.random.default_rng(0)
    block = rng.choice(list(biases), n)
    strength, side = rng.choice([0, 6.25, 12.5, 25, 100], n), rng.integers(0, 2, n)
    bias = np.array([biases[each] for each in block])
    second = rng.random(n) < lapse + (1 - 2 * lapse) * ndtr(((2 * side - 1) * strength + bias) / sigma)
    outcome = np.where(second == side, "correct", "error")
    return {"choice": 1.0 + second, "outcome": outcome, "coh": strength, "block": block, "trial": np.arange(n)}


def test_the_shift_is_that_of_the_observer():
    result = block_psychometrics(trials({0.2: -4.0, 0.8: 4.0}), "block", n_boot=0)
    assert list(result.fits) == ["0.2", "0.8"]
    assert result.shift == pytest.approx(8, abs=1.5)
    assert result.easy.value == pytest.approx(0.98, abs=0.01) and result.lapse < 0.06
    assert all(met for *_, met in result.criteria().values())


def test_what_is_not_met_is_said():
    result = block_psychometrics(trials({0.2: 0.0, 0.8: 0.0}, lapse=0.15), "block", n_boot=0)
    met = {name: met for name, (*_, met) in result.criteria().items()}
    assert met == dict.fromkeys(("bias shift", "lapses", "easy accuracy"), False)


def test_a_single_block_is_refused():
    with pytest.raises(ValueError, match="one block"):
        block_psychometrics(trials({0.5: 0.0}), "block", n_boot=0)
