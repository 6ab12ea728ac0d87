"""Fixed and slow points of recurrent networks, found by minimising speed from many states at once.

Sussillo & Barak 2013, Opening the black box, 10.1162/NECO_a_00409. The speed ``q = |F(h, x) - h|^2 / 2`` is minimised
by the Levenberg-Marquardt method with exact Jacobians, for all starts and inputs as one batch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Result
from neurogym.array_types import FloatArray
from neurogym.dynamics.systems import System

#: Starts that are minimised as one batch; limits the memory for Jacobians.
BATCH = 256

#: Points farther from the centre of the starts than this multiple of the starts' mean distance are outliers.
OUTLIER = 10.0

#: Iterations between two looks at the progress of a search; a look also merges starts that have come together.
WINDOW = 7

#: Largest speed of a fixed point, relative to ``1 + |h|^2``; Newton's method gets there on a true zero, not in the slow
#: passage that two points leave behind. Distance of an eigenvalue from the unit circle up to which a mode is marginal.
FIXED, MARGINAL = 1e-24, 1e-7

#: A search has stalled if more than this share of the speed is left after a window. The second share holds for states
#: whose largest unit exceeds `FAR` times that of all starts (at least 1): gates saturate there, and the speed decreases
#: without end although there is no point.
STALLED, STALLED_FAR, FAR = 0.5, 1e-4, 2.0


#: Attributes of `FixedPoints` with an entry for each point.
PER_POINT = ("points", "inputs", "condition", "speed", "eigenvalues", "right", "left", "share", "on_kink", "slopes")

#: Displacement at which the Jacobian beside a point is taken, number of directions, and relative change of the Jacobian
#: from which a point lies on a kink of the activation function.
BESIDE, DIRECTIONS, KINK = 1e-6, 6, 1e-3


@dataclass(frozen=True)
class FixedPoints(Result):
    """Fixed and slow points, by input and from slow to fast.

    Attributes:
        points: states, shape (points, units).
        inputs: constant input of each point, shape (points, inputs).
        condition: row of the given inputs that each point belongs to, shape (points,).
        speed: ``q = |F(h, x) - h|^2 / 2`` of each point, shape (points,).
        eigenvalues: of the Jacobian, complex, largest first, shape (points, units).
        right: right eigenvectors as columns, of unit length, in the order of the eigenvalues, shape (points, units,
            units).
        left: left eigenvectors as rows, scaled to ``left @ right = 1``, shape (points, units, units).
        share: share of the starts whose search ended in the point, shape (points,).
        n_starts: number of starts for each input.
        n_outliers: number of distinct points that were dropped since they lie far from all starts.
        on_kink: whether the Jacobian differs between the sides of a point, as on the kink of a rectifier, shape
            (points,). Eigenvalues and modes are then those of the side with the largest eigenvalue.
        slopes: smallest and largest size of the leading eigenvalue on the sides of a point, shape (points, 2).
    """

    points: FloatArray
    inputs: FloatArray
    condition: np.ndarray
    speed: FloatArray
    eigenvalues: np.ndarray
    right: np.ndarray
    left: np.ndarray
    share: FloatArray
    n_starts: int
    n_outliers: int
    on_kink: np.ndarray
    slopes: FloatArray

    def __len__(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def n_unstable(self) -> np.ndarray:
        """Number of unstable directions of each point, shape (points,)."""
        return count_unstable(self.eigenvalues)

    @property
    def n_marginal(self) -> np.ndarray:
        """Number of directions of each point in which activity neither grows nor decays, shape (points,)."""
        return (np.abs(np.abs(self.eigenvalues) - 1) <= MARGINAL).sum(axis=1)

    @property
    def fixed(self) -> np.ndarray:
        """True for fixed points, False for slow points, shape (points,)."""
        return np.asarray(self.speed <= FIXED * (1 + (self.points**2).sum(axis=1)))

    @property
    def stable(self) -> np.ndarray:
        """True for fixed points whose eigenvalues all lie within the unit circle, shape (points,).

        Points with a marginal eigenvalue, as on a line attractor, are neither stable nor unstable.
        """
        return self.fixed & (self.n_unstable == 0) & (self.n_marginal == 0)

    @property
    def direction(self) -> FloatArray:
        """Real part of the right eigenvector of the largest eigenvalue, of unit length, shape (points, units)."""
        result = self.right[:, :, 0].real
        return result / np.maximum(np.linalg.norm(result, axis=1, keepdims=True), 1e-300)

    @property
    def selection(self) -> FloatArray:
        """Selection vector: left eigenvector of the largest eigenvalue, scaled to a product of 1 with `direction`.

        Mante, Sussillo, Shenoy & Newsome 2013, 10.1038/nature12742. Shape (points, units).
        """
        result = self.left[:, 0].real
        product = (result * self.direction).sum(axis=1, keepdims=True)
        return result / np.where(np.abs(product) > 1e-12, product, 1.0)

    def time_constants(self, dt: float = 1.0) -> FloatArray:
        """Return the time constant of each mode, shape (points, units), infinite for modes that stay.

        Args:
            dt: duration of a step, for instance in ms, the unit of the result.
        """
        with np.errstate(divide="ignore"):
            return dt / np.abs(np.log(np.abs(self.eigenvalues)))

    def of(self, condition: int) -> FixedPoints:
        """Return the points for a single input.

        Args:
            condition: row of the given inputs.
        """
        return self.take(self.condition == condition)

    def take(self, rows: np.ndarray) -> FixedPoints:
        """Return some of the points.

        Args:
            rows: indices or a mask.
        """
        return replace(self, **{name: getattr(self, name)[rows] for name in PER_POINT})

    def to_table(self, dt: float = 1.0) -> dict[str, np.ndarray]:
        """Return columns with a row per point: condition, speed, stability, leading mode and coordinates.

        Args:
            dt: duration of a step for the time constant, which slow points do not have (nan).
        """
        leading = self.eigenvalues[:, 0] if len(self) else np.zeros(0, complex)
        columns = {
            "condition": self.condition,
            "speed": self.speed,
            "fixed": self.fixed,
            "stable": self.stable,
            "n_unstable": self.n_unstable,
            "n_marginal": self.n_marginal,
            "share": self.share,
            "on_kink": self.on_kink,
            "eigenvalue_real": leading.real,
            "eigenvalue_imag": leading.imag,
            "time_constant": np.where(self.fixed, self.time_constants(dt)[:, 0], np.nan) if len(self) else np.zeros(0),
        }
        return columns | {f"h{k}": values for k, values in enumerate(self.points.T)}

    def to_dict(self) -> dict[str, object]:
        """Return the fields but the eigenvectors as plain values, eigenvalues as real and imaginary parts."""
        names = ("points", "inputs", "condition", "speed", "stable", "n_unstable", "share")
        plain: dict[str, object] = {name: getattr(self, name).tolist() for name in names}
        pieces = {"real": self.eigenvalues.real.tolist(), "imag": self.eigenvalues.imag.tolist()}
        return {**plain, "eigenvalues": pieces, "n_starts": self.n_starts, "n_outliers": self.n_outliers}


def find_fixed_points(
    system: System,
    starts: ArrayLike,
    inputs: ArrayLike,
    *,
    tolerance: float = FIXED,
    slow: float | None = None,
    distance: float = 1e-4,
    apart: float = 0.0,
    max_steps: int = 300,
) -> FixedPoints:
    """Find fixed points, and slow points on request, under constant inputs.

    Args:
        system: network with derivatives.
        starts: states to start from, shape (starts, units), usually visited states with some noise; or for each input
            its own, shape (conditions, starts, units).
        inputs: constant input, shape (inputs,), or several, shape (conditions, inputs).
        tolerance: largest speed ``q`` of a fixed point, relative to ``1 + |h|^2``.
        slow: largest speed of slow points that are also returned; None returns fixed points only.
        distance: points closer than this times ``sqrt(units)`` are duplicates.
        apart: slow points closer than this to a fixed point or a slower one are left out.
        max_steps: iterations allowed for each start.

    Returns:
        Distinct points with speed, eigenvalues and modes. Points far from all starts (see `OUTLIER`) are left out and
        counted.

    Raises:
        ValueError: if shapes do not fit, or no start is finite.
    """
    x = np.atleast_2d(np.asarray(inputs, float))
    begin = np.asarray(starts, float)
    begin = np.broadcast_to(begin, (len(x), *begin.shape)) if begin.ndim == 2 else begin
    if begin.ndim != 3 or begin.shape[0] != len(x) or begin.shape[2] != system.units or x.shape[1] != system.inputs:
        raise ValueError(
            f"starts of shape {np.shape(starts)} and inputs of shape {np.shape(inputs)} do not fit a system of"
            f" {system.units} units and {system.inputs} inputs"
        )
    n = begin.shape[1]
    states, start_inputs = begin.reshape(-1, system.units), np.repeat(x, n, axis=0)
    finite = np.isfinite(states).all(axis=1)
    if not finite.any():
        raise ValueError("none of the starts is finite")
    result, speed = minimise_speed(system, np.where(finite[:, None], states, 0.0), start_inputs, max_steps, distance)
    speed[~finite] = np.inf
    fixed = speed <= tolerance * (1 + (result**2).sum(axis=1))
    selected, shares, outliers = [], [], 0
    for k in range(len(x)):
        rows = np.arange(k * n, (k + 1) * n)
        centre = begin[k][np.isfinite(begin[k]).all(axis=1)].mean(axis=0)
        reach = OUTLIER * max(float(np.linalg.norm(begin[k] - centre, axis=1).mean()), 1e-6)
        same = distance * np.sqrt(system.units)
        groups = _distinct(result, speed, rows[fixed[rows]], same)
        others = rows[~fixed[rows] & (speed[rows] <= (slow or -1))]
        for members in _with_slow(result, speed, others, groups, max(apart, same)):
            if np.linalg.norm(result[members[0]] - centre) > reach:
                outliers += 1
            else:
                selected.append(members[0])
                shares.append(len(members) / n)
    points, point_inputs = result[selected], start_inputs[selected]
    jacobians, on_kink, slopes = _sides(system, points, point_inputs)
    condition, share = np.array(selected, int) // n, np.array(shares)
    return FixedPoints(
        points, point_inputs, condition, speed[selected], *modes(jacobians), share, n, outliers, on_kink, slopes
    )


def _sides(system: System, points: FloatArray, inputs: FloatArray) -> tuple[FloatArray, np.ndarray, FloatArray]:
    """Return the Jacobian of each point, whether it lies on a kink, and the leading eigenvalues of its sides.

    On a kink the Jacobian is that of the side with the largest eigenvalue, along which a trajectory may leave.
    """
    n, units = points.shape if points.size else (0, system.units)
    if not n:
        return np.zeros((0, units, units)), np.zeros(0, bool), np.zeros((0, 2))
    middle = system.jacobian(points, inputs)
    directions = np.random.default_rng(0).normal(size=(DIRECTIONS, units))
    directions = np.concatenate([directions, -directions]) / np.linalg.norm(directions[:1], axis=1)
    scale = BESIDE * (1 + np.abs(points).max(axis=1, keepdims=True))
    neighbours = np.stack([middle, *(system.jacobian(points + scale * each, inputs) for each in directions)], axis=1)
    change = np.abs(neighbours - middle[:, None]).max(axis=(1, 2, 3))
    on_kink = change > KINK * np.maximum(np.abs(middle).max(axis=(1, 2)), 1.0)
    leading = np.abs(np.linalg.eigvals(middle)).max(axis=1)
    slopes, jacobians = np.stack([leading, leading], axis=1), middle.copy()
    for k in np.flatnonzero(on_kink):
        sizes = np.abs(np.linalg.eigvals(neighbours[k])).max(axis=1)
        slopes[k] = sizes.min(), sizes.max()
        jacobians[k] = neighbours[k, sizes.argmax()]
    return jacobians, on_kink, slopes


def minimise_speed(
    system: System, starts: FloatArray, inputs: FloatArray, max_steps: int = 300, distance: float = 1e-4
) -> tuple[FloatArray, FloatArray]:
    """Minimise the speed from each start by the Levenberg-Marquardt method.

    Searches that stall end early; searches that stall outside of the region of the starts are dropped (see `STALLED`
    and `FAR`). Starts that have come together continue as a single search.

    Args:
        system: network with derivatives.
        starts: shape (n, units).
        inputs: constant input of each start, shape (n, inputs).
        max_steps: iterations allowed for each start.
        distance: states under the same input closer than this times ``sqrt(units)`` have come together.

    Returns:
        States, shape (n, units), and their speeds, shape (n,); infinite where activity overflows or the search is
        dropped.
    """
    pieces = [slice(k, k + BATCH) for k in range(0, len(starts), BATCH)]
    reach = distance * np.sqrt(system.units)
    rows = [_minimised(system, starts[piece], inputs[piece], max_steps, reach) for piece in pieces]
    return np.concatenate([states for states, _ in rows]), np.concatenate([speed for _, speed in rows])


def _minimised(
    system: System, starts: FloatArray, inputs: FloatArray, max_steps: int, distance: float
) -> tuple[FloatArray, FloatArray]:
    h, units = starts.copy(), np.arange(system.units)
    followed, largest = np.arange(len(h)), max(1.0, float(np.abs(starts).max()))
    with np.errstate(over="ignore", invalid="ignore"):
        motion = system.step(h, inputs) - h
        q = np.nan_to_num(0.5 * (motion**2).sum(axis=1), nan=np.inf, posinf=np.inf)
        damping, before = np.full(len(h), 1e-2), q.copy()
        active = np.flatnonzero(np.isfinite(q))
        for k in range(1, max_steps + 1):
            if not len(active):
                break
            slope = system.jacobian(h[active], inputs[active])
            slope[:, units, units] -= 1
            across = slope.swapaxes(1, 2)
            normal, gradient = across @ slope, across @ motion[active, :, None]
            size = np.maximum(np.trace(normal, axis1=1, axis2=2) / system.units, 1e-300)
            normal[:, units, units] += (damping[active] * size)[:, None]
            moved = h[active] - np.linalg.solve(normal, gradient)[:, :, 0]
            motion_moved = system.step(moved, inputs[active]) - moved
            q_moved = np.nan_to_num(0.5 * (motion_moved**2).sum(axis=1), nan=np.inf, posinf=np.inf)
            better = q_moved < q[active]
            rows = active[better]
            h[rows], motion[rows], q[rows] = moved[better], motion_moved[better], q_moved[better]
            damping[active] = np.clip(np.where(better, 0.1, 8.0) * damping[active], 1e-15, 1e12)
            exact = 0.5 * (4 * np.finfo(float).eps) ** 2 * (1 + (h[active] ** 2).sum(axis=1))
            active = active[q[active] > exact]
            if k % WINDOW == 0:
                away = np.abs(h[active]).max(axis=1) > FAR * largest
                stalled = q[active] > np.where(away, STALLED_FAR, STALLED) * before[active]
                q[active[stalled & away]] = np.inf
                active = active[~stalled]
                active = _merged(h, inputs, q, active, followed, distance) if len(active) else active
                before[active] = q[active]
        while (followed[followed] != followed).any():
            followed = followed[followed]
    return h[followed], q[followed]


def _merged(
    h: FloatArray, inputs: FloatArray, q: FloatArray, active: np.ndarray, followed: np.ndarray, distance: float
) -> np.ndarray:
    """Return the starts that go on: the slowest of those that have come together, which the others follow."""
    order = active[np.argsort(q[active], kind="stable")]
    near = np.linalg.norm(h[order, None] - h[None, order], axis=2) <= distance
    near &= (inputs[order, None] == inputs[None, order]).all(axis=2)
    first = near.argmax(axis=1)
    followed[order] = order[first]
    return order[first == np.arange(len(order))]


def _distinct(points: FloatArray, speed: FloatArray, rows: np.ndarray, distance: float) -> list[np.ndarray]:
    """Return groups of rows that are the same point, the slowest first in each group and among the groups."""
    left, groups = rows[np.argsort(speed[rows], kind="stable")], []
    while len(left):
        near = np.linalg.norm(points[left] - points[left[0]], axis=1) <= distance
        groups.append(left[near])
        left = left[~near]
    return groups


def count_unstable(eigenvalues: np.ndarray) -> np.ndarray:
    """Return the number of eigenvalues outside of the unit circle, along the last axis."""
    return np.asarray((np.abs(eigenvalues) > 1 + MARGINAL).sum(axis=-1))


def _with_slow(
    points: FloatArray, speed: FloatArray, rows: np.ndarray, groups: list[np.ndarray], distance: float
) -> list[np.ndarray]:
    """Return groups of fixed points followed by those of slow points that are not near a fixed point."""
    firsts = points[[members[0] for members in groups]]
    near = [np.linalg.norm(firsts - points[row], axis=1).min(initial=np.inf) <= distance for row in rows]
    return groups + _distinct(points, speed, rows[~np.array(near, bool)], distance)


def modes(jacobians: FloatArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return eigenvalues, right and left eigenvectors, largest eigenvalue first.

    Args:
        jacobians: shape (n, units, units).

    Returns:
        Eigenvalues, shape (n, units); right eigenvectors as columns and left eigenvectors as rows, shape (n, units,
        units).
    """
    values, right = np.linalg.eig(jacobians)
    order = np.argsort(-np.abs(values), axis=1, kind="stable")
    values, right = np.take_along_axis(values, order, 1).astype(complex), np.take_along_axis(right, order[:, None], 2)
    return values, right.astype(complex), np.linalg.pinv(right.astype(complex)) if len(right) else right.astype(complex)
