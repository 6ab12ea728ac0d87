"""Options of a choice in several files, or of several subjects: whether these are options of one task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray
from neurogym.behaviour import entries
from neurogym.behaviour.codings import is_missed_word
from neurogym.behaviour.evidence import FILE
from neurogym.behaviour.questions import ask, is_among
from neurogym.behaviour.vocabulary import is_called

if TYPE_CHECKING:
    from pandas import DataFrame, Series


FEWEST = 16  #: answers of a file or subject from which an option that is absent is not absent by chance
COMMON = 0.02  #: share of the answers from which an entry counts as an option
MOST_LISTED = 4  #: codings that are listed


def check_options(
    columns: DataFrame, name: str, column: Series, sources: Sequence[object], missed: Sequence[str]
) -> None:
    """Ask whether the entries of a choice are options of one task, if no file or subject has all.

    Args:
        columns: the table.
        name: of the choice.
        column: the choice.
        sources: names of the columns of files and subjects.
        missed: entries that mean no answer.

    Raises:
        TableQuestion: if no file, or no subject, has all entries.
    """
    words = entries.levels(column)[0]
    gone = [k for k, word in enumerate(words) if word in missed or is_missed_word(word)]
    for source in (*sources, *(each for each in columns if is_called(each, "tasks"))):
        labels, group = entries.texts(columns[str(source)]) if source in columns else ((), np.zeros(0, int))
        if len(labels) < 2:
            continue
        common = _common(column, group, len(labels), gone)
        union: BoolArray = np.asarray(common.any(0))
        sets = np.unique(common[common.any(1)], axis=0)
        if union.sum() > 2 and len(sets) > 1 and not (sets == union).all(1).any():
            listed = [", ".join(word for word, at in zip(words, row, strict=True) if at) for row in sets[::-1]]
            tasks = is_called(str(source), "tasks")
            about: dict[str, Any] = {
                "kind": "file" if source == FILE else "task" if tasks else "subject",
                "codings": listed[:MOST_LISTED],
                "options": ",".join(word for word, at in zip(words, union, strict=True) if at),
                "formula": None if tasks else _joined(name, str(source), labels, common, words),
                "each": labels[:MOST_LISTED] if tasks else [],
            }
            raise ask("options", columns, name=name, source=source, **about)


def _common(column: Series, group: np.ndarray, n: int, gone: Sequence[int]) -> BoolArray:
    """Return which entries are common in each group, shape (groups, entries); none in groups of few answers."""
    words, index = entries.levels(column)
    counts = np.zeros((n, len(words)), int)
    valid = (index >= 0) & (group >= 0)
    np.add.at(counts, (group[valid], index[valid]), 1)
    counts[:, gone] = 0
    answers = counts.sum(1, keepdims=True)
    return (counts > COMMON * answers) & (answers >= FEWEST)


def _joined(name: str, source: str, labels: Sequence[str], common: BoolArray, words: Sequence[str]) -> str | None:
    """Return the formula of the second option of two codings of two options each; None of others."""
    sets = np.unique(common[common.any(1)], axis=0)[::-1]
    if len(sets) != 2 or not (common.sum(1) == 2).all() or len(words) > common.any(0).sum():
        return None
    seconds = [words[np.flatnonzero(row)[1]] for row in sets]
    of_set = [[label for label, row in zip(labels, common, strict=True) if (row == each).all()] for each in sets]
    terms = [
        f'(`{name}`=="{second}")*({is_among(source, members)})' for second, members in zip(seconds, of_set, strict=True)
    ]
    return "+".join(terms)
