"""Trials: layout in time, contents of rows, consequences of actions, and the position of a session.

What belongs here knows nothing of wrappers, of batches and of single tasks; :mod:`neurogym.core` builds on it.

Belongs here: blocks of trials and places in them. May use: `kernels`, `messages`, `parameters`, `sampling`,
`spaces`.
"""

from __future__ import annotations

from neurogym.trials.block import Trials
from neurogym.trials.cursor import Cursor
from neurogym.trials.events import Info, ResetResult, StepResult
from neurogym.trials.layout import InvalidOperationError, Period
from neurogym.trials.rows import Rows, Where

__all__ = ["Cursor", "Info", "InvalidOperationError", "Period", "ResetResult", "Rows", "StepResult", "Trials", "Where"]
