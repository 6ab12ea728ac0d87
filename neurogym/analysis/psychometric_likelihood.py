"""Likelihood of a psychometric function: its maximum, and profile-likelihood intervals of the parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtr, ndtri

from neurogym.analysis.intervals import members_of, quantile
from neurogym.analysis.results import Estimate, normal_quantile
from neurogym.array_types import FloatArray

FLAT = 0.01  #: difference in log-likelihood that does not tell two parameters apart
PRECISION = 0.01  #: of the end of an interval, in standard errors
NO_LAPSE = 1e-4  #: asymptote up to which no lapse was seen


@dataclass(frozen=True)
class Shape:
    """A sigmoid of ``z = slope * (u - location)``; Weibull is this on the logarithm of the strength."""

    cdf: Callable[[FloatArray], FloatArray]
    pdf: Callable[[FloatArray], FloatArray]
    inverse: Callable[[ArrayLike], FloatArray]
    logarithmic: bool = False


def _gumbel_cdf(z: FloatArray) -> FloatArray:
    return -np.expm1(-np.exp(np.clip(z, -700, 6)))


def _gumbel_pdf(z: FloatArray) -> FloatArray:
    z = np.clip(z, -700, 6)
    return np.exp(z - np.exp(z))


SHAPES: dict[str, Shape] = {
    "logistic": Shape(expit, lambda z: expit(z) * expit(-z), logit),
    "probit": Shape(ndtr, lambda z: np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), ndtri),
    "weibull": Shape(_gumbel_cdf, _gumbel_pdf, lambda p: np.log(-np.log1p(-np.asarray(p))), logarithmic=True),
}


class Likelihood:
    """Likelihood of binomial data in (location, log slope, guess, lapse), with gradient and bounds.

    Args:
        x: distinct strengths, shape (levels,).
        n: trials at each, shape (levels,).
        shape: the sigmoid.
        guess: lower asymptote if it is known.
        lapse: upper lapse if it is known.
        max_lapse: bound of a fitted asymptote.
    """

    def __init__(
        self, x: FloatArray, n: FloatArray, shape: Shape, guess: float | None, lapse: float | None, max_lapse: float
    ) -> None:
        with np.errstate(divide="ignore"):
            self.u = np.log(x) if shape.logarithmic else x
        self.n, self.shape = n, shape
        # A strength of zero has no logarithm: it is at the lower asymptote whatever the parameters.
        finite = self.u[np.isfinite(self.u)]
        self.span = max(float(np.ptp(finite)), 1e-9)
        self.low, self.high = float(finite.min()), float(finite.max())
        self.bounds: list[tuple[float, float]] = [
            (self.low - self.span, self.high + self.span),
            (float(np.log(0.01 / self.span)), float(np.log(1000 / self.span))),
            (0.0, max_lapse) if guess is None else (guess, guess),
            (0.0, max_lapse) if lapse is None else (lapse, lapse),
        ]

    def starts(self) -> list[np.ndarray]:
        """Return the points from which the maximum is sought."""
        asymptotes = [low if low == high else 0.02 for low, high in self.bounds[2:]]
        return [
            np.array([self.low + position * self.span, np.log(steepness / self.span), *asymptotes])
            for position, steepness in ((0.5, 6.0), (0.25, 12.0), (0.75, 3.0))
        ]

    def natural(self, theta: np.ndarray) -> FloatArray:
        """Return threshold, slope, guess and lapse, shape (4,)."""
        return np.array([self._natural(k, value) for k, value in enumerate(theta)])

    def _natural(self, index: int, value: float) -> float:
        if index == 1 or (index == 0 and self.shape.logarithmic):
            return float(np.exp(value))
        return float(value)

    def probability(self, theta: np.ndarray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the probability of the response at each level, the sigmoid's value and its argument."""
        z = np.exp(theta[1]) * (self.u - theta[0])
        f = self.shape.cdf(z)
        return np.minimum(np.maximum(theta[2] + (1 - theta[2] - theta[3]) * f, 1e-9), 1 - 1e-9), f, z

    def slopes(self, theta: np.ndarray) -> tuple[FloatArray, FloatArray]:
        """Return the probability at each level and its derivatives, shape (4, levels)."""
        p, f, z = self.probability(theta)
        finite = np.isfinite(z)
        with np.errstate(invalid="ignore"):
            density = np.where(finite, (1 - theta[2] - theta[3]) * self.shape.pdf(z), 0.0)
        return p, np.array([-np.exp(theta[1]) * density, density * np.where(finite, z, 0), 1 - f, -f])

    def loss(self, theta: np.ndarray, k: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the log-likelihood and its gradient.

        Args:
            theta: parameters, shape (4,).
            k: positive responses at each level, shape (levels,).
        """
        p, slopes = self.slopes(theta)
        gradient = slopes @ (k / p - (self.n - k) / (1 - p))
        return -float(k @ np.log(p) + (self.n - k) @ np.log1p(-p)), -gradient

    def fit(self, k: FloatArray, *starts: np.ndarray) -> np.ndarray:
        """Return the parameters of the largest likelihood, from the given starts or the usual ones."""
        from scipy.optimize import minimize  # takes as much memory as NumPy, and few need it

        points = starts or self.starts()
        fits = [minimize(self.loss, s, (k,), jac=True, method="L-BFGS-B", bounds=self.bounds) for s in points]
        return np.asarray(min(fits, key=lambda fit: float(fit.fun)).x)

    def profile(self, index: int, best: np.ndarray, k: FloatArray, reach: float, level: float) -> Estimate:
        """Return a parameter with its profile-likelihood interval.

        Where not even the bound of the search is excluded, the interval has no end on that side. Where the bound of
        threshold or slope is as likely as the maximum, the estimate is infinite; where both sides are open, it is nan.
        An asymptote estimated as 0 has a one-sided interval, up to the value at which data without lapses have a
        probability of 1 - level. ``reach`` assumes an estimate between the bounds, and such intervals would be half as
        long as that and miss the truth too often.

        Args:
            index: of the parameter.
            best: parameters of the largest likelihood.
            k: positive responses at each level.
            reach: log-likelihood below the maximum at which the interval ends.
            level: coverage of the interval, which gives the standard error.
        """
        bounds, least = self.bounds[index], self.loss(best, k)[0]
        if index > 1 and best[index] <= NO_LAPSE:
            reach *= -2 * np.log(1 - level) / normal_quantile(level) ** 2
        ends, flat = [], []
        for bound in bounds:
            end, below = self._end(index, best, k, bound, least + reach)
            open_end = index < 2 and np.isnan(end)
            ends.append(np.sign(bound - best[index] or bound - np.mean(bounds)) * np.inf if open_end else end)
            flat.append(open_end and below - least < FLAT)
            self.bounds[index] = bounds
        low, high = (bounds[side] if np.isnan(end) else end for side, end in enumerate(ends))
        if np.isinf(low) and np.isinf(high):
            return Estimate(np.nan)
        value = low if flat[0] else high if flat[1] else float(best[index])
        value, low, high = (self._natural(index, each) for each in (value, low, high))
        return Estimate(value, low, high, (high - low) / (2 * normal_quantile(level)))

    def _end(self, index: int, best: np.ndarray, k: FloatArray, bound: float, limit: float) -> tuple[float, float]:
        """Return where the profile of a parameter reaches a limit on the way to a bound, and its value at the bound.

        The place is nan if the limit is not reached.
        """
        from scipy.optimize import brentq

        nearest, least = best, self.loss(best, k)[0]

        @functools.cache  # a second search from another start may end elsewhere
        def beyond(value: float) -> float:  # about linear in the distance from the maximum
            nonlocal nearest
            self.bounds[index] = (value, value)
            starts = [np.r_[start[:index], value, start[index + 1 :]] for start in (nearest, best)]
            nearest = self.fit(k, *starts[: 1 if nearest is best else 2])
            lost = max(self.loss(nearest, k)[0] - least, 0.0) if value != best[index] else 0.0
            return float(np.sqrt(lost) - np.sqrt(limit - least))

        at_bound = beyond(bound)
        height = (at_bound + np.sqrt(limit - least)) ** 2 + least
        if at_bound <= 0:
            return np.nan, height
        nearest, error = best, self._error(index, best)
        inside, step = float(best[index]), 2 * error
        while abs(bound - inside) > step:
            probe = inside + np.sign(bound - inside) * step
            if beyond(probe) > 0:
                bound = probe
                break
            inside, step = probe, 2 * step
        return float(brentq(beyond, inside, bound, xtol=PRECISION * error)), height

    def information(self, theta: np.ndarray) -> FloatArray:
        """Return the expected information about all four parameters, shape (4, 4)."""
        p, slopes = self.slopes(theta)
        return np.asarray((slopes * (self.n / (p * (1 - p)))) @ slopes.T)

    def _error(self, index: int, theta: np.ndarray) -> float:
        """Return a standard error of a parameter, between a thousandth and a tenth of the range of the search."""
        free = np.array([low < high for low, high in self.bounds])
        free[index] = True
        covariance = np.linalg.pinv(self.information(theta)[np.ix_(free, free)])
        low, high = self._range(index)
        error = float(np.sqrt(max(covariance[free[:index].sum(), free[:index].sum()], 0.0)))
        return float(np.clip(error, 1e-3 * (high - low), 0.1 * (high - low)))

    def _range(self, index: int) -> tuple[float, float]:
        if index > 1:
            return 0.0, 0.5
        return (self.low - self.span, self.high + self.span) if index == 0 else (0.0, 10.0)

    def reach(
        self, theta: np.ndarray, index: np.ndarray, y: FloatArray, groups: ArrayLike | None, level: float
    ) -> FloatArray:
        """Return the log-likelihood below the maximum at which the interval of each parameter ends, shape (4,).

        Where trials are linked, the likelihood counts them as more than they are. It is scaled by the variance of each
        parameter between groups, relative to that of independent trials, but never up (Chandler & Bate 2007,
        10.1093/biomet/asm015).

        Args:
            theta: parameters of the largest likelihood.
            index: level of each trial, shape (trials,).
            y: response of each trial, shape (trials,).
            groups: session or block of each trial; None: trials are independent.
            level: coverage.
        """
        if groups is None:
            return np.full(4, normal_quantile(level) ** 2 / 2)
        p, slopes = self.slopes(theta)
        residual = (y - p[index]) / (p * (1 - p))[index]
        members = members_of(groups)
        scores = np.array([slopes[:, index[rows]] @ residual[rows] for rows in members])
        count = len(members)
        if count < 2:
            return np.full(4, np.inf)
        free = np.array([low < high for low, high in self.bounds])
        inverse = np.linalg.pinv(self.information(theta)[np.ix_(free, free)])
        between = inverse @ (scores[:, free].T @ scores[:, free] * count / (count - 1)) @ inverse
        inflation = np.ones(4)
        inflation[free] = np.maximum(np.diag(between) / np.maximum(np.diag(inverse), 1e-300), 1.0)
        return np.asarray(inflation * quantile(level, count) ** 2 / 2)
