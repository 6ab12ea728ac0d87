"""Quota of trials of each environment in an evaluation, and the count of finished trials."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from neurogym.trials.cursor import FIRST_BLOCK
from ngym_cli.config.model import RunConfig
from ngym_cli.environments.properties import TaskProperties

if TYPE_CHECKING:
    from neurogym.analysis.trial_tables import Table

#: Environments side by side. Where the state is carried across trials a session must be long, so fewer of them.
MOST_ENVS, MOST_ENVS_CARRIED = 128, 16
#: Most steps that all environments together make ahead, about 0.5 GB: of long trials fewer environments.
MOST_STEPS_AHEAD = 5_120_000
#: First trials of each environment that do not count where trials are linked and the task has no sessions of its own:
#: the agent knows nothing yet of the state that lasts, and the ceiling is that of the long run.
WARM_UP_TRIALS = 20

#: Fewest sessions of a task with sessions, unless these are more trials than the second number; blocks of each
#: environment, and the length beyond which blocks are not followed to their ends.
SESSIONS, MOST_TRIALS_OF_SESSIONS = 40, 20_000
BLOCKS, LONGEST_BLOCK = 2, 600

#: Most trials and steps of an evaluation to which trials are added for the sake of its interval, and bounds of the
#: factor by which trials grow at a time.
MOST_ADDED_TRIALS, MOST_ADDED_STEPS, GROWTH = 100_000, 2_000_000, (1.25, 4.0)

#: Seconds between two reports of progress.
SECONDS_PER_REPORT = 0.5

#: Callback with the number of finished trials and the total.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TrialQuota:
    """Trials of each environment that count.

    Attributes:
        warm: first trials that do not count, shape (environments,).
        trials: trials that count after these, shape (environments,).
        unit: trials of a session or block, which are added together.
    """

    warm: np.ndarray
    trials: np.ndarray
    unit: int = 1

    @classmethod
    def of(
        cls, trials: int, config: RunConfig, properties: TaskProperties, balanced: bool = False, exact: bool = False
    ) -> TrialQuota:
        """Divide trials evenly among environments.

        There may be more trials than requested: whole sessions where the task has sessions, at least `SESSIONS`; and
        whole blocks where trials come in blocks, `BLOCKS` of them for each environment, which begin at different
        places of a block so that no part of it is favoured. If ``exact``, only as many as the requested trials fill.
        """
        most = MOST_ENVS if config.reset_state == "trial" else MOST_ENVS_CARRIED
        most = min(most, max(1, MOST_STEPS_AHEAD // (FIRST_BLOCK * max(properties.trial_steps, 1))))
        block = 0 if balanced else min(properties.block, LONGEST_BLOCK)
        session = 0 if balanced else properties.session or 0
        if session:
            units = max(-(-trials // session), 1 if exact else min(SESSIONS, MOST_TRIALS_OF_SESSIONS // session))
            n = min(units, most)
            return cls(np.zeros(n, int), session * (units // n + (np.arange(n) < units % n)), session)
        n = min(trials, most, max(1, trials // (BLOCKS * block)) if exact and block else most)
        each = np.maximum(trials // n + (np.arange(n) < trials % n), BLOCKS * block)
        warm = WARM_UP_TRIALS if properties.history_dependent and not balanced else 0
        return cls(warm + block * np.arange(n) // n, each, block or 1)

    @property
    def n_envs(self) -> int:
        """Number of environments."""
        return len(self.trials)

    def counts(self, index: np.ndarray, env: np.ndarray) -> np.ndarray:
        """Return whether trials count, from environment and position in the environment's session."""
        return (index >= self.warm[env]) & (index < (self.warm + self.trials)[env])

    def extended(self, half_width: float, wanted: float, steps: int) -> TrialQuota | None:
        """Return a quota with as many more trials as an interval needs, or None if there may be no more.

        Args:
            half_width: half width of the interval of the trials so far.
            wanted: half width that is needed.
            steps: steps that the trials so far took.
        """
        total = int(self.trials.sum())
        most = min(MOST_ADDED_TRIALS, total * MOST_ADDED_STEPS // max(steps, 1))
        factor = min(max((half_width / wanted) ** 2, GROWTH[0]), GROWTH[1], most / total)
        if factor <= 1:
            return None
        added = np.floor(self.trials * (factor - 1) / self.unit).astype(int) * self.unit
        if not added.any() and total + self.unit * self.n_envs <= most:
            added = np.full(self.n_envs, self.unit)
        return replace(self, trials=self.trials + added) if added.any() else None

    def counted_rows(self, table: Table) -> Table:
        """Return a trial table without the trials that do not count."""
        order = np.argsort(table["env"], kind="stable")
        envs = table["env"][order]
        index = np.arange(len(envs)) - np.searchsorted(envs, envs)
        keep = np.sort(order[self.counts(index, envs)])
        return {name: values[keep] for name, values in table.items()} | {"trial": np.arange(len(keep))}


class TrialCount:
    """Number of finished trials of each environment, reported now and then.

    Args:
        quota: trials that count.
        progress: called with the number of finished trials and the total.
    """

    def __init__(self, quota: TrialQuota, progress: Progress | None):
        self.quota, self.progress = quota, progress
        self.finished = np.zeros(quota.n_envs, int)
        self._reported_at = time.monotonic()

    @property
    def complete(self) -> bool:
        """Whether every environment has finished its trials."""
        return bool(np.all(self.finished >= self.quota.warm + self.quota.trials))

    def add(self, envs: np.ndarray) -> np.ndarray:
        """Add finished trials by environment and return whether each counts."""
        counts = self.quota.counts(self.finished[envs], envs)
        self.finished += np.bincount(envs, minlength=self.quota.n_envs)
        return counts

    def report(self) -> None:
        """Report progress if the last report is some time ago."""
        if self.progress is not None and time.monotonic() - self._reported_at > SECONDS_PER_REPORT:
            self._reported_at = time.monotonic()
            counted = np.clip(self.finished - self.quota.warm, 0, self.quota.trials)
            self.progress(int(counted.sum()), int(self.quota.trials.sum()))
