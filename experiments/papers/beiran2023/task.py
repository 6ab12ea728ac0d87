"""Cued intervals of the paper: some for training, others beyond both ends of these."""

from typing import Any, ClassVar

from neurogym.envs.native.cuesetgo import CueSetGo


class CuedIntervals(CueSetGo):
    """Produce the interval that the height of a tonic cue encodes, in steps of 200 ms.

    Args:
        beyond: Whether the intervals beyond both ends of the trained ones come as well.
        **kwargs: Of ``CueSetGo``.
    """

    scenarios: ClassVar = tuple((interval, 0.2 + 0.4 * (interval - 800) / 800) for interval in range(600, 2001, 200))
    total: float = 2600  #: of trials of training (ms); those beyond are longer, for late responses

    def __init__(self, beyond: bool = False, **kwargs: Any):
        super().__init__(**kwargs)
        if beyond:
            self.total = 3600
        else:
            self.conditions = {"scenario": (1, 2, 3, 4, 5)}
