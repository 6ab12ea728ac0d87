"""Trials with which a session or a block begins, as the records of trials report them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from neurogym.vector.batch import Batch

#: Column with the position of a trial in its session; a session begins at 0.
SESSION_TRIAL = "session_trial"
#: Values of ``reset_state`` that name a stretch of several trials.
UNITS = ("session", "block")
#: Values of ``reset_state`` of a complete configuration.
RESETS = ("trial", *UNITS, "never")


def reported_units(names: Iterable[object]) -> tuple[str, ...]:
    """Return which of `UNITS` the columns of a trial's record report.

    >>> reported_units(["ground_truth", "session_trial", "side_bias_block"])
    ('session', 'block')
    """
    names = list(names)
    return tuple(unit for unit in UNITS if any(_reports(name, unit) for name in names))


def _reports(name: object, unit: str) -> bool:
    """Return whether a column says where a session or a block begins: ``session_trial``, ``block``, ``..._block``."""
    if not isinstance(name, str):  # a task may describe its trials by keys of any type
        return False
    return name == SESSION_TRIAL if unit == "session" else name == "block" or name.endswith("_block")


class Boundaries:
    """Environments of a batch in which a new session or block begins.

    Args:
        unit: ``"session"`` or ``"block"``. A block begins where the block that trials report changes.
    """

    def __init__(self, unit: str):
        self.unit = unit
        self._now: list[tuple[Any, ...]] | None = None

    def forget(self) -> None:
        """Read the present trials again before the next step."""
        self._now = None

    def look(self, venv: Batch) -> None:
        """Read the present trials unless they are known; to be called before each step."""
        if self._now is None:
            self._now = self._labels(venv, np.arange(venv.num_envs))

    def crossed(self, venv: Batch, ended: np.ndarray) -> np.ndarray:
        """Return where the trial that has just begun is the first of a session or block, bool (environments,).

        Args:
            venv: the batch, after the step.
            ended: whether a trial ended with the last step, bool (environments,).
        """
        crossed = np.zeros(len(ended), bool)
        envs = np.flatnonzero(ended)
        if self._now is None or not len(envs):
            return crossed
        for i, label in zip(envs.tolist(), self._labels(venv, envs), strict=True):
            crossed[i] = begins(self.unit, self._now[i], label)
            self._now[i] = label
        return crossed

    def _labels(self, venv: Batch, envs: np.ndarray) -> list[tuple[Any, ...]]:
        """Return the entries that tell sessions or blocks apart in the present trials of environments."""
        return labels(venv.present(envs), self.unit, len(envs))


def labels(columns: Mapping[Any, np.ndarray], unit: str, n: int) -> list[tuple[Any, ...]]:
    """Return the entries that tell the sessions or blocks of n trials apart.

    Args:
        columns: records of the trials, each entry with shape (n,).
        unit: ``"session"`` or ``"block"``.
        n: number of trials.
    """
    reported = {name: values for name, values in columns.items() if _reports(name, unit)}
    listed = [[None if value != value else value for value in reported[name].tolist()] for name in sorted(reported)]
    return list(zip(*listed, strict=True)) if listed else [()] * n


def begins(unit: str, earlier: tuple[Any, ...], later: tuple[Any, ...]) -> bool:
    """Return whether the later of two successive trials, given by their labels, is the first of a session or block."""
    return 0 in later if unit == "session" else later != earlier
