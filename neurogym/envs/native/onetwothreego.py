"""One-two-three-go: reproduce an interval that was presented twice."""

from __future__ import annotations

import numpy as np

from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.envs.timing import possible_durations, reward_timing


class OneTwoThreeGo(TrialEnv):
    """Three flashes follow each other at equal intervals; respond where the fourth would come.

    Intervals count from onset to onset: from flash to flash, and from the third flash to the response.

    Args:
        timing: Replaces entries of ``default_timing`` (ms); ``interval1`` is the interval.
        prod_margin: Tolerance as a fraction of the interval.

    Raises:
        ValueError: If an interval is not longer than the flashes.

    Source: Egger, Remington, Chang & Jazayeri 2019.
    """

    metadata = TaskInfo(
        doi="10.1038/s41593-019-0500-6",
        tags=["timing", "go-no-go", "supervised"],
        necessary=("stimulus",),
        measures=("interval",),
    )
    default_timing = {
        "fixation": ("truncated_exponential", (400, 100, 800)),
        "target": ("truncated_exponential", (1000, 500, 1500)),
        "s1": 100,
        "interval1": ("choice", (600, 700, 800, 900, 1000)),
        "s2": 100,
        "s3": 100,
        "response": 1000,
    }
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate="*", answer=("production",))

    @usual_arguments(dt=80)
    def __init__(self, prod_margin: float = 0.2):
        self.prod_margin = prod_margin
        self.conditions = {"interval": possible_durations(self.timing["interval1"], self.dt)}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": 1, "target": 2})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _new_trials(self, trials: Trials) -> None:
        interval = trials.sample_time("interval1")
        interval = trials.given.get("interval", interval)
        trials.info.update(interval=interval, production=interval)
        trials.add_period(["fixation", "target"])
        before = "target"
        for k in (1, 2, 3):
            trials.add_period(f"s{k}", after=before, min_steps=1)
            flash = (trials.ends[f"s{k}"] - trials.starts[f"s{k}"]) * self.dt
            if np.any(flash >= interval):
                raise ValueError(f"an interval of {interval.min():g} ms is not longer than flash s{k}")
            before = f"interval{k}"
            trials.add_period(before, interval - flash, after=f"s{k}")
        trials.add_period("response", after="interval3")
        start = trials.ends["s3"]
        trials.add_period("production", (trials.length - start) * self.dt, after="s3")
        trials.add_ob(1, where="fixation")
        trials.set_ob(0, "production", where="fixation")
        trials.add_ob(1, where="target")
        trials.set_ob(0, "fixation", where="target")
        trials.add_ob(1, ["s1", "s2", "s3"], where="stimulus")
        reward_timing(trials, "production", since=trials.starts["s3"], target=interval, margin=self.prod_margin)
        trials.go, trials.go_period = trials.starts["s3"], "s3"
