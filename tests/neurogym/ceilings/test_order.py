"""Chance, no-stimulus baseline and ceiling are in order, and agents that go by the trial's number exceed none."""

import itertools

import numpy as np
import pytest

import neurogym as ngym
from neurogym.ceilings import blind, ceiling, chance
from neurogym.envs import registration
from tests.neurogym.ceilings.observers import recall

TASKS = registration.every_task()


def scores(env) -> list[dict]:
    """Chance, baseline and ceiling, as far as they are known."""
    return [each for each in (chance(env), blind(env), ceiling(env)) if each is not None]


@pytest.mark.parametrize("id_", TASKS)
def test_chance_baseline_and_ceiling_are_in_order(id_):
    known = scores(ngym.make(id_))
    for lower, upper in itertools.pairwise(known):
        slack = 4 * np.hypot(lower.get("error", 0.0), upper["error"]) + 1e-3
        assert lower["performance"] <= upper["performance"] + slack


@pytest.mark.parametrize("id_", ["DriftingBandit-v0", "ChangingBandit-v0", "ContextSwitch-v0"])
def test_without_feedback_any_choice_between_arms_has_one_score(id_):
    assert len({score["performance"] for score in scores(ngym.make(id_))}) == 1


def turns(id_: str, after: int, trials: int) -> np.ndarray:
    """Performance of trials in which the answer is the next one after so many trials (0: always the first).

    The agent waits for the periods in which answers are asked for, whatever is shown there.
    """
    env = ngym.make(id_)
    env.reset(seed=3)
    task = env.unwrapped
    rule, step, performance = task.rule, 0, []
    hold = None if rule is None else rule.hold
    answers = [action for action in range(int(env.action_space.n)) if action != hold]
    while len(performance) < trials and step < 40 * trials:
        step += 1
        asked = rule is None or hold is None or not rule.answer or any(task.in_period(name) for name in rule.answer)
        turn = len(performance) // after if after else 0
        ended = env.step(answers[turn % len(answers)] if asked else hold)
        if ended[4]["new_trial"]:
            performance.append(ended[4]["performance"])
        if ended[2] or ended[3]:
            env.reset()
    return np.array(performance)


def assert_not_above(id_: str, trials: int) -> None:
    env = ngym.make(id_)
    if not hasattr(env.action_space, "n") or env.action_space.n < 2 or len(env.observation_space.shape) == 3:
        return
    for after in (0, 1, 2, 5, 9):
        values = turns(id_, after, trials)
        pieces = [piece.mean() for piece in np.array_split(values, 20)]
        for reference in scores(env)[1:]:
            slack = 4 * np.hypot(np.std(pieces, ddof=1) / np.sqrt(20), reference["error"]) + 0.004
            assert values.mean() <= reference["performance"] + slack, after


@pytest.mark.parametrize(
    ("id_", "trials"),
    [
        *((f"{name}-v0", 600) for name in ("DynamicForaging", "MatchingPenny", "TwoStep", "IBLBlock")),
        *(pytest.param(id_, 2000, marks=pytest.mark.long) for id_ in TASKS),
    ],
)
def test_taking_turns_exceeds_neither_baseline_nor_ceiling(id_, trials):
    assert_not_above(id_, trials)


def test_nine_visits_to_each_side_are_the_best_without_feedback():
    values = turns("DynamicForaging-v0", 9, 3000)
    error = np.std([piece.mean() for piece in np.array_split(values, 30)], ddof=1) / np.sqrt(30)
    assert values.mean() == pytest.approx(ceiling(ngym.make("DynamicForaging-v0"))["performance"], abs=4 * error)


def test_an_agent_who_excludes_the_patterns_of_earlier_cues_reaches_the_ceiling_of_recall():
    performance, error = recall(ngym.make("MemoryRecall-v0"), 1500)
    score = ceiling(ngym.make("MemoryRecall-v0"))
    assert performance == pytest.approx(score["performance"], abs=4 * np.hypot(error, score["error"]))
    assert score["performance"] == pytest.approx(0.9935, abs=0.0015)
