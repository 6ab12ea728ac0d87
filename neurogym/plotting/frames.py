"""Picture of a trial up to the current step, as returned by ``render``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neurogym.plotting.runs import draw_actions, draw_observations, draw_rewards
from neurogym.plotting.training import SETTINGS


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

    ob: list[Any] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    gt: list[Any] = field(default_factory=list)
    steps: int = 1


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
