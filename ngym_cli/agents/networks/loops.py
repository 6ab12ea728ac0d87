"""The compiled time loops of recurrent networks (`loops.c`).

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
from ngym_cli.agents.networks.steps import CELLS, packed_size

Weights = tuple[Tensor, Tensor, Tensor, Tensor]  #: of h (gate * unit, unit) and inputs (.., feature), two biases (..)


def usable(seq: Tensor) -> bool:
    """Whether the compiled loops can take these inputs."""
    return seq.dtype == torch.float32 and seq.device.type == "cpu" and kernels.get("forward") is not None


def run(
    cell: str,
    seq: Tensor,
    counts: Sequence[int],
    weights: Weights,
    state: Sequence[Tensor],
    noise: Tensor | None = None,
    alpha: float = 1.0,
) -> tuple[Tensor, ...]:
    """Run one layer over packed sequences.

    Args:
        cell: a name in `CELLS`.
        seq: (step, feature), packed.
        counts: how many sequences have each step, most at first.
        weights: gates of the LSTM: i f g o; of the GRU: r z, the candidate's part from the inputs, that from h.
        state: (sequence, unit) each, h and for the LSTM c.
        noise: (step, gate * unit), added to the products.
        alpha: for "tanh" and "relu", how far h goes towards its new value.

    Returns:
        h, and for the LSTM c, after each step (step, unit).
    """
    found = _Run.apply(CELLS.index(cell), np.asarray(counts, np.int64), alpha, noise, seq, *weights, *state)
    return found if isinstance(found, tuple) else (found,)


def joint(recurrent: Tensor, inputs: Tensor, *biases: Tensor) -> Tensor:
    """One matrix (gate * unit, unit + feature + 1) for the products with the rows `[h, x, 1]`."""
    return torch.cat([recurrent, inputs, torch.add(*biases)[:, None]], dim=1)


def _call(name: str, cell: int, alpha: float, counts: np.ndarray, tensors: Sequence[Tensor | None]) -> None:
    compiled: Any = kernels.get(name)
    compiled(cell, alpha, counts, *(None if part is None else part.detach().numpy() for part in tensors))


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        cell: int,
        counts: np.ndarray,
        alpha: float,
        noise: Tensor | None,
        seq: Tensor,
        *weights_and_state: Tensor,
    ) -> Any:
        weights, state = weights_and_state[:4], weights_and_state[4:]
        weight = joint(*weights)
        (steps, features), units, wide = seq.shape, state[0].shape[1], len(weight)
        if counts.sum() != steps or counts[0] != len(state[0]) or (np.diff(counts) > 0).any():
            raise ValueError(f"{steps} steps from {len(state[0])} states are not packed as {counts.tolist()}")
        if weight.shape[1] != units + features + 1:
            raise ValueError(f"expected {weight.shape[1] - units - 1} features, got {features}")
        lstm, depth = len(state) == 2, weight.shape[1]
        h, h0, c0 = seq.new_empty(steps, units), state[0].contiguous(), state[1].contiguous() if lstm else None
        c, squashed = (torch.empty_like(h), torch.empty_like(h)) if lstm else (None, None)
        panels = seq.new_empty(max(packed_size(depth, wide), packed_size(wide, units)))
        left = [h0, c0, seq.new_empty(steps, depth), seq.new_empty(steps, wide), c, squashed, h, panels]
        draws = None if noise is None else noise.contiguous()
        _call("forward", cell, alpha, counts, [seq.contiguous(), draws, weight, *left])
        ctx.cell, ctx.alpha, ctx.counts = cell, alpha, counts
        ctx.save_for_backward(weight, *left)
        ctx.set_materialize_grads(False)
        ctx.spent = False
        return h if c is None else (h, c)

    @staticmethod
    def backward(ctx: Any, dh: Tensor | None, dc: Tensor | None = None) -> tuple[Tensor | None, ...]:
        if ctx.spent:
            raise RuntimeError("the gates have become gradients: a compiled loop can be gone back through once")
        ctx.spent = True
        weight, h0, c0, rows, gates, _, _, h, _ = saved = ctx.saved_tensors
        units = h.shape[1]
        first = [torch.zeros_like(part) for part in (h0, c0) if part is not None]
        given = [torch.zeros_like(h) if dh is None else dh.contiguous(), None if dc is None else dc.contiguous()]
        _call("backward", ctx.cell, ctx.alpha, ctx.counts, [*saved, *given, *first, *[None] * (2 - len(first))])
        d_seq = gates @ weight[:, units:-1] if ctx.needs_input_grad[4] else None
        d_weight = gates.t() @ rows
        d_bias = d_weight[:, -1]
        return None, None, None, None, d_seq, d_weight[:, :units], d_weight[:, units:-1], d_bias, d_bias, *first
