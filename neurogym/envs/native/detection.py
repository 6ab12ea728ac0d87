"""Detection of a brief stimulus in noise."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import step_noise
from neurogym.envs.task import Distribution, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative, Number, Positive

STRENGTH = 0.5  #: of the bump; the noise is around 0


class Detection(TrialEnv):
    """Respond as soon as a brief bump appears in noise; withhold if none does.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        delay: Time from the onset of the stimulus period to the bump (ms), or less if the period is too short for it.
            Default: drawn in each trial.
        stim_dur: Duration of the bump (ms), at least one step.

    Raises:
        ValueError: If the bump does not fit into any stimulus period.
    """

    metadata = TaskInfo(
        tags=["perceptual", "reaction time", "go-no-go", "supervised"],
        necessary=("stimulus",),
        measures=("detection",),
    )
    default_timing = {"fixation": 500, "stimulus": ("truncated_exponential", (1000, 500, 1500))}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": -1.0, "miss": -1.0, "withhold": 0.0}
    rule = Rule(fixate=("fixation",), answer=("stimulus",))

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 1.0, delay: Number | None = None, stim_dur: Positive = 100):
        self.sigma, self.delay = step_noise(sigma, self.dt), delay
        self.bump = max(1, int(stim_dur / self.dt + 1e-6))
        longest = Distribution.of(self.timing["stimulus"]).bounds()[1]
        if delay is not None and not 0 <= delay <= longest - max(stim_dur, self.dt):
            raise ValueError(
                f"a bump of stim_dur={stim_dur!r} ms at delay={delay!r} ms never fits into a stimulus period of "
                f"at most {longest:g} ms"
            )
        self.conditions = {"ground_truth": (0, 1)}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": 1})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _new_trials(self, trials: Trials) -> None:
        present = trials.draw("ground_truth") == 1
        trials.add_period(["fixation", "stimulus"], min_steps={"stimulus": self.bump})
        begin, end = trials.starts["stimulus"], trials.ends["stimulus"]
        if self.delay is None:  # after a bump of one step at least one more step is left to respond in
            latest = end - begin - self.bump - (self.bump == 1)
            onset = begin + trials.rng.integers(0, np.maximum(latest, 0) + 1)
        else:
            onset = np.minimum(begin + trials.steps(self.delay), end - self.bump)
        trials.info["delay"] = np.where(present, (onset - begin) * float(self.dt), np.nan)
        onset = np.where(present, onset, end)
        trials.add_ob(1, "fixation", where="fixation")
        trials.add_ob(
            lambda rows: STRENGTH * ((rows.step >= onset[rows.trial]) & (rows.step < onset[rows.trial] + self.bump)),
            "stimulus",
            where="stimulus",
        )
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        trials.set_groundtruth(lambda rows: rows.step >= onset[rows.trial], "stimulus")
        trials.go, trials.go_period = np.where(present, onset, begin), "bump"
