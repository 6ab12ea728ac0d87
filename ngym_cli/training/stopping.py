"""Ending a run: by a signal, or when the agent is good enough by a criterion that holds on fresh trials beyond doubt.

An agent whose performance lies just below the target passes many a short evaluation by luck, and a run makes many. So
what must exceed the target is the lower end of an interval, and the probability of ever stopping too early is shared
out evenly among all interim analyses that a run can make (Bonferroni). An analysis that is promising but not certain is
repeated with more trials.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager

import numpy as np

from ngym_cli.environments.properties import TaskProperties
from ngym_cli.errors import UserError, option
from ngym_cli.processes import handling_signals

#: Trials of the first interim analysis and of each further one, until one is decisive.
INTERIM_TRIALS = (400, 1_600, 6_400, 25_600)

#: Fewest steps between two rounds of interim analyses, and how many rounds there are at most in a run.
ROUND_STEPS, MOST_ROUNDS = 8_192, 50

#: Probability that a run ever stops although its agent is below the target.
ALPHA = 0.05


class Until:
    """A criterion on evaluations with frozen weights.

    Args:
        target: performance that the agent must exceed.
        timesteps: most steps of the run.
        fraction: target as a fraction of the ceiling, or None for an absolute target.

    Attributes:
        of: ``"ceiling"`` or ``"performance"``: what was requested.
        probed: step of the last round of interim analyses.
        reached: when and how the criterion was met, or None.
    """

    def __init__(self, target: float, timesteps: int, fraction: float | None = None):
        self.target, self.fraction = target, fraction
        self.of = "performance" if fraction is None else "ceiling"
        self.every = max(ROUND_STEPS, timesteps // MOST_ROUNDS)
        self.alpha = ALPHA / (MOST_ROUNDS * len(INTERIM_TRIALS))
        self.probed = 0
        self.reached: dict[str, float] | None = None

    @classmethod
    def asked(
        cls, fraction: float | None, performance: float | None, properties: TaskProperties, timesteps: int
    ) -> Until | None:
        """Return the criterion of a configuration, None if there is none.

        Args:
            fraction: of the ceiling.
            performance: to exceed, whatever the ceiling.
            properties: known properties of the task.
            timesteps: most steps of the run.

        Raises:
            UserError: if a fraction of an unknown ceiling is requested.
        """
        if performance is not None:
            return cls(performance, timesteps)
        if fraction is None:
            return None
        if properties.ceiling is None:
            hint = f"{option('--until-performance')} takes a performance"
            raise UserError(
                f"{option('--until')} is a fraction of the ceiling, which is not known ({properties.no_ceiling}); "
                f"{hint}"
            )
        return cls(fraction * float(properties.ceiling["performance"]), timesteps, fraction)

    def due(self, step: int) -> bool:
        """Return whether a round of interim analyses is due; a due round counts as made."""
        if self.reached or step - self.probed < self.every:
            return False
        self.probed = step
        return True

    def interim_trials(self, most: int) -> Iterator[int]:
        """Yield the number of trials of each interim analysis of a round; the caller stops at the first decisive one.

        Args:
            most: trials that are always allowed; more are taken only in later analyses.
        """
        yield min(INTERIM_TRIALS[0], most)
        yield from INTERIM_TRIALS[1:]

    def decided(self, table: Mapping[str, np.ndarray]) -> bool | None:
        """Return whether the agent exceeds the target: True, False (not on average), None (not certain)."""
        from neurogym.analysis.intervals import clusters, lower_bound

        scores = table["performance"]
        if float(np.mean(scores)) < self.target:
            return False
        return True if lower_bound(scores, clusters(table), self.alpha) >= self.target else None

    def hold(self, performance: float, looked: int, step: int, trials: int, seconds: float) -> None:
        """Note that the criterion holds.

        Args:
            performance: in the analysis that showed it.
            looked: trials of that analysis.
            step: steps learned from.
            trials: done in training.
            seconds: since the run began, evaluations included.
        """
        if not self.reached:
            seconds = round(seconds, 3)
            self.reached = dict(trials=trials, steps=step, seconds=seconds, performance=performance, looked=looked)

    def record(self) -> dict[str, object]:
        """Return the manifest entry: the criterion, and the trials, steps and seconds until the criterion was met."""
        numbers = self.reached or dict.fromkeys(("trials", "steps", "seconds", "performance", "looked"))
        head = {"fraction": self.fraction, "of": self.of, "target": self.target, "reached": bool(self.reached)}
        return {**head, **numbers}

    def sentence(self) -> str:
        """Return the result as a single line: the criterion, and whether and when the criterion was met."""
        if self.fraction is None:
            target = f"performance {self.target:g}"
        else:
            target = f"{self.fraction:g} of the ceiling ({self.target:.4f})"
        if self.reached is None:
            return f"{target} not held"
        at = self.reached
        return f"{target} held after {at['trials']:,} trials, {at['steps']:,} steps, {at['seconds']:.1f} s"


#: Seconds that a run which is to stop is given to finish its rollout and update, so that it can be resumed from there.
PATIENCE = 10.0


class Stop(Exception):
    """Signal that ends learning at a point from which the run can be resumed exactly."""


class StopRequest:
    """Request to stop a run, with the reason.

    Attributes:
        reason: reason for stopping, or None.
        complete: whether nothing is left to do.
    """

    def __init__(self) -> None:
        self.reason: str | None = None
        self.complete = False
        self._since = math.inf

    def ask(self, reason: str, complete: bool = False) -> None:
        """Request a stop after the learner's next update."""
        self.reason, self.complete, self._since = reason, complete, time.monotonic()

    @property
    def is_end(self) -> bool:
        """Whether the run is finished when the learner stops now, because nothing is left to do."""
        return self.reason is None or self.complete

    @property
    def is_overdue(self) -> bool:
        """Whether the learner should stop in the middle of a rollout, because the stop has waited too long."""
        return time.monotonic() - self._since >= PATIENCE


def stopping_on_signals(stop: StopRequest, say: Callable[[str], None]) -> AbstractContextManager[None]:
    """End a run cleanly on Ctrl-C, a request to terminate, a closed terminal or a cluster's warning.

    A second Ctrl-C ends it at once.

    Args:
        stop: the request that the learner checks.
        say: shows a message to the user.
    """

    def ask(number: int, frame: object) -> None:
        if stop.reason is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        if stop.reason is None:
            stop.ask(signal.Signals(number).name)
            say("stopping after this update; the run can be resumed (Ctrl-C again: at once)")

    return handling_signals(ask, "SIGINT", "SIGTERM", "SIGUSR1", "SIGHUP")
