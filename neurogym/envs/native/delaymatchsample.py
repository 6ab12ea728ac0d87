"""Comparison of tests with a remembered sample: its direction, its category, and among tests that distract."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from neurogym.envs.psychophysics import ring, ring_stimulus, step_noise
from neurogym.envs.task import ChoiceTask, ObserverSettings, Rule, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, NonNegative, Range


class _RingMatch(ChoiceTask):
    """Base of tasks whose sample and tests are directions, shown on one ring of noisy units."""

    metadata = TaskInfo(
        tags=["perceptual", "working memory", "two-alternative", "supervised"], necessary=("sample", "test")
    )

    def _set_ring(self, dim_ring: int, sigma: float) -> None:
        self.sigma, self.dim_ring, self.theta = step_noise(sigma, self.dt), dim_ring, ring(dim_ring)
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, dim_ring + 1)})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "match": 1, "non-match": 2})

    def _show(self, trials: Trials, period: str, direction: np.ndarray) -> None:
        trials.add_ob(ring_stimulus(self.theta, direction, 100), period, where="stimulus")


class DelayMatchSample(_RingMatch):
    """Report whether a test equals a sample seen before a delay; other tests are opposite to the sample.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        dim_ring: Number of samples, equally spaced on a ring.

    Source: Miller, Erickson & Desimone 1996.
    """

    metadata = _RingMatch.metadata.replace(doi="10.1523/JNEUROSCI.16-16-05154.1996")
    default_timing = {"fixation": 300, "sample": 500, "delay": 1000, "test": 500, "decision": 900}
    ideal_observer = ObserverSettings(("ground_truth", "sample_theta"))

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 1.0, dim_ring: AtLeastTwo = 2):
        self._set_ring(dim_ring, sigma)
        self.conditions = {"ground_truth": (1, 2), "sample_theta": self.theta}

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, sample = trials.draw("ground_truth"), trials.draw("sample_theta")
        test = trials.info["test_theta"] = np.mod(sample + np.pi * (ground_truth == 2), 2 * np.pi)
        trials.add_ob(1, ["fixation", "sample", "delay", "test"], where="fixation")
        self._show(trials, "sample", sample)
        self._show(trials, "test", test)
        trials.add_randn(0, self.sigma, ["sample", "test"], where="stimulus")
        trials.set_groundtruth(ground_truth, "decision")


class DelayMatchCategory(_RingMatch):
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

    metadata = _RingMatch.metadata.replace(doi="10.1038/nature05078")
    default_timing = {"fixation": 500, "sample": 650, "first_delay": 1000, "test": 650}
    rule = Rule(fixate=("fixation",), answer=("test",))

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 1.0, dim_ring: AtLeastTwo = 2):
        self._set_ring(dim_ring, sigma)
        self.conditions = {"ground_truth": ["match", "non-match"], "sample_category": (0, 1)}

    def _new_trials(self, trials: Trials) -> None:
        match = trials.draw("ground_truth") == "match"
        sample = trials.draw("sample_category")
        test = trials.info["test_category"] = np.where(match, sample, 1 - sample)
        trials.add_ob(1, ["fixation", "sample", "first_delay"], where="fixation")
        for period, category in (("sample", sample), ("test", test)):
            angle = trials.info[f"{period}_theta"] = (category + trials.rng.random(trials.n) - 0.5) * np.pi
            self._show(trials, period, angle)
        trials.add_randn(0, self.sigma, ["sample", "test"], where="stimulus")
        trials.set_groundtruth(np.where(match, 1, 2), "test")


RING_UNITS = 32
Angle = Annotated[float, Range(0, 3.14159)]
TESTS = ("test1", "test2", "test3")


class DelayMatchSampleDistractor1D(_RingMatch):
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
    def __init__(self, sigma: NonNegative = 1.0, distance: Angle = np.pi / 4):
        self._set_ring(RING_UNITS, sigma)
        self.distance = distance
        self.conditions = {"ground_truth": (1, 2, 3), "sample": ("uniform", (0.0, 2 * np.pi))}
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
