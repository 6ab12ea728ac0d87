"""How much each row counts."""

import numpy as np
import pytest

import neurogym as ngym
from ngym_cli.agents.supervised.material import answer_rows, row_weights


def block(task, n=40, **kwargs):
    env = ngym.make(task, **kwargs).unwrapped
    env.session.begin(0)
    return env.make_trials(n)


def sums(trials, values):
    return np.bincount(trials.rows().trial, values, trials.n)


def test_fixation_and_answer_share_the_weight_of_a_trial():
    trials = block("PerceptualDecisionMaking-v0")
    weights, due = row_weights(trials), answer_rows(trials)
    assert sums(trials, due).tolist() == [1] * trials.n
    assert np.allclose(sums(trials, weights * due), 0.5) and np.allclose(sums(trials, weights), 1)


def test_every_trial_counts_the_same_whatever_its_length():
    trials = block("ContextDecisionMaking-v0")
    assert len(np.unique(trials.length)) > 1
    assert np.allclose(sums(trials, row_weights(trials, share=0.3)), 1, atol=1e-5)


def test_waiting_and_acting_share_where_time_is_the_answer():
    trials = block("ReadySetGo-v0")
    weights, due = row_weights(trials), answer_rows(trials)
    acting = trials.gt == 1
    assert np.allclose(sums(trials, weights * acting), 0.25) and np.allclose(sums(trials, weights * due), 0.5)


def test_withholding_weighs_as_much_as_going():
    trials = block("GoNogo-v0")
    weights, due = row_weights(trials), answer_rows(trials)
    assert {0, 1} == set(np.unique(trials.gt[due])) and len(np.unique(weights[due])) == 1


def test_weights_by_period_replace_the_balance():
    trials = block("PerceptualDecisionMaking-v0")
    weights = row_weights(trials, by_period={"fixation": 0.05, "stimulus": 0})
    assert set(np.unique(weights)) == {np.float32(0.05), 0, 1}
    assert weights[trials.rows("decision").index].tolist() == [1] * trials.n
    with pytest.raises(ValueError, match=r"fixaton.*fixation"):
        row_weights(trials, by_period={"fixaton": 1})


def test_rows_that_are_left_out_take_no_weight():
    trials = block("GoNogo-v0")
    due = answer_rows(trials)
    first = due & (trials.rows().step == np.repeat(trials.starts["decision"], trials.length))
    keep = ~due | first
    weights = row_weights(trials, keep) * keep
    assert np.allclose(sums(trials, weights), 1, atol=1e-5)
