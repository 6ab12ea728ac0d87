"""Compiled passes of a recurrent network inside torch's automatic differentiation.

torch spends more time on the calls of each step than on the arithmetic of networks of our size. Without compiled
functions (see `neurogym.kernels`), on other devices and in double precision the networks run in torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neurogym import kernels
from ngym_cli.agents.compiled.network import CompiledNetwork

Weights = tuple[Tensor, Tensor, Tensor, Tensor]  #: of h (gate * unit, unit) and inputs (.., feature), two biases (..)


def usable(seq: Tensor) -> bool:
    """Whether the compiled passes support the inputs."""
    return seq.dtype == torch.float32 and seq.device.type == "cpu" and kernels.available()


def run(
    network: CompiledNetwork,
    seq: Tensor,
    counts: Sequence[int],
    weights: Sequence[Tensor],
    state: Sequence[Tensor],
    noise: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Run a network over packed sequences.

    Args:
        network: the compiled passes.
        seq: (step, feature), packed.
        counts: number of sequences with each step, largest first.
        weights: of all layers, as in `CompiledNetwork.pack`.
        state: before the first steps (layer, sequence, unit) each, h and for the LSTM c.
        noise: standard normal draws (step, layer, unit).

    Returns:
        The activity of the top layer (step, unit), and the states after the last steps.
    """
    if seq.shape[1] != network.features:
        raise ValueError(f"expected {network.features} features, got {seq.shape[1]}")
    results: tuple[Tensor, ...] = _Run.apply(network, np.asarray(counts, np.int64), noise, seq, *state, *weights)
    return results


def _array(tensor: Tensor) -> np.ndarray:
    """C-contiguous numbers of a tensor, not copied if they are so already."""
    return tensor.detach().contiguous().numpy()


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, network: CompiledNetwork, counts: np.ndarray, noise: Tensor | None, seq: Tensor, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        n = network.n_states
        state, weights = [_array(array) for array in tensors[:n]], tensors[n:]
        draws = None if noise is None else _array(noise)
        packed, work = network.pack(map(_array, weights)), network.workspace(len(seq), noise is not None)
        results = seq.new_empty(len(seq), network.units), *(seq.new_empty(array.shape) for array in tensors[:n])
        top, *after = (array.numpy() for array in results)
        network.forward(packed, work, counts, _array(seq), state, top, after, draws)
        ctx.passed = packed, work, counts, state, draws
        ctx.network, ctx.shapes = network, [weight.shape for weight in weights]
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    def backward(ctx: Any, d_top: Tensor | None, *d_after: Tensor | None) -> tuple[Tensor | None, ...]:
        if ctx.passed is None:
            raise RuntimeError("backward() was called twice on a compiled pass, where it is possible only once")
        (packed, work, counts, state, draws), ctx.passed = ctx.passed, None
        network, n = ctx.network, ctx.network.n_states
        steps, slopes = int(counts.sum()), list[np.ndarray]()
        top = np.zeros((steps, network.units), np.float32) if d_top is None else _array(d_top)
        if any(ctx.needs_input_grad[4 : 4 + n]) or any(gradient is not None for gradient in d_after):
            ends = zip(state, d_after, strict=True)
            slopes = [np.zeros_like(array) if end is None else _array(end).copy() for array, end in ends]
        d_seq = np.empty((steps, network.features), np.float32) if ctx.needs_input_grad[3] else None
        gradient = torch.from_numpy(network.backward(packed, work, counts, state, top, slopes, d_seq, draws))
        pieces = gradient.split([shape.numel() for shape in ctx.shapes])
        d_weights = [piece.view(shape) for piece, shape in zip(pieces, ctx.shapes, strict=True)]
        d_state: list[Tensor | None] = [*map(torch.from_numpy, slopes)] or [None] * n
        return None, None, None, None if d_seq is None else torch.from_numpy(d_seq), *d_state, *d_weights
