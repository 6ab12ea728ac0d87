"""Trials of several tasks in one block."""

import numpy as np
import pytest

import neurogym as ngym
from neurogym.envs.multi import make_multi


def session(steps=400, **kwargs):
    """Everything that is seen of a session of always the same actions."""
    env = make_multi("NBack-v0+DelayComparison-v0", **kwargs)
    ob, _ = env.reset(seed=0)
    seen = [ob]
    for _ in range(steps):
        ob, reward, _, _, info = env.step(0)
        seen += [ob, reward, sorted(info.get("trial", {}))]
    return str(seen)


def test_a_seed_gives_the_same_session_whatever_was_made_before():
    first = session(length=120)
    for before in ({}, {"length": 20}, {"timing": {"fixation": 900}}):
        session(**before)
        assert session(length=120) == first


def test_a_seed_gives_the_same_trials_whatever_was_looked_at_before():
    results = []
    for before in (False, True, False):
        if before:  # the same tasks with more channels and other periods
            make_multi("yang19", dim_ring=8, timing={"fixation": 900}).reset(seed=1)
        env = make_multi("yang19", dim_ring=2)
        env.reset(seed=0)
        blocks = [env.unwrapped.make_trials(300) for _ in range(3)]
        results.append(np.concatenate([block.ob.ravel() for block in blocks]))
    assert all(np.array_equal(results[0], second) for second in results[1:])


def test_wrappers_inside_decide_what_records_have():
    from neurogym.wrappers import CatchTrials

    created = {}
    for order in (("plain", "caught"), ("caught", "plain")):
        for kind in order:
            task = ngym.make("PerceptualDecisionMaking-v0")
            env = ngym.ScheduleEnvs([CatchTrials(task) if kind == "caught" else task, ngym.make("GoNogo-v0")], pad=True)
            env.reset(seed=0)
            created.setdefault(kind, []).append(sorted(env.unwrapped.trial))
    assert all(first == second for first, second in created.values()) and created["plain"][0] != created["caught"][0]


@pytest.mark.parametrize(
    "names", ["TwoStep-v0+GoNogo-v0", "MatchingPenny-v0+RDM-v0", "TwoStep-v0+IBLBlock-v0", "DawTwoStep-v0+AntiReach-v0"]
)
def test_actions_that_a_task_lacks_are_never_right(names):
    env = make_multi(names)
    env.reset(seed=0)
    several, last, results = env.unwrapped, env.action_space.n - 1, set()
    for _ in range(1200):
        lacks = several.tasks[several.i_env].action_space.n <= last
        info = env.step(last)[4]
        if info["new_trial"] and lacks:
            results.add(float(info["performance"]))
    assert results == {0.0}
