"""Production of intervals: ready-set-go, motor timing, and one-two-three-go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.envs.psychophysics import exact_ceiling
from neurogym.envs.task import ChoiceTask, Rule, Score, TaskInfo, Trials, spaces, usual_arguments
from neurogym.envs.timing import possible_durations, reward_timing
from neurogym.parameters.arguments import NonNegative
from neurogym.sampling.distributions import PossibleValues


class Production(ChoiceTask):
    """Base of tasks in which an interval is produced by a single response in the period ``production``."""

    metadata = TaskInfo(tags=["timing", "go-no-go", "supervised"], measures=("interval",))
    rule = Rule(fixate=("fixation",), answer=("production",))
    prod_margin: float  #: tolerance as a fraction of the interval to produce

    def _set_spaces(self, **channels: object) -> None:
        self.observation_space = spaces.channels({"fixation": 0, **channels})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _reward_since(self, trials: Trials, signal: str, interval: np.ndarray) -> None:
        """Reward the response by the time that has passed since the onset of a signal."""
        start = trials.starts[signal]
        reward_timing(trials, "production", since=start, target=interval, margin=self.prod_margin)
        trials.go, trials.go_period = start, signal


class ReadySetGo(Production):
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

    metadata = Production.metadata.replace(doi="10.1016/j.neuron.2018.05.020", necessary=(("set", "fixation"),))
    default_timing = {"fixation": 100, "ready": 83, "measure": ("uniform", (800, 1500)), "set": 83}

    @usual_arguments(dt=80)
    def __init__(self, gain: float | Sequence[float] = 1, prod_margin: NonNegative = 0.2):
        self.gains = tuple(np.unique(np.asarray(gain, float)).tolist())
        if not self.gains or not min(self.gains) > 0:
            raise ValueError(f"gain must be positive, got {gain!r}")
        self.gain, self.prod_margin, self.cued = gain, prod_margin, len(self.gains) > 1
        # a single gain can be requested freely
        gains: PossibleValues = self.gains if self.cued else ("uniform", (0.1, 10))
        self.conditions = {"measure": self.timing["measure"], "gain": gains}
        self._set_spaces(ready=1, set=2, **({"gain": 3} if self.cued else {}))

    def _new_trials(self, trials: Trials) -> None:
        measure = trials.steps(trials.draw("measure")) * self.dt
        if measure.min() <= 0:
            raise ValueError(f"an interval (measure) shorter than a step of {self.dt:g} ms cannot be reproduced")
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

    def closed_form(self) -> Score:
        """Exact ceiling: without noise, an observer can count the steps to the full reward."""
        return exact_ceiling(self, 1.0, "no noise")


INTERVALS = np.array([800, 1500])  #: ms


class MotorTiming(Production):
    """Produce a short or a long interval, as cued, from the onset of the set signal.

    Args:
        prod_margin: Tolerance as a fraction of the interval.

    Source: Wang, Narain, Hosseini & Jazayeri 2018.
    """

    metadata = Production.metadata.replace(doi="10.1038/s41593-017-0028-6", necessary=("cue",))
    default_timing = {"fixation": 500, "cue": ("uniform", (1000, 3000)), "set": 50}

    @usual_arguments(dt=80)
    def __init__(self, prod_margin: NonNegative = 0.2):
        self.prod_margin = prod_margin
        self.conditions = {"production_ind": (0, 1)}
        self._set_spaces(cue=[1, 2], set=3)

    def _new_trials(self, trials: Trials) -> None:
        interval = trials.draw("production_ind")
        production = trials.info["production"] = INTERVALS[interval]
        periods = ["fixation", "cue", "set", "production"]
        trials.add_period(periods, [None, None, None, 2 * production], min_steps={"set": 1})
        trials.add_ob(1, ["fixation", "cue", "set"], where="fixation")
        trials.add_ob(np.arange(2) == interval[:, None], ["cue", "set"], where="cue")
        trials.add_ob(1, "set", where="set")
        self._reward_since(trials, "set", production)


class OneTwoThreeGo(Production):
    """Three flashes follow each other at equal intervals; respond where the fourth would come.

    Intervals count from onset to onset: from flash to flash, and from the third flash to the response.

    Args:
        timing: Replaces entries of ``default_timing`` (ms); ``interval1`` is the interval.
        prod_margin: Tolerance as a fraction of the interval.

    Raises:
        ValueError: If an interval is not longer than the flashes.

    Source: Egger, Remington, Chang & Jazayeri 2019.
    """

    metadata = Production.metadata.replace(doi="10.1038/s41593-019-0500-6", necessary=("stimulus",))
    default_timing = {
        "fixation": ("truncated_exponential", (400, 100, 800)),
        "target": ("truncated_exponential", (1000, 500, 1500)),
        "s1": 100,
        "interval1": ("choice", (600, 700, 800, 900, 1000)),
        "s2": 100,
        "s3": 100,
        "response": 1000,
    }
    rule = Rule(fixate="*", answer=("production",))

    @usual_arguments(dt=80)
    def __init__(self, prod_margin: NonNegative = 0.2):
        self.prod_margin = prod_margin
        self.conditions = {"interval": possible_durations(self.timing["interval1"], self.dt)}
        self._set_spaces(stimulus=1, target=2)

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
        trials.add_period("production", (trials.length - trials.ends["s3"]) * self.dt, after="s3")
        trials.add_ob(1, where="fixation")
        trials.set_ob(0, "production", where="fixation")
        trials.add_ob(1, where="target")
        trials.set_ob(0, "fixation", where="target")
        trials.add_ob(1, ["s1", "s2", "s3"], where="stimulus")
        self._reward_since(trials, "s3", interval)
