"""Measurement and reproduction of an interval by a ramp, with one range of intervals or two."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.envs.native.cuesetgo import CueSetGo
from neurogym.envs.psychophysics import exact_ceiling
from neurogym.envs.task import NonNegative, Score, Trials


class ReadySetGoSinglePrior(CueSetGo):
    """Measure the interval between the ready and the set pulse and reproduce the interval with a ramp of output.

    With ``weber`` the interval that is shown (``measured`` in the trial's record) scatters around the one that is to be
    produced, with a spread in proportion to it, as that of human observers does (Jazayeri & Shadlen 2010,
    10.1038/nn.2590); which intervals are frequent is then worth knowing.

    Args:
        input_noise: S.d. of the cue, as a fraction of its height.
        weber: S.d. of the shown interval, as a fraction of the one that is to be produced.
        **kwargs: Those of :class:`~neurogym.envs.native.cuesetgo.CueSetGo`.

    Raises:
        ValueError: If there is no such scenario, or ``weber`` is negative.
    """

    metadata = CueSetGo.metadata.replace(necessary=("pulse",))
    default_timing = {"burn": 50, "wait": 50, "ready": 20, "set": 20}
    scenarios = tuple((interval, 0.3) for interval in (480, 560, 640, 720, 800))
    total = 2000

    def __init__(self, dt: float = 10, input_noise: float = 0.01, weber: NonNegative = 0.0, **kwargs: Any):
        super().__init__(dt=dt, input_noise=input_noise, **kwargs)
        self.weber = weber

    def _add_pulses(self, trials: Trials, interval: np.ndarray) -> None:
        shown = interval
        if self.weber:
            shown = interval * (1 + self.weber * trials.rng.standard_normal(trials.n))
        shown = np.maximum(np.rint(shown / self.dt), 1) * self.dt
        trials.info["measured"] = shown
        trials.add_period(["burn", "wait", "ready"], min_steps=1)
        trials.add_period("estimation", shown, after="wait")
        trials.add_period("set", after="estimation", min_steps=1)

    def ceiling(self) -> Score | None:
        """Exact: the response time that is most probably within the tolerance, given the cue and what was measured."""
        if not self.weber:
            return exact_ceiling(self, 1.0, "no noise")
        listed = np.array([self.scenarios[k] for k in self.conditions["scenario"]], float)
        cues = np.unique(listed[:, 1])
        if self.input_noise and len(cues) > 1:
            return super().ceiling()
        hits = sum(self._most_hits(listed[listed[:, 1] == cue, 0]) for cue in cues)
        return exact_ceiling(self, float(hits) / len(listed), "posterior over the intervals of the cue")

    def _most_hits(self, intervals: np.ndarray) -> float:
        """Expected number of correct responses, with a trial of each interval (ms), measured with noise."""
        from scipy.special import ndtr

        sd = self.weber * intervals / self.dt
        steps = np.arange(1, int(np.ceil((intervals / self.dt + 6 * sd).max())) + 2)
        upper = ndtr((steps + 0.5 - (intervals / self.dt)[:, None]) / sd[:, None])
        p = np.diff(upper, axis=1, prepend=0.0)  # of each measurement given each interval, shape (intervals, steps)
        produced = steps * self.dt
        allowed = np.maximum(self.prod_margin * intervals, self.dt) + 1e-6
        good = np.abs(produced - intervals[:, None]) <= allowed[:, None]
        return float((p.T @ good).max(axis=1).sum())


class ReadySetGoDoublePrior(ReadySetGoSinglePrior):
    """Measure and reproduce an interval; a cue shows whether the interval is from the short or the long range.

    Args:
        input_noise: S.d. of the cue, as a fraction of its height.
        **kwargs: Those of :class:`~neurogym.envs.native.readysetgosingleprior.ReadySetGoSinglePrior`.

    Raises:
        ValueError: If there is no such scenario, or ``weber`` is negative.
    """

    scenarios = (
        *((interval, 0.3) for interval in (480, 560, 640, 720, 800)),
        *((interval, 0.4) for interval in (800, 900, 1000, 1100, 1200)),
    )
    total = 3000

    def __init__(self, dt: float = 10, input_noise: float = 0.0, **kwargs: Any):
        super().__init__(dt=dt, input_noise=input_noise, **kwargs)
