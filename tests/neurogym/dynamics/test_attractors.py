"""Attractors of systems that are known, and of trained networks whose states were followed."""

from pathlib import Path

import numpy as np
import pytest

from neurogym import dynamics
from neurogym.dynamics import known
from tests.neurogym.dynamics.made_systems import KINDS, Made

NETWORKS = Path(__file__).with_name("networks")
NONE = np.zeros(1)


def judged(made: Made) -> dynamics.Attractors:
    return dynamics.find_attractors(made.system, made.states, NONE, made.duration)


def check(made: Made, found: dynamics.Attractors) -> bool:
    """Return whether the name is right; the number of stable points and the period must be."""
    assert found.n_stable == made.stable
    if np.isfinite(made.period):
        assert found.limits[0].period == pytest.approx(made.period, rel=0.02)
    return found.name.startswith(made.names)


#: Systems that take seconds.
SLOW = ("quasi_periodic", "ring_with_drift", "held_by_gates", "exact_ring")


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[pytest.mark.long] * (kind.__name__ in SLOW)) for kind in KINDS],
    ids=lambda kind: kind.__name__,
)
def test_attractors_of_made_systems_have_their_names(kind):
    made = kind(np.random.default_rng(1))
    found = judged(made)
    assert check(made, found), found.name


@pytest.mark.long
def test_sixty_systems_from_drawn_parameters_are_named():
    right = []
    for k in range(60):
        made = KINDS[k % len(KINDS)](np.random.default_rng(1000 + k))
        right.append(check(made, judged(made)))
    assert sum(right) >= 57


def test_a_mode_that_neither_grows_nor_decays_is_marginal():
    rng = np.random.default_rng(0)
    for value, counts in ((1.0, (0, 1)), (1 - 1e-16, (0, 1)), (1 - 1e-5, (0, 0)), (1 + 1e-5, (1, 0))):
        net = dynamics.Leaky(np.diag([value, 0.5]), np.zeros((2, 1)), np.zeros(2), "linear")
        found = dynamics.find_fixed_points(net, rng.standard_normal((5, 2)), NONE)
        assert {(int(a), int(b)) for a, b in zip(found.n_unstable, found.n_marginal, strict=True)} == {counts}
        assert set(found.stable.tolist()) == {value == 1 - 1e-5}
    line, _ = known.line_attractor(4, [1.0], rng)
    table = dynamics.find_fixed_points(line, rng.standard_normal((9, 4)), NONE).to_table()
    assert not table["stable"].any() and (table["n_marginal"] == 1).all()


def test_only_fixed_points_have_a_time_constant():
    ghost = dynamics.FiniteDifferences(lambda h, x: h + 1e-4 + h**2, 1, 1)
    found = dynamics.find_fixed_points(ghost, np.linspace(-0.1, 0.1, 9)[:, None], NONE, slow=1e-6)
    assert len(found) and not found.fixed.any() and not found.stable.any()
    assert np.isnan(found.to_table()["time_constant"]).all()
    assert len(dynamics.find_fixed_points(ghost, np.linspace(-0.1, 0.1, 9)[:, None], NONE)) == 0


def test_a_cycle_at_whole_periods_of_the_task_is_not_mistaken_for_a_ring():
    cycle = known.Oscillator(growth=0.02, turn=2 * np.pi / 100)
    found = dynamics.find_attractors(cycle, np.random.default_rng(0).standard_normal((60, 2)), NONE, 200)
    assert found.name == "limit cycle" and found.continuum is None
    assert found.limits[0].period == pytest.approx(100, rel=1e-3) and found.limits[0].extent == pytest.approx(
        2, rel=0.02
    )


def test_orbits_of_whole_periods_and_fast_turns():
    for rate, period in ((3.2, 2.0), (3.5, 4.0)):
        logistic = dynamics.FiniteDifferences(lambda h, x, rate=rate: rate * h * (1 - h), 1, 1)
        limits, label = dynamics.find_limits(logistic, np.linspace(0.2, 0.8, 20)[:, None], NONE)
        assert [each.kind for each in limits] == ["cycle"] and limits[0].period == period and (label == 0).all()
    golden = known.Oscillator(growth=0.2, turn=2 * np.pi * 0.618034)
    limits, _ = dynamics.find_limits(golden, np.random.default_rng(0).standard_normal((10, 2)), NONE)
    assert [each.kind for each in limits] == ["quasi-periodic"]


def test_basins_are_those_of_plain_running():
    net, _, _ = known.flip_flop(2, 6)
    states = np.random.default_rng(0).uniform(-1, 1, (80, 6))
    limits, label = dynamics.find_limits(net, states, np.zeros(2))
    settled = states
    for _ in range(2000):
        settled = net.step(settled, np.zeros(2))
    assert len(limits) == 4 and sum(each.share for each in limits) == pytest.approx(1)
    assert np.linalg.norm(np.array([limits[k].states[0] for k in label]) - settled, axis=1).max() < 1e-6


def network(name: str) -> tuple[dynamics.GRU, np.ndarray, np.ndarray]:
    """Return a network trained in DelayMatchSample, states in the delay, and the input of the delay."""
    arrays = {key: values.astype(float) for key, values in np.load(NETWORKS / f"{name}.npz").items()}
    states, inputs = arrays.pop("states"), arrays.pop("inputs")
    return dynamics.GRU(**arrays), states, inputs


@pytest.mark.parametrize("name", [pytest.param("gru_64_seed_5", marks=pytest.mark.slow), "gru_64_seed_6"])
def test_memories_that_fade_slowly_are_a_slow_passage_to_one_stable_point(name):
    """The networks were once taken for plane attractors, by local minima of the speed."""
    net, states, inputs = network(name)
    found = dynamics.find_attractors(net, states, inputs, 10)
    assert found.name == "slow passage, 1 stable point" and found.continuum is None
    assert [each.kind for each in found.limits] == ["point"]
    point = found.points.points[found.points.stable][0]
    ends, distances = states[[0, -1]], []
    for _ in range(6):
        distances.append(np.linalg.norm(ends - point, axis=1))
        for _ in range(1000):
            ends = net.step(ends, inputs)
    assert (np.diff(distances, axis=0) < 0).all() and (distances[-1] < 0.15 * distances[0]).all()


def test_a_cycle_that_was_taken_for_a_line_has_the_period_of_plain_running():
    net, states, inputs = network("gru_24_seed_1")
    found = dynamics.find_attractors(net, states, inputs, 10)
    assert found.in_the_limit == "limit cycle" and found.n_stable == 0
    h, path = states[:1], []
    for _ in range(6000):
        h = net.step(h, inputs)
        path.append(h[0])
    late = np.array(path[2000:])
    height = (late - late.mean(axis=0)) @ np.linalg.svd(late - late.mean(axis=0), full_matrices=False)[2][0]
    passed = np.flatnonzero((height[:-1] < 0) & (height[1:] >= 0))
    gaps = np.diff(passed[np.r_[True, np.diff(passed) > 20]])
    assert found.limits[0].period == pytest.approx(gaps.mean(), rel=0.02)
