"""Random durations."""

import numpy as np
import pytest
from scipy import stats

from neurogym.sampling.distributions import Distribution
from neurogym.utils.ngym_random import random_number_fn, random_number_name, trunc_exp


@pytest.mark.parametrize(
    ("spec", "mean"),
    [
        (("truncated_exponential", (600, 300, 3000)), 864),
        (("truncated_exponential", (180, 100, 900)), 270),
        (("truncated_exponential", (1350, 1200, 1800)), 1480),
        (("truncated_exponential", [400, 100, 800]), 355),
        (("uniform", (300, 600)), 450),
        ([100, 200, 900], 400),
        (("constant", 5), 5),
    ],
)
def test_means(spec, mean):
    drawn = Distribution.of(spec).sample(np.random.default_rng(0), 40_000)
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    low, high = Distribution.of(spec).bounds()
    assert drawn.min() >= low and drawn.max() <= high


def test_truncated_exponential_has_the_conditional_distribution():
    drawn = Distribution.of(("truncated_exponential", (500, 200, 1000))).sample(np.random.default_rng(1), 5000)
    expected = stats.truncexpon(b=800 / 500, loc=200, scale=500)
    assert stats.kstest(drawn, expected.cdf).pvalue > 0.01


def test_degenerate_truncation_gives_the_maximum():
    assert trunc_exp(np.random.default_rng(0), 100, 500, 500) == 500


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (("unifrm", (0, 1)), "did you mean 'uniform'"),
        (("uniform", (5, 1)), "low <= high"),
        (("uniform", "ab"), "takes numbers"),
        (("choice", []), "sequence of finite numbers"),
        (("truncated_exponential", (-1,)), "scale > 0"),
        ("soon", "not a valid duration"),
        (np.inf, "one finite number"),
        (("constant", np.nan), "one finite number"),
        (("uniform", (200, np.inf)), "finite numbers"),
        (("truncated_exponential", (100, -np.inf)), "finite numbers"),
        ([], "not a valid duration"),
        (None, "not a valid duration"),
    ],
)
def test_malformed_specifications_are_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        Distribution.of(spec)


def test_functions_and_phrases():
    draw = random_number_fn("choice", [1, 2], np.random.default_rng(0))
    assert {draw() for _ in range(50)} == {1.0, 2.0}
    assert random_number_name("constant", 5) == "constant 5"
    assert random_number_name("uniform", (200, 600)) == "uniform between 200 and 600"
    assert Distribution.of(300).phrase() == "300"
