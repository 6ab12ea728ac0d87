"""Periods without duration: a task shows trials all the same, or refuses in one line."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs import registration

#: Tasks whose durations are arguments of their own; their names are those of another toolkit.
NO_TIMING = ("AnnubesEnv-v0",)
TASKS = [id_ for id_ in registration.every_task() if id_ not in NO_TIMING]


def walk(env, steps=60):
    """Take random steps and check what the environment returns."""
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(steps):
        observation, reward, _, _, info = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation) and np.isfinite(reward)
        assert 0 <= info.get("performance", 0) <= 1


@pytest.mark.parametrize("task", TASKS)
def test_a_period_of_0_ms_is_shown_or_refused_in_one_line(task):
    periods = list(registration.make(task).unwrapped.timing)
    for names in [[name] for name in periods] + [periods][: len(periods)]:
        try:
            walk(registration.make(task, timing=dict.fromkeys(names, 0)))
        except ValueError as refusal:
            assert "\n" not in str(refusal) and len(str(refusal)) > 20, (names, refusal)


@pytest.mark.parametrize("duration", [0, 5, lambda: 0])
def test_an_interval_without_duration_cannot_be_reproduced(duration):
    env = ngym.make("ReadySetGo-v0", timing={"measure": duration})
    with pytest.raises(ValueError, match="shorter than a step of 80 ms cannot be reproduced"):
        env.reset(seed=0)


@pytest.mark.parametrize("duration", [960, lambda: 960, ("constant", 960)])
def test_an_interval_to_reproduce_may_be_constant(duration):
    env = ngym.make("ReadySetGo-v0", timing={"measure": duration})
    env.reset(seed=0)
    assert env.unwrapped.trial["measure"] == 960
