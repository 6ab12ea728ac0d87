"""Delayed paired association of odours."""

from __future__ import annotations

import numpy as np

from neurogym.envs.psychophysics import step_noise
from neurogym.envs.task import ChoiceTask, ConditionValues, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative

PAIRS = ((1, 3), (1, 4), (2, 3), (2, 4))  #: odours 1 and 3 belong together, and 2 and 4


class DelayPairedAssociation(ChoiceTask):
    """Respond if the second of two odours belongs to the first, withhold if not.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Source: Zhang et al. 2019.
    """

    metadata = TaskInfo(
        doi="10.7554/eLife.43191",
        tags=["perceptual", "working memory", "go-no-go", "supervised"],
        necessary=("stim1", "stim2"),
        measures=("detection",),
    )
    default_timing = {
        "fixation": 0,
        "stim1": 1000,
        "delay_btw_stim": 1000,
        "stim2": 1000,
        "delay_aft_stim": 1000,
        "decision": 500,
    }
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": -1.0, "miss": 0.0, "withhold": 0.0}
    pairs = ConditionValues("pair")
    association = 0  #: odours belong together if their difference modulo 2 is this

    @usual_arguments()
    def __init__(self, sigma: NonNegative = 1.0):
        self.sigma = step_noise(sigma, self.dt)
        self.conditions = {"ground_truth": (0, 1), "pair": list(PAIRS)}
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": range(1, 5)})
        self.action_space = spaces.Discrete(2, name={"fixation": 0, "go": 1})

    def _together(self, pair: np.ndarray) -> np.ndarray:
        """Whether the odours of each pair, shape (n, 2), belong together."""
        return (pair[:, 1] - pair[:, 0]) % 2 == self.association

    def _pairs(self, trials: Trials) -> np.ndarray:
        """Odours of each trial, shape (n, 2): as requested, else drawn in accordance with a requested ground truth."""
        if "pair" in trials.given:
            pair = np.stack(list(trials.given["pair"]))
            together = self._together(pair)
            if np.any(together != trials.given.get("ground_truth", together)):
                raise ValueError(f"pair {tuple(pair[0])} and ground_truth {trials.given['ground_truth'][0]} contradict")
            trials.info["ground_truth"] = together.astype(int)
            trials.info["pair"] = pair
            return pair
        pairs = np.array(self.pairs)
        together = self._together(pairs)
        if "ground_truth" in trials.given:
            fits = together == (trials.draw("ground_truth") == 1)[:, None]
            chosen = np.where(fits, trials.rng.random(fits.shape), -1.0).argmax(axis=1)
        else:
            chosen = trials.rng.integers(len(pairs), size=trials.n)
            trials.info["ground_truth"] = together[chosen].astype(int)
        pair = trials.info["pair"] = pairs[chosen]
        return pair

    def _new_trials(self, trials: Trials) -> None:
        first, second = self._pairs(trials).T
        trials.add_ob(1, where="fixation")
        trials.set_ob(0, "decision", where="fixation")
        trials.add_ob(np.arange(1, 5) == first[:, None], "stim1", where="stimulus")
        trials.add_ob(np.arange(1, 5) == second[:, None], "stim2", where="stimulus")
        trials.add_randn(0, self.sigma, ["stim1", "stim2"], where="stimulus")
        trials.set_groundtruth(trials.info["ground_truth"], "decision")
