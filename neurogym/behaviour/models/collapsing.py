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
from functools import lru_cache, partial

import numpy as np

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models import first_passage
from neurogym.behaviour.models.base import UnfitError
from neurogym.behaviour.models.parameters import ModelParameter, positive
from neurogym.behaviour.models.responses import (
    DIFFUSION_WORDS,
    FREE,
    STEP_V,
    TINY,
    Gradient,
    Values,
    diffusion_parameters,
)
from neurogym.behaviour.models.times import TimedTrials, TimeSettings

#: Points of the grid of scaled time, longest decision time in s, and lowest bound as a share of the first.
GRID, LONGEST, LOWEST = 240, 8.0, 0.05
#: Most different bounds of a fit.
BOUNDS = 24
COLLAPSES = ("none", "exponential", "hyperbolic", "linear")


def bound_at(form: str, time: FloatArray, bound: float, collapse: float) -> FloatArray:
    """Return half the distance between the bounds at decision times in s."""
    if form == "exponential":
        share = np.exp(-collapse * time)
    elif form == "hyperbolic":
        share = 1 / (1 + collapse * time)
    else:
        share = 1 - collapse * time
    return np.asarray(bound * np.maximum(share, LOWEST))


@dataclass(frozen=True)
class Solution:
    """Densities of a diffusion without drift.

    Attributes:
        time: middle of each cell of the grid, in s, shape (cells,).
        width: of each cell, in s.
        bound: at these times.
        start: starting point, between the bounds at +-A.
        log_density: of reaching the lower and the upper bound, shape (2, cells).
    """

    time: FloatArray
    width: FloatArray
    bound: FloatArray
    start: float
    log_density: FloatArray


@lru_cache(maxsize=64)
def solve(form: str, bound: float, collapse: float, share: float) -> Solution:
    """Return the densities without drift for bounds that begin at +-``bound`` and a start at ``share`` between them."""
    edges = LONGEST * np.linspace(0, 1, GRID + 1) ** 2
    time, width = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    b, start = bound_at(form, time, bound, collapse), (2 * share - 1) * bound
    slope = (bound_at(form, time + 1e-5, bound, collapse) - bound_at(form, time - 1e-5, bound, collapse)) / 2e-5

    def kernel(end: FloatArray, speed: FloatArray, origin: FloatArray, since: FloatArray) -> FloatArray:
        distance = end - origin
        normal = np.exp(-(distance**2) / (2 * since)) / np.sqrt(2 * np.pi * since)
        return 0.5 * normal * (speed - distance / since)

    upper, lower = np.zeros(GRID), np.zeros(GRID)
    first = kernel(b, slope, np.full(GRID, start), time), kernel(-b, -slope, np.full(GRID, start), time)
    for k in range(GRID):
        before = slice(0, k)
        since = time[k] - time[before]
        mass_up, mass_down = width[before] * upper[before], width[before] * lower[before]
        for side, out, sign in ((1.0, upper, -2.0), (-1.0, lower, 2.0)):
            again = kernel(side * b[k], side * slope[k], b[before], since) @ mass_up
            again += kernel(side * b[k], side * slope[k], -b[before], since) @ mass_down
            out[k] = sign * (first[0 if side > 0 else 1][k] - again)
    density = np.maximum(np.stack([lower, upper]), 1e-300)
    return Solution(time, width, b, start, np.log(density))


@dataclass(frozen=True)
class CollapsingResponse:
    """Diffusion to collapsing bounds.

    Attributes:
        form: "exponential", "hyperbolic" or "linear".
        constants: values of the parameters that are fixed.
    """

    form: str
    constants: Mapping[str, float] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[ModelParameter, ...]:
        """See `Response.parameters`."""
        plain = diffusion_parameters()
        every = {**{name: plain[name] for name in ("A", "t_R", "z", "lapse", "eta")}, "c": positive(0.3, 1.0, "c")}
        return tuple(each for name, each in every.items() if name not in self.constants)

    @property
    def words(self) -> Mapping[str, str]:
        """See `Response.words`."""
        every = {**DIFFUSION_WORDS, "collapse": "c", "urgency": "c"}
        return {word: name for word, name in every.items() if name not in ("sz", "st")}

    @property
    def columns(self) -> int:
        """See `Response.columns`."""
        return 1

    def _complete(self, values: Values, n: int) -> dict[str, FloatArray]:
        complete = {**self.constants, **values}
        return {name: np.broadcast_to(np.asarray(value, float), (n,)) for name, value in complete.items()}

    def _groups(self, p: Mapping[str, FloatArray]) -> list[tuple[np.ndarray, Solution]]:
        """Return the trials with the same bounds, and the densities without drift."""
        rows = np.stack([p[name] for name in ("A", "c", "z")], 1)
        distinct, index = np.unique(rows, axis=0, return_inverse=True)
        if len(distinct) > BOUNDS:
            raise UnfitError(f"collapsing bounds take at most {BOUNDS} different bounds, not {len(distinct)} (--vary)")
        return [(np.flatnonzero(index.ravel() == k), solve(self.form, *row)) for k, row in enumerate(distinct.tolist())]

    @staticmethod
    def _log_ratio(x: FloatArray, time: FloatArray, drift: FloatArray, spread: FloatArray) -> FloatArray:
        """Return the logarithm of the likelihood ratio of a path that moved by ``x``, averaged over drifts."""
        wide = 1 + spread**2 * time
        exponent = (spread**2 * x**2 + 2 * drift * x - drift**2 * time) / (2 * wide)
        return np.asarray(exponent - 0.5 * np.log(wide))

    def _cells(self, solution: Solution, drift: FloatArray, spread: FloatArray, limit: FloatArray) -> FloatArray:
        """Return the probability of each bound until a time, shape (2, trials)."""
        inside = np.clip((limit[:, None] - solution.time + solution.width / 2) / solution.width, 0, 1)
        masses = []
        for side, log in ((-1.0, solution.log_density[0]), (1.0, solution.log_density[1])):
            x = side * solution.bound - solution.start
            ratio = self._log_ratio(x, solution.time, drift[:, None], spread[:, None])
            masses.append((np.exp(log + ratio) * solution.width * inside).sum(1))
        return np.stack(masses)

    def log_likelihood(self, evidence: FloatArray, values: Values, trials: TimedTrials) -> Gradient:
        """See `Response.log_likelihood`; derivatives are numerical."""
        v = evidence[:, 0]
        p = self._complete(values, len(v))
        by_v = (self._log(v + STEP_V, p, trials) - self._log(v - STEP_V, p, trials)) / (2 * STEP_V)
        by = {}
        for each in self.parameters:
            width = 1e-4 * np.maximum(np.abs(p[each.name]), 1e-2)
            high, low = {**p, each.name: p[each.name] + width}, {**p, each.name: p[each.name] - width}
            by[each.name] = (self._log(v, high, trials) - self._log(v, low, trials)) / (2 * width)
        return Gradient(self._log(v, p, trials), by_v[:, None], by)

    def _bounds(self, bound: float, collapse: float, time: float) -> FloatArray:
        return bound_at(self.form, np.array(time), bound, collapse)

    def _log(self, v: FloatArray, p: Mapping[str, FloatArray], trials: TimedTrials) -> FloatArray:
        out, counted = np.zeros(len(v)), trials.timed | trials.untimed | trials.omitted | trials.withheld
        lapse, settings = p["lapse"], trials.settings
        for rows, solution in self._groups(p):
            timed = rows[trials.timed[rows]]
            time = trials.rt[timed] - p["t_R"][timed]
            density = self._density(solution, time, trials.choice[timed], v[timed], p["eta"][timed])
            out[timed] = (1 - lapse[timed]) * density + lapse[timed] * 0.5 * settings.contaminant_density(
                trials.rt[timed]
            )
            rest = rows[(counted & ~trials.timed)[rows]]
            if not len(rest):
                continue
            limit = np.where(trials.untimed[rest], LONGEST, settings.deadline - p["t_R"][rest])
            lower, upper = self._cells(solution, v[rest], p["eta"][rest], limit)
            reached = np.where(trials.choice[rest] == 1, upper, lower) / np.maximum(lower + upper, TINY)
            none = 1 - (lower + upper)
            withheld = 1 - (upper if settings.withheld == 0 else lower)
            share = np.select([trials.untimed[rest], trials.omitted[rest]], [reached, none], withheld)
            late = settings.contaminant_survival
            random = np.select([trials.untimed[rest], trials.omitted[rest]], [0.5, late], (1 + late) / 2)
            out[rest] = (1 - lapse[rest]) * share + lapse[rest] * random
        return np.where(counted, np.log(np.maximum(out, TINY)), 0.0)

    def _density(
        self, solution: Solution, time: FloatArray, choice: IntArray, v: FloatArray, spread: FloatArray
    ) -> FloatArray:
        """Return the density of choices at decision times; that without drift is interpolated."""
        t = np.clip(time, 1e-4, LONGEST)
        side = 2.0 * choice - 1
        bound = np.interp(t, solution.time, solution.bound)
        log = np.empty(len(t))
        for k in (0, 1):
            distance = np.abs((2 * k - 1) * solution.bound[0] - solution.start)
            smooth = solution.log_density[k] + distance**2 / (2 * solution.time)  # without the steep leading edge
            rows = choice == k
            log[rows] = np.interp(t[rows], solution.time, smooth) - distance**2 / (2 * t[rows])
        ratio = self._log_ratio(side * bound - solution.start, t, v, spread)
        return np.where(time > 1e-4, np.exp(np.minimum(log + ratio, 50)), 0.0)

    def probabilities(self, evidence: FloatArray, values: Values) -> FloatArray:
        """See `Response.probabilities`."""
        v = evidence[:, 0]
        p = self._complete(values, len(v))
        upper = np.empty(len(v))
        for rows, solution in self._groups(p):
            low, high = self._cells(solution, v[rows], p["eta"][rows], np.full(len(rows), LONGEST))
            upper[rows] = high / np.maximum(low + high, TINY)
        upper = (1 - p["lapse"]) * upper + p["lapse"] / 2
        return np.stack([1 - upper, upper], 1)

    def sample(
        self, evidence: FloatArray, values: Values, rng: np.random.Generator, settings: TimeSettings = FREE
    ) -> tuple[IntArray, FloatArray]:
        """See `Response.sample`; a random walk in steps of 1 ms."""
        n = len(evidence)
        p = self._complete(values, n)
        drift = evidence[:, 0] + p["eta"] * rng.standard_normal(n)
        choice, time = np.zeros(n, np.int64), np.zeros(n)
        for rows, solution in self._groups(p):
            a, c = float(p["A"][rows[0]]), float(p["c"][rows[0]])
            start, bounds = np.full(len(rows), solution.start), partial(self._bounds, a, c)
            choice[rows], time[rows] = first_passage.sample(drift[rows], bounds, start, rng, LONGEST)
        rt = time + p["t_R"]
        return settings.observed(choice, rt, p["lapse"], 2, rng)
