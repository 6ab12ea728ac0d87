"""Delayed match-to-sample."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import ring, ring_stimulus, step_noise
from neurogym.envs.task import AtLeastTwo, NonNegative, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments


class DelayMatchSample(TrialEnv):
    """Report whether a test equals a sample seen before a delay; other tests are opposite to the sample.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        dim_ring: Number of samples, equally spaced on a ring.

    Source: Miller, Erickson & Desimone 1996.
    """

    metadata = TaskInfo(
        paper_name="Neural mechanisms of visual working memory in prefrontal cortex of the macaque",
        doi="10.1523/JNEUROSCI.16-16-05154.1996",
        tags=["perceptual", "working memory", "two-alternative", "supervised"],
        description="say whether the test equals the sample",
        necessary=("sample", "test"),
    )
    default_timing = {"fixation": 300, "sample": 500, "delay": 1000, "test": 500, "decision": 900}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("decision",))

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 1.0, dim_ring: AtLeastTwo = 2):
        self.sigma, self.dim_ring, self.theta = step_noise(sigma, self.dt), dim_ring, ring(dim_ring)
        self.conditions = {"ground_truth": (1, 2), "sample_theta": self.theta}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, dim_ring + 1)})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "match": 1, "non-match": 2})

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, sample = trials.draw("ground_truth"), trials.draw("sample_theta")
        test = trials.info["test_theta"] = np.mod(sample + np.pi * (ground_truth == 2), 2 * np.pi)
        trials.add_ob(1, ["fixation", "sample", "delay", "test"], where="fixation")
        trials.add_ob(ring_stimulus(self.theta, sample, 100), "sample", where="stimulus")
        trials.add_ob(ring_stimulus(self.theta, test, 100), "test", where="stimulus")
        trials.add_randn(0, self.sigma, ["sample", "test"], where="stimulus")
        trials.set_groundtruth(ground_truth, "decision")
