"""Tables of arrays: NumPy archives, one array for each column, and the cells of a sheet of Excel."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.behaviour.conversion import from_mapping
from neurogym.behaviour.entries import TableError
from neurogym.behaviour.questions import say
from neurogym.foreign import isolation, npz

if TYPE_CHECKING:
    from pandas import DataFrame


LARGEST = 2**30  #: unpacked bytes of an archive
NEARLY = 0.05  #: share of the rows of a table by which a vector of its trials may be too long or too short
WIDEST = 20  #: columns of an array that become columns of a table


def columns_of(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns of an array of trials, or of trials and a few values each; none of other arrays."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.dtype.kind not in "biufSU" or values.ndim > 2 or not values.ndim:
        return {}
    if values.ndim == 1:
        return {name: values}
    if values.shape[1] > WIDEST:
        return {}
    return {f"{name}_{k}": column for k, column in enumerate(values.T)}


def check_archive(path: Path) -> None:
    """Refuse an archive that would fill the memory.

    Raises:
        TableError: if it is no archive, or larger than `LARGEST` when unpacked.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(each.file_size for each in archive.infolist())
    except zipfile.BadZipFile:
        raise TableError("the archive is damaged or incomplete") from None
    if size > LARGEST:
        raise TableError(f"found {size >> 20:,} MB when unpacked, expected at most {LARGEST >> 20:,}")


def of_other_lengths(content: Mapping[str, Any], rows: int) -> list[str]:
    """Return a remark on vectors that are nearly as long as a table, and are not read with it."""
    sizes = {name: np.size(each) for name, each in content.items() if isinstance(each, np.ndarray)}
    near = [f"{name} ({size:,})" for name, size in sizes.items() if 0 < abs(size - rows) <= max(3, NEARLY * rows)]
    return [f"{', '.join(near)}: not as long as the table ({rows:,} rows), and not read"] if near else []


def read_npz(path: Path) -> tuple[DataFrame, list[str]]:
    """Read named arrays of one length, and return remarks on those of nearly this length.

    ``inpt`` (sessions, trials, predictors) and its likes become one row a trial.

    Raises:
        TableError: if no arrays have one length, or an array holds Python objects.
    """
    columns: dict[str, np.ndarray] = {}
    try:
        content = npz.read(path)
    except isolation.DamagedFileError as error:
        if "objects" not in str(error):
            raise TableError(f"{error}; the file is damaged or incomplete") from None
        raise TableError(say("arrays_of_objects")) from None
    blocks = [values for values in content.values() if values.ndim == 3]
    shape = blocks[0].shape[:2] if blocks else None
    for name, values in content.items():
        flat = values.reshape(-1, *values.shape[2:]) if shape is not None and values.shape[:2] == shape else values
        columns |= columns_of(name, flat)
    if shape is not None and "session" not in columns:
        columns["session"] = np.repeat(np.arange(1, shape[0] + 1), shape[1])
    lengths = [len(column) for column in columns.values()]
    if not lengths:
        raise TableError("found no arrays of numbers or words, expected one entry for each trial")
    n = max(set(lengths), key=lengths.count)
    table = from_mapping({name: column for name, column in columns.items() if len(column) == n})
    return table, of_other_lengths(columns, n)


def read_excel(path: Path) -> tuple[list[tuple[str, DataFrame, int]], list[str]]:
    """Read the first sheet of an Excel file, and further sheets with the same columns.

    Returns:
        Name, columns and number of rows above their names of each sheet that is read; the names of the other sheets.

    Raises:
        TableError: if openpyxl is not installed, or the sheet is empty.
    """
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise TableError("Excel files need openpyxl: pip install 'ngym[excel]'; or save the sheet as CSV") from None
    check_archive(path)
    book = load_workbook(path, read_only=True, data_only=True)
    try:
        sheets = [(sheet.title, *_sheet([*sheet.iter_rows(values_only=True)])) for sheet in book.worksheets]
    finally:
        book.close()
    first = [*sheets[0][1]]
    if not first:
        raise TableError("found an empty sheet, expected a row of names and one for each trial")
    return [each for each in sheets if [*each[1]] == first], [each[0] for each in sheets if [*each[1]] != first]


def _sheet(rows: Sequence[Sequence[Any]]) -> tuple[DataFrame, int]:
    """Return the columns whose names are in the first row that is as full as most, and the number of rows above."""
    filled = [sum(cell is not None for cell in row) for row in rows]
    width = max(set(filled), key=lambda count: (count > 1) * filled.count(count)) if filled else 0
    header = next((k for k, count in enumerate(filled) if count >= max(width, 1)), None)
    if header is None:
        return from_mapping({}), 0
    body = [row for row, count in zip(rows[header + 1 :], filled[header + 1 :], strict=True) if count]
    table = {
        str(name): np.array([*(row[k] if k < len(row) else None for row in body), None], object)[:-1]
        for k, name in enumerate(rows[header])
        if name is not None
    }
    return from_mapping(table), sum(count > 0 for count in filled[:header])
