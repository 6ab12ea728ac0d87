"""Delayed estimation of a remembered colour."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from neurogym.envs.psychophysics import step_noise
from neurogym.envs.task import Rule, TaskInfo, TrialEnv, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative, Range

PLACES = 8
AtLeastEight = Annotated[int, Range(PLACES, whole=True)]


class DelayEstimation(TrialEnv):
    """Remember the colours at several places; after a delay report the colour of the place that is cued.

    Each place has two channels, which show the cosine and the sine of its colour's angle on the colour wheel. The
    colours of a trial lie in different eighths of the wheel. A report earns 1 minus its distance around the wheel
    from the true colour, as a fraction of half the wheel.

    Args:
        sigma: Noise; its s.d. per step is sigma / sqrt(dt).
        dim_ring: Number of colours, and of reports.

    Raises:
        ValueError: If ``dim_ring`` is less than the number of places (8).

    Source: Zhang & Luck 2008.
    """

    metadata = TaskInfo(
        doi="10.1038/nature06860",
        tags=["perceptual", "visual working memory", "working memory", "delayed response", "supervised"],
        necessary=("stimulus", "cue"),
        small={"dim_ring": 8},
    )
    default_timing = {"stimulus": 100, "delay": 900, "decision": 2000}
    default_rewards = {"abort": -0.1, "correct": 1.0, "miss": -0.1}
    rule = Rule(fixate=("stimulus", "delay"), answer=("decision",))

    @usual_arguments(dt=50)
    def __init__(self, sigma: NonNegative = 1.0, dim_ring: AtLeastEight = 180):
        self.sigma, self.dim_ring = step_noise(sigma, self.dt), dim_ring
        self.conditions = {"set_size": tuple(range(1, PLACES + 1)), "cue": tuple(range(PLACES))}
        names = {"fixation": 0, "stimulus": range(1, 1 + 2 * PLACES), "cue": range(1 + 2 * PLACES, 1 + 3 * PLACES)}
        self.observation_space = spaces.channels(names)
        self.action_space = spaces.Discrete(1 + dim_ring, name={"fixation": 0, "choice": range(1, 1 + dim_ring)})

    def _colours(self, trials: Trials) -> np.ndarray:
        """Colour of each place, from different eighths of a rotated wheel, in random order; shape (n, places)."""
        eighth = self.dim_ring // PLACES
        jitter = trials.rng.integers(max(1, eighth // 2 + 1), size=(trials.n, PLACES))
        turn = trials.rng.integers(self.dim_ring, size=(trials.n, 1))
        spread = (np.arange(PLACES) * self.dim_ring // PLACES + jitter + turn) % self.dim_ring
        return trials.rng.permuted(spread, axis=1)

    def _new_trials(self, trials: Trials) -> None:
        set_size, cue = trials.draw("set_size"), trials.draw("cue")
        colour = self._colours(trials)
        order = trials.rng.random((trials.n, PLACES))
        order[np.arange(trials.n), cue] = -1.0  # the cued place always holds an item
        in_set = order.argsort(axis=1).argsort(axis=1) < set_size[:, None]
        target = trials.info["ground_truth"] = colour[np.arange(trials.n), cue]
        angle = 2 * np.pi * colour / self.dim_ring
        items = np.stack([in_set * np.cos(angle), in_set * np.sin(angle)], axis=2).reshape(trials.n, 2 * PLACES)
        trials.add_period(["stimulus", "delay", "decision"], min_steps=1)
        trials.add_ob(1, ["stimulus", "delay"], where="fixation")
        trials.add_ob(items, "stimulus", where="stimulus")
        trials.add_randn(0, self.sigma, "stimulus", where="stimulus")
        trials.add_ob(np.eye(PLACES)[cue], "decision", where="cue")
        trials.set_groundtruth(target, "decision", where="choice")
        distance = np.abs(np.arange(self.dim_ring) - target[:, None])
        closeness = 1 - np.minimum(distance, self.dim_ring - distance) / (self.dim_ring / 2)
        actions = range(1, 1 + self.dim_ring)
        trials.set_action_reward("decision", actions, trials.reward("correct")[:, None] * closeness, closeness)
