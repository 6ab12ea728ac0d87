"""Spatial suppression of motion with drifting plaids, in frames."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from neurogym.envs.image.frames import ImageTask, pixel_positions
from neurogym.envs.native.spatialsuppressmotion import STIMULUS_FRAME_MS, SpatialSuppressMotion
from neurogym.envs.task import Trials
from neurogym.parameters.arguments import Positive

CYCLES = 12.8  #: of each grating across the frame
HERTZ = 3.2
AXES = np.pi * np.array([0.25, 0.75])  #: directions along which the two gratings vary (rad)
MOTION = np.pi * np.array([1.0, 0.0, 0.5, 1.5])  #: left, right, up, down (rad)
RISE, RISE_SD = 41.67, 13.24  #: ms; contrast rises and falls along a Gaussian
FRINGE = 0.2  #: part of the radius over which the contrast falls to zero


class SpatialSuppressMotionImage(ImageTask, SpatialSuppressMotion):
    """Give the probabilities with which people choose each of four directions of a drifting plaid.

    Two gratings at right angles make a plaid that moves left, right, up or down; its contrast is high or low.

    Args:
        dt: Time step, one frame (ms); 8.3 is one frame at 120 Hz.
        win_kwargs: ``{"size": (width, height)}`` in pixels.
        timing: Replaces entries of ``default_timing`` (ms).
        rewards: Replaces entries of ``default_rewards``: the reward of the best and of the worst trial.
        diameter: Of the plaid, relative to the frame.

    Raises:
        ValueError: If ``diameter`` is not above 0.

    Source: Tadin, Lappin, Gilroy & Blake 2003.
    """

    metadata = SpatialSuppressMotion.metadata.replace(
        necessary=(),
        supervised="networks are fitted to the answers of people, which are known for every frame; from reward it "
        "takes too long with images",
    )
    background = 127

    def __init__(
        self,
        dt: float = STIMULUS_FRAME_MS,
        win_kwargs: Mapping[str, object] | None = None,
        timing: dict[str, object] | None = None,
        rewards: dict[str, float] | None = None,
        diameter: Positive = 1.0,
    ):
        self.diameter = diameter
        super().__init__(dt=dt, timing=timing, rewards=rewards)
        self.set_frames(win_kwargs)
        del self.conditions["diameter"]

    def _contrast(self, trials: Trials) -> np.ndarray:
        trials.info["diameter"] = np.full(trials.n, self.diameter)
        return trials.draw("contrast")

    def envelope(self, frames: int) -> np.ndarray:
        """Contrast over time, 0 to 1, shape (frames,)."""
        return envelope(frames, self.dt)

    def _show(self, trials: Trials, direction: np.ndarray, contrast: np.ndarray) -> None:
        """Draw the plaid."""
        ob = trials.ob
        for k in range(trials.n):
            frames, first = int(trials.length[k]), trials.offset[k]
            images = plaid(
                self.size, self.diameter, self.dt, frames, int(direction[k]), float(contrast[k]), self.background
            )
            ob[first : first + frames] = images


def envelope(frames: int, dt: float) -> np.ndarray:
    """Contrast over time, 0 to 1, shape (frames,), with ``dt`` ms between frames."""
    time = np.arange(frames) * dt
    edge = np.minimum(time, time[::-1])
    return np.exp(-0.5 * (np.maximum(RISE - edge, 0) / RISE_SD) ** 2)


@functools.lru_cache(maxsize=4)
def gratings(size: tuple[int, int], diameter: float) -> np.ndarray:
    """Cosine and sine of each of the two gratings, shape (4, pixels), -1 to 1."""
    x, y = pixel_positions(size)
    edge = np.clip((1 - np.hypot(x, y) / diameter) / FRINGE, 0, 1)
    mask = 0.5 - 0.5 * np.cos(np.pi * edge)
    phase = [np.pi * CYCLES * (np.cos(axis) * x + np.sin(axis) * y) for axis in AXES]
    waves = [mask * wave(each) for each in phase for wave in (np.cos, np.sin)]
    return np.stack([grating.ravel() for grating in waves]).astype(np.float32)


@functools.lru_cache(maxsize=16)
def plaid(
    size: tuple[int, int], diameter: float, dt: float, frames: int, direction: int, contrast: float, background: int
) -> np.ndarray:
    """The mean of two gratings, each drifting towards the side on which the motion is.

    Nothing in it is drawn at random, so the few that a task has are kept, for all environments together.

    Args:
        size: Width and height (pixels).
        diameter: Relative to the frame.
        dt: Between frames (ms).
        frames: How many.
        direction: Place in ``MOTION``.
        contrast: 0 to 1.
        background: Grey level.

    Returns:
        Frames (frames, height, width, 3), uint8, not to be written to.
    """
    drift = np.sign(np.cos(AXES - MOTION[direction]))
    phase = 2 * np.pi * HERTZ / 1000 * dt * np.arange(frames)[:, None] * drift
    weights = np.stack([np.cos(phase), np.sin(phase)], axis=2).reshape(frames, 4)
    weights *= 0.5 * contrast * envelope(frames, dt)[:, None]
    grey = background + 0.5 + 127 * (weights.astype(np.float32) @ gratings(size, diameter))
    image = np.repeat(grey.astype(np.uint8).reshape(frames, *size[::-1], 1), 3, axis=3)
    image.flags.writeable = False
    return image
