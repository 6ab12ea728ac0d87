"""Compiled passes of an agent, or of a recurrent network alone, inside torch's automatic differentiation.

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
from ngym_cli.agents.compiled.network import AgentSizes, CompiledNetwork, compiled_network

Weights = tuple[Tensor, Tensor, Tensor, Tensor]  #: of h (gate * unit, unit) and inputs (.., feature), two biases (..)


def usable(seq: Tensor) -> bool:
    """Whether the compiled passes support the inputs."""
    return seq.dtype == torch.float32 and seq.device.type == "cpu" and kernels.available()


def run(
    sizes: AgentSizes,
    seq: Tensor,
    counts: Sequence[int],
    weights: Sequence[Tensor],
    state: Sequence[Tensor],
    noise: Sequence[Tensor | None] = (),
) -> tuple[Tensor, ...]:
    """Run an agent, or a network alone, over packed sequences.

    Args:
        sizes: of the agent.
        seq: (step, feature), packed; of an agent, without a gradient.
        counts: number of sequences with each step, largest first.
        weights: as in `CompiledNetwork.pack`.
        state: of each network before the first steps (layer, sequence, unit), h and for the LSTM c; of an agent,
            without a gradient.
        noise: standard normal draws (step, layer, unit) of each network.

    Returns:
        The activity of the top layer of the first network (step, unit); then of an agent preferences or means (step,
        action) and values (step,), of a network alone the states after the last steps.
    """
    if seq.shape[1] != sizes.features:
        raise ValueError(f"expected {sizes.features} features, got {seq.shape[1]}")
    network = compiled_network(sizes, kernels.variant())
    results: tuple[Tensor, ...] = _Run.apply(network, np.asarray(counts, np.int64), noise, seq, *state, *weights)
    return results


def to_array(tensor: Tensor) -> np.ndarray:
    """C-contiguous numbers of a tensor, not copied if they are so already."""
    tensor = tensor.detach() if tensor.requires_grad else tensor
    return tensor.contiguous().numpy()


def _array_or_none(tensor: Tensor | None) -> np.ndarray | None:
    return None if tensor is None else to_array(tensor)


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        network: CompiledNetwork,
        counts: np.ndarray,
        noise: Sequence[Tensor | None],
        seq: Tensor,
        *tensors: Tensor,
    ) -> tuple[Tensor, ...]:
        sizes, steps = network.sizes, len(seq)
        n = sizes.n_states
        state, weights = [to_array(tensor) for tensor in tensors[:n]], tensors[n:]
        draws = [_array_or_none(tensor) for tensor in noise]
        memory = network.take_memory(steps, any(array is not None for array in draws))
        network.pack(map(to_array, weights), memory)
        top = seq.new_empty(steps, sizes.units)
        outputs = [seq.new_empty(steps, sizes.actions)] if sizes.actions else []
        outputs += [seq.new_empty(steps)] if sizes.has_values else []
        after = [] if sizes.actions else [seq.new_empty(array.shape) for array in state]
        arrays = top.numpy(), [tensor.numpy() for tensor in outputs], [tensor.numpy() for tensor in after]
        network.forward(memory, counts, to_array(seq), state, draws, *arrays)
        ctx.passed = memory, counts, state, draws
        ctx.network, ctx.shapes = network, [weight.shape for weight in weights]
        ctx.set_materialize_grads(False)
        return top, *outputs, *after

    @staticmethod
    def backward(ctx: Any, d_top: Tensor | None, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        if ctx.passed is None:
            raise RuntimeError("backward() was called twice on a compiled pass, where it is possible only once")
        (memory, counts, state, draws), ctx.passed = ctx.passed, None
        network, sizes = ctx.network, ctx.network.sizes
        n, slopes = sizes.n_states, list[np.ndarray]()
        d_outputs, d_after = (gradients, ()) if sizes.actions else ((), gradients)
        if any(ctx.needs_input_grad[4 : 4 + n]) or any(gradient is not None for gradient in d_after):
            ends = zip(state, d_after, strict=True)
            slopes = [np.zeros_like(array) if end is None else to_array(end).copy() for array, end in ends]
        d_seq = np.empty((int(counts.sum()), sizes.features), np.float32) if ctx.needs_input_grad[3] else None
        outputs = [_array_or_none(gradient) for gradient in d_outputs]
        d_top = d_top if outputs or d_top is not None else torch.zeros(int(counts.sum()), sizes.units)
        found = network.backward(memory, counts, state, draws, _array_or_none(d_top), outputs, slopes, d_seq)
        network.return_memory(memory)
        pieces = torch.from_numpy(found).split([shape.numel() for shape in ctx.shapes])
        d_weights = [piece.view(shape) for piece, shape in zip(pieces, ctx.shapes, strict=True)]
        d_state: list[Tensor | None] = [*map(torch.from_numpy, slopes)] or [None] * n
        return None, None, None, None if d_seq is None else torch.from_numpy(d_seq), *d_state, *d_weights
