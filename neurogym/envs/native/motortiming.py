"""Production of a short or a long cued interval."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.envs.timing import reward_timing

INTERVALS = np.array([800, 1500])  #: ms


class MotorTiming(TrialEnv):
    """Produce a short or a long interval, as cued, from the onset of the set signal.

    Args:
        prod_margin: Tolerance as a fraction of the interval.

    Source: Wang, Narain, Hosseini & Jazayeri 2018.
    """

    metadata = TaskInfo(
        doi="10.1038/s41593-017-0028-6",
        tags=["timing", "go-no-go", "supervised"],
        necessary=("cue",),
        measures=("interval",),
    )
    default_timing = {"fixation": 500, "cue": ("uniform", (1000, 3000)), "set": 50}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("production",))

    @usual_arguments(dt=80)
    def __init__(self, prod_margin: float = 0.2):
        self.prod_margin = prod_margin
        self.conditions = {"production_ind": (0, 1)}
        self.observation_space = spaces.channels({"fixation": 0, "cue": [1, 2], "set": 3})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _new_trials(self, trials: Trials) -> None:
        interval = trials.draw("production_ind")
        production = trials.info["production"] = INTERVALS[interval]
        trials.add_period(["fixation", "cue"])
        trials.add_period("set", after="cue", min_steps=1)
        trials.add_period("production", 2 * production, after="set")
        trials.add_ob(1, ["fixation", "cue", "set"], where="fixation")
        trials.add_ob(np.arange(2) == interval[:, None], ["cue", "set"], where="cue")
        trials.add_ob(1, "set", where="set")
        reward_timing(trials, "production", since=trials.starts["set"], target=production, margin=self.prod_margin)
        trials.go, trials.go_period = trials.starts["set"], "set"
