"""A task of your own in the style of NeuroGym: a single trial at a time, rewards in ``_step``."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym import spaces
from neurogym.core import TrialEnv


class MyTask(TrialEnv):
    """Say after a delay which of two noisy stimuli was stronger.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``self.rewards``.
        timing: Replaces entries of ``self.timing`` (ms).
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
    """

    metadata = {
        "paper_name": None,
        "paper_link": None,
        "tags": ["perceptual", "working memory", "two-alternative", "supervised"],
        "description": "say after a delay which of two noisy stimuli was stronger",
    }

    def __init__(self, dt: float = 100, rewards: dict | None = None, timing: dict | None = None, sigma: float = 1.0):
        super().__init__(dt=dt)
        self.rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, **(rewards or {})}
        self.timing = {"fixation": 200, "stimulus": 500, "delay": 200, "decision": 200, **(timing or {})}
        self.cohs = np.array([6.4, 12.8, 25.6, 51.2])
        self.sigma = sigma / np.sqrt(dt)
        self.observation_space = spaces.Box(
            -np.inf, np.inf, shape=(3,), dtype=np.float32, name={"fixation": 0, "stimulus": [1, 2]}
        )
        self.action_space = spaces.Discrete(3, name={"fixation": 0, "choice": [1, 2]})

    def _new_trial(self, **kwargs: Any) -> dict[str, Any]:
        """Describe a trial; the returned values go into the trial table of a run."""
        trial = {"ground_truth": self.rng.choice([1, 2]), "coh": self.rng.choice(self.cohs), **kwargs}
        self.add_period(["fixation", "stimulus", "delay", "decision"])
        self.add_ob(1, ["fixation", "stimulus", "delay"], where="fixation")
        sign = np.array([1, -1]) if trial["ground_truth"] == 1 else np.array([-1, 1])
        self.add_ob((1 + sign * trial["coh"] / 100) / 2, "stimulus", where="stimulus")
        self.add_randn(0, self.sigma, "stimulus", where="stimulus")
        self.set_groundtruth(trial["ground_truth"], "decision")
        return trial

    def _step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, terminated, truncated and information; ``new_trial`` ends the trial."""
        new_trial, reward = False, 0.0
        if self.in_period("decision"):
            if action != 0:
                new_trial = True
                correct = action == self.gt_now
                reward = self.rewards["correct" if correct else "fail"]
                self.performance = float(correct)
        elif action != 0:
            reward = self.rewards["abort"]
        return self.ob_now, reward, False, False, {"new_trial": new_trial, "gt": self.gt_now}
