"""What an action means: an outcome, and whether it ends the trial. ``step.c`` and ``rows.c`` use the same numbers."""

from __future__ import annotations

import numpy as np

NONE, CORRECT, ERROR, ABORT, MISS = range(5)
OUTCOME = 7  #: the part of an event that is its outcome
END = 8  #: added to an event that ends the trial

OUTCOMES = np.array(["none", "correct", "error", "abort", "miss"], dtype=object)
