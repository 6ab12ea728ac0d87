"""Perceptual decision-making: random-dot motion in vector form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.envs.psychophysics import choice_ceiling, ring_stimulus
from neurogym.envs.task import ConditionValues, Rule, Score, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, NonNegative


class PerceptualDecisionMaking(TrialEnv):
    """Report which of two (or of n) noisy motion directions is stronger.

    A ring of units shows motion towards the correct direction, stronger with higher coherence; the agent fixates
    during the stimulus and reports the direction when the fixation cue goes off.

    Args:
        cohs: Coherences (percent); drawn uniformly. Default 0, 6.4, 12.8, 25.6, 51.2.
        dim_ring: Number of directions, equally spaced.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Source: Britten, Shadlen, Newsome & Movshon 1992.
    """

    metadata = TaskInfo(
        doi="10.1523/JNEUROSCI.12-12-04745.1992",
        tags=["perceptual", "two-alternative", "supervised"],
        necessary=("stimulus",),
        measures=("psychometric",),
    )
    default_timing = {"fixation": 100, "stimulus": 2000, "delay": 0, "decision": 100}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("decision",))
    cohs = ConditionValues("coh")

    @usual_arguments(first=("dim_ring",))
    def __init__(self, cohs: Sequence[float] | None = None, dim_ring: AtLeastTwo = 2, sigma: NonNegative = 1.0):
        values = np.array([0, 6.4, 12.8, 25.6, 51.2] if cohs is None else cohs, dtype=float, ndmin=1)
        if values.ndim != 1 or not len(values):
            raise ValueError(f"cohs must list at least one coherence, got {cohs!r}")
        self.sigma, self.dim_ring = sigma / np.sqrt(self.dt), dim_ring
        self.theta = np.linspace(0, 2 * np.pi, dim_ring + 1)[:-1]
        self.conditions = {"ground_truth": np.arange(dim_ring), "coh": values}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, dim_ring + 1)})
        self.action_space = spaces.Discrete(1 + dim_ring, name={"fixation": 0, "choice": range(1, dim_ring + 1)})

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, coh = trials.draw("ground_truth"), trials.draw("coh")
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        trials.add_ob(ring_stimulus(self.theta, self.theta[ground_truth], coh), "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        trials.set_groundtruth(ground_truth, "decision", where="choice")

    def ceiling(self) -> Score | None:
        """Exact for two directions: the mean of the samples of the difference of the two channels decides."""
        return choice_ceiling(self, self.cohs, self.sigma) if len(self.theta) == 2 else super().ceiling()
