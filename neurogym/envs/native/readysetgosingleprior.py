"""Reproduction of an interval by a ramp, intervals from one prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.envs.native.cuesetgo import CueSetGo
from neurogym.trials import Trials


class ReadySetGoSinglePrior(CueSetGo):
    """Measure the interval between the ready and the set pulse and produce it again, with a ramp of output.

    Args:
        **kwargs: Those of :class:`~neurogym.envs.native.cuesetgo.CueSetGo`; ``input_noise`` is 0.01 by default.

    Raises:
        ValueError: If there is no such scenario.
    """

    metadata = CueSetGo.metadata.but(
        description="measure an interval and produce it again with a ramp of output",
        necessary=("pulse",),
    )
    default_timing = {"burn": 50, "wait": 50, "ready": 20, "set": 20}
    scenarios = tuple((interval, 0.3) for interval in (480, 560, 640, 720, 800))
    total = 2000

    def __init__(self, dt: float = 10, input_noise: float = 0.01, **kwargs: Any):
        super().__init__(dt=dt, input_noise=input_noise, **kwargs)

    def _add_pulses(self, trials: Trials, interval: np.ndarray) -> None:
        trials.add_period(["burn", "wait", "ready"], min_steps=1)
        trials.add_period("estimation", np.rint(interval / self.dt) * self.dt, after="wait")
        trials.add_period("set", after="estimation", min_steps=1)
