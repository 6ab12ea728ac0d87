"""Trial tables and other results as pandas data frames, or Arrow tables where pandas is not installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ngym_cli.runs.trial_table import to_arrow

#: Rows of a table in the HTML of an object.
SHOWN = 12


def frame_of_trials(table: Mapping[str, np.ndarray]) -> Any:
    """Return a trial table as a pandas.DataFrame, or as a pyarrow.Table without pandas."""
    return _frame(to_arrow(table) if table else None)


def frame_of_rows(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as a pandas.DataFrame, or as a pyarrow.Table without pandas."""
    import pyarrow as pa

    return _frame(pa.Table.from_pylist([dict(row) for row in rows]))


def _frame(table: Any) -> Any:
    import pyarrow as pa

    table = pa.table({}) if table is None else table
    try:
        import pandas  # noqa: F401
    except ModuleNotFoundError:
        return table
    return table.to_pandas()


def html(title: str, rows: Mapping[str, Any]) -> str:
    """Return a small HTML table of names and values."""
    from html import escape

    cells = "".join(
        f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>"
        for name, value in list(rows.items())[:SHOWN]
    )
    return f"<div><b>{escape(title)}</b><table>{cells}</table></div>"
