"""Trial cycle of a task: make a trial, act, report the result, begin the next trial.

Belongs here: what every task does from one trial to the next. May use: `trials`, `rules`, `parameters`, the base of
`wrappers`, `compat`.
"""

from __future__ import annotations

from neurogym.cycle.making import StepInfo
from neurogym.cycle.stepping import TrialCycle

__all__ = ["StepInfo", "TrialCycle"]
