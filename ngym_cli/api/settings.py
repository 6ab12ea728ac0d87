"""Keyword arguments of the Python interface, named like the flags of the command line; results as tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ngym_cli.agents.algorithms import HYPERPARAMETERS
from ngym_cli.agents.networks import NETWORKS
from ngym_cli.api.references import reference_of
from ngym_cli.config import nest
from ngym_cli.config.fields import Option
from ngym_cli.config.keywords import ALIASES, find_option, keyword_options
from ngym_cli.config.model import RunConfig
from ngym_cli.config.tasks import find_task
from ngym_cli.config.values import parse_wrappers
from ngym_cli.environments.stack import keyword_parameters
from ngym_cli.errors import UserError
from ngym_cli.runs.trial_table import to_arrow
from ngym_cli.training.request import RunRequest

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from stable_baselines3.common.callbacks import BaseCallback

#: Kinds of parts by the name of the argument.
EXTENSION_ARGUMENTS = {"task": "task", "alg": "algorithm", "network": "network", "callbacks": "callback"}
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


def flat(keywords: Mapping[str, Any], convert: Callable[[Option, Any], Any] | None = None) -> dict[str, Any]:
    """Return settings of a run as dotted keys of a configuration.

    Args:
        keywords: values by name; None stands for the default.
        convert: converts a value; by default ``plain``.

    Raises:
        UserError: on an unknown name, with the nearest, or a value that has no written form.
    """
    options = {name: each for name, each in keyword_options(RunRequest).items() if each.table == "settings."}
    values: dict[str, Any] = {}
    for name, value in ((ALIASES.get(word, word), value) for word, value in keywords.items() if value is not None):
        if name == "stages":
            stages = value if isinstance(value, list | tuple) else [value]
            values[name] = [nested(dictionary(name, stage)) for stage in stages]
        else:
            refuse_entry_of_table(name, value, options, keywords.get("task"))
            option = find_option(name, options)
            values[option.entry] = (convert or plain)(option, value)
    return values


def refuse_entry_of_table(name: str, value: object, options: Mapping[str, Option], task: object = None) -> None:
    """Refuse an argument that is an entry of a dictionary, such as ``learning_rate``, and say which dictionary.

    Args:
        name: name of the argument.
        value: its value, for the message.
        options: the arguments.
        task: the task, whose arguments and periods count; the default task if None.

    Raises:
        UserError: if the argument is such an entry.
    """
    if name in options:
        return
    for table, entries in _entries_of_tables(task):
        if table in options and name in entries:
            raise UserError(f"'{name}' is an entry of {table}: {table}={{'{name}': {repr(value)[:60]}}}")


def _entries_of_tables(task: object) -> Iterator[tuple[str, Collection[str]]]:
    """Yield dictionaries among the arguments of a run, with the names of entries."""
    yield "hyperparameters", HYPERPARAMETERS
    yield "network_args", {name for network in NETWORKS.values() for name in network.options}
    chosen = RunConfig.model_fields["task"].default if task is None else task
    entry = find_task(chosen).entry if isinstance(chosen, str) else chosen
    yield "task_args", keyword_parameters(entry) or () if callable(entry) else ()
    for table in ("timing", "rewards"):
        entries = getattr(entry, f"default_{table}", None)
        yield table, entries if isinstance(entries, Mapping) else ()


def nested(settings: Mapping[str, Any]) -> dict[str, object]:
    """Return settings of a run as the nested dictionary of a configuration; see ``flat``."""
    return nest(flat(settings))


def plain(option: Option, value: Any) -> Any:
    """Return a value in the form of a configuration: parts as references, arrays as lists."""
    if option.kind == "wrappers":
        return stack(value)
    if option.entry in EXTENSION_ARGUMENTS:
        kind = EXTENSION_ARGUMENTS[option.entry]
        if option.kind != "words":
            return reference_of(kind, value)
        return [
            reference_of(kind, user_object) for user_object in (value if isinstance(value, list | tuple) else [value])
        ]
    if option.kind == "table":
        dictionary(option.name, value)
    value = simple(value)
    if option.kind == "whole" and isinstance(value, float) and value.is_integer():
        return int(value)
    return [value] if option.kind == "words" and isinstance(value, str) else value


def dictionary(argument_name: str, value: object) -> ValuesByName:
    """Return a value that has to be a dictionary.

    Args:
        argument_name: name of the argument, for the message.
        value: the value.

    Raises:
        UserError: if the value is not a dictionary.
    """
    if not isinstance(value, Mapping):
        raise UserError(f"{argument_name}: expected a dictionary, not {value!r}")
    return value


def with_commas(names: str | Iterable[str] | None) -> str | None:
    """Return names as a text with commas; a text and None as they are."""
    return names if names is None or isinstance(names, str) else ",".join(map(str, names))


def path(reference: str | Path | None) -> Path | None:
    """Return a path, or None if none is given."""
    return None if reference is None else Path(reference)


def simple(value: Any) -> Any:
    """Return arrays, tuples, ranges and numbers of NumPy as lists and numbers of Python.

    Raises:
        UserError: on a value that a configuration cannot hold, such as a function.
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): simple(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range | set):
        return [simple(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UserError(f"expected numbers, words, lists and dictionaries, not {value!r}")


def stack(wrappers: Wrappers) -> list[dict[str, Any]]:
    """Return wrappers in the form of a configuration.

    Args:
        wrappers: text as on the command line, or a list, innermost first, of names, classes and pairs of these with a
            dictionary of arguments.
    """
    if isinstance(wrappers, str):
        return parse_wrappers(wrappers)
    stacked, entries = [], list[Any](wrappers if isinstance(wrappers, list | tuple) else [wrappers])
    for entry in entries:
        if isinstance(entry, str):
            stacked += parse_wrappers(entry)
            continue
        user_object, args = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, {})
        name = reference_of("wrapper", user_object)
        stacked.append({"name": name, **simple(dictionary(f"arguments of wrapper {name}", args))})
    return stacked


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
    from html import escape

    as_html = getattr(table, "_repr_html_", None)
    content = f"<pre>{escape(str(table))}</pre>" if as_html is None else as_html()
    return f"<div><b>{escape(title)}</b>{content}</div>"


def html(title: str, rows: Mapping[str, object]) -> str:
    """Return a small HTML table of names and values; nothing without rows."""
    from html import escape

    if not rows:
        return ""
    visible_rows = list(rows.items())[:MAX_HTML_ROWS]
    cells = "".join(
        f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in visible_rows
    )
    return f"<div><b>{escape(title)}</b><table>{cells}</table></div>"
