"""Spatial suppression of motion: choice probabilities over the time that a grating is seen."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import ProgrammedTask, Rows, StepResult, TaskInfo, Trials, spaces, usual_arguments

STIMULUS_FRAME_MS = 8.3  #: ms, at 120 Hz
SIZES = 8
ANGLES = np.array([-np.pi / 2, np.pi / 2, 0, np.pi])  #: preferred by left, right, up, down
OPPOSITE = np.array([1, 0, 3, 2])
DIAMETER = {0.05: 1, 0.99: 8}  #: by contrast
#: Probability of the true (C) and of the opposite direction (A) at frames counted from 1, as people answered.
KNOTS = np.array([1, 7, 8, 9, 10, 13, 15, 18, 21, 28, 36, 37, 38, 39])
PEOPLE = {
    0.99: (
        (0.249, 0.249, 0.249, 0.249, 0.249, 0.27, 0.32, 0.4583, 0.65, 0.85, 0.99, 0.99, 0.99, 0.99),
        (0.249, 0.249, 0.249, 0.29, 0.31, 0.40, 0.475, 0.4167, 0.3083, 0.075, 0.04, 0.04, 0.03, 0.03),
    ),
    0.05: (
        (0.249, 0.249, 0.25, 0.26, 0.2583, 0.325, 0.45, 0.575, 0.875, 0.933, 0.99, 0.99, 0.99, 0.99),
        (0.249, 0.249, 0.25, 0.26, 0.2583, 0.267, 0.1417, 0.1167, 0.058, 0.016, 0.003, 0.003, 0.003, 0.003),
    ),
}


class SpatialSuppressMotion(ProgrammedTask):
    """Give the probabilities with which people choose each of four motion directions, frame by frame.

    Gratings of high contrast are large, those of low contrast small. People at first see large ones of high contrast
    move the wrong way. The reward of a step is the overlap of its probabilities with those of people; performance is
    the mean overlap.

    Args:
        dt: Time step (ms); 8.3 is one frame at 120 Hz.
        timing: Replaces entries of ``default_timing`` (ms).
        rewards: Replaces entries of ``default_rewards``: the reward of the best and of the worst trial.

    Source: Tadin, Lappin, Gilroy & Blake 2003.
    """

    metadata = TaskInfo(
        doi="10.1038/nature01800",
        tags=["perceptual", "plaid", "motion", "center-surround", "continuous action space", "supervised"],
        necessary=("stimulus",),
        supervised="networks are fitted to the answers of people, which are known for every frame",
    )
    default_timing = {"stimulus": 300}
    default_rewards = {"correct": 1.0, "fail": 0.0}

    @usual_arguments(dt=STIMULUS_FRAME_MS, tables=("timing", "rewards"), abort=False)
    def __init__(self) -> None:
        self.theta = ANGLES.copy()
        self.conditions = {
            "direction": (1, 2, 3, 4),
            "contrast": tuple(DIAMETER),
            "diameter": tuple(DIAMETER.values()),
        }
        self.observation_space = spaces.channels({"stimulus": range(4 * SIZES)}, low=0.0)
        self.action_space = spaces.channels({"left": 0, "right": 1, "up": 2, "down": 3}, 0.0, 1.0)

    def _contrast(self, trials: Trials) -> np.ndarray:
        """Contrast of each trial; contrast determines diameter, and either can be requested."""
        if "diameter" in trials.given and "contrast" not in trials.given:
            trials.given["contrast"] = np.where(np.asarray(trials.given["diameter"]) == 1, *DIAMETER)
        contrast = trials.draw("contrast")
        diameter = trials.info["diameter"] = np.where(contrast > 0.5, DIAMETER[0.99], DIAMETER[0.05])
        if np.any(trials.given.get("diameter", diameter) != diameter):
            raise ValueError(f"diameter={trials.given['diameter'][0]} cannot be combined with contrast={contrast[0]}")
        return contrast

    def _new_trials(self, trials: Trials) -> None:
        direction, contrast = trials.draw("direction") - 1, self._contrast(trials)
        self._show(trials, direction, contrast)

        def probabilities(rows: Rows) -> np.ndarray:
            frame = rows.step * self.dt / STIMULUS_FRAME_MS + 1
            high = contrast[rows.trial] > 0.5
            true, away = (
                np.where(high, np.interp(frame, KNOTS, PEOPLE[0.99][k]), np.interp(frame, KNOTS, PEOPLE[0.05][k]))
                for k in (0, 1)
            )
            p = np.repeat(np.maximum((1 - true - away) / 2, 0)[:, None], 4, axis=1)
            row, column = np.arange(len(p)), direction[rows.trial]
            p[row, column], p[row, OPPOSITE[column]] = true, away
            return p / p.sum(axis=1, keepdims=True)

        trials.set_groundtruth(probabilities)

    def _show(self, trials: Trials, direction: np.ndarray, contrast: np.ndarray) -> None:
        """Drive the channels tuned to the direction, for all sizes that the stimulus covers."""
        drive = contrast[:, None] * (1 + np.cos(self.theta - self.theta[direction][:, None])) / 2
        covered = np.arange(SIZES) < trials.info["diameter"][:, None]
        stimulus = drive[:, :, None] * covered[:, None]
        trials.add_ob(stimulus.reshape(trials.n, -1), "stimulus")

    def _step(self, action: np.ndarray) -> StepResult:
        overlap = max(0.0, 1 - 0.5 * float(np.abs(np.asarray(action) - self.gt_now).sum()))
        self.performance += (overlap - self.performance) / (self.t_ind + 1)
        self.report()
        correct, fail = self.rewards["correct"], self.rewards["fail"]
        reward = (fail + (correct - fail) * overlap) / len(self.gt)
        return self.ob_now, reward, False, False, {"new_trial": False}
