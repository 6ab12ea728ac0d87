"""Linear ballistic accumulators as a model of the response to two or more options (Brown & Heathcote 2008).

Each option has an accumulator that starts uniformly between 0 and ``s_0`` and rises at a rate drawn from N(v_c, 1); the
first to reach the threshold ``s_0 + B`` is chosen (10.1016/j.cogpsych.2007.12.002). Rates are v_c = v_0 + the evidence
for option c relative to the mean of all options. ``t_R`` and ``lapse`` are as in a diffusion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.parameters import ModelParameter, positive
from neurogym.behaviour.models.responses import FREE, STEP_V, TINY, Gradient, Values
from neurogym.behaviour.models.times import TimedTrials, TimeSettings

#: Points of the quadrature over decision times, and the longest of these in s.
TIMES, LONGEST = 120, 20.0


def _phi(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi))


def accumulator(
    time: FloatArray, rate: FloatArray, threshold: FloatArray, width: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return density and distribution function of the time at which an accumulator reaches its threshold.

    Args:
        time: decision time in s, above 0.
        rate: mean rate per s; its s.d. over trials is 1.
        threshold: highest level.
        width: width of the uniform distribution of starting levels.
    """
    near, far = (threshold - width - time * rate) / time, (threshold - time * rate) / time
    density = (-rate * ndtr(near) + _phi(near) + rate * ndtr(far) - _phi(far)) / width
    reached = 1 + time / width * (near * ndtr(near) - far * ndtr(far) + _phi(near) - _phi(far))
    return np.maximum(density, 0), np.clip(reached, 0, 1)


@dataclass(frozen=True)
class BallisticResponse:
    """Linear ballistic accumulators.

    Attributes:
        options: number of options.
        constants: values of the parameters that are fixed.
    """

    options: int
    constants: Mapping[str, float] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[ModelParameter, ...]:
        """See `Response.parameters`."""
        every = (
            positive(0.8, 0.8, "B"),
            positive(0.5, 0.8, "s_0"),
            positive(0.25, 0.7, "t_R"),
            ModelParameter("v_0", "real", 2.0, 1.5),
            ModelParameter("lapse", "unit", -3.2, 1.5, 0.0, 0.5),
        )
        return tuple(each for each in every if each.name not in self.constants)

    @property
    def words(self) -> Mapping[str, str]:
        """See `Response.words`."""
        return {"bound": "B", "start_range": "s_0", "non_decision": "t_R", "rate": "v_0", "lapse": "lapse"}

    @property
    def columns(self) -> int:
        """See `Response.columns`."""
        return self.options

    def _complete(self, values: Values, n: int) -> dict[str, FloatArray]:
        complete = {**self.constants, **values}
        return {name: np.broadcast_to(np.asarray(value, float), (n,)) for name, value in complete.items()}

    @staticmethod
    def _rates(evidence: FloatArray, p: Mapping[str, FloatArray]) -> FloatArray:
        return np.asarray(p["v_0"][:, None] + evidence - evidence.mean(1, keepdims=True))

    def _race(self, time: FloatArray, evidence: FloatArray, p: Mapping[str, FloatArray]) -> tuple[FloatArray, ...]:
        """Return density of each option (trials, options) and the probability that none has won."""
        rates = self._rates(evidence, p)
        width = p["s_0"][:, None]
        density, reached = accumulator(np.maximum(time, 1e-6)[:, None], rates, p["B"][:, None] + width, width)
        left = np.maximum(1 - reached, 1e-300)
        none = left.prod(1)
        possible = np.maximum(1 - ndtr(-rates).prod(1), 1e-12)  # at least one rate is positive
        density = np.where(time[:, None] > 0, density * none[:, None] / left / possible[:, None], 0.0)
        return density, np.where(time > 0, (none - (1 - possible)) / possible, 1.0)

    def log_likelihood(self, evidence: FloatArray, values: Values, trials: TimedTrials) -> Gradient:
        """See `Response.log_likelihood`; derivatives are numerical."""
        n = len(evidence)
        p = self._complete(values, n)
        log = self._log(evidence, p, trials)
        by_evidence = np.zeros(evidence.shape)
        for column in range(self.options):
            step = np.zeros(self.options)
            step[column] = STEP_V
            by_evidence[:, column] = self._log(evidence + step, p, trials) - self._log(evidence - step, p, trials)
        by = {}
        for each in self.parameters:
            width = STEP_V * np.maximum(np.abs(p[each.name]), 1e-2)
            high, low = {**p, each.name: p[each.name] + width}, {**p, each.name: p[each.name] - width}
            by[each.name] = (self._log(evidence, high, trials) - self._log(evidence, low, trials)) / (2 * width)
        return Gradient(log, by_evidence / (2 * STEP_V), by)

    def log(self, evidence: FloatArray, values: Values, trials: TimedTrials) -> FloatArray:
        """Return the log-likelihood of trials without derivatives, which take fifteen times as long."""
        return self._log(evidence, self._complete(values, len(evidence)), trials)

    def _log(self, evidence: FloatArray, p: Mapping[str, FloatArray], trials: TimedTrials) -> FloatArray:
        out = np.zeros(len(evidence))
        kinds = {"time": trials.timed, "choice": trials.untimed, "none": trials.omitted, "withheld": trials.withheld}
        late = trials.settings.contaminant_survival
        for kind, rows in kinds.items():
            if not rows.any():
                continue
            subset, lapse = {name: value[rows] for name, value in p.items()}, p["lapse"][rows]
            choice = trials.choice[rows]
            if kind == "time":
                density, _ = self._race(trials.rt[rows] - subset["t_R"], evidence[rows], subset)
                value = density[np.arange(len(choice)), choice]
                contaminant = trials.settings.contaminant_density(trials.rt[rows]) / self.options
                likelihood = (1 - lapse) * value + lapse * contaminant
            elif kind == "choice":
                likelihood = self.probabilities(evidence[rows], subset)[np.arange(len(choice)), choice]
            elif kind == "none":
                limit = trials.settings.deadline - subset["t_R"]
                likelihood = (1 - lapse) * self._race(limit, evidence[rows], subset)[1] + lapse * late
            else:
                limit = np.maximum(trials.settings.deadline - subset["t_R"], 0)
                went = self._until(limit, evidence[rows], subset)[:, 1 - trials.settings.withheld]
                likelihood = (1 - lapse) * (1 - went) + lapse * (1 + late) / 2
            out[rows] = np.log(np.maximum(likelihood, TINY))
        return out

    def probabilities(self, evidence: FloatArray, values: Values) -> FloatArray:
        """See `Response.probabilities`."""
        n = len(evidence)
        p = self._complete(values, n)
        total = self._until(np.full(n, LONGEST), evidence, p)
        total /= np.maximum(total.sum(1, keepdims=True), 1e-12)
        lapse = p["lapse"][:, None]
        return np.asarray((1 - lapse) * total + lapse / self.options)

    def _until(self, limit: FloatArray, evidence: FloatArray, p: Mapping[str, FloatArray]) -> FloatArray:
        """Return the probability that each option has won until a decision time, shape (trials, options)."""
        points, weights = np.polynomial.legendre.leggauss(TIMES)
        shares = (points + 1) / 2
        total = np.zeros(evidence.shape)
        for share, width in zip(shares, 1.5 * shares**2 * weights, strict=True):
            total += (limit * width)[:, None] * self._race(limit * share**3, evidence, p)[0]
        return total

    def sample(
        self, evidence: FloatArray, values: Values, rng: np.random.Generator, settings: TimeSettings = FREE
    ) -> tuple[IntArray, FloatArray]:
        """See `Response.sample`."""
        n = len(evidence)
        p = self._complete(values, n)
        means = self._rates(evidence, p)
        rates = means + rng.standard_normal(means.shape)
        for _ in range(1000):
            stuck = (rates <= 0).all(1)
            if not stuck.any():
                break
            rates[stuck] = means[stuck] + rng.standard_normal((int(stuck.sum()), self.options))
        distance = p["B"][:, None] + p["s_0"][:, None] * (1 - rng.random(means.shape))
        times = np.where(rates > 0, distance / np.maximum(rates, 1e-9), np.inf)
        choice, rt = times.argmin(1), times.min(1) + p["t_R"]
        return settings.observed(choice, rt, p["lapse"], self.options, rng)
