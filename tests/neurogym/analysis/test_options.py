"""Options whose values are learned: what was chosen, what was lost, and the weights of past rewards."""

import numpy as np
import pytest

from neurogym.analysis import Modules, find_modules, from_trials, participation
from neurogym.analysis.modules import agreement
from neurogym.analysis.selectivity import selectivity_table


def trials(choice, **columns):
    n = len(choice)
    table = {"trial": np.arange(n), "env": np.zeros(n, int), "choice": np.asarray(choice, float)}
    return {**table, "outcome": np.full(n, "correct"), **{k: np.asarray(v) for k, v in columns.items()}}


@pytest.mark.parametrize(
    ("table", "chosen", "better", "loss", "names"),
    [
        (trials([0, 1], value0=[0.8, 0.8], value1=[0.2, 0.2]), [0, 1], [0, 0], [0, 0.6], "option 1"),
        (trials([0, 1], p0=[0.1, 0.1], p1=[0.9, 0.9]), [0, 1], [1, 1], [0.8, 0], "option 1"),
        (trials([1, 2], p_left=[0.4, 0.05], p_right=[0.05, 0.4], performance=[1, 0]), [0, 1], [0, 1], [0, 1], "left"),
        (trials([1, 2], hi_state=[0, 0], performance=[1, 0]), [0, 1], [0, 0], [0, 1], "option 1"),
        # the better picture changes sides: choice 2 was right both times
        (trials([2, 2], better=[0, 1], ground_truth=[2, 2], performance=[1, 1]), [0, 1], [0, 1], [0, 0], "option 1"),
    ],
)
def test_options_are_read_from_the_columns_of_the_task(table, chosen, better, loss, names):
    options = from_trials.options(table)
    assert options.chosen.tolist() == chosen and options.better.tolist() == better
    assert np.allclose(options.loss, loss) and options.names[0] == names


def test_a_trial_without_an_answer_is_no_choice_and_loses_the_best_option():
    table = trials([0, 1, np.nan], value0=[0.8] * 3, value1=[0.2] * 3)
    table["outcome"][2] = "miss"
    options = from_trials.options(table)
    assert np.isnan(options.chosen[2]) and options.loss[2] == 0.8


def test_trials_without_options_say_so():
    with pytest.raises(ValueError, match="do not say which option is better"):
        from_trials.options(trials([1, 2]))


def test_weights_of_past_rewards_are_recovered():
    rng = np.random.default_rng(0)
    n, side, paid = 20_000, [1.0], [True]
    for k in range(1, n):
        reward = 1.5 * paid[-1] * side[-1] + (0.5 * paid[-2] * side[-2] if k > 1 else 0)
        side.append(1.0 if rng.random() < 1 / (1 + np.exp(-(reward - 0.4 * side[-1]))) else -1.0)
        paid.append(bool(rng.random() < 0.5))
    table = trials(
        (np.array(side) + 1) / 2, value0=np.full(n, 0.5), value1=np.full(n, 0.5), reward=np.array(paid, float)
    )
    fit = from_trials.reward_history(table, n_lags=3)
    truth = {"reward_1": 1.5, "reward_2": 0.5, "reward_3": 0.0, "choice_1": -0.4, "choice_2": 0.0}
    for name, value in truth.items():
        assert abs(fit.weights[name].value - value) < 4 * fit.weights[name].se, name


def test_modules_that_were_put_in_are_found():
    rng = np.random.default_rng(1)
    truth = rng.permutation(np.repeat([0, 1, 2], [12, 8, 6]))
    strength = rng.random((26, 26)) * 0.3 + (truth[:, None] == truth) * 1.0
    found = find_modules(strength)
    assert agreement(found.labels, truth) == 1.0 and found.modularity > 0.3
    assert np.bincount(found.labels).tolist() == [12, 8, 6]
    assert abs(agreement(rng.permutation(truth), truth)) < 0.2


def test_units_that_do_not_vary_are_not_selective():
    """Differences in the last digit of single precision made half of the units selective before any stimulus."""
    rng = np.random.default_rng(0)
    varied = rng.standard_normal((200, 1)) + np.repeat([0, 5], 100)[:, None]
    constant = np.float32(0.7) + rng.integers(0, 2, (200, 30)) * np.float32(6e-8)
    constant[:100] = np.float32(0.7)
    table = selectivity_table(np.hstack([varied, constant]), {"side": np.repeat([0, 1], 100)})
    assert (table.p[:, 0] < 0.05).tolist() == [True] + [False] * 30


def test_participation_is_the_spread_of_connections_over_modules():
    strength = np.zeros((4, 4))
    strength[0, 1] = strength[0, 2] = -2.0  # one module each: 1 - (1/2)^2 - (1/2)^2
    strength[2, 3] = 2.0
    values = participation(strength, Modules(np.array([0, 0, 1, 1]), 0.0))
    assert values == pytest.approx([0.5, 0.0, 0.5, 0.0])
    assert participation(np.eye(4), Modules(np.array([0, 0, 1, 1]), 0.0)) == pytest.approx(np.zeros(4))
