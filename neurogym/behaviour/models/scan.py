"""Likelihood of a model of one trial by one scan over trials, mapped over sessions, points and fits, with gradients.

The model is a `OneTrial`, whose methods are functions of one trial of one session without further axes. Sessions are
padded to few shapes, and compiled functions are kept on disk, so that most calls compile nothing. Needs JAX (extra
``fit``).
"""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")  # one thread

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import UnfitError
from neurogym.behaviour.models.evidence import rounded
from neurogym.behaviour.models.one_trial import OneTrial, State, Trial, Values
from neurogym.behaviour.models.parameters import ModelParameter
from neurogym.behaviour.table import PADDING, Padded

_config: Any = jax.config
_config.update("jax_enable_x64", True)
if not _config.jax_compilation_cache_dir:
    _cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ngym" / "compiled"
    with contextlib.suppress(OSError):
        _cache.mkdir(mode=0o700, parents=True, exist_ok=True)  # what lies in it is run
    if os.access(_cache, os.W_OK):
        _config.update("jax_compilation_cache_dir", str(_cache))
        _config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
# An entry that another process is writing is compiled anew.
warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache")

#: Points that are evaluated together without gradients.
POINTS = 400
#: Fewest trials of a padded session.
SHORTEST = 32

Arrays = Mapping[str, Any]


def filled(value: np.ndarray, axes: int, fill: float = 0.0) -> np.ndarray:
    """Return an array whose first axes, of which trials are the last, have sizes that few shapes share."""
    sizes = [rounded(n) for n in value.shape[:axes]]
    sizes[-1] = max(sizes[-1], SHORTEST)
    widths = [(0, size - n) for size, n in zip(sizes, value.shape, strict=False)]
    return np.pad(value, widths + [(0, 0)] * (value.ndim - axes), constant_values=fill)


def padded_arrays(data: Padded) -> dict[str, np.ndarray]:
    """Return sessions with the axes (session, trial) or (table, session, trial) as arrays that are `filled`."""
    return {name: filled(getattr(data, name), data.choice.ndim, fill) for name, fill in PADDING.items()}


def natural_value(parameter: ModelParameter, x: Array) -> Array:
    """Return a parameter from the unbounded scale, as `ModelParameter.value`."""
    if parameter.kind == "positive":
        return jnp.exp(jnp.clip(x, -20, 20))
    return x if parameter.kind == "real" else parameter.low + (parameter.high - parameter.low) * jax.nn.sigmoid(x)


def natural(parameters: Sequence[ModelParameter], x: Array) -> Values:
    """Return parameters by name from the unbounded scale."""
    return Values(**{p.name: natural_value(p, each) for p, each in zip(parameters, x, strict=False)})


def slopes_of(loss: Callable[..., Any], data: int) -> Callable[..., tuple[FloatArray, FloatArray]]:
    """Return values and gradients of a loss at points (functions, points, parameters), as a search takes them.

    Args:
        loss: of a point (parameters,), and of data.
        data: number of the arguments after the point.
    """
    fixed = (None,) * data
    each = jax.jit(jax.vmap(jax.vmap(jax.value_and_grad(loss), (0, *fixed)), (0, *fixed)))

    def slopes(x: FloatArray, *arguments: Any) -> tuple[FloatArray, FloatArray]:
        value, slope = each(x, *arguments)
        return np.asarray(value), np.asarray(slope)

    return slopes


class Row(NamedTuple):
    """Result of a trial.

    Attributes:
        logits: of the choices.
        log_likelihood: of the choice and the second-stage choice; 0 where the trial does not count.
        second: part of the second-stage choice.
    """

    logits: Any
    log_likelihood: Any
    second: Any


class Scan:
    """Compiled functions of a model; points are in the unbounded scale, data are arrays of `padded_arrays`.

    Args:
        agent: the model.
        parameters: of the model.
        n: number of choices.

    Attributes:
        values: log-likelihoods at points (points, parameters) of the sessions of a table.
        slopes: the same with gradients, at points (tables, points, parameters) of tables.
        put: data as they are passed many times.
        trials: `Row` of all trials of sessions at a point.
        states: states before all trials of sessions at a point.
        begin: state of a session before the first trial at a point.
        logits: logits of the choices in a trial of several sessions, at a point and in given states.
        advance: states after the trial.
        second: log-probabilities of second-stage choices in the states of the task that were reached.
    """

    def __init__(self, agent: OneTrial, parameters: tuple[ModelParameter, ...], n: int):
        self._agent, self._parameters, self._n = agent, parameters, n
        every = jax.vmap(self._session, (None, 0))

        def total(x: Array, data: Arrays) -> Array:
            return every(x, data).log_likelihood.sum()

        self._total = total
        self.put = jax.device_put
        self.values = jax.jit(jax.vmap(total, (0, None)))
        self.slopes = jax.jit(jax.vmap(jax.vmap(jax.value_and_grad(total), (0, None))))
        self.trials = jax.jit(every)
        self.states = jax.jit(jax.vmap(functools.partial(self._session, states=True), (None, 0)))
        self.begin, self.second = jax.jit(self._begin), jax.jit(jax.vmap(self._second, (None, 0, 0)))
        self.logits, self.advance = (jax.jit(self._of_sessions(step)) for step in (self._logits, self._advance))

    def evidence(self, x: Array, data: tuple[Arrays, Any]) -> tuple[Array, Array]:
        """Return logits (trials, choices) of some trials of sessions, and the log-likelihood of second-stage choices.

        Args:
            x: point.
            data: the sessions, and the numbers of the trials in the filled sessions one after the other.
        """
        rows = self.trials(x, data[0])
        return rows.logits.reshape(-1, self._n)[data[1]], rows.second.sum()

    def together(self, data: Padded) -> Callable[[Any], Array]:
        """Return the log-likelihoods (tables,) of sessions with a leading axis for the table, as a function of JAX."""
        arrays = padded_arrays(data)
        size, count = len(arrays["choice"]), len(data.choice)

        def log_likelihoods(x: Any) -> Array:
            return jax.vmap(self._total)(jnp.pad(x, ((0, size - count), (0, 0))), arrays)[:count]

        return log_likelihoods

    def _of_sessions(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def every(x: Array, state: State, columns: Arrays) -> Any:
            return jax.vmap(step, (None, 0, 0))(x, state, self._trial(columns))

        return every

    def _begin(self, x: Array) -> State:
        state = self._agent.begin(natural(self._parameters, x), self._n)
        return {key: jnp.asarray(value, float) for key, value in state.items()}

    def _logits(self, x: Array, state: State, trial: Arrays) -> Array:
        agent, n, stimuli = self._agent, self._n, tuple(trial["stimuli"])
        unknown = dict.fromkeys(("choice", "state", "choice2", "reward", "gain", "loss"), -1)
        seen = Trial(**{**trial, **unknown, "chosen": jnp.zeros(n), "stimuli": stimuli})
        logits = jnp.asarray(agent.logits(natural(self._parameters, x), Values(**state), seen), float)
        if logits.shape != (n,):
            raise UnfitError(f"{agent.name} returned logits of shape {logits.shape}, expected ({n},)")
        if not agent.linear:
            return logits
        weights = x[len(agent.own) :].reshape(n - 1, -1)
        known = len(stimuli)  # a world without stimuli is one where all are 0
        return logits.at[1:].add(weights[:, 0] + weights[:, 1 : 1 + known] @ trial["stimuli"])

    def _advance(self, x: Array, state: State, trial: Arrays) -> State:
        complete = Trial(**{**trial, "stimuli": tuple(trial["stimuli"])})
        new = self._agent.update(natural(self._parameters, x), Values(**state), complete)
        if set(new) != set(state):
            raise UnfitError(f"{self._agent.name}: update returned {sorted(new)}, begin {sorted(state)}")
        return {key: jnp.where(trial["choice"] >= 0, new[key], old) for key, old in state.items()}

    def _second(self, x: Array, state: State, reached: Array) -> Array:
        logits = self._agent.second(natural(self._parameters, x), Values(**state), reached)
        return jax.nn.log_softmax(jnp.asarray(logits, float))

    def _session(self, x: Array, data: Arrays, states: bool = False) -> Any:
        """Return the row of each trial of a session, or the state before it."""

        def step(state: State, trial: Arrays) -> tuple[State, Any]:
            if states:
                return self._advance(x, state, trial), state
            logits = self._logits(x, state, trial)
            log, second = (jax.nn.log_softmax(logits) * trial["chosen"]).sum(), jnp.zeros(())
            if self._agent.two_stage:
                choice2 = jax.nn.one_hot(trial["choice2"], 2)
                second = (self._second(x, state, trial["state"]) * choice2).sum()
            scored = trial["scored"]
            return self._advance(x, state, trial), Row(logits, (log + second) * scored, second * scored)

        return jax.lax.scan(step, self._begin(x), self._trial(data))[1]

    def _trial(self, data: Arrays) -> dict[str, Any]:
        gain, loss, reward = data["gain"], -jnp.abs(data["loss"]), data["reward"]
        separate = (gain != 0) | (loss != 0)
        return {
            **data,
            "chosen": jax.nn.one_hot(data["choice"], self._n),
            "gain": jnp.where(separate, gain, jnp.maximum(reward, 0)),
            "loss": jnp.where(separate, loss, jnp.minimum(reward, 0)),
        }


@functools.lru_cache(128)
def _scan(agent: OneTrial, parameters: tuple[ModelParameter, ...], n: int) -> Scan:
    return Scan(agent, parameters, n)


def scan_of(agent: OneTrial, parameters: Sequence[ModelParameter], n: int) -> Scan:
    """Return the compiled functions of a model with parameters for ``n`` choices; priors do not matter."""
    return _scan(agent, tuple(each.without_prior for each in parameters), n)
