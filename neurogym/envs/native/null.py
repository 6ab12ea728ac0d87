"""A placeholder in which nothing happens."""

from __future__ import annotations

from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, spaces


class Null(TrialEnv):
    """Do nothing: a single action, an observation of zero, no reward. A trial lasts ten seconds.

    Args:
        dt: Time step (ms).
    """

    metadata = TaskInfo(
        tags=[],
        necessary=(),
    )
    rule = Rule(fixate=(), answer=None)

    def __init__(self, dt: float = 100):
        super().__init__(dt=dt)
        self.observation_space = spaces.channels({"fixation": 0})
        self.action_space = spaces.Discrete(1, name={"fixation": 0})

    def _new_trials(self, trials: Trials) -> None:
        trials.set_groundtruth(0)
