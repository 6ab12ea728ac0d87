"""Tables of behaviour in memory, or in several files, as one file that a record can name."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from neurogym.behaviour.conversion import from_source
from neurogym.behaviour.files import read_source
from neurogym.behaviour.reading import TableError, TableSource
from ngym_cli.errors import UserError, message_of
from ngym_cli.files.writing import atomic_file

if TYPE_CHECKING:
    from pandas import DataFrame

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
        frame = read_source(paths).table if paths else from_source(table)
    except TableError as error:
        raise UserError(message_of(error)) from None
    if frame is None or frame.empty:
        kinds = "a path, a DataFrame, a dict of arrays or a list of dicts"
        raise UserError(f"expected {kinds}, not {type(table).__name__}")
    path = root / TABLES / f"table-{_digest(frame)}.parquet"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            frame.to_parquet(file, index=False)
    return path


def is_stored(path: Path) -> bool:
    """Return whether a file is a table in memory that `stored_table` wrote, whose name says nothing."""
    return path.parent.name == TABLES and path.stem.startswith("table-")


def _digest(frame: DataFrame) -> str:
    """Return a short digest of the content of a table."""
    from pandas.util import hash_pandas_object

    total = hashlib.sha256(repr([*frame.columns]).encode())
    total.update(hash_pandas_object(frame, index=False).to_numpy().tobytes())
    return total.hexdigest()[:10]
