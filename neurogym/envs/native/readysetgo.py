"""Ready-set-go: measure and reproduce an interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neurogym.envs.psychophysics import exact_ceiling
from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.envs.timing import reward_timing


class ReadySetGo(TrialEnv):
    """Reproduce the interval between the ready and set cues, times a gain.

    Both the measured and the produced interval count from the onset of a cue: ready to set, set to go.

    Args:
        gain: Produced over measured interval; several are drawn trial by trial, and the one that holds is the height of
            a further channel throughout the trial, as in the paper.
        prod_margin: Tolerance as a fraction of the interval to produce.

    Raises:
        ValueError: If a gain is not positive, or there is none.

    Source: Remington, Narain, Hosseini & Jazayeri 2018.
    """

    metadata = TaskInfo(
        doi="10.1016/j.neuron.2018.05.020",
        tags=["timing", "go-no-go", "supervised"],
        necessary=(("set", "fixation"),),
        measures=("interval",),
    )
    default_timing = {"fixation": 100, "ready": 83, "measure": ("uniform", (800, 1500)), "set": 83}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("production",))

    @usual_arguments(dt=80)
    def __init__(self, gain: float | Sequence[float] = 1, prod_margin: float = 0.2):
        self.gains = tuple(np.unique(np.asarray(gain, float)).tolist())
        if not self.gains or min(self.gains) <= 0:
            raise ValueError(f"gain must be positive, got {gain!r}")
        self.gain, self.prod_margin, self.cued = gain, prod_margin, len(self.gains) > 1
        gains: Any = self.gains if self.cued else ("uniform", (0.1, 10))  # a single gain can be requested freely
        self.conditions = {"measure": self.timing["measure"], "gain": gains}
        names = {"fixation": 0, "ready": 1, "set": 2}
        self.observation_space = spaces.channels({**names, "gain": 3} if self.cued else names)
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _new_trials(self, trials: Trials) -> None:
        measure = trials.steps(trials.draw("measure")) * self.dt
        gain = trials.draw("gain", self.gains)
        production = measure * gain
        trials.info.update(measure=measure, production=production)
        trials.add_period("fixation")
        trials.add_period("ready", after="fixation", min_steps=1)
        trials.add_period("measure", measure, after="fixation", min_steps=1)
        trials.add_period("set", after="measure", min_steps=1)
        trials.add_period("production", 2 * production, after="set", min_steps=1)
        trials.add_ob(1, where="fixation")
        trials.set_ob(0, "production", where="fixation")
        trials.add_ob(1, "ready", where="ready")
        trials.add_ob(1, "set", where="set")
        if self.cued:
            trials.add_ob(gain, where="gain")
        reward_timing(trials, "production", since=trials.starts["set"], target=production, margin=self.prod_margin)

    def ceiling(self) -> dict[str, Any]:
        """Exact ceiling: without noise, an observer can count the steps to the full reward."""
        return exact_ceiling(self, 1.0, "no noise")
