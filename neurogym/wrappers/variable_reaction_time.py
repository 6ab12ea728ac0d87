"""Reaction-time version of a task with a variable minimal viewing time."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.parameters.ranges import Positive
from neurogym.trials import Trials
from neurogym.wrappers.reaction_time import ReactionTime


class VariableReactionTime(ReactionTime):
    """A reaction-time task in which answers count only after a minimal stimulus duration, drawn for each trial.

    It is uniform between one step and ``min(stim_dur_limit, stimulus duration)``; the trial's record has it as
    ``min_stim_dur`` (ms).

    Args:
        env: A task with periods called ``stimulus`` and ``decision``.
        urgency: Added to the reward of every step (negative: time costs).
        stim_dur_limit: Longest minimal duration (ms).

    Raises:
        AttributeError: If the task has no such periods or no ground truth.
        ValueError: If the limit is not positive.
    """

    metadata = ReactionTime.metadata.replace(
        description="the answer may be given while the stimulus is on, after a minimal time that varies",
    )

    def __init__(self, env: gym.Env, urgency: float = 0.0, stim_dur_limit: Positive = 100):
        super().__init__(env, urgency)
        self.stim_dur_limit = stim_dur_limit

    def opening(self, trials: Trials) -> np.ndarray:
        """Steps after stimulus onset from which answers count."""
        length = trials.ends["stimulus"] - trials.starts["stimulus"]
        longest = np.maximum(1, np.minimum(int(self.stim_dur_limit / trials.dt + 1e-6), length))
        steps = trials.rng.integers(1, longest + 1)
        trials.info["min_stim_dur"] = steps * float(trials.dt)
        return steps
