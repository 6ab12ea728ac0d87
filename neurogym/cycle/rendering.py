"""Pictures of the trial that a session is in."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.plotting.frames import TrialSoFar, frame


class Rendered:
    """Pictures of trials, for tasks made with a ``render_mode``."""

    cursor: Any
    render_mode: str | None
    _seen: TrialSoFar | None

    def keep(self, row: int, action: Any, reward: float, ended: bool) -> None:
        """Keep a step for :meth:`render`."""
        cursor, seen = self.cursor, self._seen
        if seen is None or len(seen.ob) == seen.steps:
            seen = self._seen = TrialSoFar(steps=cursor.end - cursor.first)
        seen.ob.append(cursor.ob[row])
        seen.actions.append(action)
        seen.rewards.append(reward)
        if cursor.gt is not None:
            seen.gt.append(cursor.gt[row])
        if ended:
            seen.steps = len(seen.ob)

    def render(self, mode: str | None = None) -> np.ndarray | None:
        """Draw the trial so far, or after the last step of a trial the whole trial.

        Args:
            mode: ``"rgb_array"``; default what the task was made with (``render_mode``). ``"human"`` draws nothing.

        Returns:
            Shape (height, width, 3), 0 to 255; None if nothing is to be drawn.

        Raises:
            ResetNeeded: If there is no trial yet.
        """
        if (mode or self.render_mode) != "rgb_array":
            return None
        cursor = self.cursor
        if cursor.block is None:
            raise gym.error.ResetNeeded("call reset() before render()")
        seen = TrialSoFar() if self._seen is None else copy.copy(self._seen)
        if len(seen.ob) != seen.steps or not seen.ob:  # a trial is on
            seen.ob, seen.steps = list(cursor.ob[cursor.first : cursor.row + 1]), cursor.end - cursor.first
        return frame(seen, self)
