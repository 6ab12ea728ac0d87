"""Trial tables: a mapping from column name to an array with an entry per trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from neurogym.analysis.results import Condition, UndeterminedError
from neurogym.array_types import BoolArray, FloatArray, IntArray

Table = dict[str, np.ndarray]


class MissingColumnsError(ValueError):
    """A trial table lacks what an analysis needs."""


class _Column(Protocol):
    def to_numpy(self) -> np.ndarray: ...


@runtime_checkable
class _ArrowTable(Protocol):
    """A table of pyarrow's."""

    @property
    def column_names(self) -> list[str]: ...

    def column(self, name: str) -> _Column: ...


@runtime_checkable
class _DataFrame(Protocol):
    """A table of pandas'."""

    @property
    def columns(self) -> Iterable[object]: ...

    def __getitem__(self, name: object) -> _Column: ...


#: What analyses take: name of a column to one entry per trial.
TrialData = Mapping[str, ArrayLike] | _ArrowTable | _DataFrame


def as_table(data: TrialData) -> Table:
    """Return a trial table from a mapping, a pandas DataFrame or a pyarrow Table.

    Raises:
        TypeError: the data are none of these.
        ValueError: the columns differ in length.
    """
    if isinstance(data, Mapping):
        table = {str(name): np.asarray(column) for name, column in data.items()}
    elif isinstance(data, _ArrowTable):
        table = {name: data.column(name).to_numpy() for name in data.column_names}
    elif isinstance(data, _DataFrame):
        table = {str(name): data[name].to_numpy() for name in data.columns}
    else:
        raise TypeError(f"a trial table is a mapping, a DataFrame or a pyarrow Table, got {type(data).__name__}")
    lengths = {name: len(column) for name, column in table.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns of a trial table must be equally long, got {lengths}")
    return table


def require(data: TrialData, *columns: str) -> Table:
    """Return the data as a table that has all ``columns``.

    Raises:
        MissingColumnsError: names the columns that are missing.
    """
    table = as_table(data)
    missing = [name for name in columns if name not in table]
    if missing:
        raise MissingColumnsError(f"the trial table has no column {', '.join(missing)}; it has {', '.join(table)}")
    return table


def n_trials(table: Mapping[str, np.ndarray]) -> int:
    """Return the number of rows."""
    return len(next(iter(table.values()), ()))


def select(table: Mapping[str, np.ndarray], rows: ArrayLike) -> Table:
    """Return the rows given by a mask or by indices."""
    return {name: column[np.asarray(rows)] for name, column in table.items()}


def numbers(column: ArrayLike) -> FloatArray:
    """Return a column as float, with ``nan`` for null entries."""
    return np.array([np.nan if item is None else item for item in np.asarray(column).tolist()], float)


def responded(table: Mapping[str, np.ndarray]) -> BoolArray:
    """Return which trials ended with a choice, right or wrong."""
    return np.isin(table["outcome"].astype(str), ("correct", "error"))


def is_correct(table: Mapping[str, np.ndarray]) -> BoolArray:
    """Return which trials ended correctly."""
    return table["outcome"].astype(str) == "correct"


def groups(data: TrialData, by: Sequence[str] | str) -> Iterator[tuple[Condition, Table]]:
    """Yield every combination of values in the columns ``by``, sorted, with the matching trials."""
    names = [by] if isinstance(by, str) else list(by)
    table = require(data, *names)
    if not names:
        yield {}, table
        return
    levels, codes = zip(*(np.unique(table[name], return_inverse=True) for name in names), strict=True)
    for combination in np.unique(np.stack(codes, axis=1), axis=0):
        rows = np.all(np.stack(codes, axis=1) == combination, axis=1)
        values = (level[code] for level, code in zip(levels, combination, strict=True))
        plain = (value.item() if isinstance(value, np.generic) else value for value in values)
        yield dict(zip(names, plain, strict=True)), select(table, rows)


def sessions(data: TrialData) -> IntArray:
    """Return the session of each trial, numbered from 0.

    A session is one environment (column ``env``; without it all trials are of one) and begins anew where
    ``session_trial`` is 0; ``trial`` is the order of trials.
    """
    table = as_table(data)
    n = n_trials(table)
    env = np.unique(table.get("env", np.zeros(n, int)), return_inverse=True)[1]
    if "session_trial" not in table:
        return env.astype(np.int64)
    order = np.lexsort((table.get("trial", np.arange(n)), env))
    started = np.empty(n, np.int64)
    started[order] = np.cumsum(numbers(table["session_trial"])[order] == 0)
    return np.unique(env * (n + 1) + started, return_inverse=True)[1].astype(np.int64)


def in_sequence(data: TrialData) -> tuple[Table, IntArray]:
    """Return the trials in order of occurrence for each environment (or subject), and the session of each trial.

    See `sessions`; without the columns ``env`` and ``trial`` the rows are in order.
    """
    table = as_table(data)
    n = n_trials(table)
    order = np.lexsort((table.get("trial", np.arange(n)), table.get("env", np.zeros(n, int))))
    return select(table, order), sessions(table)[order]


def with_previous(data: TrialData) -> Table:
    """Return the trials in sequence with ``prev_choice``, ``prev_outcome`` and ``prev_ground_truth`` added."""
    table, session = in_sequence(data)
    first = np.r_[True, session[1:] != session[:-1]][: len(session)]
    for name in ("choice", "outcome", "ground_truth"):
        if name in table:
            previous = np.roll(table[name], 1).astype(object)
            previous[first] = None
            table[f"prev_{name}"] = previous
    return table


def two_choices(data: TrialData, choices: tuple[float, float] | None = None) -> tuple[Table, BoolArray]:
    """Return the trials of a two-alternative task that were answered, and which chose the second alternative.

    Args:
        data: trial table with ``choice`` and ``outcome``.
        choices: the two actions; by default those that occur, if they are two.

    Raises:
        ValueError: the answered trials hold more or fewer than two choices and none were named.
    """
    table = require(data, "choice", "outcome")
    table = select(table, responded(table))
    choice = numbers(table["choice"])
    if choices is None:
        values = np.unique(choice)
        if len(values) != 2:
            raise UndeterminedError(f"a two-alternative analysis needs two choices, the trials hold {values.tolist()}")
        choices = (float(values[0]), float(values[1]))
    rows = np.isin(choice, choices)
    return select(table, rows), choice[rows] == choices[1]


def rising_choices(data: TrialData, signed: str) -> tuple[float, float] | None:
    """Return two choices, the second correct for larger signed strength; None for any other number of choices.

    Args:
        data: trial table with ``choice``, ``outcome`` and the strength.
        signed: column with a strength that has its sign already (a rate, a difference).
    """
    table = require(data, "choice", "outcome", signed)
    right = is_correct(table)
    choice, strength = numbers(table["choice"])[right], numbers(table[signed])[right]
    values = np.unique(choice)
    if len(values) != 2:
        return None
    first, second = sorted(values.tolist(), key=lambda each: float(strength[choice == each].mean()))
    return first, second


def signed_strength(table: Mapping[str, np.ndarray], second: BoolArray, strength: str = "coh") -> FloatArray:
    """Return the stimulus strength, positive in trials with the second alternative as the correct choice.

    The right alternative is read from the choice and its outcome, so that it does not matter how a task numbers its
    ground truth.

    Args:
        table: answered trials of a two-alternative task.
        second: which of them chose the second alternative, shape (trials,).
        strength: column with the unsigned strength.
    """
    require(table, strength)
    return np.where(second == is_correct(table), 1.0, -1.0) * np.abs(numbers(table[strength]))
