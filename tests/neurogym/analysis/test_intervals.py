"""Intervals cover what they say, of independent and of linked trials."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from neurogym.analysis.intervals import clusters, mean_interval, proportion_curve
from neurogym.analysis.results import Estimate, student_quantile
from neurogym.analysis.trial_tables import in_sequence, sessions
from tests.neurogym.analysis.linked_trials import CASES, coverage


def hierarchical(rng, groups, trials, spread):
    """Trials of sessions that differ in how good they are; the mean over all sessions is 0.8."""
    p = np.full(groups, 0.8) if not spread else rng.beta(0.8 * spread, 0.2 * spread, groups)
    return (rng.random((groups, trials)) < p[:, None]).ravel().astype(float), np.repeat(np.arange(groups), trials)


@pytest.mark.parametrize(("groups", "trials"), [(16, 125), (20, 100), (40, 25)])
@pytest.mark.parametrize("spread", [0, 5, 30])
def test_intervals_of_sessions_cover(groups, trials, spread):
    rng = np.random.default_rng(0)
    covered = [0.8 in mean_interval(*hierarchical(rng, groups, trials, spread)) for _ in range(400)]
    assert 0.92 <= np.mean(covered) <= 0.98
    if spread == 5:
        alone = [0.8 in mean_interval(hierarchical(rng, groups, trials, spread)[0]) for _ in range(200)]
        assert np.mean(alone) < 0.85  # what taking the trials as independent does


def test_independent_trials_have_wilsons_interval():
    scores = np.repeat([1.0, 0.0], [73, 27])
    result, wilson = mean_interval(scores), Estimate.proportion(73, 100)
    assert (result.low, result.high) == pytest.approx((wilson.low, wilson.high))
    same = mean_interval(scores, np.arange(100))
    assert same.low == pytest.approx(wilson.low, abs=0.003)


def test_what_is_perfect_or_alone_or_empty():
    perfect = mean_interval(np.ones(50), np.repeat(np.arange(5), 10))
    assert perfect.value == perfect.high == 1 and 0.9 < perfect.low < 1
    first = mean_interval(np.r_[np.ones(5), np.zeros(5)], np.zeros(10))
    assert (first.low, first.high) == (0.0, 1.0)
    assert np.isnan(mean_interval(np.zeros(0)).value)
    rt = mean_interval(np.r_[300.0, 320, 500, 510], [0, 0, 1, 1], bounded=False)
    assert rt.low < 300 < 510 < rt.high


def test_sessions_are_environments_that_may_begin_anew():
    table = {
        "env": np.array([0, 1, 0, 1, 0, 1, 0]),
        "trial": np.arange(7),
        "session_trial": np.array([0, 0, 1, 1, 0, 2, 1]),
    }
    result = sessions(table)
    assert (
        len(np.unique(result)) == 3
        and result[0] == result[2] != result[4] == result[6]
        and result[1] == result[3] == result[5]
    )
    ordered, label = in_sequence(table)
    assert ordered["trial"].tolist() == [0, 2, 4, 6, 1, 3, 5] and label.tolist() == [0, 0, 1, 1, 2, 2, 2]


def test_few_sessions_are_cut_into_blocks():
    table = {"env": np.repeat([0, 1], 500), "trial": np.arange(1000)}
    assert clusters(table) is None
    blocks = clusters({**table, "linked": np.full(1000, True)})
    assert len(np.unique(blocks)) == 20 and len(np.unique(blocks[:500])) == 10
    many = clusters({"env": np.arange(1000) % 16, "trial": np.arange(1000), "linked": np.full(1000, True)})
    assert len(np.unique(many)) == 16


def test_curves_take_sessions_into_account():
    rng = np.random.default_rng(0)
    scores, label = hierarchical(rng, 16, 100, 5)
    index = rng.integers(3, size=len(scores))
    wide, narrow = (proportion_curve([1, 2, 3], index, scores, groups) for groups in (label, None))
    assert np.allclose(wide.value, narrow.value) and np.all(wide.high - wide.low > narrow.high - narrow.low)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_two_hundred_evaluations_of_a_fixed_agent_are_covered(name):
    linked, _ = coverage(CASES[name], 200)
    assert 0.92 <= linked <= 0.98


@pytest.mark.parametrize("level", [0.0, 0.5, 0.9, 0.95, 0.999, 1.0])
def test_students_quantile_is_that_of_scipy_to_the_bit(level):
    for freedom in [1, 2, 3, 10, 99, 999]:
        assert student_quantile(level, freedom) == float(stats.t.ppf((1 + level) / 2, freedom))


def test_intervals_of_sessions_import_no_distributions():
    """These take most of a second, once in every run whose trials are linked."""
    program = (
        "import sys; from neurogym.analysis.intervals import mean_interval; "
        "mean_interval([1, 0, 1, 1], [0, 0, 1, 1]); mean_interval([1.5, 2], [0, 1], bounded=False); "
        "print('scipy.stats' in sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "False"


def test_an_estimate_is_written_with_its_interval() -> None:
    """A format applies to all three numbers; without an interval the text is the number alone."""
    estimate = Estimate(0.8534, 0.8, 0.9)
    assert f"{estimate:.2f}" == "0.85 [0.80, 0.90]" and f"{estimate}" == "0.8534 [0.8, 0.9]"
    assert estimate.interval(lambda number: f"{number:.0%}") == "[80%, 90%]"
    assert f"{Estimate(0.5):+.1f}" == "+0.5" and Estimate(0.5).interval() == ""


def test_an_estimate_is_read_as_it_was_written() -> None:
    """None stands for what is unknown, in records and in texts."""
    record = {"name": "hits", **Estimate(1.0, 0.5, np.nan).to_dict()}
    assert (record["low"], record["high"], record["se"]) == (0.5, None, None)
    estimate = Estimate.from_record(record)
    assert (estimate.value, estimate.low) == (1.0, 0.5) and np.isnan(estimate.high) and not estimate.interval()
