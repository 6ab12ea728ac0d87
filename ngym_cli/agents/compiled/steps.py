"""Single steps of recurrent networks in the compiled passes, from plain arrays; torch is not imported here."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import exp, sqrt
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ngym_cli.agents.compiled.network import AgentSizes, ArrayState, CompiledNetwork, Memory

if TYPE_CHECKING:
    from torch import Tensor

LayerWeights = Sequence[np.ndarray]  #: of h, of the inputs, and two biases
Array = TypeVar("Array", np.ndarray, "Tensor")

#: Rows of stored weights for each unit, of each network whose step is compiled.
WEIGHT_ROWS = {"lstm": 4, "gru": 3, "rnn": 1, "ctrnn": 1, "ei_rnn": 1}


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
        weights: of each layer those of h (gate * unit, unit) and of the inputs, and two biases; see `CompiledNetwork`.
        units: number of units of each layer.
        alpha: how far h of a leaky network goes towards its new value.
        noise: standard deviation of the recurrent noise.

    Attributes:
        shape: number of layers, and of units.
        state_sizes: size of each array of the state.
    """

    def __init__(
        self, cell: str | None, weights: Sequence[LayerWeights], units: int, alpha: float = 1.0, noise: float = 0.0
    ) -> None:
        self.cell, self.weights, self.alpha, self.noise = cell, list(weights), alpha, noise
        self.shape, self.state_sizes = (len(weights), units), (units,) * (1 + (cell == "lstm"))
        self._top = np.empty((0, units), np.float32)
        self._network: CompiledNetwork | None = None

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
        network = self._network = self._network or self._build()
        if len(x) != len(self._top):
            self._top = np.empty((len(x), self.shape[1]), np.float32)
            self._counts, self._memory = np.array([len(x)]), self._pack(network, len(x))
        draws = None if noise is None else np.ascontiguousarray(noise.swapaxes(0, 1), np.float32)
        inputs, *before = (np.ascontiguousarray(array, np.float32) for array in (x, *state))
        network.forward(self._memory, self._counts, inputs, before, [draws], self._top, after=out)
        return out[0][-1]

    def _build(self) -> CompiledNetwork:
        """Return the compiled passes."""
        features, (layers, units) = self.weights[0][1].shape[1], self.shape
        scale = scale_of_noise(self.noise, self.alpha)
        return CompiledNetwork(AgentSizes(str(self.cell), features, units, layers, alpha=self.alpha, noise_scale=scale))

    def _pack(self, network: CompiledNetwork, n: int) -> Memory:
        """Return memory for steps of a number of environments, with packed weights."""
        memory = network.take_memory(n, bool(self.noise))
        network.pack(chain.from_iterable(self.weights), memory)
        return memory
