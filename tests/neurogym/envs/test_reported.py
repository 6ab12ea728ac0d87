"""What is reported of a trial is what the agent did: choice, reaction time, outcome, and those of the trial before."""

import numpy as np
import pytest

from neurogym.envs import registration

TASKS = [task for task in registration.every_task() if registration.group(task) != "image"]

#: Tasks whose choice is not the action that ends the trial, and the row of it.
FIRST_STAGE = ("TwoStep-v0", "DawTwoStep-v0")
RAMPS = ("CueSetGo-v0", "ReadySetGoSinglePrior-v0", "ReadySetGoDoublePrior-v0")


#: Tasks of movements or of many actions in a trial, which have no reaction time.
WITHOUT_TIME = "AngleReproduction-v0 CVLearning-v0 LeverPressWithPoke-v0 LeverPressWithPokeRest-v0 Null-v0".split()


def row_of_choice(task: str, actions: list, since: int) -> int:
    if task in FIRST_STAGE:
        return 0
    if task in RAMPS:
        over = [row for row, action in enumerate(actions) if row > since and action[0] >= 0.95 - 1e-6]
        return over[0] if over else len(actions) - 1
    return len(actions) - 1


@pytest.mark.parametrize("task", TASKS)
def test_choice_and_reaction_time_are_those_of_the_agent(task):
    env = registration.make(task)
    env.reset(seed=1)
    inner, space = env.unwrapped, env.action_space
    space.seed(1)
    rng, actions, answered, go, onset = np.random.default_rng(0), [], 0, 0, None
    for _ in range(1500):
        if not actions:
            cursor = inner.cursor
            onset = int(cursor.block.go[cursor.trial])
            go, first = onset, cursor.row
            follow = task in RAMPS or rng.random() < 0.5
        elif cursor.row - first == onset:  # where actions decide which period comes next, the step is known on arrival
            go = len(actions)
        still = hasattr(space, "n") and rng.random() < 0.5
        actions.append(inner.oracle() if follow else 0 if still else space.sample())
        *_, terminated, truncated, info = env.step(actions[-1])
        if info["new_trial"]:
            row = row_of_choice(task, actions, go)
            assert np.array_equal(info["choice"], actions[row])
            if info["rt"] is not None and not np.isnan(info["rt"]):
                answered += 1
                assert info["rt"] == pytest.approx((row - go) * inner.dt)
                assert info["outcome"] in ("correct", "error")
            actions = []
        if terminated or truncated:
            env.reset()
            actions = []
    assert answered or task in WITHOUT_TIME or not hasattr(space, "n")


@pytest.mark.parametrize("task", [*RAMPS, "ReadySetGo-v0", "MotorTiming-v0", "OneTwoThreeGo-v0"])
def test_tasks_of_intervals_record_the_interval_to_produce(task):
    env = registration.make(task).unwrapped
    env.reset(seed=0)
    production = {env.new_trial()["production"] for _ in range(20)}
    assert len(production) > 1 and min(production) > 100
