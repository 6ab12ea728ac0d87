"""Orientation of stimuli, so that curves rise, and order of choices within the states of a two-step task."""

from __future__ import annotations

import numpy as np

from neurogym.array_types import FloatArray, IntArray

ENOUGH_TRIALS = 30  #: trials below which nothing is concluded from what goes together


def minus(name: str) -> str:
    """Return the name of a stimulus with the sign turned; a difference is turned round."""
    first, sign, second = name.partition("-")
    return f"{second}-{first}" if first and sign and "-" not in second else f"-{name}"


def falls(stimulus: FloatArray, choice: IntArray) -> bool:
    """Return whether the second choice is less frequent for larger stimuli, beyond chance."""
    valid = (choice >= 0) & np.isfinite(stimulus)
    if valid.sum() < ENOUGH_TRIALS or np.ptp(stimulus[valid]) == 0 or np.ptp(choice[valid]) == 0:
        return False
    r = np.corrcoef(stimulus[valid], choice[valid])[0, 1]
    return bool(r * np.sqrt(valid.sum()) < -3)


def within_states(choice2: IntArray, state: IntArray) -> IntArray:
    """Return second-stage choices as numbers within the state."""
    within = np.full(len(choice2), -1)
    for k in np.unique(state[state >= 0]):
        rows = (state == k) & (choice2 >= 0)
        within[rows] = np.unique(choice2[rows], return_inverse=True)[1]
    return within
