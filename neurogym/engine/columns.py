"""Records of the trials of many environments, as columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Selection = int | slice | np.ndarray  #: of environments or trials: one, a range, or several


class RecordColumns:
    """Values that describe trials, name to array (environment, trial), of types that hold all values so far.

    Args:
        n: Number of environments.
    """

    def __init__(self, n: int):
        self.n, self._capacity = n, 0
        self._columns: dict[str, np.ndarray] = {}
        self._has_records = False

    def write(self, i: Selection, at: Selection, values: Mapping[str, np.ndarray]) -> None:
        """Describe the trials ``at`` of environments ``i``; what a record lacks is nan, or None among other values."""
        late = values.keys() - self._columns.keys() if self._has_records else ()
        for name, of_trials in values.items():
            column = self._holding(name, of_trials.dtype)
            if name in late:
                self._leave_out(name, slice(None))
                column = self._columns[name]
            column[i, at] = of_trials
        self._has_records = True
        if len(values) < len(self._columns):
            for name in self._columns.keys() - values.keys():
                self._leave_out(name, i)

    def _leave_out(self, name: str, i: Selection) -> None:
        """Mark a column as one that the records of environments ``i`` do not have."""
        column = self._holding(name, np.dtype(float))
        column[i] = None if column.dtype == object else np.nan

    def _holding(self, name: str, dtype: np.dtype) -> np.ndarray:
        """Column that can hold values of a type, widened if it could not."""
        column = self._columns.get(name)
        if column is not None and (column.dtype is dtype or column.dtype == object):
            return column
        common = np.dtype(object)
        if dtype.kind in "biuf":
            common = dtype if column is None else np.promote_types(column.dtype, dtype)
        if column is None or column.dtype != common:
            wide = np.full((self.n, self._capacity), None if common.kind == "O" else 0, common)
            if column is not None:
                wide[...] = column
            self._columns[name] = column = wide
        return column

    def grow(self, capacity: int) -> None:
        """Allocate memory for as many trials of each environment."""
        self._columns = {name: widened(column, capacity) for name, column in self._columns.items()}
        self._capacity = capacity

    def of(self, env: np.ndarray, trial: np.ndarray) -> dict[str, np.ndarray]:
        """Records of some trials: name to array (trials,)."""
        cell = env * self._capacity + trial
        return {name: column.take(cell) for name, column in self._columns.items()}


def widened(column: np.ndarray, capacity: int) -> np.ndarray:
    """Copy of a column (environment, trial) with room for more trials."""
    wide = np.zeros((len(column), capacity), column.dtype)
    wide[:, : column.shape[1]] = column
    return wide
