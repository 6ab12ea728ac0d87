"""Making native tasks and acting in them: functions that the tests of this folder ask for by name."""

import numpy as np
import pytest

import neurogym as ngym


@pytest.fixture
def make_trials():
    """The task without wrappers, after a reset, and a block of its trials."""

    def make_trials(task, n=1000, seed=0, **kwargs):
        env = ngym.make(task, **kwargs).unwrapped
        env.reset(seed=seed)
        return env, env.make_trials(n)

    return make_trials


@pytest.fixture
def play():
    """Reports of finished trials; ``act(env)`` gives the action, by default that of the oracle."""

    def play(env, act=None, trials=50, seed=0, **arguments):
        env.reset(seed=seed)
        reports = []
        while len(reports) < trials:
            if arguments and env.t_ind == 0:
                env.new_trial(**arguments)
            info = env.step(env.oracle() if act is None else act(env))[4]
            if info["new_trial"]:
                reports.append(info)
        return reports

    return play


@pytest.fixture
def shown_values():
    """Observations of every trial at a step of a period, shape (n, channels)."""

    def shown_values(trials, period, channels, step=0):
        rows = trials.offset + trials.starts[period] + step
        return trials.ob[rows][:, np.atleast_1d(np.asarray(channels))]

    return shown_values
