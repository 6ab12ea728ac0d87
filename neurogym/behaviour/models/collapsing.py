"""Diffusion to bounds that collapse, or, equivalently, with an urgency that grows: densities by integral equations.

The bounds are at +-b(t): A exp(-c t) (exponential), A / (1 + c t) (hyperbolic; an urgency 1 + c t multiplies the
evidence, Cisek et al. 2009, 10.1523/JNEUROSCI.1844-09.2009), or A (1 - c t) down to 5 % of A (linear). The densities
without drift solve the Volterra equations of Buonocore et al. (1990, 10.2307/3214598; Smith 2000,
10.1006/jmps.1999.1260); those with drift v follow by the likelihood ratio exp(v (x - x_0) - v^2 t / 2) at the bound x
that is reached, with the Gaussian variability of v integrated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models import first_passage
from neurogym.behaviour.models.base import UnfitError
from neurogym.behaviour.models.evidence import widened
from neurogym.behaviour.models.parameters import positive
from neurogym.behaviour.models.responses import DIFFUSION, DIFFUSION_WORDS, Response
from neurogym.messages.options import option

#: Points of the grid of decision time, longest time in s, and lowest bound as a share of the first.
GRID, LONGEST, LOWEST = 240, 8.0, 0.05
_EDGES = LONGEST * np.linspace(0, 1, GRID + 1) ** 2
#: Middle and width of each cell of the grid, in s.
TIME, WIDTH = jnp.asarray((_EDGES[1:] + _EDGES[:-1]) / 2), np.diff(_EDGES)
#: Most different bounds of a fit, and largest exponent.
BOUNDS, LARGEST = 24, 50.0


def bound_at(form: str, time: Any, bound: Any, collapse: Any) -> Any:
    """Return half the distance between the bounds at decision times in s."""
    if form == "exponential":
        share = jnp.exp(-collapse * time)
    elif form == "hyperbolic":
        share = 1 / (1 + collapse * time)
    else:
        share = 1 - collapse * time
    return bound * jnp.maximum(share, LOWEST)


class Solution(NamedTuple):
    """Densities of a diffusion without drift.

    Attributes:
        bound: in the middle of each cell of the grid, shape (cells,).
        start: starting point, between the bounds at +-A.
        log_density: of reaching the lower and the upper bound, shape (2, cells).
    """

    bound: Any
    start: Any
    log_density: Any


def solve(form: str, bound: Any, collapse: Any, share: Any) -> Solution:
    """Return the densities without drift for bounds that begin at +-``bound`` and a start at ``share`` between them.

    On the grid, the density in a cell is a linear function of the densities at both bounds in the cells before.
    """
    b, start = bound_at(form, TIME, bound, collapse), (2 * share - 1) * bound
    slope = (bound_at(form, TIME + 1e-5, bound, collapse) - bound_at(form, TIME - 1e-5, bound, collapse)) / 2e-5
    side = np.array([-1.0, 1.0])

    def kernel(end: Any, speed: Any, origin: Any, since: Any) -> Any:
        distance = end - origin
        normal = jnp.exp(-(distance**2) / (2 * since)) / jnp.sqrt(2 * np.pi * since)
        return 0.5 * normal * (speed - distance / since)

    ends, speeds = b[:, None] * side, slope[:, None] * side  # (cells, bounds)
    since = TIME[:, None] - TIME
    before = since > 0
    from_bounds = kernel(
        ends[..., None, None], speeds[..., None, None], ends, jnp.where(before, since, 1.0)[:, None, :, None]
    )
    again = from_bounds * (before * WIDTH)[:, None, :, None] * (-2 * side)[:, None, None]
    first = -2 * side * kernel(ends, speeds, start, TIME[:, None])
    matrix = again.reshape(2 * GRID, 2 * GRID)
    density = solve_triangular(matrix, first.ravel(), lower=True, unit_diagonal=True).reshape(GRID, 2).T
    return Solution(b, start, jnp.log(jnp.maximum(density, 1e-300)))


def _log_ratio(x: Any, time: Any, drift: Any, spread: Any) -> Any:
    """Return the logarithm of the likelihood ratio of a path that moved by ``x``, averaged over drifts."""
    wide = 1 + spread**2 * time
    exponent = (spread**2 * x**2 + 2 * drift * x - drift**2 * time) / (2 * wide)
    return exponent - 0.5 * jnp.log(wide)


@dataclass(frozen=True)
class CollapsingResponse(Response):
    """Diffusion to collapsing bounds.

    Attributes:
        form: "exponential", "hyperbolic" or "linear".
        constants: values of the parameters that are fixed.
    """

    form: str
    constants: Mapping[str, float] = field(default_factory=dict, compare=False)

    every = {**{name: DIFFUSION[name] for name in ("A", "t_R", "z", "lapse", "eta")}, "c": positive(0.3, 1.0, "c")}
    words = {
        word: name
        for word, name in {**DIFFUSION_WORDS, "collapse": "c", "urgency": "c"}.items()
        if name not in ("sz", "st")
    }
    longest, step = LONGEST, 1e-2  # slopes change from cell to cell

    def nodes(self, p: Mapping[str, FloatArray]) -> Any:
        """See `Response.nodes`: a trial of each group with the same bounds, and the group of each trial."""
        rows = np.stack([p[name] for name in ("A", "c", "z")], 1)
        _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        if len(first) > BOUNDS:
            raise UnfitError(
                f"collapsing bounds take at most {BOUNDS} different bounds, not {len(first)} ({option('--vary')})"
            )
        return widened(first, 1), group.ravel()

    def prepared(self, p: Any, nodes: Any) -> Any:
        """See `Response.prepared`: the densities without drift of each trial's bounds."""
        first, group = nodes
        solutions = jax.vmap(lambda a, c, z: solve(self.form, a, c, z))(p["A"][first], p["c"][first], p["z"][first])
        return {**p, "solution": jax.tree.map(lambda each: each[group], solutions)}

    def density(self, time: Any, choice: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """See `Response.density`; that without drift is interpolated."""
        solution = p["solution"]
        t, side = jnp.clip(time, 1e-4, LONGEST), 2.0 * choice - 1
        distance = jnp.abs(side * solution.bound[0] - solution.start)
        smooth = solution.log_density[choice] + distance**2 / (2 * TIME)  # without the steep leading edge
        below = jnp.clip((t >= TIME).sum() - 1, 0, GRID - 2)
        above = jnp.clip((t - TIME[below]) / (TIME[below + 1] - TIME[below]), 0, 1)

        def at_time(grid: Any) -> Any:
            return (1 - above) * grid[below] + above * grid[below + 1]

        log = at_time(smooth) - distance**2 / (2 * t)
        moved = side * at_time(solution.bound) - solution.start
        ratio = _log_ratio(moved, t, evidence[0], p["eta"])
        return jnp.where(time > 1e-4, jnp.exp(jnp.minimum(log + ratio, LARGEST)), 0.0)

    @staticmethod
    def cells(evidence: Any, p: Any) -> Any:
        """Return the probability of each option in each cell of the grid of decision time, shape (2, cells)."""
        solution = p["solution"]
        moved = jnp.array([[-1.0], [1.0]]) * solution.bound - solution.start
        log = solution.log_density + _log_ratio(moved, TIME, evidence[0], p["eta"])
        return jnp.exp(jnp.minimum(log, LARGEST)) * WIDTH

    def until(self, time: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """See `Response.until`."""
        return (self.cells(evidence, p) * jnp.clip((time - TIME + WIDTH / 2) / WIDTH, 0, 1)).sum(1)

    def decide(
        self, evidence: FloatArray, p: Mapping[str, FloatArray], rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """See `Response.decide`."""

        def mass(rows: IntArray) -> FloatArray:
            values = {name: each[rows] for name, each in p.items()}
            cells = np.asarray(_cells(self, self.nodes(values), evidence[rows], values))
            return cells.reshape(len(rows), -1)

        return first_passage.drawn_from_cells(mass, _EDGES, len(evidence), rng)


@partial(jax.jit, static_argnums=0)
def _cells(response: CollapsingResponse, nodes: Any, evidence: Any, p: Any) -> Any:
    return jax.vmap(response.cells)(evidence, response.prepared(p, nodes))
