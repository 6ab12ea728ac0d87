"""Sequences of schedules."""

import numpy as np
import pytest

from neurogym.sampling import scheduler as s


def test_sequences() -> None:
    assert s.SequentialSchedule(3).draw(6).tolist() == [1, 2, 0, 1, 2, 0]
    assert s.SequentialSchedule(3, start=2).draw(3).tolist() == [0, 1, 2]
    assert s.SequentialBlockSchedule(2, [3, 2]).draw(10).tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 1, 1]
    assert s.OnceSchedule(3, [2, 3]).draw(9).tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 2]
    assert s.RandomSchedule(1)() == 0 and s.RandomSchedule(2).draw(4).tolist() == [1, 0, 1, 0]


def test_random_ones_never_repeat_a_condition_or_block() -> None:
    drawn = s.RandomSchedule(4).draw(1000)
    assert np.all(drawn[1:] != drawn[:-1]) and set(drawn) == {0, 1, 2, 3}
    blocks = s.RandomBlockSchedule(3, [3, 2, 4]).draw(1000)
    at = np.flatnonzero(np.diff(blocks)) + 1
    assert np.all(np.diff([0, *at]) == np.array([3, 2, 4])[blocks[at - 1]])


def test_independent_draws() -> None:
    assert np.allclose(np.bincount(s.IndependentSchedule(4).draw(8000)) / 8000, 0.25, atol=0.02)
    assert s.IndependentSchedule(2, p=[0, 1]).draw(50).min() != 0


def test_counters_and_reset() -> None:
    schedule = s.RandomBlockSchedule(3, [5, 5, 5])
    schedule.seed(1)
    first = schedule.draw(20)
    assert schedule.total_count == 20
    schedule.reset()
    assert (schedule.i, schedule.count, schedule.total_count) == (0, 0, 0)
    schedule.seed(1)
    assert np.array_equal(schedule.draw(20), first)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: s.RandomSchedule(0), "positive number"),
        (lambda: s.SequentialSchedule(3, start=3), "start"),
        (lambda: s.RandomBlockSchedule(3, [1, 2]), "3 block lengths"),
        (lambda: s.SequentialBlockSchedule(2, [1, 0]), "positive integers"),
        (lambda: s.schedule_from("block", 3), "block:100"),
        (lambda: s.schedule_from("radnom", 3), "random"),
    ],
)
def test_refusals(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("p", [[np.nan, 1.0], [0.5, 0.6], [-0.5, 1.5], [1.0]])
def test_probabilities_that_are_none_are_refused(p):
    with pytest.raises(ValueError, match="probabilities that sum to 1"):
        s.IndependentSchedule(2, p)
