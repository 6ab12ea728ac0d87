"""Ceilings follow every argument of a task, or are unknown: compared with observers that are written apart."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import neurogym as ngym
from neurogym import rules
from neurogym.ceilings import ceiling, single
from neurogym.ceilings.observer import Scores
from neurogym.ceilings.stack import verdict
from neurogym.envs import registration
from tests.neurogym.ceilings.observers import chain
from tests.neurogym.ceilings.rules import RULES, reached

Draw = Callable[[np.random.Generator], dict[str, Any]]


def duration(rng, *values):
    """Return a constant duration (ms), or one that is drawn from a range or a list."""
    low, high = sorted(rng.choice(values, 2, replace=False).tolist())
    return [low, ("uniform", (low, high)), (low, high)][rng.integers(3)]


def coherences(rng) -> list[float]:
    return rng.choice([0, 0, 1.5, 6, 12, 25, 51.2, 90], rng.integers(1, 5)).tolist()


def motion(rng):
    timing = {"fixation": duration(rng, 0, 100, 300), "stimulus": duration(rng, 100, 300, 1000)}
    return {"sigma": rng.uniform(0.3, 3), "timing": timing, "dt": int(rng.choice([50, 100]))}


def pairs(rng):
    values = rng.permutation(np.arange(8, 40, 2)).reshape(-1, 2)[: rng.integers(1, 6)]
    return [tuple(float(v) for v in sorted(pair, reverse=True)) for pair in values]


def ring(rng, sizes=(4, 6)):
    return {"dim_ring": int(rng.choice(sizes)), "sigma": rng.uniform(0.5, 12)}


def strengths(rng):
    return {"cohs": rng.choice([0.1, 0.2, 0.4, 0.7, 1.0], 3, replace=False).tolist()}


ARGUMENTS: dict[str, Draw] = {
    "AuditoryComparison-v0": lambda rng: {
        "pairs": [tuple(rng.choice([-2.0, -1.0, 0.5, 1.5, 2.0], 2, replace=False)) for _ in range(rng.integers(1, 7))],
        "sigma": rng.uniform(0.2, 3),
        "timing": {"stimulus1": duration(rng, 100, 200, 600)},
    },
    "ContextDecisionMaking-v0": lambda rng: {
        **{name: value for name, value in motion(rng).items() if name != "dt"},
        "use_expl_context": bool(rng.integers(2)),
        "impl_context_modality": int(rng.integers(2)),
        "dim_ring": int(rng.choice([2, 3])),
    },
    "DelayComparison-v0": lambda rng: {"vpairs": pairs(rng), "sigma": rng.uniform(0.3, 4)},
    "DelayMatchCategory-v0": lambda rng: [{}, {"dim_ring": 2, "sigma": rng.uniform(0.5, 12)}][rng.integers(2)],
    "DelayMatchSample-v0": lambda rng: {"dim_ring": int(rng.choice([2, 3, 6])), "sigma": rng.uniform(1, 20)},
    "DelayPairedAssociation-v0": lambda rng: {
        "sigma": rng.uniform(5, 30),
        "timing": {"stim2": duration(rng, 200, 500)},
    },
    "EconomicDecisionMaking-v0": lambda rng: {"b_to_a": rng.uniform(0.1, 2)},
    "GenTask-v0": lambda rng: {
        "cohs": coherences(rng),
        "sigma": rng.uniform(0.3, 4),
        "simultaneous_stim": bool(rng.integers(2)),
        "gng": bool(rng.integers(2)),
    },
    "IBL-v0": lambda rng: {"sigma": rng.uniform(0, 0.5)},
    "MultiSensoryIntegration-v0": lambda rng: {
        **motion(rng),
        "modalities": rng.choice(["both", "conflict", "first", "second"], rng.integers(1, 5), replace=False).tolist(),
    },
    "NAltConditionalVisuomotor-v0": lambda rng: {
        "sigma": rng.uniform(1, 10),
        "n_stims": int(rng.integers(2, 9)),
        "n_ch": int(rng.integers(3, 8)),
        "stim_scale": rng.uniform(0.2, 1),
    },
    "NAltPerceptualDecisionMaking-v0": lambda rng: {
        "n_ch": int(rng.integers(2, 6)),
        "cohs": coherences(rng),
        "sigma": rng.uniform(0.3, 3),
        "zero_irrelevant_stim": bool(rng.integers(2)),
        "ob_nch": bool(rng.integers(2)),
    },
    "PerceptualDecisionMaking-v0": lambda rng: {
        **motion(rng),
        "cohs": (coherences(rng), [-20.0, 5.0, 5.0])[int(rng.random() < 0.2)],
        "dim_ring": int(rng.choice([2, 2, 3, 5])),
    },
    "PerceptualDecisionMakingDelayResponse-v0": lambda rng: {**motion(rng), "stim_scale": rng.uniform(0, 2)},
    "PostDecisionWager-v0": lambda rng: {
        **{name: value for name, value in motion(rng).items() if name != "dt"},
        "dim_ring": int(rng.choice([2, 4])),
        "rewards": {"sure": rng.uniform(0.2, 0.9)},
    },
    "ProbabilisticReasoning-v0": lambda rng: {
        "shape_weight": rng.normal(size=rng.integers(1, 6)).tolist(),
        "n_loc": int(rng.integers(1, 5)),
    },
    "PulseDecisionMaking-v0": lambda rng: {"p_pulse": tuple(rng.random(2)), "n_bin": int(rng.integers(1, 8))},
    "RateDiscrimination-v0": lambda rng: {
        "fmax": int(rng.choice([12, 16, 20])),
        "sigma": rng.uniform(0.05, 1),
        "span": rng.uniform(0.2, 1),
        "sensory": bool(rng.integers(2)),
        "timing": {"stimulus": duration(rng, 200, 600, 1000)},
    },
    "ToneDetection-v0": lambda rng: {
        "sigma": rng.uniform(1, 12),
        "timing": {"toneDur": int(rng.choice([50, 150, 300]))},
    },
    **dict.fromkeys(("yang19.dms-v0", "yang19.dnms-v0", "yang19.dmc-v0", "yang19.dnmc-v0"), ring),
    **dict.fromkeys(
        [id_ for id_ in RULES if id_.startswith("yang19.") and "dm" in id_ and id_[7:10] not in ("dms", "dnm", "dmc")],
        lambda rng: {**ring(rng, (3, 4)), **strengths(rng)},
    ),
}
#: Tasks whose observers take long, or are those of a faster neighbour.
LONG = {"GenTask-v0", "PostDecisionWager-v0"} | {
    id_ for id_ in RULES if id_.startswith("yang19.") and id_ not in ("yang19.dnmc-v0", "yang19.ctxdlydm1-v0")
}


@pytest.fixture
def few_trials(monkeypatch):
    """Observers draw fewer durations and trials than usual."""
    monkeypatch.setattr(single.observed, "__defaults__", (12, 250))


def assert_reached(id_: str, seed: int, trials: int) -> None:
    kwargs = ARGUMENTS[id_](np.random.default_rng(seed))
    env = ngym.make(id_, **kwargs).unwrapped
    score = env.ceiling()
    if score is None:
        return
    performance, error = reached(env, RULES[id_], trials)
    assert abs(performance - score["performance"]) < 4 * np.hypot(error, score["error"]) + 0.004, (kwargs, score)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("id_", [pytest.param(id_, marks=pytest.mark.long) if id_ in LONG else id_ for id_ in RULES])
def test_an_observer_written_apart_reaches_the_ceiling_with_any_arguments(few_trials, id_, seed):
    assert_reached(id_, seed, 3000)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("id_", RULES)
def test_an_observer_written_apart_reaches_the_ceiling_with_many_arguments(id_, seed):
    assert_reached(id_, seed, 30_000)


def test_most_ceilings_are_known_with_other_arguments(few_trials):
    scores = [ngym.make(id_, **ARGUMENTS[id_](np.random.default_rng(0))).ceiling() for id_ in set(RULES) - LONG]
    assert sum(score is not None for score in scores) > 0.8 * len(scores)


@pytest.mark.parametrize("told", [True, pytest.param(False, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("id_", "kwargs"),
    [
        ("RDMHist-v0", {"rep_prob": (0.02, 0.98), "block_dur": 50}),
        pytest.param("RDMHist-v0", {"rep_prob": (0.5, 0.5), "sigma": 2.0, "block_dur": 50}, marks=pytest.mark.long),
        ("Priors-v0", {"rep_prob": (0.7, 0.9), "block_dur": 30}),
    ],
)
def test_an_observer_of_chains_reaches_the_ceiling(id_, kwargs, told):
    env = ngym.make(id_, **kwargs)
    score = verdict(env, outcome_shown=told).score
    performance, error = chain(env.unwrapped, sessions=8, trials=500, told=told, warm=200)
    assert abs(performance - score["performance"]) < 4 * np.hypot(error, score["error"]) + 0.004


@pytest.mark.parametrize(
    ("id_", "rep_prob", "performance"),
    [("RDMHist-v0", (0.5, 0.5), 0.8641), ("RDMHist-v0", (0.02, 0.98), 0.9869), ("Priors-v0", (0.2, 0.8), 0.8008)],
)
def test_known_ceilings_of_chains(id_, rep_prob, performance):
    assert ngym.make(id_, rep_prob=rep_prob).unwrapped.ceiling()["performance"] == pytest.approx(performance, abs=0.002)


@pytest.mark.parametrize("task", ["dlygointrseql", "ctxdlydm1seqr", "dmsintr"])
def test_composed_tasks_without_disturbing_noise(task):
    assert ceiling(ngym.make(f"modcog.{task}-v0"))["performance"] == pytest.approx(1.0, abs=5e-4)


def test_visual_search_is_perfect_as_long_as_lines_can_be_told_apart():
    assert ngym.make("VisualSearch-v0", win_kwargs={"size": (60, 60)}).unwrapped.ceiling()["performance"] == 1.0
    for same in ({"delta_angle": np.pi}, {"delta_color": (0.0, 0.0, 0.0)}, {"length": 0.9}, {"timing": {"sample": 0}}):
        assert ngym.make("VisualSearch-v0", **same).unwrapped.ceiling() is None


# -- every argument of every task -------------------------------------------------------------------------------------

CHANGES: dict[str, Any] = {
    "p_reward": 0.75,
    "p_switch": 0.3,
    "p_common": 0.6,
    "opponent_type": "random",
    "arms": "hard",
    "walk": "gaussian",
    "blocks": "uncoupled",
    "n_stims": 3,
}


def changed(name: str, value: Any, rng: np.random.Generator) -> Any:
    """Return another value of an argument, like the default one; None if there is no rule for it."""
    if name in CHANGES:
        return CHANGES[name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.integers(1, 3))
    if isinstance(value, float):
        return value * float(rng.choice([0.4, 0.8, 1.5])) if value else 0.3
    if isinstance(value, tuple) and value and all(isinstance(each, float) for each in value):
        return tuple(reversed([each * 0.7 for each in value]))
    return None


def variants(id_: str, rng: np.random.Generator):
    """Yield arguments of a task with one change each: of the constructor, of timing and of rewards."""
    import inspect

    task = ngym.make(id_).unwrapped
    parameters = inspect.signature(registration.entry(id_)).parameters
    for name, parameter in parameters.items():
        if name not in ("timing", "rewards", "win_kwargs", "num_trials_before_reset", "r_tmax"):
            value = changed(name, parameter.default, rng)
            if value is not None:
                yield {name: value}
    if "timing" in parameters:
        numbers = [name for name, spec in task.timing.items() if isinstance(spec, (int, float))]
        yield from ({"timing": {name: factor * task.timing[name]}} for name in numbers for factor in (0, 0.5))
    if "rewards" in parameters and isinstance(task.rewards, dict):
        yield from ({"rewards": {name: value}} for name in task.rewards for value in (-2.0, 2.0))


def best_path(trials, field: str) -> float:
    """Mean of a field over the best actions of an agent that knows everything."""
    ends, gains, totals = trials.fields["event"] >= rules.END, trials.fields[field], []
    for first, length in zip(trials.offset, trials.length, strict=True):
        value = 0.0
        for row in range(first + length - 1, first - 1, -1):
            value = float(np.max(gains[row] + np.where(ends[row], 0.0, value)))
        totals.append(value)
    return float(np.mean(totals))


def assert_possible(id_: str, kwargs: dict[str, Any]) -> None:
    """A ceiling is unknown, or between an agent without senses and one that knows everything."""
    try:
        env = ngym.make(id_, **kwargs)
        env.reset(seed=0)
    except (TypeError, ValueError):
        return
    score = env.unwrapped.ceiling()
    if score is None or len(env.observation_space.shape) == 3:
        return
    assert np.isfinite(score["performance"]) and 0 <= score["performance"] <= 1 + 1e-9
    task = env.unwrapped
    if not task.traits.batched or not task.stack.ahead or task.rule.jumps:
        return
    trials = task.make_trials(200)
    for field in ("performance", "reward"):
        if score[field] is not None:
            spread = 4 * np.ptp(trials.fields[field]) / np.sqrt(200)
            assert score[field] <= best_path(trials, field) + 4 * score["error"] + spread + 1e-3, (kwargs, field)
    if score["reward"] is not None:  # skipping the trial, and the same answer in all
        hold = task.rule.hold
        last = trials.offset + trials.length - 1
        answers = trials.fields["reward"][last].mean(axis=0)
        skipped = 0.0 if hold is None else answers[hold]
        error = trials.fields["reward"][last].std(axis=0).max() / np.sqrt(200)
        assert score["reward"] >= max(skipped, answers.max()) - 4 * error - 0.02, kwargs


@pytest.mark.parametrize("id_", registration.every_task())
def test_a_changed_argument_makes_no_impossible_ceiling(few_trials, id_):
    rng = np.random.default_rng(sum(map(ord, id_)))
    listed = list(variants(id_, rng))
    for k in rng.permutation(len(listed))[:1]:
        assert_possible(id_, listed[k])


@pytest.mark.long
@pytest.mark.parametrize("id_", registration.every_task())
def test_no_changed_argument_makes_an_impossible_ceiling(id_):
    for kwargs in variants(id_, np.random.default_rng(0)):
        assert_possible(id_, kwargs)


STORED = ["ReversalLearning-v0", "DelayComparison-v0", "Detection-v0", "NBack-v0", "MemoryRecall-v0"]


@pytest.mark.parametrize("id_", STORED)
def test_a_stored_ceiling_does_not_survive_a_change_of_the_environment(id_):
    env = ngym.make(id_).unwrapped
    usual = env.ceiling()
    env.dt = env.dt * 2
    assert env.ceiling() != usual
    env = ngym.make("ReversalLearning-v0").unwrapped
    env.p_reward = 0.55
    assert env.ceiling() is None


def test_the_error_of_a_few_timings_counts():
    scores = Scores(np.array([0.5, 0.5, 1.0, 1.0]), np.zeros(4), np.array([0, 0, 1, 1]))
    assert scores.error == pytest.approx(0.25)
