"""Tables of behaviour in memory, or in several files, as one file that a record can name."""

from __future__ import annotations

import hashlib
from pathlib import Path

from neurogym.behaviour.columns import Columns
from neurogym.behaviour.conversion import from_source, to_arrow
from neurogym.behaviour.files import read_source
from neurogym.behaviour.reading import TableError, TableSource
from ngym_cli.errors import UserError, message_of
from ngym_cli.files.writing import atomic_file

#: Folder, below that of all runs, of these tables.
TABLES = "tables"


def paths_of(table: TableSource) -> list[Path]:
    """Return the paths that a table is given by; none for a table in memory."""
    if isinstance(table, str | Path):
        return [Path(table)]
    if isinstance(table, list | tuple) and table and all(isinstance(each, str | Path) for each in table):
        return [Path(each) for each in table]
    return []


def stored_table(table: TableSource, root: Path) -> Path:
    """Return the path of a table; one in memory, or in several files, is written as Parquet below a folder.

    Args:
        table: path, list of paths, DataFrame, ``pyarrow.Table``, dict of arrays, or list of dicts.
        root: folder of all runs.

    Raises:
        UserError: if it is no table.
    """
    paths = paths_of(table)
    if len(paths) == 1:
        return paths[0]
    try:
        columns = read_source(paths).columns if paths else from_source(table)
    except TableError as error:
        raise UserError(message_of(error)) from None
    if not columns:
        kinds = "a path, a DataFrame, a dict of arrays or a list of dicts"
        raise UserError(f"expected {kinds}, not {type(table).__name__}")
    path = root / TABLES / f"table-{_digest(columns)}.parquet"
    if not path.is_file():
        from pyarrow import parquet

        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            parquet.write_table(to_arrow(columns), file)
    return path


def is_stored(path: Path) -> bool:
    """Return whether a file is a table in memory that `stored_table` wrote, whose name says nothing."""
    return path.parent.name == TABLES and path.stem.startswith("table-")


def _digest(columns: Columns) -> str:
    """Return a short digest of the content of a table."""
    total = hashlib.sha256()
    for name, column in columns.items():
        total.update(f"{name}\0{column.words!r}\0".encode())
        total.update((column.numbers if column.codes is None else column.codes).tobytes())
    return total.hexdigest()[:10]
