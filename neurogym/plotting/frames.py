"""Picture of a trial up to the current step, as returned by ``render``."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.plotting.runs import draw_actions, draw_observations, draw_rewards
from neurogym.plotting.training import SETTINGS
from neurogym.spaces import Action


@dataclass
class TrialSoFar:
    """A trial so far, step by step.

    Attributes:
        ob: What the agent saw.
        actions: What the agent did; one less than ``ob`` before the next action.
        rewards: What that earned.
        gt: The right actions, if there are any.
        steps: Steps of the whole trial.
    """

    ob: list[np.ndarray] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    gt: list[Action] = field(default_factory=list)
    steps: int = 1

    @classmethod
    def after(
        cls, seen: TrialSoFar | None, cursor: Any, row: int, action: Action, reward: float, ended: bool
    ) -> TrialSoFar:
        """Add a step to the trial so far, or to a new trial after the last step of a trial.

        Args:
            seen: The trial so far; None before the first step.
            cursor: Position of the session.
            row: Row of the block that was acted on.
            action: The action.
            reward: What it earned.
            ended: Whether it ended the trial.
        """
        if seen is None or len(seen.ob) == seen.steps:
            seen = cls(steps=cursor.end - cursor.first)
        seen.ob.append(cursor.ob[row])
        seen.actions.append(action)
        seen.rewards.append(reward)
        if cursor.gt is not None:
            seen.gt.append(cursor.gt[row])
        if ended:
            seen.steps = len(seen.ob)
        return seen


def picture(env: Any) -> np.ndarray:
    """Draw the current trial of a task so far, or the trial that has just ended; see :func:`frame`.

    Raises:
        ResetNeeded: If there is no trial yet.
    """
    cursor, seen = env.session.cursor, env.session.seen
    if cursor.block is None:
        raise gym.error.ResetNeeded("call reset() before render()")
    seen = TrialSoFar() if seen is None else copy.copy(seen)
    if len(seen.ob) != seen.steps or not seen.ob:  # a trial is on
        seen.ob, seen.steps = list(cursor.ob[cursor.first : cursor.row + 1]), cursor.end - cursor.first
    return frame(seen, env)


def frame(seen: TrialSoFar, env: Any) -> np.ndarray:
    """Draw a trial so far: inputs, choices and rewards; of image tasks the image itself.

    Args:
        seen: The trial.
        env: Gives the names of channels and actions.

    Returns:
        Shape (height, width, 3), 0 to 255.
    """
    ob = np.asarray(seen.ob)
    if ob.ndim == 4:
        return np.ascontiguousarray(ob[-1, ..., :3]).astype(np.uint8)
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    acted = np.arange(1, len(seen.actions) + 1)
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(6, 4), dpi=100, layout="constrained")
        canvas = FigureCanvasAgg(figure)
        axes = figure.subplots(3, 1, sharex=True, height_ratios=[2, 1, 1])
        draw_observations(axes[0], np.arange(1, len(ob) + 1), ob.reshape(len(ob), -1), None, env, legend=False)
        draw_actions(
            axes[1], acted, np.asarray(seen.actions), np.asarray(seen.gt) if seen.gt else None, env, legend=False
        )
        draw_rewards(axes[2], acted, np.asarray(seen.rewards), env)
        axes[2].set_xlim(0.5, seen.steps + 0.5)
        axes[2].set_xlabel("Steps")
        axes[2].xaxis.get_major_locator().set_params(integer=True)
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()
