"""A placeholder in which nothing happens."""

from __future__ import annotations

from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments


class Null(TrialEnv):
    """Do nothing: a single action, an observation of zero, no reward. A trial lasts ten seconds."""

    metadata = TaskInfo(tags=[], necessary=())
    rule = Rule(fixate=(), answer=None)

    @usual_arguments(tables=(), abort=False)
    def __init__(self) -> None:
        self.observation_space = spaces.channels({"fixation": 0})
        self.action_space = spaces.Discrete(1, name={"fixation": 0})

    def _new_trials(self, trials: Trials) -> None:
        trials.set_groundtruth(0)
