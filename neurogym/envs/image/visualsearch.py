"""Visual search: find the line that was shown before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import numpy as np

from neurogym.envs.image.frames import ImageTask, Point
from neurogym.envs.psychophysics import exact_ceiling, steps_of
from neurogym.envs.task import ProgrammedTask, Score, StepResult, TaskInfo, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import NonNegative, Number, Range

CENTERS = ((0.5, 0.5), (0.5, -0.5), (-0.5, 0.5), (-0.5, -0.5))
COMPARED = 32  #: trials whose lines are compared
NEAR = 0.01  #: square of the distance within which gaze is on a target, or on the middle

ThreeNumbers = Annotated[Sequence[float], Range(size=3)]


class VisualSearch(ImageTask, ProgrammedTask):
    """Look at the line that equals the sample; the distractors differ in angle or in colour.

    The action is where to look. Looking away from the middle is a response.

    Args:
        dt: Time step, one frame (ms).
        win_kwargs: ``{"size": (width, height)}`` in pixels.
        target_centers: Where lines are shown, x and y between -1 and 1. Default four corners.
        length: Half the length of a line.
        delta_angle: By how much lines differ in angle (rad). Default 0.2 pi.
        delta_color: By how much they differ in colour, in any order of the channels. Default 0.2, -0.1, -0.1.
        line_width: In pixels.

    Raises:
        ValueError: If a centre is outside the frame or too close to the middle, or an argument has the wrong shape.

    Source: Buschman & Miller 2007.
    """

    metadata = TaskInfo(
        doi="10.1126/science.1138071",
        tags=[
            "perceptual",
            "visual working memory",
            "delayed response",
            "continuous action space",
            "multidimensional action space",
            "supervised",
        ],
        necessary=(),
        supervised="the place of the line is known for every frame; of random gazes six in a thousand find it, so that "
        "reward teaches nothing at first",
    )
    default_timing = {"fixation": 500, "sample": 1000, "delay": 500, "decision": 500}
    default_rewards = {"abort": -0.1, "correct": 1.0, "fail": 0.0, "miss": 0.0}

    @usual_arguments(dt=16, first=("win_kwargs",))
    def __init__(
        self,
        win_kwargs: Mapping[str, object] | None = None,
        target_centers: Sequence[tuple[float, float]] | None = None,
        length: NonNegative = 0.3,
        delta_angle: Number | None = None,
        delta_color: ThreeNumbers | None = None,
        line_width: NonNegative = 3,
    ):
        self.set_frames(win_kwargs)
        self.r_tmax = self.rewards["miss"]
        self.centers = [tuple(center) for center in (CENTERS if target_centers is None else target_centers)]
        away = np.array([(*center, np.hypot(*center)) for center in self.centers if len(center) == 2])
        if len(away) != len(self.centers) or not len(away) or np.abs(away[:, :2]).max() > 1:
            raise ValueError(f"target_centers must be pairs between -1 and 1, got {target_centers!r}")
        if (away[:, 2] ** 2 <= NEAR).any():
            raise ValueError(f"target_centers must lie away from the middle, got {target_centers!r}")
        self.length, self.line_width = length, line_width
        self.delta_angle = 0.2 * np.pi if delta_angle is None else delta_angle
        self.delta_color = np.array((0.2, -0.1, -0.1) if delta_color is None else delta_color, float)
        self.conditions = {"ground_truth": self.centers, "angle": ("uniform", (0, 2 * np.pi))}
        self.action_space = spaces.channels({"x": 0, "y": 1}, -1.0, 1.0)

    def _new_trials(self, trials: Trials) -> None:
        target, angle = np.stack(list(trials.draw("ground_truth"))), trials.draw("angle")
        items = len(self.centers)
        angles, colors = self._items(angle, items, trials.rng)
        centers = np.empty((trials.n, items, 2))
        for k in range(trials.n):
            distractors = [center for center in self.centers if not np.array_equal(center, target[k])]
            centers[k] = [target[k], *trials.rng.permutation(distractors)] if distractors else [target[k]]
        trials.info.update(angles=angles, colors=colors, centers=centers)
        self.clear(trials)
        for k in range(trials.n):
            self._draw(trials, k, "sample", [(0.0, 0.0)], angles[k], colors[k])
            self._draw(trials, k, "decision", centers[k], angles[k], colors[k])
        self.mark_fixation(trials, ["fixation", "sample", "delay"])
        trials.set_groundtruth(target, "decision")

    def _items(self, angle: np.ndarray, items: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Angles and colours of the lines of each trial, the target first."""
        n = len(angle)
        angles = np.repeat(angle[:, None], items, axis=1)
        colors = np.repeat(rng.random((n, 1, 3)), items, axis=1)
        by_angle = rng.random((n, items - 1)) < 0.5
        angles[:, 1:] += by_angle * self.delta_angle * rng.choice([-1, 1], size=by_angle.shape)
        change = rng.permuted(np.broadcast_to(self.delta_color, (n, items - 1, 3)), axis=2)
        colors[:, 1:] = np.clip(colors[:, 1:] + np.where(by_angle[:, :, None], 0, change), 0, 1)
        return angles, colors

    def _draw(
        self, trials: Trials, k: int, period: str, centers: Iterable[Point], angles: np.ndarray, colors: np.ndarray
    ) -> None:
        """Draw lines at ``centers`` into all frames of a period of trial ``k``."""
        image = self._frame(centers, angles, colors)
        first = trials.offset[k]
        trials.ob[first + trials.starts[period][k] : first + trials.ends[period][k]] = image

    def closed_form(self) -> Score | None:
        """Exact without noise, if every distractor looks unlike the target where it is shown and no lines touch."""
        rng, items = np.random.default_rng(0), len(self.centers)
        angles, colors = self._items(rng.uniform(0, 2 * np.pi, COMPARED), items, rng)
        places = np.array(self.centers)
        distance = np.hypot(*(places[:, None] - places).transpose(2, 0, 1)) + 9 * np.eye(items)
        touching = distance.min() <= 2 * self.length + (self.line_width + 2) * 2 / min(self.size)
        if touching or not all(steps_of(self.miniature(), name).all() for name in ("sample", "decision")):
            return None
        seen = np.ones(self.size[::-1], bool)
        seen[self.middle()] = False  # hidden by the mark of fixation
        for center in [(0.0, 0.0), *self.centers]:
            for k in range(COMPARED):
                target, *others = (self._frame([center], [a], [c]) for a, c in zip(angles[k], colors[k], strict=True))
                if any(np.array_equal(target[seen], other[seen]) for other in others):
                    return None
        return exact_ceiling(self, 1.0, "no noise")

    def _frame(self, centers: Iterable[Point], angles: Iterable[float], colors: Iterable[np.ndarray]) -> np.ndarray:
        """Draw lines into an empty frame."""
        image = np.full((*self.size[::-1], 3), float(self.background))
        for center, angle, color in zip(centers, angles, colors, strict=False):
            self.line(image, center, angle, self.length, color, self.line_width)
        return image.round().astype(np.uint8)

    def _step(self, action: np.ndarray) -> StepResult:
        reward, ended = 0.0, False
        gaze = np.asarray(action, float)
        if gaze @ gaze > NEAR:
            if self.in_period("decision"):
                off = gaze - self.gt_now
                reward, ended = self.answer(bool(off @ off < NEAR))
            else:
                reward, ended = self.break_fixation()
        return self.ob_now, reward, False, False, {"new_trial": ended}
