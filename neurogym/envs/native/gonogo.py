"""Go / no-go."""

from __future__ import annotations

import numpy as np

from neurogym import spaces
from neurogym.core import TrialEnv
from neurogym.rules import Rule
from neurogym.trials import Trials


class GoNogo(TrialEnv):
    """Respond after a go stimulus and a delay, withhold after a no-go stimulus.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        timing: Replaces entries of ``default_timing`` (ms).

    Source: Zhang et al. 2019, 10.7554/eLife.43191.
    """

    metadata = {
        "paper_name": "Active information maintenance in working memory by a sensory cortex",
        "paper_link": "https://doi.org/10.7554/eLife.43191",
        "tags": ["delayed response", "go-no-go", "supervised"],
        "description": "respond after a go stimulus, withhold after a no-go stimulus",
        "carries": False,
        "differences": ["withholding on a no-go trial counts as performance 1"],
        "necessary": ("stimulus",),
    }
    default_timing = {"fixation": 0, "stimulus": 500, "delay": 500, "decision": 500}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": -0.5, "miss": -0.5, "withhold": 0.0}
    rule = Rule(fixate=("fixation",), answer=("decision",))

    def __init__(self, dt: float = 100, rewards: dict | None = None, timing: dict | None = None, abort: bool = False):
        super().__init__(dt=dt, rewards=rewards, timing=timing, abort=abort)
        self.actions = [0, 1]
        self.conditions = {"ground_truth": (0, 1)}
        self.observation_space = spaces.Box(
            -np.inf, np.inf, shape=(3,), dtype=np.float32, name={"fixation": 0, "nogo": 1, "go": 2}
        )
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _new_trials(self, trials: Trials) -> None:
        go = trials.draw("ground_truth")
        trials.add_period(["fixation", "stimulus", "delay", "decision"])
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        trials.add_ob(1 - go, "stimulus", where="nogo")
        trials.add_ob(go, "stimulus", where="go")
        trials.set_groundtruth(go, "decision")
