"""Balanced conditions, and onsets of periods beside each trial."""

from __future__ import annotations

import numpy as np
import pytest

import neurogym as ngym
from neurogym.wrappers import PassReward
from ngym_cli.environments.probes import Balanced, PeriodProbe, combinations
from ngym_cli.errors import UserError


def make(task="RDM-v0", **kwargs):
    return ngym.make(task, **kwargs)


def test_trials_have_the_conditions_of_the_plan():
    cells = combinations(make(), "RDM-v0")
    env = Balanced(PassReward(make()), cells, seed=5)
    env.reset(seed=0)
    env.start_session()
    trials = env.unwrapped.make_trials(len(cells["coh"]) * 3)
    pairs = np.stack([trials.info["ground_truth"], trials.info["coh"]], axis=1)
    _, counts = np.unique(pairs, axis=0, return_counts=True)
    assert len(counts) == 10
    assert set(counts) == {3}


@pytest.mark.parametrize("task", ["RDM-v0", "ContextDecisionMaking-v0", "EconomicDecisionMaking-v0", "AntiReach-v0"])
def test_counts_of_a_batch_are_even(task):
    cells = combinations(make(task), task)
    size = len(next(iter(cells.values())))
    envs = [Balanced(make(task), cells, position, of=4, seed=1) for position in range(4)]
    for position, env in enumerate(envs):
        env.start_session()
        env.place = position
    plans = [env.plan(size, {}) for env in envs]
    for name, values in cells.items():
        planned = np.concatenate([plan[name] for plan in plans])
        _, expected = np.unique(values, axis=0, return_counts=True)
        _, counts = np.unique(planned, axis=0, return_counts=True)
        assert np.array_equal(counts, 4 * expected)


def test_a_task_whose_trials_follow_from_each_other_is_refused():
    with pytest.raises(UserError, match="follow from trial to trial"):
        combinations(make("TwoStep-v0"), "TwoStep-v0")


def test_a_task_without_known_values_is_refused():
    with pytest.raises(UserError, match="few known values"):
        combinations(make("Reaching1D-v0"), "Reaching1D-v0")


def test_onsets_are_those_of_the_periods():
    env = PeriodProbe(make(timing={"delay": ("uniform", (100, 500))}), ("delay",))
    env.reset(seed=0)
    task = env.unwrapped
    for _ in range(200):
        within = env.within["delay"]
        assert bool(within) == task.in_period("delay")
        onset = task.trial["onset_delay"]
        assert onset == task.start_t["delay"]
        env.step(0)
