"""The curves of a run: a point for each stretch of training, from the trials that ended in it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ngym_cli.runs import summary
from ngym_cli.runs.trial_recorder import TrialRecorder
from ngym_cli.runs.trial_table import Table, concatenate
from ngym_cli.training.progress import Display
from ngym_cli.training.tensorboard import Board

#: Trials over which the live display averages.
WINDOW = 1_000
#: Fewest steps between two points of a TensorBoard curve.
STEPS_PER_POINT = 2_048
#: Points that a curve of a short run has, at least.
FEWEST_POINTS = 10


class Curves:
    """Adds points to TensorBoard and to the live display.

    Args:
        recorder: has the trials.
        board: TensorBoard.
        display: what the user sees.
        timesteps: of the whole run.

    Attributes:
        pending: losses that are not yet recorded, by the learner's names.
        reported: step of the last update whose losses were recorded.
    """

    def __init__(self, recorder: TrialRecorder, board: Board, display: Display, timesteps: int):
        self.recorder, self.board, self.display, self.timesteps = recorder, board, display, timesteps
        self.pending: dict[str, float] = {}
        self.reported = 0
        self._recent: Table = {}
        self._step, self._moment = 0, time.monotonic()  # of the last point

    def new_trials(self, step: int) -> Table | None:
        """Return the trials since the last point; None if it is too early for another, or there are none."""
        if step - self._step < min(STEPS_PER_POINT, self.timesteps // FEWEST_POINTS):
            return None
        table = self.recorder.collect()
        return table if len(table["trial"]) else None

    def add_point(
        self, step: int, trials: Table, conditions: Mapping[str, object], beside: Mapping[str, object]
    ) -> None:
        """Add a point.

        Args:
            step: to this step.
            trials: what they say of the agent.
            conditions: of the task, name to values; the usual ones have curves of their own.
            beside: shown on the live display, too.
        """
        now = time.monotonic()
        speed = (step - self._step) / max(now - self._moment, 1e-9)
        self._step, self._moment = step, now
        scalars = summary.scalars(trials, summary.condition_names(conditions, trials))
        self.board.scalars({**scalars, "time/steps_per_second": speed}, step)
        self._recent = {name: values[-WINDOW:] for name, values in concatenate([self._recent, trials]).items()}
        self.display.update(step, {**self.recent(), "steps_per_second": speed, **beside})

    def recent(self) -> dict[str, Any]:
        """Return the summary of the last trials."""
        return summary.summarise(self._recent)

    def begin_stage(self) -> None:
        """Leave the trials so far out of what is recent."""
        self._recent = {}

    def leave_out(self, seconds: float) -> None:
        """Leave out time in which nothing was learned: the speed that is shown is that of learning."""
        self._moment += seconds

    def state(self) -> dict[str, Any]:
        """Return what the coming points depend on; recorder and board have their own."""
        return {"reported": self.reported, "pending": self.pending, "point": self._step}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``state`` returned."""
        self.reported, self._step, self._moment = int(state["reported"]), int(state["point"]), time.monotonic()
        self.pending = {str(name): float(value) for name, value in state["pending"].items()}
