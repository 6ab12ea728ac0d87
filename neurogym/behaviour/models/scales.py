"""Sizes of outcomes and stimuli of a table, from which priors of parameters per unit of these follow."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.table import Behaviour

#: Typical sizes between which priors made for outcomes and stimuli near 1 suit.
SMALLEST, LARGEST = 0.1, 10.0


def typical_size(values: FloatArray) -> float:
    """Return the median absolute value of numbers that are not 0; 1 where there is none."""
    present = values[np.isfinite(values) & (values != 0)]
    return float(np.median(np.abs(present))) if present.size else 1.0


def typical_outcome(table: Behaviour) -> float:
    """Return the median absolute outcome that is not 0, of gains and losses, or of rewards where neither is known."""
    separate = np.concatenate([table.join(name).astype(float) for name in ("gain", "loss")])
    known = separate[np.isfinite(separate) & (separate != 0)]
    return typical_size(known if known.size else table.join("reward"))


def power_of_ten(size: float) -> float:
    """Return the power of ten next to a size far from 1, and 1 for sizes to which the priors suit."""
    return 1.0 if SMALLEST <= size <= LARGEST else float(10.0 ** np.round(np.log10(size)))


def outcome_scale(table: Behaviour) -> float:
    """Return the power of ten next to the typical outcome of a table; 1 for outcomes near 1."""
    return power_of_ten(typical_outcome(table))


def scale_notes(table: Behaviour, depending: Sequence[str], parameters: Collection[str]) -> list[str]:
    """Return a remark on outcomes far from 1, on whose unit parameters depend.

    Args:
        table: the behaviour.
        depending: parameters that may depend on the unit of outcomes.
        parameters: all parameters of a fit.
    """
    names = [name for name in depending if name in parameters]
    if not names or outcome_scale(table) == 1:
        return []
    size = typical_outcome(table)
    return [f"outcomes have a typical size of {size:g}; the values of {', '.join(names)} depend on their unit"]
