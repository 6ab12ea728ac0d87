"""Types of arguments of the Python interface; results as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ngym_cli.runs.trial_table import to_arrow

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from stable_baselines3.common.callbacks import BaseCallback

#: Table of results; a pyarrow.Table where pandas is not installed, which type checkers do not consider.
DataTable: TypeAlias = "pd.DataFrame"
Part = str | type
ValuesByName = Mapping[str, Any]
Wrapper = str | type | tuple[str | type, ValuesByName]
Wrappers = str | Sequence[Wrapper]
#: Names of columns, as a list or separated by commas.
Columns = str | Sequence[str]
#: Units that an evaluation perturbs, as in ``0.2``, ``"units=3,7"`` or ``{"units": [3, 7]}``; also several of these.
PerturbedUnits = str | float | Mapping[str, object] | Sequence["PerturbedUnits"]
#: Callbacks of a run: classes, references, objects of Stable-Baselines3, functions of (locals, globals).
Callback: TypeAlias = "Part | BaseCallback | Callable[[dict[str, Any], dict[str, Any]], bool | None]"
Callbacks: TypeAlias = "Callback | Sequence[Callback]"


#: Rows of a table in the HTML of an object.
MAX_HTML_ROWS = 14


def frame_of_trials(table: Mapping[str, np.ndarray]) -> DataTable:
    """Return a trial table as a pandas.DataFrame, or as a pyarrow.Table without pandas."""
    import pyarrow as pa

    return frame_of_table(to_arrow(table) if table else pa.table({}))


def frame_of_rows(rows: Sequence[Mapping[str, object]]) -> DataTable:
    """Return rows as a pandas.DataFrame, or as a pyarrow.Table without pandas, where values of mixed types are text."""
    import pyarrow as pa

    columns: dict[str, list[object]] = {name: [] for name in dict.fromkeys(key for row in rows for key in row)}
    for name, values in columns.items():
        values += [row.get(name) for row in rows]
    try:
        import pandas as pd
    except ModuleNotFoundError:
        return pa.table({name: _arrow_column(values) for name, values in columns.items()})
    return pd.DataFrame(columns)


def cells(name: str, estimate: Any) -> dict[str, object]:
    """Return an estimate with the ends of its interval as columns of a row."""
    return {name: estimate["value"], f"{name}_low": estimate["low"], f"{name}_high": estimate["high"]}


def _arrow_column(values: list[object]) -> pa.Array:
    """Return a column of a pyarrow.Table; values without a common type as text."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def frame_of_table(table: pa.Table) -> DataTable:
    """Return a pyarrow.Table as a pandas.DataFrame, or as it is without pandas."""
    try:
        import pandas  # noqa: F401
    except ModuleNotFoundError:
        return table
    return table.to_pandas()


def html_of_table(title: str, table: DataTable) -> str:
    """Return a titled table as HTML."""
    as_html = getattr(table, "_repr_html_", None)
    content = f"<pre>{escape(str(table))}</pre>" if as_html is None else as_html()
    return f"<div><b>{escape(title)}</b>{content}</div>"


def html(title: str, rows: Mapping[str, object]) -> str:
    """Return a small HTML table of names and values, without missing values; nothing without rows."""
    visible_rows = [(name, value) for name, value in rows.items() if value is not None][:MAX_HTML_ROWS]
    if not visible_rows:
        return ""
    cells = "".join(
        f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in visible_rows
    )
    return f"<div><b>{escape(title)}</b><table>{cells}</table></div>"
