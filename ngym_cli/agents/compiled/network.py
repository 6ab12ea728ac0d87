"""A recurrent network in compiled passes over packed sequences, from plain arrays; torch is not imported here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from neurogym import kernels
from ngym_cli import processes

#: Arrays (layer, environment, unit) of a recurrent state; the first holds the activity.
ArrayState = tuple[np.ndarray, ...]

GATES = {"lstm": 4, "gru": 4, "tanh": 1, "relu": 1, "softplus": 1}  #: rows of weights for each unit
COMPILED_CELLS = tuple(GATES)  #: in the order of `loops.c`
MAX_LAYERS = 8  #: recurrent layers
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


class CompiledNetwork:
    """Recurrent layers over packed sequences, forward and back.

    Sequences are packed: arrays over steps hold the first step of every sequence, then the second of all that have one,
    and so on, the longest sequences first; `counts` says how many sequences have each step. Arrays are float32 and
    C-contiguous; a mismatch is a `ValueError` and changes nothing.

    Args:
        cell: a name in `COMPILED_CELLS`.
        features: inputs of the first layer.
        units: units of each layer.
        layers: at most `MAX_LAYERS`.
        alpha: fraction of the way to the new value that leaky units go in a step.
        noise_scale: factor on the draws of the recurrent noise.
    """

    def __init__(
        self, cell: str, features: int, units: int, layers: int, alpha: float = 1.0, noise_scale: float = 0.0
    ) -> None:
        self.features, self.units, self.layers, self.n_states = features, units, layers, 1 + (cell == "lstm")
        self._shape = np.array([COMPILED_CELLS.index(cell), features, units, layers, 1, *[0] * 6], np.int64)
        self._constant = self._shape, alpha, noise_scale
        self._n_weights, self._packed_size, self._sums_size, *_ = self._find_sizes(1, False)

    def _find_sizes(self, steps: int, noisy: bool) -> list[int]:
        """Numbers in all weights, in packed weights, in sums of gradients and in a workspace."""
        result = np.empty(5, np.int64)
        kernels.require("sizes")(self._shape, int(noisy), steps, 1, result)
        return result.tolist()

    def pack(self, weights: Iterable[np.ndarray]) -> np.ndarray:
        """Return weights as the passes read them.

        Args:
            weights: of each layer those of h (gate * unit, unit), of the inputs (gate * unit, input) and two biases
                (gate * unit). Gates of the LSTM: i f g o; of the GRU: r z, the candidate's part from the inputs, that
                from h.
        """
        numbers = np.concatenate([np.asarray(weight, np.float32).ravel() for weight in weights])
        packed = np.empty(self._packed_size, np.float32)
        kernels.require("prepare")(self._shape, numbers, packed)
        return packed

    def workspace(self, steps: int, noisy: bool) -> np.ndarray:
        """Return memory for a pass over so many steps, which `forward` leaves to `backward`."""
        return np.empty(self._find_sizes(steps, noisy)[3], np.float32)

    def forward(
        self,
        packed: np.ndarray,
        work: np.ndarray,
        counts: np.ndarray,
        x: np.ndarray,
        state: Sequence[np.ndarray],
        top: np.ndarray,
        after: Sequence[np.ndarray],
        noise: np.ndarray | None = None,
    ) -> None:
        """Run over packed sequences.

        Args:
            packed: result of `pack`.
            work: result of `workspace`.
            counts: number of sequences with each step, largest first, int64.
            x: inputs (step, feature).
            state: states before the first steps (layer, sequence, unit), h and for the LSTM c.
            top: receives the activity of the top layer (step, unit).
            after: receive the states after the last steps, as `state`; empty if they are not asked for.
            noise: standard normal draws (step, layer, unit).
        """
        before, last = (*state, None)[:2], (*after, None, None)[:2]
        call = kernels.require("forward")
        self._run(counts, lambda *team: call(*team, packed, work, counts, noise, *before, top, x, *last))

    def backward(
        self,
        packed: np.ndarray,
        work: np.ndarray,
        counts: np.ndarray,
        state: Sequence[np.ndarray],
        top: np.ndarray,
        slopes: Sequence[np.ndarray],
        x: np.ndarray | None = None,
        noise: np.ndarray | None = None,
    ) -> np.ndarray:
        """Go back over the sequences of the last `forward` with this workspace, once.

        Args:
            packed: as in `forward`.
            work: as `forward` left it.
            counts: as in `forward`.
            state: as in `forward`.
            top: gradient at the activity of the top layer (step, unit).
            slopes: gradients at the last states, which become those at the first; empty if they are not asked for.
            x: receives the gradient at the inputs (step, feature), if asked for.
            noise: as in `forward`.

        Returns:
            The gradient of all weights, in the order of `pack`.
        """
        sums, gradient = np.empty(self._sums_size, np.float32), np.empty(self._n_weights, np.float32)
        before, ends = (*state, None)[:2], (*slopes, None, None)[:2]
        call = kernels.require("backward")
        self._run(
            counts, lambda *team: call(*team, packed, work, counts, noise, *before, top, *ends, x, sums, gradient)
        )
        return gradient

    def _run(self, counts: np.ndarray, call: Callable[..., object]) -> None:
        """Call a compiled function in as many threads as have enough work, with rank, threads, memory and constants."""
        n = processes.useful_threads(int(counts.sum()) * self._n_weights, int(counts.max(initial=0)))
        share_pass(n, lambda rank, team: call(rank, n, team, *self._constant))
