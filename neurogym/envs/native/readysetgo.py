"""Ready-set-go: measure an interval and reproduce it."""

from __future__ import annotations

from neurogym import spaces
from neurogym.core import TrialEnv
from neurogym.envs.constructors import usual_arguments
from neurogym.envs.timing import pay_for_time
from neurogym.metadata import TaskInfo
from neurogym.rules import Rule
from neurogym.trials import Trials


class ReadySetGo(TrialEnv):
    """Reproduce the interval between the ready and set cues, times a gain.

    Both the measured and the produced interval count from the onset of a cue: ready to set, set to go.

    Args:
        gain: Produced over measured interval.
        prod_margin: Tolerance as a fraction of the interval to produce.

    Source: Remington, Narain, Hosseini & Jazayeri 2018, 10.1016/j.neuron.2018.05.020.
    """

    metadata = TaskInfo(
        paper_name="Flexible sensorimotor computations through rapid reconfiguration of cortical dynamics",
        paper_link="https://doi.org/10.1016/j.neuron.2018.05.020",
        tags=["timing", "go-no-go", "supervised"],
        description="reproduce a measured time interval",
        carries=False,
        differences=["ground truth and reward both count from the onset of the set cue"],
        necessary=(("set", "fixation"),),
        measures=("interval",),
    )
    default_timing = {"fixation": 100, "ready": 83, "measure": ("uniform", (800, 1500)), "set": 83}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("production",))

    @usual_arguments(dt=80)
    def __init__(self, gain: float = 1, prod_margin: float = 0.2):
        if gain <= 0:
            raise ValueError(f"gain must be positive, got {gain!r}")
        self.gain, self.prod_margin = gain, prod_margin
        self.conditions = {"measure": self.timing["measure"], "gain": ("uniform", (0.1, 10))}
        self.observation_space = spaces.channels({"fixation": 0, "ready": 1, "set": 2})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _new_trials(self, trials: Trials) -> None:
        measure = trials.steps(trials.draw("measure")) * self.dt
        gain = trials.draw("gain", (self.gain,))
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
        pay_for_time(trials, "production", since=trials.starts["set"], target=production, margin=self.prod_margin)
