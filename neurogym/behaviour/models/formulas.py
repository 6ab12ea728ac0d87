"""Formulas of trial columns, as in ``coh + coh:block``: predictors by formulaic, with rows for new sessions.

Columns are the stimuli of a table and its further columns (`Session.conditions`). Words are categories, of which the
first in alphabetical order is the reference. A fitted formula keeps the training columns that it uses, so that the same
predictors (categories, `center`, splines) are made for new sessions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurogym.array_types import FloatArray
from neurogym.behaviour.models.base import UnfitError
from neurogym.behaviour.table import Session
from neurogym.messages.options import option

#: Colours and brackets in messages of formulaic.
MARKUP = re.compile(r"\x1b\[[0-9;]*m|[⧛⧚]")


def columns_of(sessions: Sequence[Session], stimuli: Sequence[str]) -> dict[str, np.ndarray]:
    """Return stimuli and further columns of all trials of sessions by name; words of a column stay words."""
    columns = {name: np.concatenate([each.stimuli[:, k] for each in sessions]) for k, name in enumerate(stimuli)}
    for name in dict.fromkeys(name for each in sessions for name in each.conditions):
        rows = [np.asarray(each.conditions.get(name, np.full(len(each), np.nan))) for each in sessions]
        columns.setdefault(name, np.concatenate(rows))
    return columns


@dataclass(frozen=True)
class Formula:
    """A formula with the training columns that determine its predictors.

    Attributes:
        text: right-hand side, as in ``coh * block``.
        training: columns of the training trials that the formula uses.
        stimuli: names of the stimuli of the table.
    """

    text: str
    training: Mapping[str, np.ndarray]
    stimuli: tuple[str, ...]

    @classmethod
    def of(cls, text: str, sessions: Sequence[Session], stimuli: Sequence[str]) -> Formula:
        """Return a formula for the trials of sessions.

        Raises:
            UnfitError: if formulaic is not installed, the text is not a formula, or names a column that is missing.
        """
        columns = columns_of(sessions, stimuli)
        used = required_columns(text)
        for name in used:
            if name not in columns:
                raise UnfitError(
                    f"{option('--vary')} names column '{name}'; the table has {', '.join(columns) or 'none'}"
                )
            values = columns[name]
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise UnfitError(
                    f"{option('--vary')} names column '{name}', which has missing values; leave them out with "
                    f"{option('--where')}"
                )
        formula = cls(text, {name: columns[name] for name in used}, tuple(stimuli))
        try:
            matrix = formula.matrix(sessions)
        except Exception as error:
            raise UnfitError(f"{option('--vary')}: formula '{text}' cannot be evaluated: {error}") from None
        if not matrix.shape[1]:
            raise UnfitError(f"{option('--vary')}: formula '{text}' has no predictors; 1 is a constant")
        rank = int(np.linalg.matrix_rank(matrix / np.maximum(np.abs(matrix).max(0), 1e-300)))
        if rank < matrix.shape[1]:
            raise UnfitError(
                f"{option('--vary')}: the predictors of '{text}' depend on each other (rank {rank} of "
                f"{matrix.shape[1]})"
            )
        return formula

    @property
    def without_effect(self) -> list[str]:
        """Columns that have the same value in all training trials."""
        return [name for name, values in self.training.items() if len(values) and (values == values[0]).all()]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors."""
        return tuple(self._spec().column_names)

    def matrix(self, sessions: Sequence[Session]) -> FloatArray:
        """Return the predictors of all trials of sessions, shape (trials, predictors)."""
        columns = columns_of(sessions, self.stimuli)
        return self.rows({name: columns[name] for name in self.training}, sum(map(len, sessions)))

    def rows(self, columns: Mapping[str, np.ndarray], n: int) -> FloatArray:
        """Return the predictors of ``n`` trials given by columns, shape (trials, predictors)."""
        return np.asarray(self._spec().get_model_matrix(frame(columns or {"constant": np.ones(n)})), float)

    def typical(self, stimuli: FloatArray, known: Mapping[str, np.ndarray]) -> FloatArray:
        """Return predictors for stimuli where further columns are unknown: their mean or most frequent value.

        Args:
            stimuli: shape (trials, stimuli).
            known: further columns that are known, shape (trials,).
        """
        n, columns = len(stimuli), {}
        for name, values in self.training.items():
            if name in known:
                columns[name] = known[name]
            elif name in self.stimuli:
                columns[name] = stimuli[:, self.stimuli.index(name)]
            elif values.dtype.kind in "fiu":
                columns[name] = np.full(n, values.mean())
            else:
                words, counts = np.unique(values.astype(str), return_counts=True)
                columns[name] = np.full(n, words[counts.argmax()])
        return self.rows(columns, n)

    def _spec(self) -> Any:
        return _spec(self)


def frame(columns: Mapping[str, np.ndarray]) -> Any:
    """Return columns as a data frame; words and truth values are categories."""
    import pandas

    plain = {name: values if values.dtype.kind in "fiu" else values.astype(str) for name, values in columns.items()}
    return pandas.DataFrame(plain)


def required_columns(text: str) -> list[str]:
    """Return the columns that a formula names.

    Raises:
        UnfitError: if formulaic is not installed, or the text is not a formula.
    """
    try:
        from formulaic import Formula as Parsed
    except ImportError:
        raise UnfitError("formulas need formulaic: pip install 'ngym[formulas]'") from None
    try:
        return sorted(Parsed(text).required_variables)
    except Exception as error:
        reason = " ".join(MARKUP.sub("", str(error)).split())
        raise UnfitError(f"'{text}' is not a formula, as in coh + coh:block: {reason}") from None


def _spec(formula: Formula) -> Any:
    from formulaic import model_matrix

    columns = formula.training or {"constant": np.ones(2)}
    return model_matrix(formula.text, frame(columns)).model_spec


def formula_arrays(formulas: Mapping[str, Formula]) -> dict[str, np.ndarray]:
    """Return the training columns of the formulas of parameters as arrays by name."""
    arrays = {}
    for name, each in formulas.items():
        for column, values in each.training.items():
            arrays[f"vary.{name}.{column}"] = values if values.dtype.kind in "biuf" else values.astype(str)
    return arrays


def stored_formula(text: str, name: str, arrays: Mapping[str, np.ndarray], stimuli: tuple[str, ...]) -> Formula:
    """Return the formula of a parameter from `formula_arrays`."""
    prefix = f"vary.{name}."
    columns = {key.removeprefix(prefix): each for key, each in arrays.items() if key.startswith(prefix)}
    return Formula(text, columns, stimuli)
