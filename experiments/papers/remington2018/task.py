"""Measurement of an interval and its production times a cued gain, by a ramp of output."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from neurogym.envs.native.cuesetgo import ReadySetGoSinglePrior
from neurogym.envs.task import Trials

#: Height of the cue by gain.
CUES = {1.0: 0.3, 1.5: 0.4}


class TwoGains(ReadySetGoSinglePrior):
    """Measure one of seven intervals between two pulses and produce it times the gain that a tonic cue shows.

    Intervals of ``scenarios`` are those to be produced; the interval that is shown is shorter by the gain, and scatters
    with ``weber``.
    """

    scenarios: ClassVar = tuple(
        (gain * measure, height) for gain, height in CUES.items() for measure in (520, 600, 680, 760, 840, 920, 1000)
    )
    total: ClassVar[float] = 3200

    def _add_pulses(self, trials: Trials, interval: np.ndarray) -> None:
        heights = np.array(self.scenarios)[trials.info["scenario"]][:, 1]
        gain = np.where(np.isclose(heights, CUES[1.5]), 1.5, 1.0)
        trials.info.update(gain=gain, measure=interval / gain)
        super()._add_pulses(trials, interval / gain)

    def ceiling(self) -> None:
        """Unknown: the best response depends on the cue and on what was measured."""
