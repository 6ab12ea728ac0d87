"""Tasks whose outputs follow targets in real numbers at every step."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.core import TrialEnv
from neurogym.trials import StepResult


class Tracking(TrialEnv):
    """Base of tasks in which every output has a target at every step, the ground truth.

    An output is right within ``tolerance`` of the target. Performance is the share of right outputs over the trial. The
    reward of a step falls linearly with the error from ``correct`` (no error) to ``fail`` (an error of ``unpaid`` or
    more), averaged over the outputs and divided by the steps of the trial, so that a perfect trial earns ``correct``.

    Attributes:
        tolerance: Largest error of a right output, in units of the output.
        unpaid: Smallest error that earns nothing, in units of the output.
    """

    default_rewards = {"correct": 1.0, "fail": 0.0}
    tolerance: float = 1.0
    unpaid: float = 1.0

    def _step(self, action: Any) -> StepResult:
        error = np.abs(np.asarray(action, float) - self.gt_now)
        steps = len(self.gt)
        self.performance += float((error < self.tolerance).mean()) / steps
        if self.cursor.at_end:
            self.report()
        correct, fail = self.rewards["correct"], self.rewards["fail"]
        close = float(np.maximum(1 - error / self.unpaid, 0).mean())
        return self.ob_now, (fail + (correct - fail) * close) / steps, False, False, {"new_trial": False}
