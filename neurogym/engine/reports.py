"""Reports of finished trials as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from neurogym.trials import Info

_NUMBER_TYPES = {float, int, bool}
_SIMPLE = {*_NUMBER_TYPES, str, type(None)}
_NOTHING: Info = {}

#: Per-trial columns of every finished trial, in addition to the scalars of its record, and their names in ``info``.
FINISHED = {
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


def finished_columns(infos: Mapping[int, Info]) -> dict[str, np.ndarray]:
    """Reports of the trials that ended, as columns, with nan (None among words) where a report lacks an entry.

    Args:
        infos: Index of an environment to its infos.
    """
    several = list(infos.values())
    columns: dict[str, list[Any]] = {"env": list(infos)}
    for name, in_info in FINISHED.items():
        columns[name] = [info.get(in_info, _UNREPORTED.get(name, np.nan)) for info in several]
    columns["performance"] = list(map(float, columns["performance"]))
    for entry in ("trial", "periods"):
        records = [info.get(entry, _NOTHING) for info in several]
        alike = all(record.keys() == records[0].keys() for record in records)
        for name in records[0] if alike else dict.fromkeys(name for record in records for name in record):
            values = [record.get(name, ()) for record in records]
            kinds = set(map(type, values))
            large = int in kinds and max(abs(value) for value in values if type(value) is int) >= 2**63
            if large or not kinds <= _SIMPLE:
                if all(map(_has_parts, values)):
                    continue
                values = list(map(_plain, values))
            columns.setdefault(str(name), values)
    return {name: _as_column(name, values) for name, values in columns.items()}


def finished_row(i: int, info: Info) -> dict[str, object]:
    """Report of the trial that ended in one environment, as a table row."""
    return {name: column.tolist()[0] for name, column in finished_columns({i: info}).items()}


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
