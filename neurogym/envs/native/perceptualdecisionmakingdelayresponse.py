"""Perceptual decision-making with a response after a variable delay."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.envs.psychophysics import choice_ceiling, step_noise
from neurogym.envs.task import NonNegative, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments


class PerceptualDecisionMakingDelayResponse(TrialEnv):
    """Compare two noisy stimuli and report the stronger stimulus after a delay of random length.

    Args:
        stim_scale: Factor on the coherences 0, 6.4, 12.8, 25.6 and 51.2 percent.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Source: Inagaki, Fontolan, Romani & Svoboda 2019.
    """

    metadata = TaskInfo(
        doi="10.1038/s41586-019-0919-7",
        tags=["perceptual", "delayed response", "two-alternative", "supervised"],
        necessary=("stimulus",),
        measures=("psychometric",),
    )
    default_timing = {
        "fixation": 0,
        "stimulus": 1150,
        "delay": ("choice", (300, 500, 700, 900, 1200, 2000, 3200, 4000)),
        "decision": 1500,
    }
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("decision",))

    @usual_arguments()
    def __init__(self, stim_scale: float = 1.0, sigma: NonNegative = 1.0):
        self.sigma = step_noise(sigma, self.dt)
        self.cohs = np.array([0, 6.4, 12.8, 25.6, 51.2]) * stim_scale
        self.conditions = {"ground_truth": (1, 2), "coh": self.cohs}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": [1, 2]})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, coh = trials.draw("ground_truth"), trials.draw("coh")
        trials.info["sigma"] = np.full(trials.n, self.sigma)
        signed = np.where(ground_truth == 1, coh, -coh)
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        trials.add_ob(0.5 + np.column_stack([signed, -signed]) / 200, "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        trials.set_groundtruth(ground_truth, "decision")

    def ceiling(self) -> dict[str, Any]:
        """Exact: the mean of the samples of the difference of the two channels decides."""
        return choice_ceiling(self, self.cohs, self.sigma)
