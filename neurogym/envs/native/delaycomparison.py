"""Delayed comparison of two magnitudes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neurogym.envs.task import ConditionValues, NonNegative, Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments

PAIRS = ((18, 10), (22, 14), (26, 18), (30, 22), (34, 26))


class DelayComparison(TrialEnv):
    """Report the larger of two successive magnitudes (vibration frequencies).

    Args:
        vpairs: Pairs of magnitudes, the larger first.
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).

    Source: Barak, Tsodyks & Romo 2010.
    """

    metadata = TaskInfo(
        doi="10.1523/JNEUROSCI.1875-10.2010",
        tags=["perceptual", "working memory", "two-alternative", "supervised"],
        necessary=("stimulus1", "stimulus2"),
    )
    default_timing = {"fixation": 500, "stimulus1": 500, "delay": 1000, "stimulus2": 500, "decision": 100}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}
    rule = Rule(fixate=("fixation",), answer=("decision",))
    vpairs = ConditionValues("vpair")

    @usual_arguments(first=("vpairs",))
    def __init__(self, vpairs: Sequence[tuple[float, float]] | None = None, sigma: NonNegative = 1.0):
        self.sigma = sigma / np.sqrt(self.dt)
        self.conditions = {
            "ground_truth": (1, 2),
            "vpair": [tuple(pair) for pair in (PAIRS if vpairs is None else vpairs)],
        }
        self.observation_space = spaces.channels({"fixation": 0, "stimulus": 1})
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    @property
    def vall(self) -> np.ndarray:
        """Magnitudes of all pairs, flattened."""
        return np.ravel(self.vpairs)

    @property
    def vmin(self) -> float:
        """The smallest magnitude."""
        return self.vall.min()

    @property
    def vmax(self) -> float:
        """The largest magnitude."""
        return self.vall.max()

    def represent(self, value: np.ndarray) -> np.ndarray:
        """Stimulus strength of a magnitude, 0.5 to 1 over the range of the pairs."""
        return (1 + (value - self.vmin) / (self.vmax - self.vmin)) / 2

    def _new_trials(self, trials: Trials) -> None:
        first_larger = trials.draw("ground_truth") == 1
        pair = np.stack(list(trials.draw("vpair")))
        v1 = trials.info["v1"] = np.where(first_larger, pair[:, 0], pair[:, 1])
        v2 = trials.info["v2"] = np.where(first_larger, pair[:, 1], pair[:, 0])
        trials.add_ob(1, ["fixation", "stimulus1", "delay", "stimulus2"], where="fixation")
        trials.add_ob(self.represent(v1), "stimulus1", where="stimulus")
        trials.add_ob(self.represent(v2), "stimulus2", where="stimulus")
        trials.add_randn(0, self.sigma, ["stimulus1", "stimulus2"], where="stimulus")
        trials.set_groundtruth(trials.info["ground_truth"], "decision")
