"""Known observers are recovered: the intervals hold the truth as often as they say."""

import pytest

from experiments.coverage import observers


@pytest.mark.parametrize("observer", observers.OBSERVERS)
def test_estimates_lie_near_the_truth(observer):
    for name, (covered, _, _) in observers.coverage(observer, 6, seed=7).items():
        assert covered >= 0.5, name


@pytest.mark.long
@pytest.mark.parametrize("observer", observers.OBSERVERS)
def test_intervals_hold_the_truth_as_often_as_they_say(observer):
    for name, (covered, _, _) in observers.coverage(observer, 200).items():
        assert 0.90 <= covered <= 0.99, name
