"""Points, stability and bifurcations against SciPy's root finder and integrator, and against normal forms."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import root

from neurogym import dynamics
from neurogym.dynamics import known


@dataclass(frozen=True)
class Map:
    """A map of single states, with derivatives by central differences."""

    function: Callable[[np.ndarray, np.ndarray], np.ndarray]
    units: int
    inputs: int = 1

    def step(self, states, inputs):
        inputs = np.broadcast_to(inputs, (len(states), self.inputs))
        return np.array([self.function(h, x) for h, x in zip(states, inputs, strict=True)]).reshape(len(states), -1)

    def jacobian(self, states, inputs):
        size = 1e-6
        moved = [
            (self.step(states + size * unit, inputs) - self.step(states - size * unit, inputs)) / (2 * size)
            for unit in np.eye(self.units)
        ]
        return np.stack(moved, axis=2)

    def input_jacobian(self, states, inputs):
        return np.zeros((len(states), self.units, self.inputs))


def roots(net, starts, inputs) -> np.ndarray:
    """Return the distinct fixed points that SciPy finds from many starts."""
    results: list[np.ndarray] = []
    for start in starts:
        solution = root(lambda h: net.step(h[None], inputs)[0] - h, start, method="hybr", tol=1e-12)
        motion = np.abs(net.step(solution.x[None], inputs)[0] - solution.x).max()
        if solution.success and motion < 1e-9 and not any(np.allclose(solution.x, each, atol=1e-3) for each in results):
            results.append(solution.x)
    return np.array(sorted(map(tuple, results)))


def leaky(rng, units: int, cell: str, gain: float) -> dynamics.Leaky:
    return dynamics.Leaky(
        gain * rng.normal(size=(units, units)) / np.sqrt(units),
        rng.normal(size=(units, 1)),
        0.1 * rng.normal(size=units),
        cell,
        0.4,
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cell", ["tanh", "softplus"])
def test_points_are_those_of_a_root_finder_and_their_stability_that_of_trajectories(cell, seed):
    rng = np.random.default_rng(seed)
    net, inputs = leaky(rng, 3, cell, 1.6), np.array([0.2])
    starts = rng.normal(size=(150, 3))
    result = dynamics.find_fixed_points(net, starts, inputs)
    expected = roots(net, starts, inputs)
    assert np.array(sorted(map(tuple, result.points))) == pytest.approx(expected, abs=1e-4)
    for point, stable in zip(result.points, result.stable, strict=True):
        pushed = point + 1e-4 * rng.normal(size=(20, 3))
        for _ in range(2000):
            pushed = net.step(pushed, inputs)
        returned = np.linalg.norm(pushed - point, axis=1).max() < 1e-4
        assert returned == stable


def test_stability_in_continuous_time_agrees_with_an_integrator():
    """A step of a leaky network with a short time step is Euler's step of the differential equation."""
    rng = np.random.default_rng(1)
    weights = np.array([[2.0, 0.2], [0.1, 1.8]])
    net = dynamics.Leaky(weights, np.zeros((2, 1)), np.zeros(2), "tanh", 0.02)
    result = dynamics.find_fixed_points(net, rng.uniform(-2, 2, (80, 2)), np.zeros(1))
    assert len(result) > 1
    for point, stable in zip(result.points, result.stable, strict=True):
        path = solve_ivp(lambda _, h: -h + np.tanh(weights @ h), (0, 60), point + np.array([1e-3, -1e-3]), rtol=1e-8)
        assert (np.linalg.norm(path.y[:, -1] - point) < 1e-3) == stable


def test_a_line_attractor_a_limit_cycle_and_a_saddle():
    line = dynamics.Leaky(np.diag([1.0, 0.3]), np.zeros((2, 1)), np.zeros(2), "relu", 1.0)
    result = dynamics.find_fixed_points(line, np.random.default_rng(0).uniform(0.5, 2, (40, 2)), np.zeros(1))
    assert len(result) > 10 and np.abs(result.points[:, 1]).max() < 1e-6
    assert np.abs(result.eigenvalues[:, 0]) == pytest.approx(1.0)
    cycle = known.Oscillator(growth=0.2, turn=0.3)
    states = np.random.default_rng(0).uniform(-0.1, 0.1, (20, 2))
    for _ in range(400):
        states = cycle.step(states, np.zeros(1))
    assert np.linalg.norm(states, axis=1).std() < 1e-6 < np.linalg.norm(states, axis=1).min()
    assert not dynamics.find_fixed_points(cycle, states, np.zeros(1)).stable.any()
    saddle = Map(lambda h, x: np.array([1.5 * h[0], 0.5 * h[1]]), 2)
    point = dynamics.find_fixed_points(saddle, np.random.default_rng(0).normal(size=(10, 2)), np.zeros(1))
    assert len(point) == 1 and point.n_unstable[0] == 1


def test_the_point_of_an_lstm_is_that_of_the_root_finder():
    rng, units = np.random.default_rng(3), 2
    net = dynamics.LSTM(rng.normal(size=(8, units)), rng.normal(size=(8, 1)), rng.normal(size=8))
    starts = rng.uniform(-1, 1, (60, net.units))
    result = dynamics.find_fixed_points(net, starts, np.zeros(1))
    expected = roots(net, starts, np.zeros(1))
    assert np.array(sorted(map(tuple, result.points))) == pytest.approx(expected, abs=1e-4)


def test_a_point_on_a_kink_is_marked_and_judged_by_its_steepest_side():
    """h' = 3 relu(h) - 0.5 relu(-h): the slope is 3 above zero and 0.5 below."""
    net = Map(lambda h, x: 3 * np.maximum(h, 0) - 0.5 * np.maximum(-h, 0), 1)
    result = dynamics.find_fixed_points(net, np.linspace(-1, 1, 21)[:, None], np.zeros(1))
    assert len(result) == 1 and result.on_kink[0] and not result.stable[0]
    assert result.slopes[0] == pytest.approx([0.5, 3.0], abs=1e-3)
    rectifier = dynamics.Leaky(np.array([[3.0]]), np.zeros((1, 1)), np.zeros(1), "relu", 1.0)
    at_zero = dynamics.find_fixed_points(rectifier, np.array([[0.0]]), np.zeros(1))
    assert at_zero.on_kink[0] and not at_zero.stable[0]
    smooth = dynamics.Leaky(np.array([[2.0]]), np.zeros((1, 1)), np.zeros(1), "tanh", 1.0)
    assert not dynamics.find_fixed_points(smooth, np.linspace(-1, 1, 9)[:, None], np.zeros(1)).on_kink.any()


def events_of(function, units: int, first=-0.2, last=0.2, n=21):
    net = Map(function, units)
    grid = np.linspace(-0.7, 0.7, 15)
    starts = np.zeros((15, units))
    starts[:, 0] = grid
    return dynamics.follow(net, starts, [first], [last], n=n)[1]


@pytest.mark.parametrize("first", [-0.2, -0.21])  # whether the bifurcation lies on the grid
@pytest.mark.parametrize("neighbour", [0.5, 3.6, -4.0])
@pytest.mark.parametrize(
    ("kind", "normal_form"),
    [
        ("flip", lambda h, mu: -(1 + mu) * h + h**3),
        ("pitchfork", lambda h, mu: (1 + mu) * h - h**3),
        ("transcritical", lambda h, mu: (1 + mu) * h - h**2),
        ("saddle-node", lambda h, mu: h + mu - h**2),
    ],
)
def test_bifurcations_are_named_by_the_eigenvalue_that_crosses(kind, normal_form, neighbour, first):
    events = events_of(lambda h, x: np.array([normal_form(h[0], x[0]), neighbour * h[1]]), 2, first)
    assert [event.kind for event in events] == [kind]
    assert events[0].place == pytest.approx(0.5, abs=0.06)


def test_a_complex_pair_beside_a_larger_eigenvalue_is_one_event():
    def function(h, x):
        c, s = np.cos(0.7), np.sin(0.7)
        pair = (1 + x[0]) * np.array([c * h[0] - s * h[1], s * h[0] + c * h[1]]) - h[:2] * (h[:2] @ h[:2])
        return np.array([*pair, 3.0 * h[2]])

    assert [event.kind for event in events_of(function, 3)] == ["Neimark-Sacker"]


WELLS = np.array([[1.9, 0.3], [-0.2, 1.6]])


def ends_of(states, weights, duration=60.0) -> np.ndarray:
    """Return where SciPy's integrator arrives from each state of ``dh/dt = -h + tanh(W h)``."""
    paths = [
        solve_ivp(lambda _, h: -h + np.tanh(weights @ h), (0, duration), start, rtol=1e-8, atol=1e-10)
        for start in states
    ]
    return np.array([path.y[:, -1] for path in paths])


@pytest.mark.parametrize("seed", range(3))
def test_basins_are_those_of_an_integrator(seed):
    rng = np.random.default_rng(seed)
    weights = WELLS + 0.15 * rng.normal(size=(2, 2))
    net = dynamics.Leaky(weights, np.zeros((2, 1)), np.zeros(2), "tanh", 0.02)
    result = dynamics.find_fixed_points(net, rng.uniform(-1.5, 1.5, (120, 2)), np.zeros(1))
    expected = roots(Map(lambda h, x: np.tanh(weights @ h), 2), rng.uniform(-1.5, 1.5, (150, 2)), np.zeros(1))
    assert np.array(sorted(map(tuple, result.points))) == pytest.approx(expected, abs=1e-4)
    starts = rng.uniform(-1.2, 1.2, (120, 2))
    distance = np.linalg.norm(ends_of(starts, weights)[:, None] - result.points[None], axis=2)
    arrived = distance.argmin(1)
    assert distance.min(1).max() < 0.02 and result.stable[arrived].all() and len(set(arrived)) >= 2
    shares = np.bincount(arrived, minlength=len(result)) / len(starts)
    # Euler's steps and the integrator may differ for a start next to the boundary.
    limits, _ = dynamics.find_limits(net, starts, np.zeros(1))
    found = np.zeros(len(result))
    for each in limits:
        found[np.linalg.norm(result.points - each.states[0], axis=1).argmin()] = each.share
    assert np.abs(found - shares).max() <= 2 / len(starts) + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_saddles_connect_the_points_to_which_an_integrator_leads(seed):
    weights = WELLS + 0.15 * np.random.default_rng(seed).normal(size=(2, 2))
    net = dynamics.Leaky(weights, np.zeros((2, 1)), np.zeros(2), "tanh", 0.02)
    starts = np.random.default_rng(seed).uniform(-1.5, 1.5, (120, 2))
    result = dynamics.find_between(net, dynamics.find_fixed_points(net, starts, np.zeros(1)))
    saddles, joined = dynamics.connections(net, result)
    assert len(saddles)
    for saddle, pair in zip(saddles, joined, strict=True):
        point = result.points[saddle]
        jacobian = (1 - np.tanh(weights @ point) ** 2)[:, None] * weights - np.eye(2)
        values, vectors = np.linalg.eig(jacobian)
        assert (values.real > 0).sum() == 1
        push = 0.02 * np.real(vectors[:, values.real.argmax()])
        ends = ends_of([point - push, point + push], weights, 200.0)
        reached = {tuple(each) for each in np.round(ends, 3)}
        assert reached == {tuple(each) for each in np.round(result.points[pair], 3)}


def test_a_limit_cycle_has_the_period_of_the_integrator_and_holds_no_basin():
    """Van der Pol's oscillator in Euler's steps: an unstable point within a cycle."""
    dt = 0.01

    def velocity(h):
        return np.array([h[1], (1 - h[0] ** 2) * h[1] - h[0]])

    net = Map(lambda h, x: h + dt * velocity(h), 2)
    result = dynamics.find_fixed_points(net, np.random.default_rng(0).normal(size=(10, 2)), np.zeros(1))
    assert len(result) == 1 and not result.stable[0] and np.abs(result.points).max() < 1e-6
    slopes = np.log(result.eigenvalues[0].astype(complex)) / dt
    assert np.sort_complex(slopes) == pytest.approx(np.sort_complex(np.roots([1, -1, 1])), abs=0.02)
    (cycle,), _ = dynamics.find_limits(net, np.random.default_rng(1).normal(size=(5, 2)), np.zeros(1))
    assert cycle.kind == "cycle" and cycle.share == 1
    path = solve_ivp(lambda _, h: velocity(h), (0, 60), [2.0, 0.0], rtol=1e-9, max_step=0.01)
    state, crossings = np.array([[2.0, 0.0]]), []
    for k in range(6000):
        after = net.step(state, np.zeros(1))
        if state[0, 0] < 0 <= after[0, 0]:
            crossings.append(k * dt)
        state = after
    expected = path.t[1:][(path.y[0, :-1] < 0) & (path.y[0, 1:] >= 0)]
    assert np.diff(crossings)[2:].mean() == pytest.approx(np.diff(expected)[2:].mean(), rel=0.02)
    assert cycle.period * dt == pytest.approx(np.diff(expected)[2:].mean(), rel=0.02)


def test_a_lstm_with_a_point_in_closed_form():
    """Gates held open by their biases: ``c' = sigmoid(f) c + sigmoid(i) tanh(g)`` has one point, a multiple of g."""
    forget, into, content, out = 0.5, 1.0, 0.7, 2.0
    bias = np.array([into, forget, content, out])
    net = dynamics.LSTM(np.zeros((4, 1)), np.zeros((4, 1)), bias)
    result = dynamics.find_fixed_points(net, np.random.default_rng(0).normal(size=(20, 2)), np.zeros(1))
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    cell = sigmoid(into) * np.tanh(content) / (1 - sigmoid(forget))
    hidden = sigmoid(out) * np.tanh(cell)
    assert len(result) == 1 and result.stable[0]
    assert sorted(result.points[0]) == pytest.approx(sorted([hidden, cell]), abs=1e-5)
    assert np.sort(np.abs(result.eigenvalues[0])) == pytest.approx([0.0, sigmoid(forget)], abs=1e-6)
