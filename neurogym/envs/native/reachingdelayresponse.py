"""Delayed report of a remembered scalar by a continuous action."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from neurogym.envs.task import ProgrammedTask, StepResult, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Range

BLANK = -0.5  #: what the stimulus channel shows when there is no stimulus
Signed = Annotated[float, Range(-1, 1)]


class ReachingDelayResponse(ProgrammedTask):
    """Remember a scalar through a delay and report the value at the go cue.

    The action has two components: respond if the first is positive, and the value reported.

    Args:
        lowbound: Smallest value.
        highbound: Largest value.
    """

    metadata = TaskInfo(
        tags=[
            "perceptual",
            "delayed response",
            "continuous action space",
            "multidimensional action space",
            "supervised",
        ],
        necessary=("go", "stimulus"),
    )
    default_timing = {"stimulus": 500, "delay": ("choice", (0, 1000, 2000)), "decision": 500}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": -0.5}

    @usual_arguments()
    def __init__(self, lowbound: Signed = 0.0, highbound: Signed = 1.0):
        if lowbound >= highbound:
            raise ValueError(f"lowbound must be below highbound, got {lowbound!r} and {highbound!r}")
        self.r_tmax = self.rewards["miss"]
        self.lowbound, self.highbound = lowbound, highbound
        self.conditions = {"ground_truth": ("uniform", (lowbound, highbound))}
        self.observation_space = spaces.Box(
            np.array([0.0, -2.0], np.float32),
            np.array([1.0, 2.0], np.float32),
            name={"go": 0, "stimulus": 1},
            dtype=np.float32,
        )
        self.action_space = spaces.channels({"go": 0, "choice": 1}, -1.0, 1.0)

    def _new_trials(self, trials: Trials) -> None:
        value = trials.draw("ground_truth")
        trials.add_ob(value, "stimulus", where="stimulus")
        trials.add_ob(BLANK, ["delay", "decision"], where="stimulus")
        trials.add_ob(1, "decision", where="go")
        trials.set_groundtruth(np.array([[-1, BLANK]]), ["stimulus", "delay"])
        trials.set_groundtruth(np.column_stack([np.ones(trials.n), value]), "decision")

    def _step(self, action: np.ndarray) -> StepResult:
        respond, value = float(action[0]) > 0, float(action[1])
        reward, ended = 0.0, False
        if self.in_period("stimulus") and respond:
            reward, ended = self.break_fixation()
        elif self.in_period("decision") and respond:
            score = 1 / (1 + abs(value - self.trial["ground_truth"])) ** 2
            reward, ended = self.rewards["correct"] * score, True
            self.performance = score
            self.report()
        return self.ob_now, reward, False, False, {"new_trial": ended}
