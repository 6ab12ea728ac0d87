"""Post-decision wagering: a direction judgement with an occasional sure bet."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import ring, ring_stimulus, step_noise
from neurogym.envs.task import ChoiceTask, ConditionValues, ObserverSettings, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, NonNegative

COHERENCES = (0, 3.2, 6.4, 12.8, 25.6, 51.2)


class PostDecisionWager(ChoiceTask):
    """Report a noisy direction or, where a sure target is offered, take a smaller but certain reward.

    The sure target appears during the delay in half of the trials and stays on.

    Args:
        rewards: Replaces entries of ``default_rewards``; ``sure`` is 0.7 times ``correct`` unless given.
        timing: Replaces entries of ``default_timing`` (ms); ``pre_sure`` is the time from the start of the delay to
            the sure target.
        dim_ring: Number of directions, equally spaced.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Source: Kiani & Shadlen 2009.
    """

    metadata = TaskInfo(
        doi="10.1126/science.1169405",
        tags=["perceptual", "delayed response", "confidence", "two-alternative", "supervised"],
        necessary=("stimulus",),
        measures=("wagering",),
    )
    default_timing = {
        "fixation": 100,
        "stimulus": ("truncated_exponential", (180, 100, 900)),
        "delay": ("truncated_exponential", (1350, 1200, 1800)),
        "pre_sure": ("uniform", (500, 750)),
        "decision": 100,
    }
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0, "sure": 0.7}
    cohs = ConditionValues("coh")
    wagers = ConditionValues("wager")
    ideal_observer = ObserverSettings(("wager", "ground_truth", "coh"))

    @usual_arguments()
    def __init__(self, rewards: dict[str, float] | None = None, dim_ring: AtLeastTwo = 2, sigma: NonNegative = 1.0):
        if "sure" not in (rewards or {}):
            self.rewards["sure"] = 0.7 * self.rewards["correct"]
        self.sigma, self.dim_ring, self.theta = step_noise(sigma, self.dt), dim_ring, ring(dim_ring)
        self.conditions = {"wager": (False, True), "ground_truth": np.arange(dim_ring), "coh": np.array(COHERENCES)}
        names: dict[str, int | range] = {"fixation": 0, "stimulus": range(1, dim_ring + 1), "sure": dim_ring + 1}
        self.observation_space = spaces.channels(names)
        self.action_space = spaces.Discrete(
            dim_ring + 2, name={"fixation": 0, "choice": range(1, dim_ring + 1), "sure": dim_ring + 1}
        )

    def _new_trials(self, trials: Trials) -> None:
        wager, ground_truth, coh = trials.draw("wager"), trials.draw("ground_truth"), trials.draw("coh")
        trials.add_period(["fixation", "stimulus", "delay", "decision"], min_steps={"stimulus": 1})
        delay = (trials.ends["delay"] - trials.starts["delay"]) * self.dt
        trials.add_period("pre_sure", wager * np.minimum(trials.sample_time("pre_sure"), delay), after="stimulus")
        trials.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        trials.add_ob(ring_stimulus(self.theta, self.theta[ground_truth], coh), "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        trials.add_ob(wager, ["delay", "decision"], where="sure")
        trials.set_ob(0, "pre_sure", where="sure")
        trials.set_groundtruth(ground_truth, "decision", where="choice")
        sure, fail = trials.reward("sure"), trials.reward("fail")
        worth = np.clip((sure - fail) / (trials.reward("correct") - fail), 0, 1)
        pay = np.where(wager, sure, trials.reward("abort"))
        trials.set_action_reward("decision", len(self.theta) + 1, pay, np.where(wager, worth, 0.0))
