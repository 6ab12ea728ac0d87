"""The step of a batch, compiled from ``batch.c`` where the machine has a C compiler (see :mod:`neurogym.compiled`)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from neurogym import compiled

SOURCE = Path(__file__).with_name("batch.c")
NUMBERS = ("n", "actions", "capacity", "trials", "hold")
POOLS = ("reward", "performance", "event", "offset", "go")
PLACES = ("at", "first", "trial", "n_trials", "aborts", "score", "sum")
#: Types of the pools that the compiled step takes for granted.
KINDS = {"reward": np.float64, "performance": np.float64, "event": np.uint8}


class Ended(NamedTuple):
    """Trials that ended in a step, one entry each."""

    env: np.ndarray
    trial: np.ndarray
    outcome: np.ndarray
    steps: np.ndarray
    aborts: np.ndarray
    performance: np.ndarray
    reward: np.ndarray
    reaction: np.ndarray  # steps from go to the response; nan without


class _Batch(ctypes.Structure):
    """``struct batch`` of ``batch.c``, which says what the arrays are."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in NUMBERS),
        *((name, ctypes.c_void_p) for name in (*POOLS, *PLACES)),
    )


class CompiledStep:
    """Steps arrays in place; made anew where one of them has moved.

    Args:
        numbers: Those named in ``NUMBERS``.
        arrays: Those named in ``POOLS`` and ``PLACES``, C-contiguous, which must outlive this.
    """

    def __init__(self, numbers: Mapping[str, int], arrays: Mapping[str, np.ndarray]):
        self._advance = compiled.function(SOURCE, "advance", 6)
        self._n = numbers["n"]
        self._batch = _Batch(**numbers, **{name: array.ctypes.data for name, array in arrays.items()})
        self._place = ctypes.addressof(self._batch)

    def __call__(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, Ended] | None:
        """Take the step with 64-bit actions: rewards, whether the trial ended, and the trials that did.

        Returns None, and changes nothing, if an action does not exist.
        """
        numbers, ended = np.empty((9, self._n)), np.empty(self._n, bool)  # together: finding out addresses takes time
        at, row = numbers.ctypes.data, 8 * self._n
        done = self._advance(self._place, actions.ctypes.data, at, ended.ctypes.data, at + row, at + 6 * row)
        if done < 0:
            return None
        found = numbers[1:, :done]
        return numbers[0], ended, Ended(*found[:5].view(np.int64), *found[5:])
