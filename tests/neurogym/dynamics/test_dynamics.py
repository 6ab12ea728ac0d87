"""Fixed points, flow and similarity, tested against systems whose dynamics are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurogym import dynamics
from neurogym.dynamics import known

CELLS = ("tanh", "relu", "softplus", "gru", "lstm", "stack")


def system(cell: str, units: int, inputs: int, rng: np.random.Generator) -> dynamics.System:
    """Return a network with random weights."""

    def w(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape) / 2

    if cell == "gru":
        return dynamics.GRU(w(3 * units, units), w(3 * units, inputs), w(3 * units), w(3 * units))
    if cell == "lstm":
        return dynamics.LSTM(w(4 * units, units), w(4 * units, inputs), w(4 * units))
    if cell == "stack":
        layers = system("lstm", units, inputs, rng), system("tanh", 3, units, rng)
        return dynamics.Stack(layers, (units, 3))
    return dynamics.Leaky(w(units, units), w(units, inputs), w(units), cell, 0.3)


@pytest.mark.parametrize("cell", CELLS)
@settings(max_examples=20, deadline=None)
@given(units=st.integers(1, 6), inputs=st.integers(1, 4), seed=st.integers(0, 2**31))
def test_derivatives_are_those_of_the_step(cell, units, inputs, seed):
    rng = np.random.default_rng(seed)
    net = system(cell, units, inputs, rng)
    numeric = dynamics.FiniteDifferences(net.step, net.units, net.inputs)
    states, x = rng.standard_normal((3, net.units)), rng.standard_normal((3, inputs))
    for each in (x, x[0]):
        np.testing.assert_allclose(net.jacobian(states, each), numeric.jacobian(states, each), atol=1e-7)
        np.testing.assert_allclose(net.input_jacobian(states, each), numeric.input_jacobian(states, each), atol=1e-7)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_gated_cells_are_those_of_torch(cell):
    import torch

    rng, units, inputs, n = np.random.default_rng(0), 4, 3, 5
    layer = (torch.nn.GRU if cell == "gru" else torch.nn.LSTM)(inputs, units).double()
    w_hh, w_ih, b_ih, b_hh = (
        getattr(layer, f"{name}_l0").detach().numpy() for name in ("weight_hh", "weight_ih", "bias_ih", "bias_hh")
    )
    net = dynamics.GRU(w_hh, w_ih, b_ih, b_hh) if cell == "gru" else dynamics.LSTM(w_hh, w_ih, b_ih + b_hh)
    states, x = rng.standard_normal((n, net.units)), rng.standard_normal((n, inputs))
    segments = tuple(torch.tensor(array)[None] for array in np.split(states, net.units // units, axis=1))
    _, after = layer(torch.tensor(x)[None], segments if cell == "lstm" else segments[0])
    expected = torch.cat(after if cell == "lstm" else [after], dim=-1)[0].detach().numpy()
    np.testing.assert_allclose(net.step(states, x), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_all_known_points_are_found_and_none_invented(seed):
    rng = np.random.default_rng(seed)
    net, points, eigenvalues = known.flip_flop(3, 12)
    turned = known.Rotated(net, known.random_rotation(12, rng))
    starts = (points[rng.integers(27, size=500)] + 0.5 * rng.standard_normal((500, 12))) @ turned.rotation.T
    result = dynamics.find_fixed_points(turned, starts, np.zeros(3))
    distance = np.linalg.norm(result.points[:, None] - (points @ turned.rotation.T)[None], axis=2)
    assert len(result) == 27 and sorted(distance.argmin(axis=1)) == list(range(27))
    assert distance.min(axis=1).max() < 1e-6
    np.testing.assert_allclose(
        np.sort(np.abs(result.eigenvalues)), np.sort(eigenvalues[distance.argmin(axis=1)]), atol=1e-6
    )
    assert np.bincount(result.n_unstable).tolist() == [8, 12, 6, 1]
    assert result.share.sum() == pytest.approx(1, abs=0.05)


def test_left_and_right_modes_belong_to_the_jacobian():
    rng = np.random.default_rng(3)
    net = system("gru", 6, 2, rng)
    result = dynamics.find_fixed_points(net, rng.standard_normal((20, 6)), rng.standard_normal(2))
    jacobian = net.jacobian(result.points, result.inputs)
    np.testing.assert_allclose(jacobian @ result.right, result.right * result.eigenvalues[:, None], atol=1e-8)
    np.testing.assert_allclose(result.left @ result.right, np.broadcast_to(np.eye(6), jacobian.shape), atol=1e-8)


def test_points_of_several_inputs_are_those_of_each():
    rng = np.random.default_rng(4)
    net, inputs, starts = system("tanh", 5, 2, rng), rng.standard_normal((3, 2)), rng.standard_normal((30, 5))
    together = dynamics.find_fixed_points(net, starts, inputs)
    for k in range(3):
        alone = dynamics.find_fixed_points(net, starts, inputs[k])
        np.testing.assert_allclose(np.sort(together.of(k).points, axis=0), np.sort(alone.points, axis=0), atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_saturated_gates_are_not_points(seed):
    rng, units = np.random.default_rng(seed), 12
    weights = (1.2 * rng.standard_normal(shape) for shape in ((36, units), (36, 2), 36, 36))
    starts, covered = rng.uniform(-1, 1, (100, units)), rng.standard_normal(2)
    result = dynamics.find_fixed_points(dynamics.GRU(*weights), starts, covered, tolerance=1e-12)
    assert np.abs(result.points).max(initial=0) <= 1 + 1e-6  # the candidate of a gated unit lies between -1 and 1


def test_slow_points_are_returned_on_request_only():
    bump = dynamics.Leaky(np.array([[1.0]]), np.array([[1.0]]), np.zeros(1), "softplus")
    starts = np.linspace(-8, -3, 20)[:, None]
    assert len(dynamics.find_fixed_points(bump, starts, np.array([0.0]))) == 0
    assert len(dynamics.find_fixed_points(bump, starts, np.array([0.0]), slow=1e-2, max_steps=5)) > 0


def test_starts_that_are_not_finite_find_nothing():
    net, _, _ = known.flip_flop(1, 2)
    starts = np.array([[np.nan, 0.0], [0.9, 0.1]])
    assert len(dynamics.find_fixed_points(net, starts, np.zeros(1))) == 1
    with pytest.raises(ValueError, match="none of the starts"):
        dynamics.find_fixed_points(net, starts[:1], np.zeros(1))
    with pytest.raises(ValueError, match="do not fit"):
        dynamics.find_fixed_points(net, starts, np.zeros(2))


def test_saddles_are_found_between_the_stable_points():
    net, points, _ = known.flip_flop(3, 12)
    stable = points[(points[:, :3] != 0).all(axis=1)]
    first = dynamics.find_fixed_points(net, np.stack([stable + 0.01, stable - 0.01]), np.zeros((2, 3)))
    assert len(first) == 16
    result = dynamics.find_between(net, first)
    for condition in range(2):
        rows = result.of(condition)
        assert np.bincount(rows.n_unstable).tolist() == [8, 12, 6, 1]
        assert (rows.share[rows.n_unstable > 0] == 0).all() and rows.share.sum() == pytest.approx(1)
    assert len(dynamics.find_between(net, first, places=0)) == 16
    saddles, ends = dynamics.connections(net, result, condition=1)
    rows = result.of(1)
    signs = np.sign(np.round(rows.points[:, :3], 6))
    assert (rows.n_unstable[saddles] == 1).all() and len(saddles) == 12 and (ends >= 0).all()
    assert ((signs[ends[:, 0]] != signs[ends[:, 1]]).sum(axis=1) == 1).all()
    assert (signs[saddles] == (signs[ends[:, 0]] + signs[ends[:, 1]]) / 2).all()


def test_activity_that_only_grows_has_no_point():
    growing = dynamics.Leaky(np.eye(3), np.ones((3, 1)), np.ones(3), "linear")
    found = dynamics.find_attractors(growing, np.random.default_rng(0).standard_normal((50, 3)), np.ones(1), 20)
    assert len(found.points) == 0 and found.name == "not settled after 30,000 steps"


def test_kinds_of_attractors_are_told_apart():
    rng = np.random.default_rng(1)
    line, _ = known.line_attractor(10, [1.0], rng)
    along = dynamics.find_attractors(line, rng.standard_normal((100, 10)), np.zeros(1), 20)
    assert along.name == "line attractor" and along.n_stable == 0
    assert along.continuum.decay == pytest.approx(-1 / np.log(0.6))
    ring = dynamics.find_attractors(known.Oscillator(), rng.uniform(-1.5, 1.5, (200, 2)), np.zeros(1), 50)
    assert ring.name == "ring attractor"
    plane = dynamics.Leaky(np.diag([1, 1, 0.5, 0.5]), np.zeros((4, 1)), np.zeros(4), "linear")
    assert dynamics.find_attractors(plane, rng.standard_normal((100, 4)), np.zeros(1), 20).name == "plane attractor"
    net, points, _ = known.flip_flop(2, 6)
    found = dynamics.find_attractors(net, points + 0.1 * rng.standard_normal(points.shape), np.zeros(2), 20)
    assert found.name == "4 stable points" and len(found.points) == 9


def test_points_with_slow_modes_that_saddles_separate_are_no_continuum():
    rng = np.random.default_rng(0)
    net, points, _ = known.flip_flop(3, 6, gain=1.1, decay=0.9)
    found = dynamics.find_attractors(net, points + 1e-3 * rng.standard_normal(points.shape), np.zeros(3), 100)
    assert found.points.fixed.sum() == 27 and found.name == "8 stable points"


def test_saddle_nodes_are_found_where_a_bistable_unit_loses_its_wells():
    net = dynamics.Leaky(np.array([[2.0]]), np.array([[1.0]]), np.zeros(1))
    branches, events = dynamics.follow(net, np.linspace(-1.5, 1.5, 30)[:, None], [-1.0], [1.0], n=81)
    m = np.sqrt(0.5)  # the slope 2 (1 - m^2) is 1 there
    edge = 2 * m - np.arctanh(m)
    assert len(branches) == 3
    assert {event.kind for event in events} == {"saddle-node"}
    assert sorted({round(2 * event.place - 1, 2) for event in events}) == pytest.approx([-edge, edge], abs=0.03)


@pytest.mark.parametrize("n", [9, 11, 21])
def test_points_that_move_far_between_two_places_stay_on_their_branch(n):
    net = dynamics.Leaky(np.array([[2.0]]), np.array([[1.0]]), np.zeros(1))
    branches, events = dynamics.follow(net, np.linspace(-1.5, 1.5, 30)[:, None], [-1.0], [1.0], n=n)
    assert len(branches) == 3  # the wells and the saddle between them
    assert len({round(event.place, 6) for event in events}) == 2
    assert [max(np.abs(np.diff(branch.points[:, 0]))) > 0.1 for branch in branches].count(True) >= 1


def test_flow_vanishes_at_points_and_is_the_linearisation_nearby():
    rng = np.random.default_rng(2)
    net, points, _ = known.flip_flop(2, 4)
    plane = dynamics.Plane.through(points[0], np.eye(4)[0], np.eye(4)[1])
    field = dynamics.flow_field(net, plane, np.zeros(2), (-0.01, 0.01, -0.01, 0.01), n=3)
    assert field.speed[1, 1] == pytest.approx(0, abs=1e-12)
    around = dynamics.linearise(net, points[0], np.zeros(2))
    push = 1e-4 * rng.standard_normal(4)
    moved = net.step((points[0] + push)[None], np.zeros(2))[0] - points[0]
    np.testing.assert_allclose(moved, around.state_matrix @ push, atol=1e-7)
    assert around.drift == pytest.approx(0, abs=1e-12)
    driven = net.step(np.repeat(points[:1], 2, axis=0), 1e-5 * np.eye(2)) - points[0]
    np.testing.assert_allclose(around.input_along_modes(), np.abs(around.left @ driven.T) / 1e-5, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="parallel"):
        dynamics.Plane.through(points[0], [1, 0, 0, 0], [2, 0, 0, 0])


@pytest.mark.parametrize("reflect", [False, True])
def test_a_rotated_copy_is_at_distance_zero(reflect):
    rng = np.random.default_rng(5)
    turn = known.random_rotation(8, rng) @ np.diag([-1.0 if reflect else 1.0] + [1.0] * 7)
    a, b = rng.standard_normal((8, 8)), rng.standard_normal((8, 2))
    first, second = dynamics.Operator(a, b, 1.0), dynamics.Operator(turn @ a @ turn.T, turn @ b, 1.0)
    for score in ("angular", "euclidean", "wasserstein"):
        assert dynamics.operator_distance(first, second, score) < 1e-3
    assert dynamics.input_distance(first, second) < 1e-3
    unrelated = dynamics.Operator(rng.standard_normal((8, 8)), b, 1.0)
    assert dynamics.operator_distance(first, unrelated) > 0.3


def test_weights_that_differ_by_an_order_of_units_are_the_same():
    rng = np.random.default_rng(6)
    w, order = rng.standard_normal((20, 20)), rng.permutation(20)
    assert dynamics.weight_distance(w, w[np.ix_(order, order)]) < 1e-6
    assert dynamics.weight_distance(w, rng.standard_normal((20, 20))) > 0.5


def test_subspaces_and_canonical_correlations():
    rng = np.random.default_rng(7)
    latent = rng.standard_normal((200, 3))
    a, b = latent @ rng.standard_normal((3, 10)), latent @ rng.standard_normal((3, 12))
    assert dynamics.svcca_distance(a, b) == pytest.approx(0, abs=1e-6)
    assert dynamics.principal_angles(a, a, 3) == pytest.approx([0, 0, 0], abs=1e-6)
    with pytest.raises(ValueError, match="no common space"):
        dynamics.principal_angles(a, b)
