"""Models of choice and time given the evidence of a trial, which JAX differentiates; the diffusion to two bounds.

The evidence of a trial is the drift: v per s towards the second option, with bounds at +-A around 0 (unit diffusion,
Palmer, Huk & Shadlen 2005, 10.1167/5.5.1). The start is z of the way from the first option's bound to the second's.
A share ``lapse`` of trials are contaminants: a random choice at a uniform or exponential time (Ratcliff & Tuerlinckx
2002, 10.3758/BF03196302). Across trials the drift may vary with s.d. ``eta``, the start uniformly over ``sz`` of the
distance between the bounds, the non-decision time uniformly over ``st`` s (Ratcliff & Rouder 1998,
10.1111/1467-9280.00067).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from neurogym.array_types import FloatArray, IntArray
from neurogym.behaviour.models import first_passage
from neurogym.behaviour.models.evidence import widened
from neurogym.behaviour.models.parameters import ModelParameter, positive
from neurogym.behaviour.models.times import TimedTrials, TimeSettings

#: Natural values of the parameters of the response, by name: numbers or arrays (trials,).
Values = Mapping[str, Any]
#: Smallest likelihood of a trial.
TINY = 1e-12
#: Points of Gauss-Legendre quadrature over the uniform variability of starting point and non-decision time.
START_POINTS, TIME_POINTS = 5, 15
#: Conditions without a deadline.
FREE = TimeSettings()


class Part(NamedTuple):
    """Trials of one kind, the last repeated up to few numbers of trials.

    Attributes:
        rows: numbers among all trials.
        count: number of trials that are not repeated.
        choice: option.
        time: reaction time or deadline in s.
        at_random: density or probability of a contaminant.
    """

    rows: Any
    count: Any
    choice: Any
    time: Any
    at_random: Any


class Response:
    """A model of choice and time given the evidence of a trial.

    A subclass is a dataclass that is compared without `constants`. It writes `density` and `until` in ``jax.numpy`` for
    one trial: ``evidence`` has the shape (columns,) and ``p`` holds a number for each parameter, and what `prepared`
    added. Times are those of the decision, in s.

    Attributes:
        constants: values of parameters that are fixed.
        every: all parameters by name.
        words: names of the parameters in words, as in ``--vary bound=...``, and the symbols behind them.
        columns: columns of the evidence: 1 for a difference, or one for each option.
        options: number of options.
        longest: decision time in s after which choices are made.
        step: of differences of gradients, in units of priors; larger than kinks of the density.
    """

    constants: Mapping[str, float]
    every: ClassVar[Mapping[str, ModelParameter]]
    words: ClassVar[Mapping[str, str]]
    columns: int = 1
    options: int = 2
    longest: ClassVar[float] = 20.0
    step: ClassVar[float] = 1e-4

    def density(self, time: Any, choice: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """Return the density of a choice at a time; 0 before the decision can end."""
        raise NotImplementedError

    def until(self, time: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """Return the probability of each option (options,) until a time."""
        raise NotImplementedError

    def undecided(self, time: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """Return the probability of no decision until a time."""
        return jnp.clip(1 - self.until(time, evidence, p, nodes).sum(), 0, 1)

    def chances(self, evidence: Any, p: Any, nodes: Any) -> Any:
        """Return the probability of each option (options,)."""
        total = self.until(jnp.asarray(self.longest), evidence, p, nodes)
        return total / jnp.maximum(total.sum(), TINY)

    def decide(
        self, evidence: FloatArray, p: Mapping[str, FloatArray], rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Return simulated choices and decision times, shape (trials,)."""
        raise NotImplementedError

    def nodes(self, p: Mapping[str, FloatArray]) -> Any:
        """Return points and weights of quadratures, or other numbers that follow from the parameters of all trials."""
        return ()

    def prepared(self, p: Any, nodes: Any) -> Any:
        """Return the parameters (trials,) and what else is computed for all trials together, by name."""
        return p

    @property
    def parameters(self) -> tuple[ModelParameter, ...]:
        """Free parameters, in the order of their values."""
        return tuple(each for name, each in self.every.items() if name not in self.constants)

    def complete(self, values: Values, n: int) -> dict[str, FloatArray]:
        """Return all parameters for each of ``n`` trials, the last repeated."""
        each = {name: np.asarray({**self.constants, **values}[name], float) for name in self.every}
        return {name: np.pad(np.atleast_1d(value), (0, n - value.size), mode="edge") for name, value in each.items()}

    def parts(self, trials: TimedTrials) -> dict[str, Part]:
        """Return the trials of each kind, by the name of the function that gives their likelihood."""
        settings, n, late = trials.settings, len(trials.choice), trials.settings.contaminant_survival
        at_random, deadline = settings.contaminant_density(trials.rt) / self.options, np.full(n, settings.deadline)
        answered = np.full(n, 1 - settings.withheld)
        kinds = {
            "density": (trials.timed, trials.choice, trials.rt, at_random),
            "chances": (trials.untimed, trials.choice, np.zeros(n), np.full(n, 1 / self.options)),
            "undecided": (trials.omitted, np.zeros(n, int), deadline, np.full(n, late)),
            "until": (trials.withheld, answered, deadline, np.full(n, (1 + late) / 2)),
        }
        parts = {}
        for kind, (counted, *columns) in kinds.items():
            if counted.any():
                rows = widened(np.flatnonzero(counted))
                parts[kind] = Part(rows, int(counted.sum()), *(each[rows] for each in columns))
        return parts

    def log(self, evidence: FloatArray, values: Values, trials: TimedTrials) -> FloatArray:
        """Return the log-likelihood of trials, 0 for trials that do not count, shape (trials,)."""
        wide = widened(evidence)
        p = self.complete(values, len(wide))
        return np.asarray(_logs(self, wide, p, self.parts(trials), self.nodes(p)))[: len(evidence)]

    def probabilities(self, evidence: FloatArray, values: Values) -> FloatArray:
        """Return the probability of each choice, shape (trials, choices)."""
        wide = widened(evidence, 1)
        p = self.complete(values, len(wide))
        chances = np.asarray(_chances(self, self.nodes(p), wide, p))
        return np.asarray((1 - p["lapse"][:, None]) * chances + p["lapse"][:, None] / self.options)[: len(evidence)]

    def sample(
        self, evidence: FloatArray, values: Values, rng: np.random.Generator, settings: TimeSettings = FREE
    ) -> tuple[IntArray, FloatArray]:
        """Return simulated choices (-1 without an answer until the deadline) and reaction times in s."""
        p = self.complete(values, len(evidence))
        choice, time = self.decide(evidence, p, rng)
        return settings.observed(choice, time + p["t_R"], p["lapse"], self.options, rng)


def log_likelihoods(response: Response, evidence: Any, p: Any, parts: Mapping[str, Part], nodes: Any) -> Any:
    """Return the log-likelihood of trials by JAX, 0 for trials that do not count, shape (trials,).

    Args:
        response: the response.
        evidence: shape (trials, columns).
        p: all parameters by name, shape (trials,).
        parts: see `Response.parts`.
        nodes: see `Response.nodes`.
    """

    def each(kind: str, chosen: tuple[Any, Any], choice: Any, time: Any, at_random: Any) -> Any:
        evidence, p = chosen
        left = time - p["t_R"]
        if kind == "density":
            share = response.density(left, choice, evidence, p, nodes)
        elif kind == "chances":
            share = response.chances(evidence, p, nodes)[choice]
        elif kind == "undecided":
            share = response.undecided(left, evidence, p, nodes)
        else:
            share = 1 - response.until(jnp.maximum(left, 0), evidence, p, nodes)[choice]
        return jnp.log(jnp.maximum((1 - p["lapse"]) * share + p["lapse"] * at_random, TINY))

    logs, prepared = jnp.zeros(len(evidence)), response.prepared(p, nodes)
    for kind, part in parts.items():
        chosen = jax.tree.map(lambda values, rows=part.rows: values[rows], (evidence, prepared))
        found = jax.vmap(partial(each, kind))(chosen, part.choice, part.time, part.at_random)
        logs = logs.at[part.rows].add(jnp.where(jnp.arange(len(found)) < part.count, found, 0.0))
    return logs


_logs = jax.jit(log_likelihoods, static_argnums=0)


@partial(jax.jit, static_argnums=0)
def _chances(response: Response, nodes: Any, evidence: Any, p: Any) -> Any:
    return jax.vmap(lambda evidence, p: response.chances(evidence, p, nodes))(evidence, response.prepared(p, nodes))


LAPSE = ModelParameter("lapse", "unit", -3.2, 1.5, 0.0, 0.5)
DIFFUSION = {
    "A": positive(0.8, 0.8, "A"),
    "t_R": positive(0.3, 0.7, "t_R"),
    "z": ModelParameter("z", "unit", 0.0, 0.7),
    "lapse": LAPSE,
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


def _uniform(width: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Return points and weights over a uniform variability; a single point without variability."""
    if not np.any(width):
        return np.zeros(1), np.ones(1)
    points, weights = np.polynomial.legendre.leggauss(n)
    return points / 2, weights / 2


@dataclass(frozen=True)
class DiffusionResponse(Response):
    """Diffusion to two bounds.

    Attributes:
        constants: values of the parameters that are fixed.
    """

    constants: Mapping[str, float] = field(default_factory=lambda: {"eta": 0.0, "sz": 0.0, "st": 0.0}, compare=False)

    every, words = DIFFUSION, DIFFUSION_WORDS

    def nodes(self, p: Mapping[str, FloatArray]) -> Any:
        """See `Response.nodes`: starts, non-decision times and drifts."""
        drifts = first_passage.DRIFTS if np.any(p["eta"]) else (np.zeros(1), np.ones(1))
        return _uniform(p["sz"], START_POINTS), _uniform(p["st"], TIME_POINTS), drifts

    @staticmethod
    def _averaged(function: Any, p: Any, nodes: Any) -> Any:
        """Return the mean of a function of start and change of the non-decision time over their variability."""
        (starts, start_weights), (times, time_weights), _ = nodes
        room = 2 * jnp.minimum(p["z"], 1 - p["z"])  # within the bounds
        of_times = jax.vmap(function, (None, 0))
        rows = jax.vmap(of_times, (0, None))(p["z"] + starts * p["sz"] * room, times * p["st"])
        return jnp.einsum("s,t,st...->...", start_weights, time_weights, rows)

    def density(self, time: Any, choice: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """See `Response.density`."""

        def at(start: Any, shift: Any) -> Any:
            t = time + shift
            possible = t > 1e-6
            t = jnp.where(possible, t, 1.0)
            log = first_passage.log_density(t, choice == 1, evidence[0], 2 * p["A"], start, p["eta"])
            return jnp.where(possible, jnp.exp(log), 0.0)

        return self._averaged(at, p, nodes)

    def _reached(self, time: Any, evidence: Any, p: Any, nodes: Any, see: Any) -> Any:
        def at(start: Any, shift: Any) -> Any:
            t = jnp.maximum(time + shift, 0.0)
            each = lambda v: see(first_passage.reached(t, v, 2 * p["A"], start))  # noqa: E731
            return first_passage.over_drifts(each, evidence[0], p["eta"], nodes[2])

        return self._averaged(at, p, nodes)

    def until(self, time: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """See `Response.until`."""
        return self._reached(time, evidence, p, nodes, lambda both: both)

    def undecided(self, time: Any, evidence: Any, p: Any, nodes: Any) -> Any:
        """See `Response.undecided`."""
        return self._reached(time, evidence, p, nodes, lambda both: jnp.clip(1 - both.sum(), 0, 1))

    def chances(self, evidence: Any, p: Any, nodes: Any) -> Any:
        """See `Response.chances`."""

        def at(start: Any, _: Any) -> Any:
            each = partial(first_passage.probability_upper, a=2 * p["A"], w=start)
            return first_passage.over_drifts(each, evidence[0], p["eta"], nodes[2])

        upper = self._averaged(at, p, (nodes[0], (np.zeros(1), np.ones(1)), nodes[2]))
        return jnp.stack([1 - upper, upper])

    def decide(
        self, evidence: FloatArray, p: Mapping[str, FloatArray], rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """See `Response.decide`."""
        n = len(evidence)
        drift = evidence[:, 0] + p["eta"] * rng.standard_normal(n)
        start = p["z"] + p["sz"] * 2 * np.minimum(p["z"], 1 - p["z"]) * (rng.random(n) - 0.5)
        choice, time = first_passage.draw(drift, 2 * p["A"], start, rng)
        return choice, time + p["st"] * (rng.random(n) - 0.5)
