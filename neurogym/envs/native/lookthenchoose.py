"""Active sampling: look for a stimulus, then report it."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import Jump, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments

HOLD, LEFT, RIGHT = 0, 1, 2  #: actions


class LookThenChoose(TrialEnv):
    """Hold fixation, look at one of two places, and report what was seen there; the agent sets the pace.

    The trial begins when fixation was held without a break. A cue then shows which place has the stimulus, and stays
    until the agent looks left or right. What is at the place of the look is shown: the stimulus, left or right, or
    nothing. After a delay the stimulus is reported. An agent that looked at the wrong place has to guess.

    Source: the task is ours; on active sampling: Gottlieb & Oudeyer 2018.
    """

    metadata = TaskInfo(
        doi="10.1038/s41583-018-0078-0",
        tags=["two-alternative", "working memory", "delayed response", "supervised"],
        necessary=("stimulus",),
    )
    default_timing = {"wait": 300, "look": 300, "left": 300, "right": 300, "delay": 300, "decision": 300}
    default_rewards = {"correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(
        fixate=(),
        answer=("decision",),
        hold=HOLD,
        jumps=(
            Jump("wait", to="wait", action=(LEFT, RIGHT)),  # a break of fixation: the time begins again
            Jump("look", to="look", action=HOLD, at_end=True),
            Jump("look", to="left", action=LEFT),
            Jump("look", to="right", action=RIGHT),
            Jump("left", to="delay", at_end=True),
        ),
        patience=10_000,
    )

    @usual_arguments(abort=False)
    def __init__(self) -> None:
        self.conditions = {"ground_truth": (LEFT, RIGHT), "place": (LEFT, RIGHT)}
        self.observation_space = spaces.channels({"fixation": 0, "cue": [1, 2], "stimulus": [3, 4]})
        self.action_space = spaces.Discrete(3, name={"fixation": HOLD, "choice": [LEFT, RIGHT]})

    def _new_trials(self, trials: Trials) -> None:
        truth, position = trials.draw("ground_truth"), trials.draw("place")
        trials.add_ob(1, ["wait", "left", "right", "delay"], where="fixation")
        trials.add_ob(np.eye(2)[position - 1], "look", where="cue")
        for side, name in ((LEFT, "left"), (RIGHT, "right")):
            trials.add_ob(np.eye(2)[truth - 1] * (position == side)[:, None], name, where="stimulus")
        trials.set_groundtruth(position, "look")
        trials.set_groundtruth(truth, "decision")
