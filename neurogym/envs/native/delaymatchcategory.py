"""Delayed match-to-category."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import ring, ring_stimulus, step_noise
from neurogym.envs.task import AtLeastTwo, NonNegative, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments


class DelayMatchCategory(TrialEnv):
    """Report whether sample and test direction belong to the same category, defined as a half of the circle.

    Category 0 is the half of the circle around the first unit, so that two units distinguish them. The answer is
    given while the test is on.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        dim_ring: Number of units that show a direction, at least 2.

    Raises:
        ValueError: If ``dim_ring`` is less than 2.

    Source: Freedman & Assad 2006.
    """

    metadata = TaskInfo(
        doi="10.1038/nature05078",
        tags=["perceptual", "working memory", "two-alternative", "supervised"],
        necessary=("sample", "test"),
    )
    default_timing = {"fixation": 500, "sample": 650, "first_delay": 1000, "test": 650}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("test",))

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 1.0, dim_ring: AtLeastTwo = 2):
        self.sigma, self.dim_ring, self.theta = step_noise(sigma, self.dt), dim_ring, ring(dim_ring)
        self.conditions = {"ground_truth": ["match", "non-match"], "sample_category": (0, 1)}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, dim_ring + 1)})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "match": 1, "non-match": 2})

    def _new_trials(self, trials: Trials) -> None:
        match = trials.draw("ground_truth") == "match"
        sample = trials.draw("sample_category")
        test = trials.info["test_category"] = np.where(match, sample, 1 - sample)
        trials.add_ob(1, ["fixation", "sample", "first_delay"], where="fixation")
        for period, category in (("sample", sample), ("test", test)):
            angle = trials.info[f"{period}_theta"] = (category + trials.rng.random(trials.n) - 0.5) * np.pi
            trials.add_ob(ring_stimulus(self.theta, angle, 100), period, where="stimulus")
        trials.add_randn(0, self.sigma, ["sample", "test"], where="stimulus")
        trials.set_groundtruth(np.where(match, 1, 2), "test")
