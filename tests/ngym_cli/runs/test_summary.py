"""Numbers of a stretch of trials, in words and as curves."""

import numpy as np

from ngym_cli.runs import summary


def _trials(rt, aborts):
    n = len(rt)
    return {
        "trial": np.arange(n),
        "performance": np.ones(n),
        "reward": np.zeros(n),
        "aborts": np.array(aborts),
        "outcome": np.full(n, "correct"),
        "rt": np.array(rt, float),
        "length_ms": np.full(n, 100.0),
    }


def test_fixation_breaks_stand_beside_the_performance_where_they_are_many():
    many, few = (summary.summarise(_trials([100.0] * 100, [1] * k + [0] * (100 - k))) for k in (100, 5))
    assert summary.aborts_in_words(many) == "; fixation breaks in 100% of trials"
    assert summary.aborts_in_words(few) == summary.aborts_in_words({}) == ""


def test_there_is_no_curve_of_reaction_times_where_every_answer_comes_at_once():
    assert "behaviour/reaction_time" not in summary.scalars(_trials([0.0] * 10, [0] * 10), [])
    assert summary.scalars(_trials([0.0, 20.0], [0, 0]), [])["behaviour/reaction_time"] == 10


def test_a_condition_of_a_single_session_tells_nothing_of_others():
    table = {
        "env": np.repeat(np.arange(12), 50),
        "trial": np.arange(600),
        "linked": np.full(600, True),
        "performance": np.repeat(np.arange(12) % 2, 50).astype(float),
        "arm": np.repeat(np.arange(12) // 6, 50),
        "p": np.repeat(np.arange(12), 50),
    }
    by_session, by_arm = (summary.by_condition(table, [name]) for name in ("p", "arm"))
    assert all(row["performance_ci"] == (0.0, 1.0) for row in by_session)
    assert all(row["performance_ci"][1] - row["performance_ci"][0] > 0.5 for row in by_arm)
