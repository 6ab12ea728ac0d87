"""Diffusion to two bounds as a model of the response: likelihood of choice, time and omission given the evidence.

The evidence of a trial is the drift: v per s towards the second option, with bounds at +-A around 0 (unit diffusion,
Palmer, Huk & Shadlen 2005, 10.1167/5.5.1). The start is z of the way from the first option's bound to the second's.
A share ``lapse`` of trials are contaminants: a random choice at a uniform or exponential time (Ratcliff & Tuerlinckx
2002, 10.3758/BF03196302). Across trials the drift may vary with s.d. ``eta``, the start uniformly over ``sz`` of the
distance between the bounds, the non-decision time uniformly over ``st`` s (Ratcliff & Rouder 1998,
10.1111/1467-9280.00067).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models import first_passage
from neurogym.behaviour.models.parameters import ModelParameter, positive
from neurogym.behaviour.models.times import TimedTrials, TimeSettings

#: Natural values of the parameters of the response, by name; numbers or shape (trials,).
Values = Mapping[str, FloatArray]
#: Smallest likelihood of a trial.
TINY = 1e-12
#: Points of Gauss-Legendre quadrature over the uniform variability of starting point and non-decision time.
START_POINTS, TIME_POINTS = 5, 15
STEP_V = 1e-5  #: of numerical derivatives
#: Conditions without a deadline.
FREE = TimeSettings()


class Gradient(NamedTuple):
    """Log-likelihood of trials with derivatives.

    Attributes:
        log: natural logarithm of density or probability, shape (trials,).
        evidence: derivative by the evidence, shape (trials, columns).
        values: derivative by each parameter, shape (trials,).
    """

    log: FloatArray
    evidence: FloatArray
    values: dict[str, FloatArray]


class Response(Protocol):
    """A model of choice and time given the evidence of a trial.

    Attributes:
        parameters: free parameters, in the order of their values.
        constants: values of parameters that are fixed.
    """

    @property
    def parameters(self) -> tuple[ModelParameter, ...]:
        """Free parameters."""

    @property
    def words(self) -> Mapping[str, str]:
        """Names of the parameters in words, as in ``--vary bound=...``, and the symbols behind them."""

    @property
    def columns(self) -> int:
        """Columns of the evidence: 1 for a difference, or one for each option."""

    def log_likelihood(self, evidence: FloatArray, values: Values, trials: TimedTrials) -> Gradient:
        """Return the log-likelihood of trials; 0 for trials that do not count."""

    def probabilities(self, evidence: FloatArray, values: Values) -> FloatArray:
        """Return the probability of each choice, shape (trials, choices)."""

    def sample(
        self, evidence: FloatArray, values: Values, rng: np.random.Generator, settings: TimeSettings = FREE
    ) -> tuple[IntArray, FloatArray]:
        """Return simulated choices (-1 without an answer until the deadline) and reaction times in s."""


def diffusion_parameters() -> dict[str, ModelParameter]:
    """Return all parameters of the diffusion by name."""
    return {
        "A": positive(0.8, 0.8, "A"),
        "t_R": positive(0.3, 0.7, "t_R"),
        "z": ModelParameter("z", "unit", 0.0, 0.7),
        "lapse": ModelParameter("lapse", "unit", -3.2, 1.5, 0.0, 0.5),
        "eta": positive(1.0, 1.0, "eta"),
        "sz": ModelParameter("sz", "unit", -1.0, 1.0),
        "st": positive(0.1, 0.8, "st"),
    }


#: Names of the parameters of the diffusion in words and in the notation of other packages (a is the whole distance).
DIFFUSION_WORDS = {
    "bound": "A",
    "non_decision": "t_R",
    "start": "z",
    "lapse": "lapse",
    "drift_sd": "eta",
    "start_range": "sz",
    "time_range": "st",
    "sv": "eta",
    "st0": "st",
}
#: Values of parameters of the diffusion that are not estimated.
FIXED = {"z": 0.5, "lapse": 0.0, "eta": 0.0, "sz": 0.0, "st": 0.0}


def _points(width: FloatArray, n: int) -> list[tuple[float, float]]:
    """Return points and weights of the quadrature over a uniform variability; a single point without variability."""
    if not np.any(width):
        return [(0.0, 1.0)]
    points, weights = np.polynomial.legendre.leggauss(n)
    return [(float(x) / 2, float(w) / 2) for x, w in zip(points, weights, strict=True)]


def _room(p: Mapping[str, FloatArray]) -> FloatArray:
    """Return the largest range of starting points around z that stays within the bounds."""
    return np.asarray(2 * np.minimum(p["z"], 1 - p["z"]))


@dataclass(frozen=True)
class DiffusionResponse:
    """Diffusion to two bounds.

    Attributes:
        constants: values of the parameters that are fixed.
    """

    constants: Mapping[str, float] = field(default_factory=lambda: {"eta": 0.0, "sz": 0.0, "st": 0.0})

    @property
    def parameters(self) -> tuple[ModelParameter, ...]:
        """See `Response.parameters`."""
        return tuple(each for name, each in diffusion_parameters().items() if name not in self.constants)

    @property
    def words(self) -> Mapping[str, str]:
        """See `Response.words`."""
        return DIFFUSION_WORDS

    @property
    def columns(self) -> int:
        """See `Response.columns`."""
        return 1

    def _complete(self, values: Values, n: int) -> dict[str, FloatArray]:
        """Return all parameters for each trial."""
        complete = {**FIXED, **self.constants, **values}
        return {name: np.broadcast_to(np.asarray(value, float), (n,)) for name, value in complete.items()}

    def log_likelihood(self, evidence: FloatArray, values: Values, trials: TimedTrials) -> Gradient:
        """See `Response.log_likelihood`."""
        p, v = self._complete(values, len(evidence)), evidence[:, 0]
        log, by_v = np.zeros(len(v)), np.zeros(len(v))
        by = {each.name: np.zeros(len(v)) for each in self.parameters}
        timed = trials.timed
        if timed.any():
            subset = {name: value[timed] for name, value in p.items()}
            log[timed], by_v[timed], slopes = self._density(v[timed], subset, trials.choice[timed], trials, timed)
            for name in by:
                by[name][timed] = slopes[name]
        rest = trials.untimed | trials.omitted | trials.withheld
        if rest.any():
            subset = {name: value[rest] for name, value in p.items()}
            log[rest], by_v[rest], slopes = self._without_time(v[rest], subset, trials, rest)
            for name in by:
                by[name][rest] = slopes[name]
        return Gradient(log, by_v[:, None], by)

    def _density(
        self, v: FloatArray, p: dict[str, FloatArray], choice: IntArray, trials: TimedTrials, rows: np.ndarray
    ) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
        """Return the log-density of answers with a time, its derivative by the drift and by each parameter."""
        n, upper = len(v), choice == 1
        time = trials.rt[rows] - p["t_R"]
        total = np.zeros(n)
        slope = {name: np.zeros(n) for name in ("v", *p)}
        room = _room(p)
        for x, share_x in _points(p["sz"], START_POINTS):
            w = p["z"] + x * p["sz"] * room
            for y, share_y in _points(p["st"], TIME_POINTS):
                t = time + y * p["st"]
                valid = t > 1e-6
                d = first_passage.log_density(
                    t[valid], upper[valid], v[valid], 2 * p["A"][valid], w[valid], p["eta"][valid]
                )
                f = share_x * share_y * np.exp(d.log)
                total[valid] += f
                low = np.where(p["z"][valid] <= 0.5, 1.0, -1.0)
                derivatives = {
                    "v": d.drift,
                    "A": 2 * d.bound,
                    "t_R": -d.time,
                    "eta": d.spread,
                    "st": y * d.time,
                    "sz": x * room[valid] * d.start,
                    "z": d.start * (1 + 2 * x * low * p["sz"][valid]),
                }
                for name, value in derivatives.items():
                    slope[name][valid] += f * value
        contaminant, lapse = 0.5 * trials.settings.contaminant_density(trials.rt[rows]), p["lapse"]
        likelihood = np.maximum((1 - lapse) * total + lapse * contaminant, TINY)
        slopes = {name: (1 - lapse) * value / likelihood for name, value in slope.items()}
        slopes["lapse"] = (contaminant - total) / likelihood
        return np.log(likelihood), slopes.pop("v"), slopes

    def _without_time(
        self, v: FloatArray, p: dict[str, FloatArray], trials: TimedTrials, rows: np.ndarray
    ) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
        """Return the log-probability of trials without a time, with numerical derivatives."""
        kind = np.select([trials.omitted[rows], trials.withheld[rows]], [1, 2], 0)
        choice = trials.choice[rows]

        def log_probability(v: FloatArray, p: Mapping[str, FloatArray]) -> FloatArray:
            out = np.empty(len(v))
            for case in np.unique(kind):
                at = kind == case
                out[at] = self._probability(case, v[at], {name: x[at] for name, x in p.items()}, choice[at], trials)
            return np.log(np.maximum(out, TINY))

        by_v = (log_probability(v + STEP_V, p) - log_probability(v - STEP_V, p)) / (2 * STEP_V)
        slopes = {}
        for name in (each.name for each in self.parameters):
            step = STEP_V * np.maximum(np.abs(p[name]), 1e-2)
            high, low = {**p, name: p[name] + step}, {**p, name: p[name] - step}
            slopes[name] = (log_probability(v, high) - log_probability(v, low)) / (2 * step)
        return log_probability(v, p), by_v, slopes

    def _probability(
        self, kind: int, v: FloatArray, p: Mapping[str, FloatArray], choice: IntArray, trials: TimedTrials
    ) -> FloatArray:
        """Return the probability of a choice (kind 0), of no decision (1), or of a withheld response (2)."""
        if kind == 0:
            upper = self._upper(v, p)
            return (1 - p["lapse"]) * np.where(choice == 1, upper, 1 - upper) + p["lapse"] / 2
        limit, late = trials.settings.deadline, trials.settings.contaminant_survival
        if kind == 1:
            return (1 - p["lapse"]) * self._averaged(first_passage.survival, limit, v, p) + p["lapse"] * late
        went = self._averaged(first_passage.reached, limit, *self._towards_go(v, p, trials.settings.withheld))
        return (1 - p["lapse"]) * (1 - went) + p["lapse"] * (1 + late) / 2

    @staticmethod
    def _towards_go(
        v: FloatArray, p: Mapping[str, FloatArray], withheld: int
    ) -> tuple[FloatArray, Mapping[str, FloatArray]]:
        """Return drift and parameters in which the upper bound is that of the response."""
        return (v, p) if withheld == 0 else (-v, {**p, "z": 1 - p["z"]})

    @staticmethod
    def _averaged(
        function: Callable[..., FloatArray], limit: float, v: FloatArray, p: Mapping[str, FloatArray]
    ) -> FloatArray:
        """Return a distribution function at a time, averaged over the variability of start and non-decision time."""
        room, total = _room(p), np.zeros(len(v))
        for x, share_x in _points(p["sz"], START_POINTS):
            w = p["z"] + x * p["sz"] * room
            for y, share_y in _points(p["st"], TIME_POINTS):
                t = np.maximum(limit - p["t_R"] + y * p["st"], 0.0)
                total += share_x * share_y * function(t, v, 2 * p["A"], w, p["eta"])
        return total

    def _upper(self, v: FloatArray, p: Mapping[str, FloatArray]) -> FloatArray:
        room, total = _room(p), np.zeros(len(v))
        for x, share in _points(p["sz"], START_POINTS):
            total += share * first_passage.probability_upper(v, 2 * p["A"], p["z"] + x * p["sz"] * room, p["eta"])
        return total

    def probabilities(self, evidence: FloatArray, values: Values) -> FloatArray:
        """See `Response.probabilities`."""
        p = self._complete(values, len(evidence))
        upper = (1 - p["lapse"]) * self._upper(evidence[:, 0], p) + p["lapse"] / 2
        return np.stack([1 - upper, upper], 1)

    def sample(
        self, evidence: FloatArray, values: Values, rng: np.random.Generator, settings: TimeSettings = FREE
    ) -> tuple[IntArray, FloatArray]:
        """See `Response.sample`."""
        n = len(evidence)
        p = self._complete(values, n)
        drift = evidence[:, 0] + p["eta"] * rng.standard_normal(n)
        w = p["z"] + p["sz"] * _room(p) * (rng.random(n) - 0.5)
        choice, time = first_passage.draw(drift, 2 * p["A"], w, rng)
        rt = time + p["t_R"] + p["st"] * (rng.random(n) - 0.5)
        return settings.observed(choice, rt, p["lapse"], 2, rng)
