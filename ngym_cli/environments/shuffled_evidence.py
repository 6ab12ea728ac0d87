"""Wrapper for controls: evidence that says nothing about the right answer of its trial."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.trials import Trials
from neurogym.wrappers.base import TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.noise import stimulus_columns


class ShuffledEvidence(TrialWrapper):
    """Show in the stimulus period of each trial the evidence of the trial before; what is right stays.

    Args:
        env: A task with a period and channels called ``stimulus``.

    Raises:
        ValueError: If the task has no stimulus channels.
    """

    hooks = Hooks(changes=("observations",))

    def __init__(self, env: gym.Env):
        self._columns = stimulus_columns(env, "ShuffledEvidence")
        super().__init__(env)
        self.start_session()

    def start_session(self) -> None:
        """Forget the evidence of the last trial; the first trial of a session shows none."""
        self.last = np.zeros((1, len(self._columns)), np.float32)

    def revise(self, trials: Trials) -> None:
        """Replace the evidence of each trial by that of the one before, repeated or cut to the length."""
        rows = trials.rows("stimulus")
        for trial in range(len(trials.length)):
            index = rows.index[rows.trial == trial]
            shown = trials.ob[index[:, None], self._columns].copy()
            trials.ob[index[:, None], self._columns] = np.resize(self.last, shown.shape)
            self.last = shown if len(shown) else self.last
