"""Configurable two-stimulus task."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import coherences, step_noise
from neurogym.envs.task import ChoiceTask, ObserverSettings, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative, Numbers

PERIODS = ("fixation", "stim1", "delay_btw_stim", "stim2", "delay_aft_stim", "decision")
ANY = ("truncated_exponential", (500, 200, 800))


class GenTask(ChoiceTask):
    """Compare the strength of two stimuli, in a configurable design.

    With ``simultaneous_stim`` both are shown at once (random dots); with a delay after them it is a delayed response;
    one after the other it is a delayed comparison; with ``gng`` the answer is to go if the first is the stronger and
    to withhold otherwise.

    Args:
        cohs: Coherences (percent): the stimuli have strength (1 +- coh/100) / 2.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        simultaneous_stim: Whether both stimuli are shown in the period ``stim1``.
        gng: Whether there is a single response.
    """

    metadata = TaskInfo(
        tags=["perceptual", "working memory", "delayed response", "two-alternative", "go-no-go", "supervised"],
        necessary=(("stimulus1", "stimulus2"),),
        measures=("psychometric",),
        small={"cohs": (25.6,)},
    )
    default_timing = dict.fromkeys(PERIODS, ANY)
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0, "withhold": 0.0}
    ideal_observer = ObserverSettings(("ground_truth", "coh"))

    @usual_arguments()
    def __init__(
        self,
        cohs: Numbers | None = None,
        sigma: NonNegative = 2**0.5,
        simultaneous_stim: bool = False,
        gng: bool = False,
    ):
        self.cohs = coherences(cohs)
        self.sigma, self.simultaneous_stim, self.gng = step_noise(sigma, self.dt), simultaneous_stim, gng
        self.conditions = {"ground_truth": (1, 2), "coh": self.cohs}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus1": 1, "stimulus2": 2})
        actions = {"fixation": 0, "go": 1} if gng else {"fixation": 0, "choice": [1, 2]}
        self.action_space = spaces.Discrete(2 if gng else 3, name=actions)

    def _new_trials(self, trials: Trials) -> None:
        stronger, coh = trials.draw("ground_truth"), trials.draw("coh") / 100
        second = "stim1" if self.simultaneous_stim else "stim2"
        between = [] if self.simultaneous_stim else ["delay_btw_stim", "stim2"]
        before = ["fixation", "stim1", *between, "delay_aft_stim"]
        trials.add_period([*before, "decision"], min_steps=1)
        trials.add_ob(1, before, where="fixation")
        for k, period in ((1, "stim1"), (2, second)):
            sign = np.where(stronger == k, 1, -1)
            trials.add_ob((1 + sign * coh) / 2, period, where=f"stimulus{k}")
            trials.add_randn(0, self.sigma, period, where=f"stimulus{k}")
        trials.set_groundtruth(stronger == 1 if self.gng else stronger, "decision")
