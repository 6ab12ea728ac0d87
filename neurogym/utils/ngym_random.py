"""Random durations and values, given as data.

A specification is a number, a sequence of numbers (one of them, uniformly), a callable without arguments, or a pair
``(distribution, arguments)`` with distribution ``"uniform"``, ``"choice"``, ``"truncated_exponential"`` or
``"constant"``. Kept as data, it copies, pickles and prints, and many values are drawn in one call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from neurogym.utils.names import unknown

DISTRIBUTIONS = ("uniform", "choice", "truncated_exponential", "constant", "until")


def _exponential(rng: Any, n: int, scale: float, low: float = 0.0, high: float = math.inf) -> np.ndarray:
    """``n`` exponentials of the given scale, conditioned on low <= x < high, by inverting the distribution function."""
    if low >= high:
        return np.full(n, float(high))
    tail = math.exp(-(high - low) / scale) if math.isfinite(high) else 0.0
    return low - scale * np.log1p(-rng.random(n) * (1.0 - tail))


def parse(spec: Any) -> tuple[str, Any]:
    """Normal form ``(distribution, arguments)`` of a specification.

    Raises:
        ValueError: If it is none of the documented forms.
    """
    if isinstance(spec, Real) and not isinstance(spec, bool):
        return "constant", float(spec)
    if callable(spec):
        return "callable", spec
    if isinstance(spec, (list, tuple, range, np.ndarray)) and len(spec):
        if isinstance(spec[0], str):
            if spec[0] not in DISTRIBUTIONS:
                raise ValueError(unknown("distribution", spec[0], DISTRIBUTIONS))
            if len(spec) != 2:
                raise ValueError(f"expected ({spec[0]!r}, arguments), got {spec!r}")
            return _checked(spec[0], spec[1])
        return _checked("choice", spec)
    raise ValueError(
        f"{spec!r} is no duration: expected a number, a sequence of numbers, a callable or (distribution, arguments)"
    )


def _checked(dist: str, args: Any) -> tuple[str, Any]:
    if dist in ("constant", "until"):
        if not isinstance(args, Real):
            raise ValueError(f"{dist} takes one number, got {args!r}")
        return dist, float(args)
    try:
        values = np.asarray(args, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{dist} takes numbers, got {args!r}") from None
    if dist == "truncated_exponential" and values.ndim == 0:
        values = values[None]
    if values.ndim != 1 or not len(values) or np.isnan(values).any():
        raise ValueError(f"{dist} takes a sequence of numbers, got {args!r}")
    if dist == "uniform" and (len(values) != 2 or values[0] > values[1]):
        raise ValueError(f"uniform takes (low, high) with low <= high, got {args!r}")
    if dist == "truncated_exponential" and (len(values) > 3 or values[0] <= 0):
        raise ValueError(f"truncated_exponential takes (scale > 0, min=0, max=inf), got {args!r}")
    return dist, values


def sample(spec: Any, rng: Any, n: int) -> np.ndarray:
    """``n`` values drawn from a specification with the generator ``rng``; shape (n,).

    Raises:
        ValueError: If the specification is malformed.
    """
    dist, args = parse(spec)
    if dist == "constant":
        return np.full(n, args)
    if dist == "uniform":
        return args[0] + (args[1] - args[0]) * rng.random(n)
    if dist == "choice":
        return args[rng.integers(len(args), size=n)]
    if dist == "truncated_exponential":
        return _exponential(rng, n, *args)
    if dist == "callable":
        return np.array([float(args()) for _ in range(n)])
    raise ValueError(f"{dist!r} is relative to the other periods and has no values of its own")


def minmax(spec: Any) -> tuple[float, float]:
    """Smallest and largest value a specification can give (a callable: unknown, 0 and inf)."""
    dist, args = parse(spec)
    if dist in ("constant", "until"):
        return args, args
    if dist in ("uniform", "choice"):
        return float(np.min(args)), float(np.max(args))
    if dist == "truncated_exponential":
        return (float(args[1]) if len(args) > 1 else 0.0), (float(args[2]) if len(args) > 2 else math.inf)
    return 0.0, math.inf


def trunc_exp(rng: Any, vmean: float, vmin: float = 0.0, vmax: float = math.inf) -> float:
    """One exponential with scale ``vmean`` before truncation to [vmin, vmax); ``vmax`` if vmin >= vmax."""
    return float(_exponential(rng, 1, vmean, vmin, vmax)[0])


class TruncExp:
    """A callable truncated exponential with a generator of its own.

    Args:
        vmean: Scale before truncation (ms).
        vmin: Smallest value (ms).
        vmax: Bound above (ms); the result if ``vmin >= vmax``.
    """

    def __init__(self, vmean: float, vmin: float = 0.0, vmax: float = math.inf):
        self.vmean, self.vmin, self.vmax = vmean, vmin, vmax
        self.rng = np.random.default_rng()

    def seed(self, seed: int | None = None) -> None:
        """Start the stream of values again from ``seed``."""
        self.rng = np.random.default_rng(seed)

    def __call__(self) -> float:
        """The next value."""
        return trunc_exp(self.rng, self.vmean, self.vmin, self.vmax)


def random_number_fn(dist: str, args: Any, rng: Any) -> Callable[[], float]:
    """A function of no arguments that draws from the distribution.

    Raises:
        ValueError: If the distribution or its arguments are unknown.
    """
    parse((dist, args))
    return lambda: float(sample((dist, args), rng, 1)[0])


def random_number_name(dist: str, args: Sequence[float] | float) -> str:
    """A phrase for people, such as ``"uniform between 200 and 600"``.

    Raises:
        ValueError: If the distribution is unknown.
    """
    kind, values = parse((dist, args))
    if kind == "uniform":
        return f"uniform between {values[0]:g} and {values[1]:g}"
    if kind == "choice":
        return "choice of " + ", ".join(f"{v:g}" for v in values)
    if kind == "truncated_exponential":
        low, high = minmax((dist, args))
        return f"truncated exponential with scale {values[0]:g} between {low:g} and {high:g}"
    return f"{kind} {values:g}"


def phrase(spec: Any) -> str:
    """The phrase of any specification; a plain number is just that number."""
    kind, values = parse(spec)
    if kind == "constant":
        return f"{values:g}"
    return "callable" if kind == "callable" else random_number_name(kind, values)
