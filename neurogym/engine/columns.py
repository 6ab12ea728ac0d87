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
        self._is_empty = True  # whether no trial has been described

    def write(self, i: Selection, at: Selection, values: Mapping[str, np.ndarray]) -> None:
        """Describe the trials ``at`` of environments ``i``."""
        for name, column_of_trials in values.items():
            column, dtype = self._columns.get(name), column_of_trials.dtype
            if column is None and not self._is_empty:  # no record had it so far
                column = self._lacking(name, self._widen(name, None, dtype), slice(None))
            if column is None or (column.dtype is not dtype and not _holds(column.dtype, dtype)):
                column = self._widen(name, column, dtype)
            column[i, at] = column_of_trials
        self._is_empty = False
        if len(values) < len(self._columns):
            for name in self._columns.keys() - values.keys():
                self._lacking(name, self._columns[name], i)

    def _lacking(self, name: str, column: np.ndarray, i: Selection) -> np.ndarray:
        """Column that the records of environments ``i`` do not have: nan, or None among other values."""
        if column.dtype.kind in "biu":
            column = self._widen(name, column, np.dtype(float))
        column[i] = None if column.dtype == object else np.nan
        return column

    def _widen(self, name: str, column: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
        """Widen a column to also accept ``dtype``."""
        if dtype.kind not in "biuf" or (column is not None and column.dtype == object):
            wide = np.empty((self.n, self._capacity), dtype=object)
        else:
            common = dtype if column is None else np.promote_types(column.dtype, dtype)
            wide = np.zeros((self.n, self._capacity), dtype=common)
        if column is not None:
            wide[...] = column
        self._columns[name] = wide
        return wide

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


def _holds(column: np.dtype, values: np.dtype) -> bool:
    """Whether a column can hold values of a type."""
    return column == values or column.kind == "O" or np.can_cast(values, column)
