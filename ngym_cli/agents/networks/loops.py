"""The time loops of recurrent networks, compiled from `loops.c` where the machine has a C compiler.

torch spends more time on the calls of each step than on the arithmetic of networks of our size. Where nothing can be
compiled (see `neurogym.compiled`), on other devices and in double precision the networks run in torch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from neurogym import compiled

Weights = tuple[Tensor, Tensor, Tensor, Tensor]  #: of h (gate * unit, unit) and inputs (.., feature), two biases (..)
GATES = {"lstm": 4, "gru": 4, "tanh": 1, "relu": 1}  #: rows of weights for each unit
CELLS = tuple(GATES)  #: in the order of `loops.c`
COLUMNS = 32  #: most that a panel of packed weights has
SOURCE = Path(__file__).with_name("loops.c")

NUMBERS = ("cell", "times", "features", "units")
ARRAYS = ("x", "noise", "weight", "h0", "c0", "rows", "gates", "c", "squashed", "h", "panels", "dh", "dc", "dh0", "dc0")


class _Loop(ctypes.Structure):
    """`struct loop` of `loops.c`, which says what the arrays are."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in NUMBERS),
        ("counts", ctypes.c_void_p),
        ("alpha", ctypes.c_float),
        *((name, ctypes.c_void_p) for name in ARRAYS),
        ("h0_fixed", ctypes.c_int64),
    )


def library() -> ctypes.CDLL | None:
    """The compiled loops, or None where they cannot be compiled."""
    return compiled.library(SOURCE)


def usable(seq: Tensor) -> bool:
    """Whether the compiled loops can take these inputs."""
    return seq.dtype == torch.float32 and seq.device.type == "cpu" and library() is not None


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


class Steps:
    """Single steps of one layer, in NumPy, with weights that are packed once.

    Args:
        cell, alpha: as for `run`.
        weight: from `joint`.
        units: of the layer.
    """

    def __init__(self, cell: str, weight: np.ndarray, units: int, alpha: float = 1.0) -> None:
        self.cell, self.weight, self.units, self.alpha = cell, weight, units, alpha
        self._counts = np.zeros(1, np.int64)
        self._library: Any = library()

    def __call__(
        self, x: np.ndarray, state: Sequence[np.ndarray], out: Sequence[np.ndarray], noise: np.ndarray | None = None
    ) -> None:
        """Advance one step.

        Args:
            x: inputs (sequence, feature).
            state: h, and for the LSTM c (sequence, unit).
            out: float32 arrays of the same shapes, C-contiguous, that receive the new state.
            noise: (sequence, gate * unit), added to the products.
        """
        if len(x) != self._counts[0]:
            self._prepare(len(x))
        n, features = len(x), self._loop.features
        if x.shape != (n, features) or any(part.shape != (n, self.units) for part in (*state, *out)):
            raise ValueError(f"inputs {x.shape} and states {state[0].shape} do not fit {features} features")
        if not all(part.flags.c_contiguous and part.dtype == np.float32 for part in out):
            raise ValueError("the new state needs C-contiguous float32 arrays")
        read = [None if part is None else np.ascontiguousarray(part, np.float32) for part in (x, noise, *state)]
        loop, at = self._loop, [0 if part is None else part.ctypes.data for part in (*read, *out)]
        if len(state) == 2:
            loop.x, loop.noise, loop.h0, loop.c0, loop.h, loop.c = at
        else:
            loop.x, loop.noise, loop.h0, loop.h = at
        self._library.forward(ctypes.byref(loop))
        loop.weight = None

    def _prepare(self, n: int) -> None:
        """Room for batches of this size."""
        wide, depth = self.weight.shape
        self._counts[0] = n
        sizes = {"rows": n * depth, "gates": n * wide, "squashed": n * self.units}
        sizes["panels"] = -(-wide // COLUMNS) * COLUMNS * depth
        self._room = {name: np.empty(size, np.float32) for name, size in sizes.items()}
        self._loop = _Loop(
            cell=CELLS.index(self.cell),
            times=1,
            features=depth - self.units - 1,
            units=self.units,
            counts=self._counts.ctypes.data,
            alpha=self.alpha,
            weight=self.weight.ctypes.data,
            **{name: array.ctypes.data for name, array in self._room.items()},
        )


def _call(function: str, numbers: dict[str, float], counts: np.ndarray, arrays: dict[str, Tensor | None]) -> None:
    pointers = {name: array.data_ptr() for name, array in arrays.items() if array is not None}
    loop = _Loop(**numbers, times=len(counts), counts=counts.ctypes.data, **pointers)
    getattr(library(), function)(ctypes.byref(loop))


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
        lstm = len(state) == 2
        numbers = {"cell": cell, "features": features, "units": units, "alpha": alpha}
        depth = units + features + 1
        panels = max(-(-wide // COLUMNS) * depth, -(-units // COLUMNS) * wide) * COLUMNS
        arrays: dict[str, Tensor | None] = {
            "weight": weight,
            "h0": state[0].contiguous(),
            "c0": state[1].contiguous() if lstm else None,
            "rows": seq.new_empty(steps, depth),
            "gates": seq.new_empty(steps, wide),
            "c": seq.new_empty(steps, units) if lstm else None,
            "squashed": seq.new_empty(steps, units) if lstm else None,
            "h": seq.new_empty(steps, units),
            "panels": seq.new_empty(panels),
        }
        passing = {"x": seq.contiguous(), "noise": None if noise is None else noise.contiguous()}
        _call("forward", numbers, counts, {**arrays, **passing})
        ctx.numbers, ctx.counts, ctx.names = numbers, counts, list(arrays)
        ctx.save_for_backward(*arrays.values())
        ctx.set_materialize_grads(False)
        ctx.spent = False
        return (arrays["h"], arrays["c"]) if lstm else arrays["h"]

    @staticmethod
    def backward(ctx: Any, dh: Tensor | None, dc: Tensor | None = None) -> tuple[Tensor | None, ...]:
        if ctx.spent:
            raise RuntimeError("the gates have become gradients: a compiled loop can be gone back through once")
        ctx.spent = True
        arrays = dict(zip(ctx.names, ctx.saved_tensors, strict=True))
        rows, gates, weight = arrays["rows"], arrays["gates"], arrays["weight"]
        units, features = ctx.numbers["units"], ctx.numbers["features"]
        n = int(ctx.counts[0])
        first = [gates.new_zeros(n, units) for name in ("h0", "c0") if arrays[name] is not None]
        given = {
            "dh": torch.zeros_like(arrays["h"]) if dh is None else dh.contiguous(),
            "dc": None if dc is None else dc.contiguous(),
            "dh0": first[0],
            "dc0": first[1] if len(first) == 2 else None,
        }
        _call("backward", ctx.numbers, ctx.counts, {**arrays, **given})
        d_seq = gates @ weight[:, units : units + features] if ctx.needs_input_grad[4] else None
        d_weight = gates.t() @ rows
        d_bias = d_weight[:, -1]
        return None, None, None, None, d_seq, d_weight[:, :units], d_weight[:, units:-1], d_bias, d_bias, *first
