"""Ceilings at the edges: periods that last no time, and noise that is absent, tiny or mixed."""

import inspect

import numpy as np
import pytest

import neurogym as ngym
from neurogym import wrappers
from neurogym.ceilings import blind, ceiling, chance, why_unknown
from neurogym.envs import registration

NOISE_ARGUMENTS = ("sigma", "noise", "weber", "input_noise", "noise_sd", "std_noise")


def with_timing(id_: str, period: str):
    """Return a task in which a period lasts no time, or None where the task refuses such a timing."""
    try:
        env = ngym.make(id_, timing={period: 0})
        env.reset(seed=0)
    except (TypeError, ValueError):
        return None
    return env


def periods_of(id_: str) -> list[str]:
    timing = getattr(ngym.make(id_).unwrapped, "timing", {})
    return list(timing)


def assert_not_exceeded(env) -> None:
    """Neither a stimulus-blind agent nor a random one has a higher score than a known ceiling."""
    score = ceiling(env)
    if score is None:
        assert why_unknown(env)
        return
    for reference in (blind(env), chance(env, 0.02, 200)):
        if reference is not None:
            slack = 4 * np.hypot(score["error"], reference["error"]) + 1e-6
            assert reference["performance"] <= score["performance"] + slack
            if score["reward"] is not None and "reward" in reference:
                assert reference["reward"] <= score["reward"] + 0.1


@pytest.mark.parametrize("id_", registration.every_task())
def test_nothing_exceeds_the_ceiling_of_a_task_without_time_to_answer(id_):
    rule = getattr(ngym.make(id_).unwrapped, "rule", None)
    for period in set(periods_of(id_)) & set(rule.answer or () if rule else ()):
        env = with_timing(id_, period)
        if env is not None:
            assert_not_exceeded(env)


@pytest.mark.parametrize(
    "id_", ["PerceptualDecisionMaking-v0", "PulseDecisionMaking-v0", "EconomicDecisionMaking-v0", "DelayMatchSample-v0"]
)
def test_the_ceiling_is_unknown_where_nobody_can_answer(id_):
    env = ngym.make(id_, timing={"decision": 0})
    assert ceiling(env) is None and "no step for the answer" in why_unknown(env)


@pytest.mark.long
@pytest.mark.parametrize("id_", registration.every_task())
def test_nothing_exceeds_the_ceiling_of_a_task_whose_periods_last_no_time(id_):
    for period in periods_of(id_):
        env = with_timing(id_, period)
        if env is not None:
            assert_not_exceeded(env)


@pytest.mark.parametrize("period", ["stimulus", "fixation"])
def test_a_wrapper_does_not_hide_that_nobody_can_answer(period):
    for wrap in (wrappers.PassReward, wrappers.ReactionTime, lambda env: wrappers.Noise(env, 0.1)):
        env = wrap(ngym.make("PerceptualDecisionMaking-v0", timing={period: 0, "decision": 0}))
        assert_not_exceeded(env)


def noise_arguments(id_: str) -> list[str]:
    return [name for name in inspect.signature(registration.entry(id_)).parameters if name in NOISE_ARGUMENTS]


def noise_free_accuracy(env, n: int = 4000) -> float:
    """Return the accuracy of an observer of noise-free trials who knows how often equal trials need each answer.

    Returns:
        nan where most trials are unlike all others, as with random durations.
    """
    task = env.unwrapped
    task.reset(seed=3)
    trials = task.make_trials(n)
    width = int(trials.length.max()) * trials.ob.shape[1]
    outcomes: dict[bytes, list[np.ndarray]] = {}
    for k in range(trials.n):
        rows = slice(trials.offset[k], trials.offset[k] + trials.length[k])
        seen = np.zeros(width)
        seen[: (rows.stop - rows.start) * trials.ob.shape[1]] = trials.ob[rows].ravel()
        key = np.round(seen, 4).tobytes()
        outcomes.setdefault(key, []).append(trials.fields["performance"][rows.stop - 1])
    if len(outcomes) > n / 20:
        return float("nan")
    return float(sum(np.sum(scores, axis=0).max() for scores in outcomes.values()) / trials.n)


#: Tasks with one observer of each sort.
FAST = ("ContextDecisionMaking-v0", "DelayMatchSample-v0", "PerceptualDecisionMaking-v0", "ToneDetection-v0")
NOISY = [
    id_ if id_ in FAST else pytest.param(id_, marks=pytest.mark.long)
    for id_ in registration.every_task()
    if ngym.make(id_).unwrapped.ideal_observer is not None and noise_arguments(id_)
]


@pytest.mark.parametrize("id_", NOISY)
def test_tiny_noise_has_the_ceiling_of_no_noise(id_):
    (name,) = noise_arguments(id_)
    without = ceiling(ngym.make(id_, **{name: 0.0}))
    if without is None:
        assert why_unknown(ngym.make(id_, **{name: 0.0}))
        return
    expected = noise_free_accuracy(ngym.make(id_, **{name: 0.0}))
    if np.isfinite(expected) and not ngym.make(id_).unwrapped.metadata.get("history_dependent"):
        assert without["performance"] == pytest.approx(expected, abs=0.03)
    tiny = ceiling(ngym.make(id_, **{name: 1e-9}))
    assert tiny["performance"] == pytest.approx(without["performance"], abs=4 * tiny["error"] + 0.01)


@pytest.mark.parametrize(
    "id_",
    [
        "RateDiscrimination-v0",
        *(
            pytest.param(f"{name}-v0", marks=pytest.mark.long)
            for name in ("PerceptualDecisionMaking", "DelayMatchSample")
        ),
    ],
)
def test_noise_of_a_wrapper_and_of_the_task_may_both_be_tiny(id_):
    expected = ceiling(ngym.make(id_, sigma=0.0))["performance"]
    for std_noise, sigma in ((0.0, 0.0), (1e-9, 0.0), (0.0, 1e-9), (1e-9, 1e-4), (1e-5, 1e-9)):
        score = ceiling(wrappers.Noise(ngym.make(id_, sigma=sigma), std_noise))
        assert score["performance"] == pytest.approx(expected, abs=4 * score["error"] + 0.01), (std_noise, sigma)


@pytest.mark.parametrize("id_", ["MultiSensoryIntegration-v0", "ContextDecisionMaking-v0"])
@pytest.mark.parametrize("wrapper", [wrappers.Noise, wrappers.DynamicNoise])
def test_a_wrapper_without_noise_leaves_the_ceiling(id_, wrapper):
    for arguments in ({}, {"sigma": 0.0}):
        bare = ngym.make(id_, **arguments)
        for std_noise in (0.0, 1e-9):
            assert ceiling(wrapper(ngym.make(id_, **arguments), std_noise)) == ceiling(bare) is not None
        assert ceiling(wrapper(ngym.make(id_, **arguments), 0.5)) is None


def test_a_wrapper_without_noise_leaves_rewards_and_sums_as_they_are():
    shown = wrappers.PassReward(ngym.make("PerceptualDecisionMaking-v0"))
    assert ceiling(wrappers.Noise(wrappers.StimAccSignal(shown), 0.0))
    history = wrappers.PassReward(ngym.make("Bandit-v0"))
    assert ceiling(wrappers.Noise(history, 0.0)) == ceiling(history)
    assert ceiling(wrappers.Noise(history, 0.5)) is None


def test_a_weak_stimulus_without_noise_is_seen():
    env = ngym.make("PerceptualDecisionMaking-v0", cohs=[0.05], sigma=0.0, dim_ring=4)
    assert ceiling(env)["performance"] == pytest.approx(1.0)
