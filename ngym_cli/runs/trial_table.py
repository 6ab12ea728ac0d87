"""Trial table: a row per trial, the columns, and the files, which are Parquet parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neurogym.analysis.trial_tables import Table
from ngym_cli.errors import UserError
from ngym_cli.files import arrow, reading
from ngym_cli.files.writing import atomic_file

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns that every trial table has, in this order, before what the task adds.
COLUMNS: dict[str, type | None] = {
    "trial": np.int64,
    "env": np.int32,
    "step": np.int64,
    "task": object,
    "steps": np.int32,
    "length_ms": np.float64,
    "outcome": object,
    "performance": np.float64,
    "reward": np.float64,
    "choice": np.float64,
    "ground_truth": None,
    "rt": np.float64,
    "rt_from": object,
    "aborts": np.int32,
}

#: Periods in which the task asks for fixation, in words; onset of the period from which answers count, and the first
#: action other than fixation (ms from the start of the trial). Tables of earlier versions do not have these columns.
FIXATION, DECISION_ONSET, FIRST_ACTION = "fixation_in", "decision_onset", "first_action"

#: Columns that repeat what the previous trial of the same environment held; null for an environment's first trial.
PREVIOUS = ("choice", "outcome", "ground_truth")


def nullable(values: Sequence[object]) -> np.ndarray:
    """Return values with gaps: numbers as floats (gaps: nan), anything else as objects (gaps: None)."""
    numeric = all(isinstance(item, int | float | np.number | None) for item in values)
    if numeric and any(item is not None for item in values):
        return np.array([np.nan if item is None else item for item in values], float)
    column = np.empty(len(values), object)
    column[:] = values
    return column


def concatenate(tables: Sequence[Mapping[str, np.ndarray]]) -> Table:
    """Join tables row by row; missing columns of a table are filled with nan or None."""
    tables = [table for table in tables if table]
    names = list(dict.fromkeys(name for table in tables for name in table))
    return {name: _joined([(table, name) for table in tables]) for name in names}


def concatenate_runs(tables: Iterable[Table]) -> Table:
    """Join tables of different runs row by row; environments of different runs get different numbers."""
    shifted, first = [], 0
    for table in tables:
        shifted.append({**table, "env": table["env"] + first})
        first += int(table["env"].max(initial=-1)) + 1
    return concatenate(shifted)


def _joined(pairs: list[tuple[Mapping[str, np.ndarray], str]]) -> np.ndarray:
    columns = [table.get(name) for table, name in pairs]
    present = [column for column in columns if column is not None]
    if len(present) == len(columns) and len({column.shape[1:] for column in present}) == 1:
        return np.concatenate(present)
    values: list[object] = []
    for column, (table, _) in zip(columns, pairs, strict=True):
        rows = len(next(iter(table.values())))
        values.extend([None] * rows if column is None else list(column))
    return nullable(values)


def to_arrow(table: Mapping[str, np.ndarray]) -> pa.Table:
    """Return a trial table as an Arrow table; vectors become lists, None and gaps in ``prev_*`` null."""
    import pyarrow as pa

    columns: dict[str, pa.Array] = {}
    for name, values in table.items():
        repeated = columns.get(name.removeprefix("prev_"))
        if repeated is not None and values.dtype == object and all(item is None for item in values):
            columns[name] = pa.nulls(len(values), repeated.type)
        else:
            columns[name] = arrow.column(values, gaps=name.startswith("prev_"))
    return pa.Table.from_arrays(list(columns.values()), names=list(columns))


def write_table(table: Mapping[str, np.ndarray], path: Path) -> None:
    """Write a trial table as Parquet, as a whole or not at all."""
    import pyarrow.parquet as pq

    with atomic_file(path) as file:
        pq.write_table(to_arrow(table), file, compression="zstd")


def parts_in(folder: Path) -> list[Path]:
    """Return the parts of a trial table in order."""
    return sorted(path for path in folder.glob("part-*.parquet") if path.stem[5:].isdecimal() and len(path.stem) == 11)


def read_trials(path: Path, columns: Sequence[str] | None = None) -> Table:
    """Read a trial table from a single file or a folder of parts.

    Args:
        path: ``trials.parquet`` or a folder of ``part-*.parquet``.
        columns: names of columns; default all.

    Returns:
        Column name to array; no rows when the folder holds no parts.

    Raises:
        UserError: if a file is missing or damaged.
    """
    files = parts_in(path) if path.is_dir() else [path]
    tables = []
    for file in files:
        rows = reading.read_parquet(file)
        _require_columns(rows, file)
        wanted = rows.column_names if columns is None else [name for name in columns if name in rows.column_names]
        tables.append({name: _from_arrow(rows.column(name)) for name in wanted})
    table = concatenate(tables)
    previous = [f"prev_{name}" for name in PREVIOUS]  # last in every part, also where later parts have further columns
    return {name: table[name] for name in sorted(table, key=previous.__contains__)}


def _require_columns(table: pa.Table, file: Path) -> None:
    """Refuse a table with a missing column or a column of the wrong type.

    Raises:
        UserError: names the first such column.
    """
    for name, kind in COLUMNS.items():
        if name not in table.column_names:
            raise UserError(f"damaged trial table {file}: column {name} is missing")
        dtype = table.schema.field(name).type
        fits = (_holds_numbers, _holds_words)[kind is object](dtype)
        if not fits and not (name in ("choice", "ground_truth") and _holds_plain(dtype)):
            raise UserError(f"damaged trial table {file}: column {name} holds {dtype}")
    if len(set(table.column_names)) < table.num_columns:
        raise UserError(f"damaged trial table {file}: two columns have one name")
    for field in table.schema:
        if not _holds_plain(field.type):
            raise UserError(f"damaged trial table {file}: column {field.name} holds {field.type}")
    for name in ("trial", "env", "step"):
        if table.column(name).null_count:
            raise UserError(f"damaged trial table {file}: column {name} has gaps")


def _holds_numbers(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def _holds_words(kind: pa.DataType) -> bool:
    from pyarrow import types

    inner = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(inner) or types.is_large_string(inner) or types.is_null(inner))


def _holds_plain(kind: pa.DataType) -> bool:
    from pyarrow import types

    if types.is_list(kind):
        return _holds_plain(kind.value_type)
    return bool(_holds_numbers(kind) or _holds_words(kind) or types.is_boolean(kind))


def _from_arrow(column: pa.ChunkedArray) -> np.ndarray:
    import pyarrow as pa

    if pa.types.is_list(column.type):
        rows = column.to_pylist()
        widths = {len(row) for row in rows if row is not None}
        return np.array(rows) if len(widths) == 1 and None not in rows else nullable(rows)
    return arrow.values_of(column)
