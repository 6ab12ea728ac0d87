"""The compiled time loops of recurrent networks (`loops.c`).

torch spends more time on the calls of each step than on the arithmetic of networks of our size. Without compiled
functions (see `neurogym.kernels`), on other devices and in double precision the networks run in torch.

Threads share the sequences, each of which comes out as it would in one thread, and the rows of the gradient of the
weights, which are found in pieces of the same size however many threads there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from neurogym import kernels
from ngym_cli import processes
from ngym_cli.agents.compiled.steps import COMPILED_CELLS, joint, packed_size

ROWS_OF_GRADIENT = 128  #: found at a time; a multiple of what registers hold, so that libraries round them alike

Weights = tuple[Tensor, Tensor, Tensor, Tensor]  #: of h (gate * unit, unit) and inputs (.., feature), two biases (..)


def usable(seq: Tensor) -> bool:
    """Whether the compiled loops support the inputs."""
    return seq.dtype == torch.float32 and seq.device.type == "cpu" and kernels.available()


class PackedLoop(NamedTuple):
    """Compiled loop over packed sequences.

    Attributes:
        cell: number in `COMPILED_CELLS`.
        alpha: for rate units, how far h goes towards its new value.
        counts: number of sequences with each step, largest first.
    """

    cell: int
    alpha: float
    counts: np.ndarray


def run(
    cell: str,
    seq: Tensor,
    counts: Sequence[int],
    weights: Weights,
    state: Sequence[Tensor],
    noise: Tensor | None = None,
    alpha: float = 1.0,
) -> tuple[Tensor, ...]:
    """Run a layer over packed sequences.

    Args:
        cell: a name in `COMPILED_CELLS`.
        seq: (step, feature), packed.
        counts: number of sequences with each step, largest first.
        weights: gates of the LSTM: i f g o; of the GRU: r z, the candidate's part from the inputs, that from h.
        state: (sequence, unit) each, h and for the LSTM c.
        noise: (step, gate * unit), added to the products.
        alpha: for rate units, how far h goes towards its new value.

    Returns:
        h, and for the LSTM c, after each step (step, unit).
    """
    loop = PackedLoop(COMPILED_CELLS.index(cell), alpha, np.asarray(counts, np.int64))
    results = _Run.apply(loop, noise, seq, *weights, *state)
    return results if isinstance(results, tuple) else (results,)


def shares(counts: np.ndarray, products: int) -> list[tuple[int, int]]:
    """Split packed sequences into ranges with about equal numbers of steps, as many as threads that have enough work.

    Args:
        counts: number of sequences with each step, largest first.
        products: number of products of all steps together.
    """
    sequences = int(counts[0])
    n = processes.useful_threads(products, sequences)
    if n == 1:
        return [(0, sequences)]
    steps = np.count_nonzero(counts[:, None] > np.arange(sequences), axis=0).cumsum()  # of a sequence and all before
    ends = np.searchsorted(steps, steps[-1] * np.arange(1, n) / n) + 1
    bounds = [0, *ends.tolist(), sequences]
    return list(itertools.pairwise(bounds))


def _call(name: str, loop: PackedLoop, tensors: Sequence[Tensor | None], matrix: tuple[int, int]) -> None:
    """Call a compiled loop with several threads, given the shape of the weight matrix."""
    compiled = kernels.require(name)
    arrays = [None if tensor is None else tensor.detach().numpy() for tensor in tensors]
    ranges = shares(loop.counts, prod(matrix) * int(loop.counts.sum()))
    panels = np.empty((len(ranges), packed_size(*matrix)), np.float32)
    cell, alpha, counts = loop
    processes.share_work(lambda k: compiled(cell, alpha, *ranges[k], counts, *arrays, panels[k]), range(len(ranges)))


def _gradient_of_weights(gates: Tensor, rows: Tensor) -> Tensor:
    """The product of the transpose of (step, wide) with (step, depth)."""
    product = gates.new_empty(gates.shape[1], rows.shape[1])

    def find(begin: int) -> None:
        end = begin + ROWS_OF_GRADIENT
        torch.mm(gates[:, begin:end].t(), rows, out=product[begin:end])

    processes.share_work(find, range(0, len(product), ROWS_OF_GRADIENT))
    return product


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, loop: PackedLoop, noise: Tensor | None, seq: Tensor, *weights_and_state: Tensor) -> Any:
        weights, state = weights_and_state[:4], weights_and_state[4:]
        weight = joint(torch, *weights)
        counts = loop.counts
        (steps, features), units, wide = seq.shape, state[0].shape[1], len(weight)
        if counts.sum() != steps or counts[0] != len(state[0]) or (np.diff(counts) > 0).any():
            raise ValueError(f"{steps} steps from {len(state[0])} states are not packed as {counts.tolist()}")
        if weight.shape[1] != units + features + 1:
            raise ValueError(f"expected {weight.shape[1] - units - 1} features, got {features}")
        lstm, depth = len(state) == 2, weight.shape[1]
        h, h0, c0 = seq.new_empty(steps, units), state[0].contiguous(), state[1].contiguous() if lstm else None
        c, squashed = (torch.empty_like(h), torch.empty_like(h)) if lstm else (None, None)
        left = [h0, c0, seq.new_empty(steps, depth), seq.new_empty(steps, wide), c, squashed, h]
        draws = None if noise is None else noise.contiguous()
        tensors = [seq.contiguous(), draws, weight, *left]
        _call("forward", loop, tensors, (depth, wide))
        ctx.loop = loop
        ctx.save_for_backward(weight, *left)
        ctx.set_materialize_grads(False)
        ctx.spent = False
        return h if c is None else (h, c)

    @staticmethod
    def backward(ctx: Any, dh: Tensor | None, dc: Tensor | None = None) -> tuple[Tensor | None, ...]:
        if ctx.spent:
            raise RuntimeError("backward() was called twice on a compiled loop, where it is possible only once")
        ctx.spent = True
        weight, h0, c0, rows, gates, _, _, h = saved = ctx.saved_tensors
        units = h.shape[1]
        first = [torch.zeros_like(initial) for initial in (h0, c0) if initial is not None]
        gradients = [torch.zeros_like(h) if dh is None else dh.contiguous(), None if dc is None else dc.contiguous()]
        gradients += [*first, *[None] * (2 - len(first))]
        _call("backward", ctx.loop, [*saved, *gradients], (len(weight), units))
        d_seq = gates @ weight[:, units:-1] if ctx.needs_input_grad[2] else None
        d_weight = _gradient_of_weights(gates, rows)
        d_bias = d_weight[:, -1]
        return None, None, d_seq, d_weight[:, :units], d_weight[:, units:-1], d_bias, d_bias, *first
