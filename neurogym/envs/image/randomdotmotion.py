"""Random-dot motion in frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from neurogym.envs.image.frames import SIZE, ImageTask
from neurogym.envs.psychophysics import COHERENCES, coherences, exact_ceiling, ring, steps_of
from neurogym.envs.task import ChoiceTask, ConditionValues, Score, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import AtLeastTwo, Range

FRAME_MS = 16.0  #: ms, to which speed and life of the dots refer
N_DOTS = 30  #: visible at a time, on average
SPEED = 0.05 / FRAME_MS  #: of half a frame width, per ms
LIFE = 10 * FRAME_MS  #: ms
#: Shortest stimulus (ms) and most directions for which the direction of two dots stands out at pixel resolution.
CLEAR_MS, CLEAR_DIRECTIONS = 1500, 8
Scale = Annotated[float, Range(0, 100 / max(COHERENCES))]


class RandomDotMotion(ImageTask, ChoiceTask):
    """Report the direction in which some of the dots move together.

    Dots of limited life fill a round aperture. A fraction of them, the coherence, moves in the correct direction in
    every life, the others in a new random direction in each. A mark in the middle is on until the decision.

    Args:
        dt: Time step, one frame (ms).
        win_kwargs: ``{"size": (width, height)}`` in pixels.
        stim_scale: Multiplies the coherences 0, 6.4, 12.8, 25.6, 51.2 (percent).
        dim_ring: Number of directions, equally spaced from rightwards on.

    Raises:
        ValueError: If ``dim_ring`` is less than 2, or ``stim_scale`` makes a coherence that is not a percentage.

    Source: Britten, Shadlen, Newsome & Movshon 1992.
    """

    metadata = TaskInfo(
        doi="10.1523/JNEUROSCI.12-12-04745.1992",
        tags=["perceptual", "two-alternative", "motion", "supervised"],
        necessary=(),
        measures=("psychometric",),
    )
    default_timing = {"fixation": 100, "stimulus": 2000, "decision": 100}
    cohs = ConditionValues("coh")

    @usual_arguments(dt=FRAME_MS, first=("win_kwargs",))
    def __init__(self, win_kwargs: Mapping[str, Any] | None = None, stim_scale: Scale = 1.0, dim_ring: AtLeastTwo = 2):
        self.set_frames(win_kwargs)
        self.theta = ring(dim_ring)
        self.conditions = {"ground_truth": np.arange(dim_ring), "coh": coherences() * stim_scale}
        self.action_space = spaces.Discrete(1 + dim_ring, name={"fixation": 0, "choice": range(1, dim_ring + 1)})

    def _new_trials(self, trials: Trials) -> None:
        ground_truth, coh = trials.draw("ground_truth"), trials.draw("coh")
        self.clear(trials)
        for k in range(trials.n):
            start, end = (int(trials.offset[k] + side["stimulus"][k]) for side in (trials.starts, trials.ends))
            x, y = self.dots(end - start, coh[k] / 100, self.theta[ground_truth[k]], trials.rng)
            row, column = self.pixels(x, y)
            frame, dot = np.nonzero(x**2 + y**2 <= 1)
            trials.ob[start + frame, row[frame, dot], column[frame, dot]] = 255
        self.mark_fixation(trials, ["fixation", "stimulus"])
        trials.set_groundtruth(ground_truth, "decision", where="choice")

    def closed_form(self) -> Score | None:
        """Ceiling, exact up to pixel size: if any dot is coherent, many dot lives show the exact direction."""
        coherent = [coh for coh in self.cohs if coh]
        if (
            self.dt > FRAME_MS
            or min(self.size) < min(SIZE)
            or steps_of(self.miniature(), "stimulus").min() * self.dt < CLEAR_MS
            or len(self.theta) > CLEAR_DIRECTIONS
            or min(coherent, default=0) < COHERENCES[1]
        ):
            return None
        none = np.clip(1 - np.array(self.cohs) / 100 * round(N_DOTS * 4 / np.pi), 0, 1)
        return exact_ceiling(
            self, float(np.mean(1 - none + none / len(self.theta))), "the heading of every life is seen"
        )

    def dots(
        self, frames: int, coherence: float, direction: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions of dots in the square around the aperture.

        Args:
            frames: How many.
            coherence: Fraction of the dots that move in ``direction``.
            direction: In rad.
            rng: Generator.

        Returns:
            x and y, each of shape (frames, dots).
        """
        count = round(N_DOTS * 4 / np.pi)
        life = max(2, round(LIFE / self.dt))
        signal = np.arange(count) < int(coherence * count + rng.random())  # right on average
        time = np.arange(frames)[:, None] + rng.integers(life, size=count)
        born, age = np.divmod(time, life)
        lives = (frames + life) // life + 1
        heading = np.where(signal, direction, rng.uniform(0, 2 * np.pi, (lives, count)))
        start = rng.uniform(-1, 1, (2, lives, count))
        dot, moved = (born, np.arange(count)), SPEED * self.dt * age
        x = start[0][dot] + moved * np.cos(heading)[dot]
        y = start[1][dot] + moved * np.sin(heading)[dot]
        return (x + 1) % 2 - 1, (y + 1) % 2 - 1
