"""Single steps of recurrent networks in the compiled loops (`loops.c`), from plain arrays; torch is not imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, sqrt
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from neurogym import kernels

if TYPE_CHECKING:
    from torch import Tensor

GATES = {"lstm": 4, "gru": 4, "tanh": 1, "relu": 1, "softplus": 1}  #: rows of weights for each unit
#: Arrays (layer, environment, unit) of a recurrent state; the first holds the activity.
ArrayState = tuple[np.ndarray, ...]
Array = TypeVar("Array", np.ndarray, "Tensor")
COMPILED_CELLS = tuple(GATES)  #: in the order of `loops.c`

#: Rows of stored weights for each unit, of each network whose step is compiled.
WEIGHT_ROWS = {"lstm": 4, "gru": 3, "rnn": 1, "ctrnn": 1, "ei_rnn": 1}


def joint(library: ModuleType, recurrent: Array, inputs: Array, *biases: Array) -> Array:
    """Join weights and biases to a matrix (gate * unit, unit + feature + 1) for products with the rows `[h, x, 1]`.

    Args:
        library: `numpy` or `torch`, whichever the weights are of.
        recurrent: weights of h (gate * unit, unit).
        inputs: weights of the inputs (gate * unit, feature).
        *biases: two (gate * unit,), which are added.
    """
    return library.concatenate([recurrent, inputs, library.add(*biases)[:, None]], axis=1)


def unpack_weights(library: ModuleType, units: int, weights: Sequence[Array]) -> tuple[Array, ...]:
    """Return a GRU layer whose candidate has separate rows for the inputs and for h, as `loops.c` expects.

    Args:
        library: `numpy` or `torch`, whichever the weights are of.
        units: number of units of the layer.
        weights: as torch has them: of h (3 * unit, unit) and of the inputs (3 * unit, feature), biases of the inputs
            and of h (3 * unit,). Gates r z, then the candidate.

    Returns:
        The weights of h and of the inputs, the biases of the inputs and of h, each with 4 * unit rows: r z, the
        candidate's part from the inputs, that from h.
    """
    gates, (w_hh, w_ih, b_ih, b_hh) = 2 * units, weights
    no_h, no_inputs, no_bias = (library.zeros_like(weight[gates:]) for weight in (w_hh, w_ih, b_ih))

    def split_candidate_of_h(weight: Array, none: Array) -> Array:
        return library.concatenate([weight[:gates], none, weight[gates:]])

    def split_candidate_of_inputs(weight: Array, none: Array) -> Array:
        return library.concatenate([weight, none])

    return (
        split_candidate_of_h(w_hh, no_h),
        split_candidate_of_inputs(w_ih, no_inputs),
        split_candidate_of_inputs(b_ih, no_bias),
        split_candidate_of_h(b_hh, no_bias),
    )


def leak(dt: float, tau: float) -> float:
    """Fraction of the way to the steady state that a step of `dt` ms covers at a time constant of `tau` ms.

    Raises:
        ValueError: if the fraction is 0 in double precision.
    """
    share = 1 - exp(-dt / tau)
    if not share:
        raise ValueError(f"tau={tau:g} ms is so long that nothing changes in a step of {dt:g} ms")
    return share


def scale_of_noise(noise: float, alpha: float) -> float:
    """Factor on standard normal draws in the input of leaky units that leads to a variability of about `noise`."""
    return sqrt(2 / alpha) * noise


def draw_noise(shape: tuple[int, int], steps: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Standard normal draws (time, layer, environment, unit) for a network of this shape (layer, unit)."""
    return rng.standard_normal((steps, shape[0], n, shape[1]), dtype=np.float32)


class Stepper:
    """Network that advances a batch of environments by a single step, in NumPy, with weights that are packed once.

    Args:
        cell: a name in `COMPILED_CELLS`; None for a subclass with steps of its own.
        weights: of each layer (gate * unit, unit + feature + 1), for products with the rows `[h, x, 1]`; see `joint`.
        units: number of units of each layer.
        alpha: how far h of a leaky network goes towards its new value.
        noise: standard deviation of the recurrent noise.

    Attributes:
        shape: number of layers, and of units.
        state_sizes: size of each array of the state.
    """

    _forward: Callable[..., int]

    def __init__(
        self, cell: str | None, weights: Sequence[np.ndarray], units: int, alpha: float = 1.0, noise: float = 0.0
    ) -> None:
        self.cell, self.weights, self.alpha, self.noise = cell, list(weights), alpha, noise
        self.shape, self.state_sizes = (len(weights), units), (units,) * (1 + (cell == "lstm"))
        self._noise_scale = np.float32(scale_of_noise(noise, alpha))
        self._counts = np.zeros(1, np.int64)
        self._buffers: list[list[np.ndarray]] = []
        self._packed = False

    @property
    def n_states(self) -> int:
        """Arrays in the state."""
        return len(self.state_sizes)

    def draw_noise(self, steps: int, n: int, rng: np.random.Generator) -> np.ndarray | None:
        """Draw standard normal noise (time, layer, environment, unit) for a pass; None if the network has no noise."""
        return draw_noise(self.shape, steps, n, rng) if self.noise else None

    def step(self, x: np.ndarray, state: ArrayState, out: ArrayState, noise: np.ndarray | None = None) -> np.ndarray:
        """Advance the network by a single step.

        Args:
            x: inputs (environment, feature).
            state: arrays (layer, environment, unit); read only.
            out: float32 arrays of the same shapes, C-contiguous, that receive the new state.
            noise: standard normal draws (layer, environment, unit), for networks with recurrent noise.

        Returns:
            The activity of the top layer (environment, unit), a view of `out`.
        """
        if len(x) != self._counts[0]:
            self._prepare(len(x))
        for layer, (rows, gates, squashed, panels) in enumerate(self._buffers):
            draws = None if noise is None else self._noise_scale * noise[layer]
            inputs = (x, draws, *(array[layer] for array in state))
            read = [None if array is None else np.ascontiguousarray(array, np.float32) for array in inputs]
            h0, c0 = (*read[2:], None)[:2]
            h, c = (*(array[layer] for array in out), None)[:2]
            weight = None if self._packed else self.weights[layer]
            arrays = (self._counts, *read[:2], weight, h0, c0, rows, gates, c, squashed, h, panels)
            self._forward(COMPILED_CELLS.index(str(self.cell)), self.alpha, 0, len(x), *arrays)
            x = out[0][layer]
        self._packed = True
        return out[0][-1]

    def _prepare(self, n: int) -> None:
        """Look up the compiled pass and make the buffers of each layer for batches of this size."""
        self._forward = kernels.require("forward")
        self._counts[0], self._packed, self._buffers = n, False, []
        for weight in self.weights:
            wide, depth = weight.shape
            shapes = ((n, depth), (n, wide), (n, self.shape[1]), (packed_size(depth, wide),))
            self._buffers.append([np.empty(shape, np.float32) for shape in shapes])


def packed_size(depth: int, columns: int) -> int:
    """Numbers in a packed matrix."""
    return kernels.require("packed_size")(depth, columns)
