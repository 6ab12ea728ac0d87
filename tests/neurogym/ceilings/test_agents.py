"""Ideal agents that see what a task shows reach its ceiling, also with drawn arguments."""

from collections.abc import Callable

import numpy as np
import pytest

import neurogym as ngym
from neurogym.ceilings import stored
from neurogym.envs import registration
from tests.neurogym.ceilings.agents import AGENTS, played
from tests.neurogym.ceilings.test_arguments import variants


def assert_reached(id_: str, trials: int, **kwargs) -> None:
    score = ngym.make(id_, **kwargs).unwrapped.ceiling()
    performance, error = played(id_, trials, **kwargs)
    assert performance == pytest.approx(score["performance"], abs=4 * np.hypot(error, score["error"]))


@pytest.mark.parametrize("id_", AGENTS)
def test_an_agent_with_the_exact_belief_reaches_the_ceiling(id_):
    assert_reached(id_, 2000)


@pytest.mark.long
@pytest.mark.parametrize("id_", AGENTS)
def test_an_agent_with_the_exact_belief_reaches_the_ceiling_in_many_trials(id_):
    assert_reached(id_, 60_000)


@pytest.mark.parametrize("sigma", [0.03, 0.3])
def test_blocks_with_another_noise(sigma):
    assert_reached("IBLBlock-v0", 6000, sigma=sigma)


def mean(env, act: Callable, trials: int) -> float:
    """Mean performance of an agent that is given the task."""
    env.reset(seed=0)
    performance: list[float] = []
    while len(performance) < trials:
        _, _, terminated, truncated, info = env.step(act(env.unwrapped))
        if info["new_trial"]:
            performance.append(info["performance"])
        if terminated or truncated:
            env.reset()
    return float(np.mean(performance))


PERFECT = [id_ for id_ in registration.every_task() if stored.table("ceilings").get(id_, {}).get("performance") == 1.0]


@pytest.mark.parametrize("id_", [*PERFECT, "ReadySetGoDoublePrior-v0"])
def test_an_agent_that_is_told_the_answers_reaches_a_perfect_ceiling(id_):
    """With the task's arguments and with two others, as far as their ceiling is known."""
    listed = list(variants(id_, np.random.default_rng(sum(map(ord, id_)))))
    for kwargs in ({}, *listed[:: max(1, len(listed) // 2)]):
        try:
            env = ngym.make(id_, **kwargs)
        except (TypeError, ValueError):
            continue
        score = env.unwrapped.ceiling()
        if score is not None and score["performance"] == 1.0:
            assert mean(env, lambda task: task.oracle(), 20) > 0.999, kwargs


# -- patches ----------------------------------------------------------------------------------------------------------


def foraged(kwargs: dict, least: float, trials: int) -> np.ndarray:
    """Reward and steps of each stay of an agent that leaves before a harvest of ``least`` or less, (2, trials)."""
    env = ngym.make("PatchLeaving-v0", **kwargs)
    ob, _ = env.reset(seed=0)
    stays, reward, steps = [], 0.0, 0
    while len(stays) < trials:
        ob, gain, _, _, info = env.step(int(not ob[0] and ob[1] <= least))
        reward, steps = reward + gain, steps + 1
        if info["new_trial"]:
            stays.append((reward, steps))
            reward, steps = 0.0, 0
    return np.array(stays, float).T


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"decay": 0.3}, {"richness": [0.2, 2.0]}, {"timing": {"travel": ("uniform", (300, 3000))}, "decay": 0.05}],
)
def test_no_forager_has_a_higher_rate_than_the_best(kwargs):
    best = ngym.make("PatchLeaving-v0", **kwargs).unwrapped.best_rate()
    rates = []
    for factor in (0.6, 0.8, 1.0, 1.25, 1.6):
        gains, steps = foraged(kwargs, factor * best, 400)
        error = np.std(gains - best * steps) / steps.mean() / np.sqrt(len(steps))
        rates.append(gains.sum() / steps.sum())
        assert rates[-1] <= best + 4 * error + 1e-6
    assert rates[2] == pytest.approx(best, abs=4 * error + 1e-6)
    assert mean(ngym.make("PatchLeaving-v0", **kwargs), lambda task: task.oracle(), 20) == 1.0


# -- dots -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kwargs", [{}, {"stim_scale": 1.5}, {"dim_ring": 5}])
def test_who_sees_the_heading_of_every_life_of_a_dot_reaches_the_ceiling_of_dots(kwargs, monkeypatch):
    env = ngym.make("RandomDotMotion-v0", **kwargs)
    task, shown = env.unwrapped, []
    dots = type(task).dots
    monkeypatch.setattr(type(task), "dots", lambda *args: shown.append(dots(*args)) or shown[-1])
    rng, hits = np.random.default_rng(0), []
    score = task.ceiling()
    for _ in range(8):
        shown.clear()
        made = task.make_trials(50)
        for (x, y), truth in zip(shown, made.info["ground_truth"], strict=True):
            moved = np.exp(1j * np.arctan2(np.diff(y, axis=0), np.diff(x, axis=0)))
            along = [np.isclose(moved, np.exp(1j * angle), atol=1e-3).mean(axis=0).max() for angle in task.theta]
            seen = np.flatnonzero(np.array(along) > 0.5)  # a dot that moves there in most frames
            hits.append((seen if len(seen) else rng.permutation(len(task.theta)))[0] == truth)
    assert np.mean(hits) == pytest.approx(score["performance"], abs=4 * np.std(hits) / np.sqrt(len(hits)))


def test_the_agents_tell_a_ceiling_that_is_too_high_or_too_low(monkeypatch):
    entry = stored.table("ceilings")["TwoStep-v0"]
    for shift in (-0.06, 0.06):
        moved = {**entry, "performance": entry["performance"] + shift}
        monkeypatch.setitem(stored.table("ceilings"), "TwoStep-v0", moved)
        with pytest.raises(AssertionError):
            assert_reached("TwoStep-v0", 2000)
