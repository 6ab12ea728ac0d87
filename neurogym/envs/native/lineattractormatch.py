"""Delayed match of a continuous value, solved by a line attractor that is known."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import ChoiceTask, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative, PositiveProbability


class LineAttractorMatch(ChoiceTask):
    """Say whether a test has the value of a sample seen before a delay; values are continuous.

    Sample and test are pulses on channels of their own. A network solves the task exactly if it adds the sample to its
    state along a line, stays there during the delay, and subtracts the test: in a match the state comes back to the
    origin. ``neurogym.dynamics.known.line_attractor(units, [0, 1, -1], rng)`` is this network, with the line in closed
    form; what a search finds in a trained network can be compared with it.

    Args:
        difference: Distance of the test from the sample where the two do not match; up and down are equally frequent.
        sigma: Noise on sample and test; its s.d. per step is sigma / sqrt(dt / 100 ms).

    Raises:
        ValueError: If ``difference`` is not between 0 and 1, or ``sigma`` is negative.

    Source: the task is ours; line attractors of memory: Seung 1996.
    """

    metadata = TaskInfo(
        doi="10.1073/pnas.93.23.13339",
        tags=["perceptual", "working memory", "two-alternative", "supervised"],
        necessary=("sample", "test"),
    )
    default_timing = {"fixation": 100, "sample": 100, "delay": ("uniform", (500, 1500)), "test": 100, "decision": 100}

    @usual_arguments()
    def __init__(self, difference: PositiveProbability = 0.5, sigma: NonNegative = 0.0):
        self.difference, self.sigma = difference, sigma / np.sqrt(self.dt / 100)
        self.conditions = {
            "ground_truth": (1, 2),
            "sample": ("uniform", (difference - 1, 1 - difference)),
            "side": (-1, 1),
        }
        self.observation_space = spaces.channels({"fixation": 0, "sample": 1, "test": 2})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "match": 1, "non-match": 2})

    def _new_trials(self, trials: Trials) -> None:
        truth, sample, side = trials.draw("ground_truth"), trials.draw("sample"), trials.draw("side")
        test = trials.info["test"] = np.where(truth == 1, sample, sample + side * self.difference)
        trials.add_ob(1, ["fixation", "sample", "delay", "test"], where="fixation")
        for name, value in (("sample", sample), ("test", test)):
            trials.add_ob(value, name, where=name)
            trials.add_randn(0, self.sigma, name, where=name)
        trials.set_groundtruth(truth, "decision")
