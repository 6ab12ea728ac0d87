"""Trial tables: where they come from, how they are grouped, and each analysis read from one."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from neurogym import analysis
from neurogym.analysis import from_trials


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def answered(second, truth):
    return {"choice": np.where(second, 2.0, 1.0), "outcome": np.where(second == truth, "correct", "error")}


def test_mapping_frame_and_arrow_are_one():
    columns = {"coh": [1.0, 2.0], "outcome": ["correct", "abort"], "choice": [1.0, None]}
    for data in (columns, pd.DataFrame(columns), pa.table(columns)):
        (rates,) = analysis.rates(data)
        assert (rates.correct.value, rates.abort.value) == (0.5, 0.5)
    with pytest.raises(TypeError, match="list"):
        analysis.as_table([1, 2])
    with pytest.raises(ValueError, match="equally long"):
        analysis.as_table({"a": [1], "b": [1, 2]})


def test_missing_columns_are_named():
    with pytest.raises(analysis.MissingColumnsError, match="no column rt; it has outcome, coh"):
        from_trials.chronometric({"outcome": ["correct"], "coh": [1]})


def test_groups_are_the_combinations_that_occur():
    table = {"a": np.array([1, 1, 2]), "b": np.array(["x", "y", "x"])}
    groups = [(c["a"], c["b"]) for c, _ in analysis.groups(table, ["a", "b"])]
    assert groups == [(1, "x"), (1, "y"), (2, "x")]
    assert len(list(analysis.groups(table, ()))) == 1


def test_the_sequence_is_that_of_each_environment():
    table = {"env": np.array([0, 1, 0, 1]), "trial": np.arange(4), "choice": np.array([1, 2, 3, 4])}
    estimate = analysis.with_previous(table)
    assert estimate["choice"].tolist() == [1, 3, 2, 4] and estimate["prev_choice"].tolist() == [None, 1, None, 2]


def test_psychometric_reads_the_side_from_choice_and_outcome(rng):
    x = rng.choice([-20.0, -5, 5, 20], 2000)
    table = answered(rng.normal(x + 2, 10) > 0, x > 0) | {"coh": np.abs(x)}
    fit = from_trials.psychometric(table, guess=0.0, lapse=0.0, n_boot=50)
    assert -2 in fit.threshold and 0.1 in fit.slope
    assert from_trials.psychometric(table, model="weibull", n_boot=0).guess.se == 0


def test_aborted_trials_are_no_choices():
    table = {"choice": [1, 2, 3, 1], "outcome": ["correct", "error", "abort", "error"], "coh": [1, 2, 3, 4]}
    assert from_trials.psychometric(table, n_boot=0).n == 3
    with pytest.raises(ValueError, match="two choices"):
        from_trials.psychometric({"choice": [1, 1], "outcome": ["correct"] * 2, "coh": [1, 2]})


def test_history_keeps_unanswered_trials_in_the_sequence(rng):
    x = rng.choice([-1.0, 1], 3000)
    side = np.zeros(3000)
    for t in range(1, 3000):
        side[t] = np.sign(1.5 * x[t] + 0.8 * side[t - 1] + rng.logistic())
    side[0] = 1
    table = answered(side > 0, x > 0) | {"env": np.zeros(3000, int), "trial": np.arange(3000)}
    table["outcome"] = np.where(np.arange(3000) % 50 == 7, "miss", table["outcome"])
    estimate = from_trials.choice_history(table, strength=None, n_lags=2)
    assert 0.8 in estimate.after_correct.weights["win_1"] and 0.8 in estimate.after_error.weights["lose_1"]
    assert from_trials.win_stay_lose_shift(table).win_stay.value > 0.6


def test_context_use_finds_the_relevant_source(rng):
    context, towards, second = rng.integers(0, 2, 1500), rng.integers(1, 3, 1500), rng.integers(1, 3, 1500)
    coh = rng.choice([5.0, 15, 50], (1500, 2))
    relevant, irrelevant = coh[np.arange(1500), context], coh[np.arange(1500), 1 - context]
    drive = 0.08 * relevant * (2 * towards - 3) + 0.02 * irrelevant * (2 * second - 3)
    table = answered(drive + rng.logistic(size=1500) > 0, towards == 2) | {
        "context": context,
        "ground_truth": towards,
        "other_choice": second,
        "coh_1": coh[:, 0],
        "coh_2": coh[:, 1],
    }
    estimate = from_trials.context_use(table)
    assert 0.08 in estimate.relevant and 0.02 in estimate.irrelevant


def test_cues_from_strengths_and_from_shares(rng):
    kind, x = rng.integers(0, 3, 3000), rng.choice([-20.0, -10, -5, 5, 10, 20], 3000)
    sigma = np.array([10, 10, 10 / np.sqrt(2)])[kind]
    table = answered(rng.normal(x, sigma) > 0, x > 0)
    table |= {"coh_1": np.where(kind == 1, 0, np.abs(x)), "coh_2": np.where(kind == 0, 0, np.abs(x))}
    estimate = from_trials.cue_combination(table, lapse=0.0, n_boot=100)
    assert 1 in estimate.ratio and set(estimate.sigma) == {"first", "second", "both"}
    share = rng.random(3000)
    drive = 0.1 * x * share + 0.1 * x * (1 - share)
    mixed = answered(drive + rng.logistic(size=3000) > 0, x > 0) | {"coh": np.abs(x), "coh_prop": share}
    assert 0.5 in from_trials.cue_weights(mixed).share


def test_wager_counts_the_sure_action_whatever_its_outcome():
    table = {
        "choice": [3, 1, 2, 1, 3],
        "outcome": ["error", "correct", "error", "correct", "abort"],
        "wager": [True, True, True, False, False],
        "coh": [0.0, 1, 1, 1, 0],
    }
    estimate = from_trials.wagering(table, n_boot=20)
    assert estimate.p_sure.value == pytest.approx(1 / 3) and estimate.sure.value.tolist() == [1, 0]
    assert estimate.accuracy_offered.value[1] == 0.5 and estimate.accuracy_not_offered.value[1] == 1


def test_indifference_follows_the_good_not_the_position(rng):
    offers = np.array([(1, 1), (1, 2), (1, 3), (1, 4), (2, 1)])
    a, b = offers[rng.integers(0, 5, 1500)].T
    first = rng.random(1500) < 0.5
    chose_b = rng.normal(np.log(b / a / 2.5), 0.4) > 0
    table = answered(chose_b == first, np.ones(1500, bool)) | {"n_a": a, "n_b": b, "a_first": first}
    assert 2.5 in from_trials.indifference_point(table, n_boot=50).relative_value


def test_intervals_two_step_bandit_reversal_and_learning(rng):
    n = 400
    target = rng.choice([800.0, 1200], n)
    table = {
        "outcome": np.full(n, "correct"),
        "production": target,
        "rt": rng.normal(target - 80, 60),
        "env": np.zeros(n),
        "trial": np.arange(n),
        "choice": rng.integers(0, 2, n),
        "common": rng.random(n) < 0.8,
        "p_0": np.full(n, 0.2),
        "p_1": np.full(n, 0.8),
        "best": np.repeat([0, 1], n // 2),
        "step": np.arange(n),
        "performance": np.linspace(0, 1, n),
        "reward": rng.random(n) < 0.5,
    }
    assert 0 in from_trials.interval_reproduction(table, lag=80, n_boot=100).bias
    assert 0 in from_trials.two_step(table).model_based
    assert from_trials.cumulative_regret(table, ["p_0", "p_1"]).value[-1] == pytest.approx(0.3 * n, rel=0.2)
    assert from_trials.reversal_curve(table).n_reversals == 1
    curve = from_trials.learning_curve([table, table], n_bins=4, n_points=5, n_boot=20)
    assert np.all(np.diff(curve.mean.value) > 0)


@pytest.mark.parametrize("high", [1, 2])
def test_a_psychometric_curve_rises_whichever_choice_goes_with_more(high):
    rng = np.random.default_rng(0)
    rate = rng.integers(9, 17, 2000).astype(float)
    more = rng.random(2000) < 1 / (1 + np.exp(-(rate - 12.5)))
    choice = np.where(more, high, 3 - high)
    outcome = np.where(more == (rate > 12.5), "correct", "error")
    fit = from_trials.psychometric({"rate": rate, "choice": choice, "outcome": outcome}, signed="rate", n_boot=0)
    assert fit.threshold.value == pytest.approx(12.5, abs=0.2)
    assert fit.slope.value == pytest.approx(0.6, abs=0.12)


def test_intervals_of_performance_over_few_seeds_stay_between_0_and_1():
    tables = [{"step": np.arange(100), "performance": np.full(100, level)} for level in (0.0, 0.9)]
    curve = from_trials.learning_curve(tables, n_bins=4, n_points=5, n_boot=50).mean
    assert np.all(curve.low == 0) and np.all(curve.high == 1)
    rewards = [{"step": np.arange(100), "reward": np.full(100, level)} for level in (-3.0, 3.0)]
    assert np.all(from_trials.learning_curve(rewards, score="reward", n_bins=4, n_points=5, n_boot=50).mean.low < -3)
