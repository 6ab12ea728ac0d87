"""Tables in memory as a DataFrame of numbers and words: DataFrames, Arrow tables, dicts of arrays, lists of dicts."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neurogym.behaviour import entries
from neurogym.behaviour.entries import TableError, plain
from neurogym.behaviour.pulse_times import of_lists, sides
from neurogym.behaviour.vocabulary import COLUMN_NAMES, any_called

if TYPE_CHECKING:
    from pandas import DataFrame, Series

FEWEST_TRIALS = 5  #: of a list of choices that is a session
_THOUSANDS = {mark: re.compile(rf"[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+") for mark in ".,"}
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+(,\d+)?|,\d+)([eE][+-]?\d+)?")


def from_mapping(table: Mapping[Any, Any]) -> DataFrame:
    """Return a table from arrays or lists by name; columns of lists are left out, but for times of two sides.

    Raises:
        TableError: if the columns differ in length.
    """
    import pandas as pd

    columns, listed, table = {}, sides(map(str, table)), _with_a_row_for_each_trial(table)
    for name, values in table.items():
        try:
            columns[str(name)] = entries.of_values(values)
        except (TableError, ValueError):
            with contextlib.suppress(TableError):
                columns |= {str(name): of_lists(values)} if str(name) in listed else {}
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        first, n = next(iter(lengths.items()))
        differing = next(name for name, length in lengths.items() if length != n)
        raise TableError(f"column {differing!r}: found {lengths[differing]} entries, expected {n} as in {first!r}")
    return pd.DataFrame(columns, copy=False)


def _with_a_row_for_each_trial(table: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return a table of one row for a session, whose choices are lists, with a row for each choice."""
    import numpy as np

    lists = {
        name: list(each)
        for name, each in table.items()
        if len(each) and isinstance(each.iloc[0] if hasattr(each, "iloc") else next(iter(each)), list | np.ndarray)
    }
    lengths = {name: [np.size(entry) for entry in each] for name, each in lists.items()}
    trials = next((lengths[name] for name in lists if any_called([name], "choice")), None)
    if trials is None or np.median(trials) < FEWEST_TRIALS:
        return table
    flat = {name: np.concatenate(each) for name, each in lists.items() if lengths[name] == trials}
    return flat | {name: np.repeat(np.asarray(each), trials) for name, each in table.items() if name not in lists}


def name_of_groups(groups: Iterable[str]) -> str:
    """Return the role that names of groups of trials share, as ``session`` for ``session_1`` and ``session_2``."""
    words = {plain(re.sub(r"[\W\d_]+$", "", each)) for each in groups}
    return next((role for role in ("subject", "session") if words <= set(COLUMN_NAMES[role])), "group")


def from_records(records: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Return a table from a list of dictionaries, one for each trial; absent keys and lists are missing entries.

    Entries of a dictionary within a trial get its name before their own, as in ``response.rt``.
    """
    import numpy as np

    rows = [_flat(row) for row in records]
    names = dict.fromkeys(name for row in rows for name in row)
    lists = [name for name in names if any(isinstance(row.get(name), list) for row in rows[:1])]
    table, listed = {}, {*lists} if any_called(lists, "choice") else sides(names)
    for name in names:
        values = [row.get(name) for row in rows]
        values = [value[0] if isinstance(value, list) and len(value) == 1 else value for value in values]
        nested = (dict,) if name in listed else (dict, list, tuple)
        kept = [None if isinstance(value, nested) else value for value in values]
        table[name] = np.array([*kept, None, None], object)[:-2]
    return from_mapping(table)


def _flat(row: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a dictionary without dictionaries among its entries."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


def from_arrow(table: Any) -> DataFrame:
    """Return a table from a ``pyarrow.Table``; columns of lists and structures are left out, as in `from_mapping`."""
    import pyarrow as pa
    from pyarrow import types

    def kind_of(kind: Any) -> Any:
        if types.is_boolean(kind) or (types.is_temporal(kind) and not types.is_duration(kind)):
            return pa.string()
        return pa.float64() if types.is_integer(kind) or types.is_decimal(kind) else kind

    paired = sides(table.column_names)
    lists = [each.name for each in table.schema if types.is_list(each.type)]
    lists = lists if any_called(lists, "choice") else [name for name in lists if name in paired]
    pulses = {name: table.column(name).to_pylist() for name in lists}
    table = table.select([k for k, field in enumerate(table.schema) if not types.is_nested(field.type)])
    table = table.cast(pa.schema([(field.name, kind_of(field.type)) for field in table.schema]))
    frame = table.to_pandas(strings_to_categorical=True, ignore_metadata=True, split_blocks=True)
    return from_mapping({**{name: frame[name] for name in frame.columns}, **pulses}) if pulses else from_frame(frame)


def from_frame(table: Any) -> DataFrame:
    """Return a table from a DataFrame of pandas or another library; named indices become columns."""
    named = [name for name in getattr(getattr(table, "index", None), "names", ()) if name is not None]
    if named:
        table = table.reset_index([name for name in named if name not in table.columns])
    return from_mapping({name: table[name] for name in table.columns})


def from_source(source: Any) -> DataFrame | None:
    """Return a table from a DataFrame, a ``pyarrow.Table``, a mapping of arrays or a list of mappings; else None."""
    if isinstance(source, Mapping):
        return from_mapping(source)
    if hasattr(source, "column_names") and hasattr(source, "schema"):
        return from_arrow(source)
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):
        return from_frame(source)
    if isinstance(source, list | tuple) and source and all(isinstance(row, Mapping) for row in source):
        return from_records(source)
    return None


def _rewritten(column: Series, words: Iterable[str]) -> Series:
    return entries.of_words([*words], entries.codes(column))


def without_brackets(column: Series) -> Series:
    """Return a column in which the first entry stands for a list written as a text, as ``['f', 'j']`` of keys pressed.

    If all entries are lists of the same number of entries, several, they are vectors and stay words.
    """
    words = entries.words(column)
    lists = {word: word[1:-1].split(",") for word in words if word[:1] == "[" and word[-1:] == "]"}
    lengths = {len(each) for each in lists.values()}
    if not lists or (len(lists) == len(words) and len(lengths) == 1 and lengths != {1}):
        return column
    return _rewritten(column, (lists[word][0].strip(" '\"") if word in lists else word for word in words))


def mark_of_thousands(words: Sequence[str]) -> str:
    """Return the point or comma that whole numbers have before each three digits; empty if they have none.

    Numbers such as 1.234 are thousands if all others are whole numbers of at most three digits, mostly above 99.
    """
    for mark in ".,":
        marked = [word for word in words if mark in word]
        rest = [word for word in words if mark not in word]
        if not marked or not rest or not all(_THOUSANDS[mark].fullmatch(word) for word in marked):
            continue
        whole = all(word.isdecimal() and len(word) <= 3 for word in rest)
        if whole and sum(len(word) == 3 for word in rest) > 0.5 * len(rest):
            return mark
    return ""


def without_thousands(column: Series) -> Series:
    """Return a column of whole numbers without the points, or commas, before each three digits."""
    words = entries.words(column)
    mark = mark_of_thousands(words)
    return _rewritten(column, (word.replace(mark, "") for word in words)) if mark else column


def with_decimal_points(column: Series) -> Series:
    """Return a column in which numbers are written with a decimal point, if all are written with a decimal comma."""
    words = entries.words(column)
    if not any("," in word for word in words) or not all(map(_DECIMAL_COMMA.fullmatch, words)):
        return column
    return _rewritten(column, (word.replace(",", ".") for word in words))
