"""Linear ballistic accumulators as a model of the response to two or more options (Brown & Heathcote 2008).

Each option has an accumulator that starts uniformly between 0 and ``s_0`` and rises at a rate drawn from N(v_c, 1); the
first to reach the threshold ``s_0 + B`` is chosen (10.1016/j.cogpsych.2007.12.002). Rates are v_c = v_0 + the evidence
for option c relative to the mean of all options. ``t_R`` and ``lapse`` are as in a diffusion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models.parameters import ModelParameter, positive
from neurogym.behaviour.models.responses import LAPSE, Response

#: Points and weights of the quadrature over decision times, as shares of the longest.
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(120)
SHARES, WIDTHS = ((_POINTS + 1) / 2) ** 3, 1.5 * ((_POINTS + 1) / 2) ** 2 * _WEIGHTS


def accumulator(time: Any, rate: Any, threshold: Any, width: Any) -> tuple[Any, Any]:
    """Return density and distribution function of the time at which an accumulator reaches its threshold.

    Args:
        time: decision time in s, above 0.
        rate: mean rate per s; its s.d. over trials is 1.
        threshold: highest level.
        width: width of the uniform distribution of starting levels.
    """

    def phi(x: Any) -> Any:
        return jnp.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)

    near, far = (threshold - width - time * rate) / time, (threshold - time * rate) / time
    density = (-rate * ndtr(near) + phi(near) + rate * ndtr(far) - phi(far)) / width
    reached = 1 + time / width * (near * ndtr(near) - far * ndtr(far) + phi(near) - phi(far))
    return jnp.maximum(density, 0), jnp.clip(reached, 0, 1)


@dataclass(frozen=True)
class BallisticResponse(Response):
    """Linear ballistic accumulators.

    Attributes:
        options: number of options.
        constants: values of the parameters that are fixed.
    """

    options: int = 2
    constants: Mapping[str, float] = field(default_factory=dict, compare=False)

    every = {
        "B": positive(0.8, 0.8, "B"),
        "s_0": positive(0.5, 0.8, "s_0"),
        "t_R": positive(0.25, 0.7, "t_R"),
        "v_0": ModelParameter("v_0", "real", 2.0, 1.5),
        "lapse": LAPSE,
    }
    words = {"bound": "B", "start_range": "s_0", "non_decision": "t_R", "rate": "v_0", "lapse": "lapse"}

    @property
    def columns(self) -> int:  # type: ignore[override]
        """See `Response`."""
        return self.options

    @staticmethod
    def _race(time: Any, evidence: Any, p: Any) -> tuple[Any, Any]:
        """Return the density of each option (options,) and the probability that none has won."""
        rates = p["v_0"] + evidence - evidence.mean()
        density, reached = accumulator(jnp.maximum(time, 1e-6), rates, p["B"] + p["s_0"], p["s_0"])
        left = jnp.maximum(1 - reached, 1e-300)
        none = left.prod()
        possible = jnp.maximum(1 - ndtr(-rates).prod(), 1e-12)  # at least one rate is positive
        density = jnp.where(time > 0, density * none / left / possible, 0.0)
        return density, jnp.where(time > 0, (none - (1 - possible)) / possible, 1.0)

    def density(self, time: Any, choice: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """See `Response.density`."""
        return self._race(time, evidence, p)[0][choice]

    def undecided(self, time: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """See `Response.undecided`."""
        return self._race(time, evidence, p)[1]

    def until(self, time: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """See `Response.until`."""
        return time * WIDTHS @ jax.vmap(lambda share: self._race(time * share, evidence, p)[0])(SHARES)

    def decide(
        self, evidence: FloatArray, p: Mapping[str, FloatArray], rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """See `Response.decide`."""
        means = p["v_0"][:, None] + evidence - evidence.mean(1, keepdims=True)
        rates = means + rng.standard_normal(means.shape)
        for _ in range(1000):
            stuck = (rates <= 0).all(1)
            if not stuck.any():
                break
            rates[stuck] = means[stuck] + rng.standard_normal((int(stuck.sum()), self.options))
        distance = p["B"][:, None] + p["s_0"][:, None] * (1 - rng.random(means.shape))
        times = np.where(rates > 0, distance / np.maximum(rates, 1e-9), np.inf)
        return times.argmin(1), times.min(1)
