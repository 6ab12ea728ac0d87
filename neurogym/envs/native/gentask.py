"""Configurable two-stimulus task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.envs.task import NonNegative, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments

ANY = ("truncated_exponential", (500, 200, 800))


class GenTask(TrialEnv):
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
    default_timing = {
        "fixation": ANY,
        "stim1": ANY,
        "delay_btw_stim": ANY,
        "stim2": ANY,
        "delay_aft_stim": ANY,
        "decision": ANY,
    }
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0, "withhold": 0.0}
    rule = Rule(fixate=("fixation",), answer=("decision",))

    @usual_arguments()
    def __init__(
        self,
        cohs: Sequence[float] | None = None,
        sigma: NonNegative = 2**0.5,
        simultaneous_stim: bool = False,
        gng: bool = False,
    ):
        self.cohs = np.array([0, 6.4, 12.8, 25.6, 51.2] if cohs is None else cohs, dtype=float)
        self.sigma, self.simultaneous_stim, self.gng = sigma / np.sqrt(self.dt), simultaneous_stim, gng
        self.conditions = {"ground_truth": (1, 2), "coh": self.cohs}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus1": 1, "stimulus2": 2})
        self.action_space = (
            spaces.Discrete(2, name={"fixation": 0, "go": 1})
            if gng
            else spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})
        )

    def _new_trials(self, trials: Trials) -> None:
        stronger, coh = trials.draw("ground_truth"), trials.draw("coh") / 100
        shown = (
            {"stim1": ("stimulus1", "stimulus2")}
            if self.simultaneous_stim
            else {"stim1": ("stimulus1",), "stim2": ("stimulus2",)}
        )
        between = [] if self.simultaneous_stim else ["delay_btw_stim", "stim2"]
        before = ["fixation", "stim1", *between, "delay_aft_stim"]
        trials.add_period([*before, "decision"], min_steps=1)
        trials.add_ob(1, before, where="fixation")
        for period, stimuli in shown.items():
            for stimulus in stimuli:
                sign = np.where(stronger == int(stimulus[-1]), 1, -1)
                trials.add_ob((1 + sign * coh) / 2, period, where=stimulus)
                trials.add_randn(0, self.sigma, period, where=stimulus)
        trials.set_groundtruth(stronger == 1 if self.gng else stronger, "decision")
