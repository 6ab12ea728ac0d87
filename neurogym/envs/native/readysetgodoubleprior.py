"""Reproduction of an interval by a ramp, with two cued priors over intervals."""

from __future__ import annotations

from typing import Any

from neurogym.envs.native.readysetgosingleprior import ReadySetGoSinglePrior


class ReadySetGoDoublePrior(ReadySetGoSinglePrior):
    """Measure and reproduce an interval; a cue shows whether the interval is from the short or the long range.

    Args:
        input_noise: S.d. of the cue, as a fraction of its height.
        **kwargs: Those of :class:`~neurogym.envs.native.readysetgosingleprior.ReadySetGoSinglePrior`.

    Raises:
        ValueError: If there is no such scenario, or ``weber`` is negative.
    """

    metadata = ReadySetGoSinglePrior.metadata.replace(
        description="measure an interval from one of two cued ranges and produce it again",
    )
    scenarios = (
        *((interval, 0.3) for interval in (480, 560, 640, 720, 800)),
        *((interval, 0.4) for interval in (800, 900, 1000, 1100, 1200)),
    )
    total = 3000

    def __init__(self, dt: float = 10, input_noise: float = 0.0, **kwargs: Any):
        super().__init__(dt=dt, input_noise=input_noise, **kwargs)
