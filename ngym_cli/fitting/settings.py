"""Tables of behaviour for fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from neurogym.behaviour import reading
from neurogym.behaviour.table import Behaviour
from ngym_cli.config.trust import read_toml
from ngym_cli.config.values import split_entries
from ngym_cli.errors import Question, UserError, message_of, option
from ngym_cli.fitting import data_sets, validation
from ngym_cli.fitting.folder import FitRecord
from ngym_cli.fitting.request import FitSettings


def read_table(
    source: reading.TableSource,
    roles: Mapping[str, str | None],
    columns: Path | Mapping[str, Any] | None = None,
    **options: Any,
) -> Behaviour:
    """Read a table of behaviour.

    Args:
        source: file, folder, list of files, name of a public data set, DataFrame, dict of arrays or list of dicts.
        roles: columns as given with flags; None where none was given, the word ``none`` for no such column.
        columns: TOML file that maps the columns, as for ``ngym eval --compare``, or its content.
        **options: ``where``, ``derive``, ``missed`` and ``keep`` of `neurogym.behaviour.reading.read`.

    Raises:
        UserError: if a file is missing or damaged, or the table is unfit.
    """
    public = data_sets.named_by(source) if isinstance(source, Path) else None
    if public is not None:
        source, columns = public.find(), columns or public.columns
    named: dict[str, str | Sequence[str] | None] = {}
    for role, text in roles.items():
        if text is not None:
            name = None if text == "none" else text.strip()
            named[role] = split_entries(name or "") if role in reading.SEVERAL else name
    try:
        content = read_toml(columns) if isinstance(columns, Path) else columns
        return reading.read(source, named, content, **options)
    except reading.TableQuestion as question:
        answers = [(answer.options, answer.meaning) for answer in question.answers]
        raise Question(message_of(question), question.candidates, answers) from None
    except ValueError as error:
        raise UserError(message_of(error)) from error


def with_names(table: Behaviour, stimuli: Sequence[str], choices: Sequence[str], name: str) -> Behaviour:
    """Return a table whose choices are numbered as in a fit; choices that do not occur in the table may be missing.

    Args:
        table: the table.
        stimuli: of the fit.
        choices: of the fit.
        name: of the table, for messages.

    Raises:
        UserError: if the table has other stimuli or choices.
    """
    if table.stimuli != tuple(stimuli) or not set(table.choices) <= set(choices):
        raise UserError(
            f"{name} has stimuli {', '.join(table.stimuli) or 'none'} and choices {', '.join(table.choices)}, "
            f"expected {', '.join(stimuli) or 'none'} and {', '.join(choices)}"
        )
    number = np.array([*(list(choices).index(each) for each in table.choices), -1])
    sessions = [replace(each, choice=number[each.choice], truth=number[each.truth]) for each in table.sessions]
    return replace(table, sessions=tuple(sessions), choices=tuple(choices))


def read_like(record: FitRecord, source: reading.TableSource) -> Behaviour:
    """Return a table that is read with the columns of a fit.

    Raises:
        UserError: if the table has other stimuli or choices than the fit.
    """
    table = _read(FitSettings.model_validate(record["settings"]), source)
    return with_names(table, list(record["table"]["stimuli"]), record["table"]["choices"], "the table")


def _read(settings: FitSettings, source: reading.TableSource) -> Behaviour:
    return read_table(source, settings.roles, settings.columns, **settings.reading())


def read_data(settings: FitSettings) -> validation.FitData:
    """Return the table, the test table, and how models are fitted."""
    table, test = _read(settings, settings.table), None
    if settings.test is not None:
        test = with_names(_read(settings, settings.test), table.stimuli, table.choices, option("--test"))
    if settings.between is not None and settings.subjects != "hierarchical":
        raise UserError(f"{option('--between')} needs {option('--subjects hierarchical')}")
    return validation.FitData(table, settings, test)
