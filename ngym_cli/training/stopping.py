"""Ending a run when the agent is good enough: a fraction of the ceiling, held on fresh trials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Trials of the quick evaluations that tell when a full one is worthwhile.
PROBE_TRIALS = 400

#: Fewest steps between two of them, and how many there are at most in a run.
PROBE_STEPS, MOST_PROBES = 8_192, 50


class Until:
    """A criterion on evaluations with frozen weights.

    Where the ceiling is not known, the fraction is of the oracle's performance, 1.

    Args:
        fraction: of the ceiling.
        ceiling: performance of the ideal observer, or None.
        timesteps: most steps of the run.

    Attributes:
        target: performance that an evaluation must reach.
        probed: step of the last quick evaluation.
    """

    def __init__(self, fraction: float, ceiling: float | None, timesteps: int):
        self.fraction, self.of = fraction, "oracle" if ceiling is None else "ceiling"
        self.target = fraction * (1.0 if ceiling is None else ceiling)
        self.every = max(PROBE_STEPS, timesteps // MOST_PROBES)
        self.probed = 0
        self._reached: dict[str, Any] | None = None

    @property
    def reached(self) -> bool:
        """Whether an evaluation has reached the target."""
        return self._reached is not None

    def due(self, step: int) -> bool:
        """Say whether it is time for a quick evaluation; if so, it counts as made."""
        if self.reached or step - self.probed < self.every:
            return False
        self.probed = step
        return True

    def look_at(self, performance: float, step: int, trials: int, seconds: float) -> bool:
        """Take the result of a full evaluation; return whether it is the first that reaches the target.

        Args:
            performance: in it.
            step: steps learned from.
            trials: done in training.
            seconds: since the run began, evaluations included.
        """
        if self.reached or performance < self.target:
            return False
        numbers = {"trials": trials, "steps": step, "seconds": round(seconds, 3), "performance": performance}
        self._reached = numbers
        return True

    def record(self) -> dict[str, Any]:
        """Return what the manifest says: the criterion, and after how many trials, steps and seconds it held."""
        numbers = self._reached or dict.fromkeys(("trials", "steps", "seconds", "performance"))
        head = {"fraction": self.fraction, "of": self.of, "target": self.target, "reached": self.reached}
        return {**head, **numbers}

    def sentence(self) -> str:
        """Return in one line what was reached, or that it was not."""
        what = f"{self.fraction:g} of the {self.of} ({self.target:.4f})"
        if self._reached is None:
            return f"{what} not held"
        at = self._reached
        return f"{what} held after {at['trials']:,} trials, {at['steps']:,} steps, {at['seconds']:.1f} s"

    def state(self) -> Mapping[str, Any]:
        """Return what the coming steps depend on."""
        return {"probed": self.probed, "reached": self._reached}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what ``state`` returned."""
        self.probed = int(state["probed"])
        self._reached = dict(state["reached"]) if state["reached"] else None
