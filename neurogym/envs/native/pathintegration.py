"""Path integration in one or two dimensions."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from neurogym.envs.task import TaskInfo, Tracking, Trials, spaces, usual_arguments
from neurogym.parameters.arguments import Positive, Range

EDGE = 1.0  #: the arena reaches from -1 to 1 in every direction
Dimensions = Annotated[int, Range(1, 2, whole=True)]


class PathIntegration(Tracking):
    """Report the own position from the own velocity, beginning in the middle of an arena.

    Velocity changes smoothly: each of its components is a Gaussian process whose correlation falls off exponentially in
    time. At a wall the component towards the wall is turned round. A component of the position is right within a
    twentieth of the arena's width. Performance is the share of right components over the trial.

    Args:
        dimensions: 1 (a track) or 2 (an arena).
        speed: S.d. of each component of the velocity (half-widths of the arena per second).
        persistence: Time constant of the correlation of velocities (ms).

    Raises:
        ValueError: If ``dimensions`` is neither 1 nor 2, or a number is not positive.

    Source: Cueva & Wei 2018 (two dimensions).
    """

    metadata = TaskInfo(
        doi="10.48550/arXiv.1803.07770",
        tags=["working memory", "continuous action space", "multidimensional action space", "supervised"],
        necessary=("velocity",),
        small={"dimensions": 1, "timing": {"path": 200}},
        supervised="networks are trained on the position that they should report (Cueva & Wei 2018, "
        "10.48550/arXiv.1803.07770)",
    )
    default_timing = {"path": 2000}
    tolerance = EDGE / 10

    @usual_arguments(dt=20, abort=False)
    def __init__(self, dimensions: Dimensions = 2, speed: Positive = 0.6, persistence: Positive = 400.0):
        self.dimensions, self.speed, self.persistence = int(dimensions), speed, persistence
        names = list(range(self.dimensions))
        self.observation_space = spaces.channels({"velocity": names})
        self.action_space = spaces.channels(dict(zip("xy", names, strict=False)), -EDGE, EDGE)

    def _new_trials(self, trials: Trials) -> None:
        trials.rows()
        velocity, position = self._paths(trials.rng, trials.n, int(trials.length.max()))
        rows = trials.rows()
        trials.info["distance"] = np.abs(np.diff(position, axis=1, prepend=0)).sum(axis=(1, 2))
        trials.add_ob(velocity[rows.trial, rows.step], where="velocity", per_row=True)
        trials.set_groundtruth(lambda rows: position[rows.trial, rows.step])
        trials.go, trials.go_period = trials.starts["path"], "path"

    def _paths(self, rng: np.random.Generator, n: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Velocity (half-widths per second), and position after each step; shapes (n, steps, dimensions)."""
        keep = np.exp(-self.dt / self.persistence)
        drawn = self.speed * rng.standard_normal((n, steps, self.dimensions))
        velocity, position = np.empty_like(drawn), np.empty_like(drawn)
        now: np.ndarray = drawn[:, 0]
        at: np.ndarray = np.zeros((n, self.dimensions))
        for t in range(steps):
            now = keep * now + np.sqrt(1 - keep**2) * drawn[:, t] if t else now
            reached = at + now * self.dt / 1000
            now = np.where(np.abs(reached) > EDGE, -now, now)
            velocity[:, t] = now
            at = position[:, t] = np.clip(at + now * self.dt / 1000, -EDGE, EDGE)
        return velocity, position
