"""Comparison of a test with a remembered sample, and with up to three tests of which some distract."""

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
        doi="10.1523/JNEUROSCI.16-16-05154.1996",
        tags=["perceptual", "working memory", "two-alternative", "supervised"],
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


UNITS = 32
TESTS = ("test1", "test2", "test3")


class DelayMatchSampleDistractor1D(TrialEnv):
    """Respond to the test that equals the sample, and ignore distractors before the match.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        distance: Smallest angle between a distractor and the sample (rad).

    Raises:
        ValueError: If ``distance`` is not between 0 and pi.

    Source: Miller, Erickson & Desimone 1996.
    """

    metadata = TaskInfo(
        doi="10.1523/JNEUROSCI.16-16-05154.1996",
        tags=["perceptual", "working memory", "go-no-go", "supervised"],
        necessary=("sample", ("test1", "test2")),
    )
    default_timing = {"fixation": 300, "sample": 500} | {
        name: duration for k in (1, 2, 3) for name, duration in ((f"delay{k}", 1000), (f"test{k}", 500))
    }
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": -1.0, "miss": 0.0}
    rule = Rule(fixate=("fixation", "sample"), answer=("delay1", "test1", "delay2", "test2", "delay3", "test3"))

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 1.0, distance: float = np.pi / 4):
        if not 0 <= distance < np.pi:
            raise ValueError(f"distance must be between 0 and pi, got {distance!r}")
        self.sigma, self.distance, self.theta = step_noise(sigma, self.dt), distance, ring(UNITS)
        self.conditions = {"ground_truth": (1, 2, 3), "sample": ("uniform", (0.0, 2 * np.pi))}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, UNITS + 1)})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "match": 1})

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, sample = trials.draw("ground_truth"), trials.draw("sample")
        trials.add_ob(1, [name for name in self.default_timing if name not in TESTS], where="fixation")
        trials.add_ob(np.cos(self.theta - sample[:, None]), "sample", where="stimulus")
        for k, name in enumerate(TESTS, start=1):
            away = self.distance + 2 * (np.pi - self.distance) * trials.rng.random(trials.n)
            angle = trials.info[name] = np.mod(np.where(ground_truth == k, sample, sample + away), 2 * np.pi)
            trials.add_ob(np.cos(self.theta - angle[:, None]), name, where="stimulus")
            trials.set_groundtruth(ground_truth == k, name)
        trials.add_randn(0, self.sigma, ["sample", *TESTS], where="stimulus")
        trials.go, trials.go_period = np.choose(ground_truth - 1, [trials.starts[name] for name in TESTS]), "test"
