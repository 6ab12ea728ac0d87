"""Single steps of recurrent networks in the compiled loops (`loops.c`), from plain arrays; torch is not imported."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt
from typing import Any, Protocol

import numpy as np

from neurogym import kernels

GATES = {"lstm": 4, "gru": 4, "tanh": 1, "relu": 1, "softplus": 1}  #: rows of weights for each unit
ArrayState = tuple[np.ndarray, ...]
CELLS = tuple(GATES)  #: in the order of `loops.c`


def joint(library: Any, recurrent: Any, inputs: Any, *biases: Any) -> Any:
    """Join weights and biases to a matrix (gate * unit, unit + feature + 1) for products with the rows `[h, x, 1]`.

    Args:
        library: `numpy` or `torch`, whichever the weights are of.
        recurrent: weights of h (gate * unit, unit).
        inputs: weights of the inputs (gate * unit, feature).
        *biases: two (gate * unit,), which are added.
    """
    return library.concatenate([recurrent, inputs, library.add(*biases)[:, None]], axis=1)


def unpack_weights(library: Any, units: int, weights: Sequence[Any]) -> tuple[Any, ...]:
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
    none = [library.zeros_like(part[gates:]) for part in (w_hh, w_ih, b_ih)]
    from_h = [
        library.concatenate([part[:gates], zero, part[gates:]]) for part, zero in ((w_hh, none[0]), (b_hh, none[2]))
    ]
    from_inputs = [library.concatenate([part, zero]) for part, zero in ((w_ih, none[1]), (b_ih, none[2]))]
    return from_h[0], *from_inputs, from_h[1]


def leak(dt: float, tau: float) -> float:
    """Fraction of the way to the steady state that a step of `dt` ms covers at a time constant of `tau` ms."""
    if dt <= 0 or tau <= 0:
        raise ValueError(f"dt and tau must be positive (ms), got dt={dt}, tau={tau}")
    return 1 - exp(-dt / tau)


def scale_of_noise(noise: float, alpha: float) -> float:
    """Factor on standard normal draws in the input of leaky units that leads to a variability of about `noise`."""
    return sqrt(2 / alpha) * noise


def draw_noise(shape: tuple[int, int], steps: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Standard normal draws (time, layer, environment, unit) for a network of this shape (layer, unit)."""
    return rng.standard_normal((steps, shape[0], n, shape[1]), dtype=np.float32)


class Network(Protocol):
    """Network that an `Actor` can step, with layers, units and the number of state arrays; see `Stepper`."""

    shape: tuple[int, int]
    n_states: int
    state_sizes: tuple[int, ...]

    def draw_noise(self, steps: int, n: int, rng: np.random.Generator) -> np.ndarray | None:
        """Recurrent noise for a single pass, see `Stepper.draw_noise`."""

    def step(self, x: np.ndarray, state: ArrayState, out: ArrayState, noise: np.ndarray | None = None) -> np.ndarray:
        """Advance by a single step, see `Stepper.step`."""


class Steps:
    """Single steps of a layer in NumPy, with weights that are packed once.

    Args:
        cell, alpha: a name in `CELLS`, and how far h of a leaky network goes towards its new value.
        weight: (gate * unit, unit + feature + 1), for the products with the rows `[h, x, 1]`; see `joint`.
        units: number of units of the layer.
    """

    def __init__(self, cell: str, weight: np.ndarray, units: int, alpha: float = 1.0) -> None:
        self.cell, self.weight, self.units, self.alpha = cell, weight, units, alpha
        self._counts = np.zeros(1, np.int64)
        self._packed = False
        self._compiled: Any = kernels.get("forward")

    def __call__(
        self, x: np.ndarray, state: Sequence[np.ndarray], out: Sequence[np.ndarray], noise: np.ndarray | None = None
    ) -> None:
        """Advance the layer by a single step.

        Args:
            x: inputs (sequence, feature).
            state: h, and for the LSTM c (sequence, unit).
            out: float32 arrays of the same shapes, C-contiguous, that receive the new state.
            noise: (sequence, gate * unit), added to the products.
        """
        if len(x) != self._counts[0]:
            self._prepare(len(x))
        read = [None if part is None else np.ascontiguousarray(part, np.float32) for part in (x, noise, *state)]
        h0, c0 = (*read[2:], None)[:2]
        h, c = (*out, None)[:2]
        rows, gates, squashed, panels = self._buffers
        weight = None if self._packed else self.weight
        given = (self._counts, *read[:2], weight, h0, c0, rows, gates, c, squashed, h, panels)
        self._compiled(CELLS.index(self.cell), self.alpha, 0, len(x), *given)
        self._packed = True

    def _prepare(self, n: int) -> None:
        """Make the buffers for batches of this size."""
        wide, depth = self.weight.shape
        self._counts[0] = n
        shapes = ((n, depth), (n, wide), (n, self.units), (packed_size(depth, wide),))
        self._buffers = [np.empty(shape, np.float32) for shape in shapes]
        self._packed = False


def packed_size(depth: int, columns: int) -> int:
    """Numbers in a packed matrix."""
    size: Any = kernels.get("packed_size")
    return size(depth, columns)


class Stepper:
    """Network that advances a batch of environments by a single step, in NumPy.

    Args:
        cell, alpha: as for `Steps`.
        weights: of each layer, from `joint`.
        units: number of units of each layer.
        noise_scale: factor on the draws of the recurrent noise.
        noisy: whether there is such noise.
    """

    def __init__(
        self,
        cell: str,
        weights: Sequence[np.ndarray],
        units: int,
        alpha: float = 1.0,
        noise_scale: float = 0.0,
        noisy: bool = False,
    ) -> None:
        self.shape, self.n_states, self.noisy = (len(weights), units), 1 + (cell == "lstm"), noisy
        self.state_sizes = (units,) * self.n_states
        self.noise_scale = np.float32(noise_scale)
        self._layers = [Steps(cell, weight, units, alpha) for weight in weights]

    @property
    def layers(self) -> list[tuple[str, np.ndarray, float]]:
        """Cell, joint weight matrix and leak of each layer."""
        return [(steps.cell, steps.weight, steps.alpha) for steps in self._layers]

    def draw_noise(self, steps: int, n: int, rng: np.random.Generator) -> np.ndarray | None:
        """Draw standard normal noise (time, layer, environment, unit) for a pass; None if the network has no noise."""
        return draw_noise(self.shape, steps, n, rng) if self.noisy else None

    def step(self, x: np.ndarray, state: ArrayState, out: ArrayState, noise: np.ndarray | None = None) -> np.ndarray:
        """Advance the network by a single step.

        Args:
            x: inputs (environment, feature).
            state: arrays (layer, environment, unit); read only.
            out: arrays of the same shapes, C-contiguous, that receive the new state.
            noise: standard normal draws (layer, environment, unit), for networks with recurrent noise.

        Returns:
            The activity of the top layer (environment, unit), a view of `out`.
        """
        for layer, steps in enumerate(self._layers):
            draws = None if noise is None else self.noise_scale * noise[layer]
            steps(x, [part[layer] for part in state], [part[layer] for part in out], draws)
            x = out[0][layer]
        return out[0][-1]
