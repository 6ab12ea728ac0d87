"""Finished trials as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from neurogym.trials import Info
from neurogym.trials.events import OUTCOMES

_NUMBER_TYPES = {float, int, bool}
_SIMPLE = {*_NUMBER_TYPES, str, type(None)}
_NOTHING: Info = {}

#: Columns of every finished trial, in addition to the scalars of its record, and their names in ``info``.
IN_INFO = {
    "performance": "performance",
    "outcome": "outcome",
    "choice": "choice",
    "rt": "rt",
    "reward": "trial_reward",
    "steps": "trial_steps",
    "aborts": "aborts",
    "decision_onset": "decision_onset",
}
#: Entries of a report that is silent about them, where that is not nan.
_UNREPORTED = {"outcome": "none", "steps": 0, "aborts": 0}


class EndedTrials(NamedTuple):
    """Trials that ended in a step, with an entry per trial."""

    env: np.ndarray
    trial: np.ndarray
    outcome: np.ndarray
    steps: np.ndarray
    aborts: np.ndarray
    skipped: np.ndarray  # rows that were not stepped through (see `neurogym.rules.Jump`)
    performance: np.ndarray
    reward: np.ndarray
    reaction: np.ndarray  # steps from go to the response; nan without


class FinishedTrials(dict[str, np.ndarray]):
    """Trials that ended in a step, name to column (trials,): what a step reports of them, and their records.

    The columns are ``env`` (index of the environment), ``performance``, ``outcome``, ``choice``, ``rt`` (ms),
    ``reward``, ``steps``, ``aborts`` (breaks of fixation), ``decision_onset`` (ms), the durations of periods (ms) and
    every scalar of the record, such as conditions.

    Args:
        of_step: The columns that the step makes.
        record: Those of the records; one that is called like a column of the step is left out.

    Attributes:
        record: The columns of the records, all of them.
    """

    def __init__(self, of_step: Mapping[str, np.ndarray], record: Mapping[str, np.ndarray]):
        super().__init__({**of_step, **record, **of_step})
        self.record = record

    @classmethod
    def from_step(
        cls, ended: EndedTrials, choice: np.ndarray, go: np.ndarray, record: Mapping[str, np.ndarray], dt: float
    ) -> Self:
        """Trials that ended in a step of a batch.

        Args:
            ended: What the step says of them.
            choice: The actions that ended them, shape (trials,).
            go: Their go cues, in steps.
            record: Their records as columns.
            dt: Time step in ms.
        """
        of_step = {
            "env": ended.env,
            "performance": ended.performance,
            "outcome": OUTCOMES[ended.outcome],
            "choice": choice,
            "rt": ended.reaction * dt,
            "reward": ended.reward,
            "steps": ended.steps,
            "aborts": ended.aborts,
            "decision_onset": go * dt,
        }
        return cls(of_step, record)

    @classmethod
    def from_infos(cls, infos: Mapping[int, Info]) -> Self:
        """Trials as their environments reported them, with nan (None among words) where a report lacks an entry.

        Args:
            infos: Index of an environment to its infos.
        """
        several = list(infos.values())
        of_step: dict[str, list[Any]] = {"env": list(infos)}
        for name, in_info in IN_INFO.items():
            of_step[name] = [info.get(in_info, _UNREPORTED.get(name, np.nan)) for info in several]
        of_step["performance"] = list(map(float, of_step["performance"]))
        record: dict[str, list[Any]] = {}
        for entry in ("trial", "periods"):
            records = [info.get(entry, _NOTHING) for info in several]
            alike = all(each.keys() == records[0].keys() for each in records)
            for name in records[0] if alike else dict.fromkeys(name for each in records for name in each):
                values = [each.get(name, ()) for each in records]
                kinds = set(map(type, values))
                large = int in kinds and max(abs(value) for value in values if type(value) is int) >= 2**63
                if large or not kinds <= _SIMPLE:
                    if all(map(_has_parts, values)):
                        continue
                    values = list(map(_plain, values))
                record.setdefault(str(name), values)
        columns = [{name: _as_column(name, values) for name, values in each.items()} for each in (of_step, record)]
        return cls(*columns)


def _has_parts(value: Any) -> bool:
    """Whether a value of a trial's record has no place in a table: an array, a tuple or a dictionary."""
    return isinstance(value, (dict, list, tuple)) or np.ndim(value) > 0


def _plain(value: object) -> bool | float | str | None:
    """A value of a trial's record as what a table holds: a number, a truth value, a word or nothing."""
    if value is None or isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else float(value)
    if _has_parts(value):
        return None
    kind = np.asarray(value).dtype.kind
    return np.asarray(value).item() if kind in "biuf" else str(value)


def _as_column(name: str, values: list[Any]) -> np.ndarray:
    kinds = set(map(type, values))
    if len(kinds) == 1 and kinds <= _NUMBER_TYPES and name != "outcome":
        return np.array(values)
    if name == "outcome" or any(isinstance(v, str) or np.ndim(v) for v in values if v is not None):
        return np.fromiter(values, object, len(values))
    return np.array([np.nan if v is None else v for v in values])
