"""Networks and heads of an agent in compiled passes over packed sequences, from plain arrays, without torch."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neurogym import kernels
from ngym_cli import processes

#: Arrays (layer, environment, unit) of a recurrent state; the first holds the activity.
ArrayState = tuple[np.ndarray, ...]

GATES = {"lstm": 4, "gru": 4, "tanh": 1, "relu": 1, "softplus": 1}  #: rows of weights for each unit
COMPILED_CELLS = tuple(GATES)  #: in the order of `loops.c`
COMPILED_ACTIVATIONS = ("Tanh", "ReLU")  #: of read-outs, in the order of `agent.h`
MAX_LAYERS = 8  #: recurrent layers
MAX_HIDDEN_LAYERS = 4  #: of a read-out
TEAM_SIZE, ENDED = 96, -1  #: numbers through which threads share a pass; the first of them when it has ended


def share_pass(n: int, take_part: Callable[[int, np.ndarray], object]) -> None:
    """Call a compiled function that shares its work itself in so many threads.

    Args:
        n: threads.
        take_part: calls the function with the rank of the thread and the memory through which the threads share.
    """
    team = np.zeros(TEAM_SIZE, np.int64)  # its own, for threads may still look at that of the last pass
    try:
        processes.share_work(lambda rank: take_part(rank, team), range(n))
    except BaseException:
        team[0] = ENDED  # so that no thread waits for a leader that never started
        raise


@dataclass(frozen=True)
class AgentSizes:
    """Dimensions of an agent: recurrent networks, read-outs of actions and values; or of a network, without actions.

    Attributes:
        cell: a name in `COMPILED_CELLS`.
        features: inputs of the first layer.
        units: units of each layer.
        layers: recurrent layers of each network.
        networks: 1, or 2 if the critic has a network of its own.
        actions: discrete actions, or components of a continuous action.
        continuous: whether actions are continuous.
        activation: of hidden layers, a name in `COMPILED_ACTIVATIONS`.
        hidden: sizes of the hidden layers of the read-outs of actions and of values.
        has_values: whether values are predicted.
        alpha: fraction of the way to the new value that leaky units go in a step.
        noise_scale: factor on the draws of the recurrent noise; 0 for none.
    """

    cell: str
    features: int
    units: int
    layers: int
    networks: int = 1
    actions: int = 0
    continuous: bool = False
    activation: str = COMPILED_ACTIVATIONS[0]
    hidden: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    has_values: bool = False
    alpha: float = 1.0
    noise_scale: float = 0.0

    @property
    def n_states(self) -> int:
        """Arrays in the states of all networks."""
        return self.networks * (1 + (self.cell == "lstm"))

    def as_array(self) -> np.ndarray:
        """Dimensions in the order in which `parse_agent` in `python.c` reads them."""
        network = (COMPILED_CELLS.index(self.cell), self.features, self.units, self.layers, self.networks)
        read_out = (self.actions, self.continuous, COMPILED_ACTIVATIONS.index(self.activation))
        counts = [len(layers) for layers in self.hidden]
        return np.array([*network, *read_out, *counts, self.has_values, *self.hidden[0], *self.hidden[1]], np.int64)

    def buffer_sizes(self, n_envs: int, longest: int, noisy: bool) -> list[int]:
        """Numbers in all weights, in packed weights, in sums of gradients and in a workspace; chunks of an update.

        Args:
            n_envs: environments, or steps of packed sequences.
            longest: steps of the longest sequence.
            noisy: whether there is recurrent noise.
        """
        result = np.empty(5, np.int64)
        kernels.require("sizes")(self.as_array(), int(noisy), n_envs, longest, result)
        return result.tolist()


class Memory(NamedTuple):
    """Memory of a pass: weights as the passes read them, what `forward` leaves to `backward`, and sums of gradients."""

    packed: np.ndarray
    work: np.ndarray
    sums: np.ndarray


@functools.lru_cache(maxsize=16)
def compiled_network(sizes: AgentSizes, variant: str) -> CompiledNetwork:
    """The compiled passes of agents of these sizes, which use the same memory again.

    Args:
        sizes: dimensions.
        variant: of the compiled functions, see `neurogym.kernels.variant`.
    """
    return CompiledNetwork(sizes)


class CompiledNetwork:
    """Networks and heads of an agent, or a network alone, over packed sequences, forward and back.

    Sequences are packed: arrays over steps hold the first step of every sequence, then the second of all that have one,
    and so on, the longest sequences first; `counts` says how many sequences have each step. Arrays are float32 and
    C-contiguous; a mismatch is a `ValueError` and changes nothing.

    Args:
        sizes: dimensions.
    """

    def __init__(self, sizes: AgentSizes) -> None:
        self.sizes = sizes
        self._shape = sizes.as_array()
        self._constant = self._shape, sizes.alpha, sizes.noise_scale
        self._n_weights, self._packed_size, self._sums_size, *_ = sizes.buffer_sizes(1, 1, False)
        self._spare: list[Memory] = []

    def take_memory(self, steps: int, noisy: bool) -> Memory:
        """Return memory for a pass over so many steps, with recurrent noise or without."""
        size = self.sizes.buffer_sizes(steps, 1, noisy)[3]
        with contextlib.suppress(IndexError):
            memory = self._spare.pop()
            if len(memory.work) >= size:
                return memory
        return Memory(*(np.empty(numbers, np.float32) for numbers in (self._packed_size, size, self._sums_size)))

    def return_memory(self, memory: Memory) -> None:
        """Keep memory for the next pass, in which it is still in the cache of the processor."""
        if not self._spare:
            self._spare.append(memory)

    def pack(self, weights: Iterable[np.ndarray], memory: Memory) -> None:
        """Write weights as the passes read them.

        Args:
            weights: of each network and layer those of h (gate * unit, unit), of the inputs (gate * unit, input) and
                two biases (gate * unit); of each layer of the heads (out, in) and a bias; logarithms of standard
                deviations. Gates of the LSTM: i f g o; of the GRU: r z, the candidate's part from the inputs, that
                from h.
            memory: of the passes.
        """
        numbers = np.concatenate([np.asarray(weight, np.float32).ravel() for weight in weights])
        kernels.require("prepare")(self._shape, numbers, memory.packed)

    def forward(
        self,
        memory: Memory,
        counts: np.ndarray,
        x: np.ndarray,
        state: Sequence[np.ndarray],
        noise: Sequence[np.ndarray | None],
        top: np.ndarray,
        outputs: Sequence[np.ndarray] = (),
        after: Sequence[np.ndarray] = (),
    ) -> None:
        """Run over packed sequences.

        Args:
            memory: of this pass, with packed weights.
            counts: number of sequences with each step, largest first, int64.
            x: inputs (step, feature).
            state: states of each network before the first steps (layer, sequence, unit), h and for the LSTM c.
            noise: standard normal draws (step, layer, unit) of each network, or None.
            top: receives the activity of the top layer of the first network (step, unit).
            outputs: receive those of the heads, preferences or means (step, action) and values (step,).
            after: receive the states of a network alone after the last steps, as `state`; empty if not asked for.
        """
        call, before = kernels.require("forward"), self._before(state, noise)
        results = top, *_fill(outputs), x, *_fill(after)
        self._run(counts, lambda *team: call(*team, memory.packed, memory.work, counts, *before, *results))

    def backward(
        self,
        memory: Memory,
        counts: np.ndarray,
        state: Sequence[np.ndarray],
        noise: Sequence[np.ndarray | None],
        top: np.ndarray | None,
        outputs: Sequence[np.ndarray | None] = (),
        slopes: Sequence[np.ndarray] = (),
        x: np.ndarray | None = None,
    ) -> np.ndarray:
        """Go back over the sequences of the last `forward` with this memory, once.

        Args:
            memory: as `forward` left it.
            counts: as in `forward`.
            state: as in `forward`.
            noise: as in `forward`.
            top: gradient at the activity of the top layer (step, unit); None for zeros.
            outputs: gradients at the outputs of the heads, each None for zeros.
            slopes: gradients at the last states of a network alone, which become those at the first; empty if they are
                not asked for.
            x: receives the gradient at the inputs (step, feature) of a network alone, if asked for.

        Returns:
            The gradient of all weights, in the order of `pack`.
        """
        gradient = np.empty(self._n_weights, np.float32)
        call, before = kernels.require("backward"), self._before(state, noise)
        results = top, *_fill(outputs), *_fill(slopes), x, memory.sums, gradient
        self._run(counts, lambda *team: call(*team, memory.packed, memory.work, counts, *before, *results))
        return gradient

    def _before(self, state: Sequence[np.ndarray], noise: Sequence[np.ndarray | None]) -> tuple[np.ndarray | None, ...]:
        """Noise and states of the first network and of that of the critic."""
        n = self.sizes.n_states // self.sizes.networks
        return *_fill(noise), *_fill(state[::n]), *_fill(state[1::n] if n > 1 else ())

    def _run(self, counts: np.ndarray, call: Callable[..., object]) -> None:
        """Call a compiled function in as many threads as have enough work, with rank, threads, memory and constants."""
        n = processes.useful_threads(int(counts.sum()) * self._n_weights, int(counts.max(initial=0)))
        share_pass(n, lambda rank, team: call(rank, n, team, *self._constant))


def _fill(arrays: Sequence[np.ndarray | None]) -> tuple[np.ndarray | None, ...]:
    """Return two arrays, None for those that are missing."""
    return (*arrays, None, None)[:2]
