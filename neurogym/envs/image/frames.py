"""Base of the image tasks: colour frames, small blocks of trials, and drawing with NumPy."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from neurogym.engine.making import trial_length_stats
from neurogym.envs.task import Period, TrialEnv, Trials, spaces, unknown
from neurogym.wrappers.tasks import Traits

Point = Sequence[float] | np.ndarray  #: x and y
SIZE = (100, 100)  #: width and height of a frame (pixels)
MINIATURE = (4, 4)


def pixel_positions(size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the pixels of a frame: x of each column, shape (1, width), and y of each row, shape (height, 1)."""
    width, height = size
    return ((np.arange(width) + 0.5) / width * 2 - 1)[None, :], (1 - (np.arange(height) + 0.5) / height * 2)[:, None]


class ImageTask(TrialEnv):
    """A task that shows frames, uint8 of shape (height, width, 3).

    Positions are given as in the literature: x to the right, y upwards, from -1 to 1 across the frame.

    """

    background = 0  #: grey level of an empty frame

    @property
    def traits(self) -> Traits:
        """Capabilities; frames take too much memory to be made far ahead."""
        return super().traits._replace(most_ahead=1)

    def set_frames(self, win_kwargs: Mapping[str, Any] | None) -> None:
        """Set the size of frames from ``{"size": (width, height)}``, in pixels; default 100 x 100.

        Raises:
            ValueError: If there is another key, or the size is not two positive integers.
        """
        options = dict(win_kwargs or {})
        size = options.pop("size", SIZE)
        if options:
            raise ValueError(unknown("entry of win_kwargs", next(iter(options)), ("size",)))
        if np.shape(size) != (2,) or any(int(side) != side or side < 1 for side in size):
            raise ValueError(f"size must be (width, height) in pixels, got {size!r}")
        self._resize((int(size[0]), int(size[1])))

    def _resize(self, size: tuple[int, int]) -> None:
        width, height = self.size = size
        self.observation_space = spaces.Box(0, 255, shape=(height, width, 3), dtype=np.uint8)
        self.pixel_x, self.pixel_y = pixel_positions(size)

    def miniature(self) -> Self:
        """Return a copy with tiny frames, for computations that do not depend on image size."""
        env = copy.deepcopy(self)
        env._resize(MINIATURE)
        return env

    def chance(self) -> dict[str, float]:
        """``performance`` and ``reward`` per trial of an agent that draws every action uniformly."""
        return super().chance() if self.size == MINIATURE else self.miniature().chance()

    def trial_length_stats(self, num_trials: int = 10_000) -> dict[str, float]:
        """Mean, s.d., 95th percentile and maximum of the trial length, in steps."""
        return trial_length_stats(self.miniature(), num_trials)

    # -- drawing ------------------------------------------------------------------------------------------------------

    def clear(self, trials: Trials) -> None:
        """Begin with empty frames."""
        if self.background:
            trials.ob[...] = self.background
        else:
            _ = trials.ob

    def mark_fixation(self, trials: Trials, period: Period, level: int = 255) -> None:
        """Draw a square in the middle of the frames of some periods, about 1/33 of the width wide."""
        index, (rows, columns) = trials.rows(period).index, self.middle()
        patch = trials.ob[index, rows, columns]
        trials.ob[index, rows, columns] = np.full_like(patch, level)

    def middle(self) -> tuple[slice, slice]:
        """Rows and columns of the mark in the middle of a frame."""
        width, height = self.size
        half = max(1, width // 33) // 2
        return slice(height // 2 - half, height // 2 + half + 1), slice(width // 2 - half, width // 2 + half + 1)

    def pixels(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of the pixel at each position."""
        width, height = self.size
        column = np.clip(((x + 1) / 2 * width).astype(int), 0, width - 1)
        row = np.clip(((1 - y) / 2 * height).astype(int), 0, height - 1)
        return row, column

    def line(
        self, image: np.ndarray, center: Point, angle: float, half: float, colour: ArrayLike, width: float
    ) -> None:
        """Draw a line with soft edges into an image of floats.

        Args:
            image: Shape (height, width, 3), 0 to 255.
            center: x and y.
            angle: Against the x axis (rad).
            half: Half of its length.
            colour: Red, green, blue, 0 to 1.
            width: In pixels.
        """
        unit = 2 / self.size[0], 2 / self.size[1]  # of a pixel
        along = np.array([np.cos(angle), np.sin(angle)])
        reach = half / unit[0]
        near = reach + width / 2 + 1  # pixels around the centre that the line can touch
        columns = np.flatnonzero(np.abs(self.pixel_x[0] - center[0]) <= near * unit[0])
        rows = np.flatnonzero(np.abs(self.pixel_y[:, 0] - center[1]) <= near * unit[1])
        if not len(columns) or not len(rows):
            return
        touched = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
        image = image[touched]
        dx = (self.pixel_x[:, touched[1]] - center[0]) / unit[0]
        dy = (self.pixel_y[touched[0]] - center[1]) / unit[1]
        nearest = np.clip(dx * along[0] + dy * along[1], -reach, reach)
        distance = np.hypot(dx - nearest * along[0], dy - nearest * along[1])
        cover = np.clip(width / 2 + 0.5 - distance, 0, 1)[:, :, None]
        image *= 1 - cover
        image += cover * 255 * np.asarray(colour)
