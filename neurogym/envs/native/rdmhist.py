"""Random dots whose directions tend to repeat or to alternate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.envs.native.priors import Priors
from neurogym.envs.task import NonNegative, Trials


class RDMHist(Priors):
    """Report which of two noisy directions is stronger; directions repeat or alternate, block by block.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        timing: Replaces entries of ``default_timing`` (ms).
        cohs: Coherences (percent): the two directions have strength (1 +- coh/100) / 2.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        rep_prob: Probability that the correct side repeats, in the blocks that alternate.
        block_dur: Trials of a block.
        abort: Whether breaking fixation ends the trial.

    Source: Hermoso-Mendizabal et al., Response outcomes gate the impact of expectations on perceptual decisions.
    """

    metadata = Priors.metadata.replace(
        description="report the stronger of two noisy directions, which repeat or alternate in blocks",
        differences=["the fixation cue is on until the decision"],
    )
    default_timing = {"fixation": 750, "stimulus": 1000, "decision": 500}
    default_rewards = {"abort": -1.0, "correct": 1.0, "fail": -1.0, "miss": 0.0}

    def __init__(
        self,
        dt: float = 100,
        rewards: dict | None = None,
        timing: dict | None = None,
        cohs: Sequence[float] | None = None,
        sigma: NonNegative = 2**0.5,
        rep_prob: tuple[float, float] = (0.2, 0.8),
        block_dur: int = 200,
        abort: bool = False,
    ):
        super().__init__(dt, rewards, timing, sigma, rep_prob, block_dur, abort)
        self.cohs = np.array([0, 6.4, 12.8, 25.6, 51.2] if cohs is None else cohs, dtype=float)
        self.conditions["coh"] = self.cohs

    def _strengths(self, trials: Trials, sides: np.ndarray) -> np.ndarray:
        """Strength of the two directions, shape (n, 2)."""
        coh = trials.draw("coh")[:, None] / 100
        return (1 + np.where(np.arange(1, 3) == sides[:, None], coh, -coh)) / 2
