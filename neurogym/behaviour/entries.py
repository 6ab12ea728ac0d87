"""Entries of the columns of a table: numbers (``float64``), or words, as categories in the order of their appearance.

A table is a `pandas.DataFrame`; `neurogym.behaviour.conversion` makes one of any table in memory. Missing
entries are NaN in both kinds of columns.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from neurogym.array_types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from pandas import DataFrame, Series

#: Words (see `plain`) that stand for a missing entry in any column, and entries that do so as a whole.
MISSING_WORDS = frozenset({"na", "nan", "null", "none", "undefined", "missing"})
_MISSING_MARKS = frozenset({"", ".", "..", "...", "-", "--", "---", "?", "??", "#", "*", "_", "<>", "()", "[]", "{}"})
_TRUTH = {"true": 1.0, "false": 0.0}
LOWEST_LETTERS = "zxcvbnm"  #: of a keyboard, in the row of the point
CURRENCIES = "$€£¥"
SAMPLE = 20_000  #: rows from which a column is judged to have many distinct numbers, and most words that are numbers
MOST_COLUMNS = 10_000  #: of a table
MOST_LISTED_ENTRIES = 6  #: entries that are listed of a column


class TableError(ValueError):
    """A table that cannot be read as behaviour; the message names column, row, what was found and expected."""


def check_number_of_columns(n: int) -> None:
    """Refuse a table of more columns than `MOST_COLUMNS`, which is none of trials.

    Raises:
        TableError: with the number.
    """
    if n > MOST_COLUMNS:
        raise TableError(f"found {n:,} columns or more, expected at most {MOST_COLUMNS:,}")


@functools.lru_cache(maxsize=10_000)
def plain(name: str) -> str:
    """Return a name in lower case without anything but letters (of any alphabet) and digits."""
    return re.sub(r"[\W_]", "", str(name).lower())


def is_missing(word: str) -> bool:
    """Return whether a word stands for a missing entry."""
    stripped = word.strip()
    return stripped in _MISSING_MARKS or (plain(stripped) in MISSING_WORDS and stripped[:1] not in "+-")


def are_keys(words: Sequence[str]) -> bool:
    """Return whether words are keys of a keyboard, such as ``,`` and ``.``: signs, of which not all mean missing.

    A point beside a single letter of its row of the keyboard is a key as well.
    """
    signs = {word for word in words if word and plain(word) not in MISSING_WORDS}
    if len(signs) == 2 and "." in signs and signs & {*LOWEST_LETTERS}:
        return True
    return len(signs) > 1 and not signs <= _MISSING_MARKS and all(len(sign) == 1 and not plain(sign) for sign in signs)


def parse_number(word: str) -> float | None:
    """Return a word as a number, or None; a percent sign and a sign of a currency are units."""
    stripped = word.strip().replace("\N{MINUS SIGN}", "-")
    if stripped.lstrip("+-")[:1] in tuple(CURRENCIES):
        stripped = stripped.translate(dict.fromkeys(map(ord, CURRENCIES)))
    if stripped.lower() in _TRUTH:
        return _TRUTH[stripped.lower()]
    if "_" in stripped:
        return None
    try:
        return float(stripped.removesuffix("%"))
    except ValueError:
        return None


def label(number: float) -> str:
    """Return a number as a label: whole numbers without a decimal point."""
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else f"{number:.12g}"


def of_words(words: Sequence[str], codes: np.ndarray) -> Series:
    """Return a column of words; words that stand for a missing entry become missing, many that are numbers, numbers.

    Args:
        words: distinct entries.
        codes: index into ``words``, -1 for a missing entry, shape (rows,).
    """
    import pandas as pd

    if len(words) > SAMPLE:
        parsed = np.append(pd.to_numeric(pd.Series(words, dtype=object), errors="coerce"), np.nan)
        if all(is_missing(words[k]) for k in np.flatnonzero(np.isnan(parsed[:-1])).tolist()):
            return pd.Series(parsed[codes])
    order: dict[str, int] = {}
    stripped = [word.strip() for word in words]
    keys = {word for word in stripped if len(word) == 1} if are_keys(stripped) else set()
    target = [-1 if is_missing(word) and word not in keys else order.setdefault(word, len(order)) for word in stripped]
    codes = np.array([*target, -1], np.int32)[codes]
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(list(order), dtype=object)))


def constant(word: str, n: int) -> Series:
    """Return a column with one word in all rows."""
    return of_words((word,), np.zeros(n, np.int32))


def of_values(values: Any) -> Series:
    """Return a column from an array or list of numbers, words, truth values, durations (in s) or a mixture.

    Raises:
        TableError: if an entry is a list or a mapping.
    """
    import pandas as pd

    if not isinstance(values, pd.Series):
        values = np.asarray(values)
    if values.ndim != 1:
        raise TableError("found entries with several values, expected a number or a word for each trial")
    column = pd.Series(values)
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return of_words([*map(_text, kind.categories)], codes(column))
    if pd.api.types.is_bool_dtype(kind):
        return of_words(("False", "True"), column.to_numpy(np.int32, na_value=-1))
    if kind.kind == "m":
        return pd.Series(column.dt.total_seconds().to_numpy(np.float64))
    objects = pd.api.types.is_object_dtype(kind)
    if pd.api.types.is_numeric_dtype(kind) or (objects and len(column) and all(map(_is_number, column))):
        return pd.Series(column.to_numpy(np.float64, na_value=np.nan))
    try:
        index, distinct = pd.factorize(column.to_numpy().astype(str) if kind.kind == "M" else column)
    except TypeError:
        raise TableError("found entries with several values, expected a number or a word for each trial") from None
    return of_words([*map(_text, distinct)], index)


def _is_number(entry: object) -> bool:
    return entry is None or (isinstance(entry, int | float) and not isinstance(entry, bool))


def joined(pieces: Sequence[Series]) -> Series:
    """Return columns of several tables as one; numbers become words if one of the columns has words."""
    import pandas as pd

    if not any(map(is_words, pieces)):
        return pd.concat(pieces, ignore_index=True)
    return pd.Series(pd.api.types.union_categoricals([_as_words(piece).array for piece in pieces]))


def _as_words(column: Series) -> Series:
    import pandas as pd

    if is_words(column):
        return column
    labels, index = texts(column)
    return pd.Series(pd.Categorical.from_codes(index, pd.Index(labels, dtype=object)))


def _text(entry: object) -> str:
    if isinstance(entry, float):
        return label(entry)
    return entry.decode("utf-8", "replace") if isinstance(entry, bytes) else str(entry)


def is_words(column: Series) -> bool:
    """Return whether a column holds words, which may all be numbers."""
    return column.dtype.kind == "O"


def words(column: Series) -> tuple[str, ...]:
    """Return the distinct entries of a column of words, as written; none of numbers."""
    return tuple(column.cat.categories) if is_words(column) else ()


def codes(column: Series) -> IntArray:
    """Return the index of each entry among `words`, -1 for a missing entry, shape (rows,)."""
    return np.asarray(column.cat.codes)


@functools.lru_cache(maxsize=256)
def _parsed(words: tuple[str, ...]) -> FloatArray:
    """Return the number of each word, and nan at the end for a missing entry, shape (words + 1,)."""
    return np.array([*(np.nan if (n := parse_number(word)) is None else n for word in words), np.nan], float)


def numbers(column: Series) -> FloatArray:
    """Return entries as numbers, nan for missing and other entries, shape (rows,)."""
    return _parsed(words(column))[codes(column)] if is_words(column) else np.asarray(column)


def missing(column: Series) -> BoolArray:
    """Return a mask of the rows without an entry, shape (rows,)."""
    return np.asarray(column.isna())


def is_numeric(column: Series) -> bool:
    """Return whether a column holds numbers, or mostly numbers, if some entries are damaged."""
    if not is_words(column):
        return bool(np.isfinite(column).any())
    parsed = np.isfinite(_parsed(words(column)))
    if parsed[:-1].all() or not parsed.any():
        return len(parsed) > 1 and bool(parsed[0])
    return int(parsed[codes(column)].sum()) > 0.5 * int(column.count())


def is_truth(column: Series) -> bool:
    """Return whether all entries are true or false."""
    return bool(words(column)) and {word.lower() for word in words(column)} <= set(_TRUTH)


def is_plain_number(column: Series) -> bool:
    """Return whether all entries are numbers and none is written as true or false."""
    return not is_words(column) or (is_numeric(column) and not is_truth(column))


def damaged(column: Series) -> IntArray:
    """Return the rows whose entries are words in a column of numbers."""
    return np.flatnonzero(np.isnan(numbers(column)) & ~missing(column))


def distinct(column: Series) -> FloatArray | tuple[str, ...]:
    """Return distinct entries; of a column whose first `SAMPLE` rows hold over a thousand numbers, of these only."""
    if is_words(column):
        return words(column)
    head = np.unique(column.iloc[:SAMPLE])
    values = head if len(head) > 1000 else np.unique(column)
    return values[~np.isnan(values)]


@functools.lru_cache(maxsize=256)
def _order(words: tuple[str, ...]) -> tuple[tuple[str, ...], IntArray]:
    """Return labels of words in the order of numbers or of the alphabet, and the label of each word, -1 at the end."""
    parsed = _parsed(words)
    if words and np.isfinite(parsed[:-1]).all() and not {word.lower() for word in words} <= set(_TRUTH):
        values, index = np.unique(parsed[:-1], return_inverse=True)
        return tuple(map(label, values)), np.append(index, -1).astype(np.int32)
    order = sorted(range(len(words)), key=lambda k: words[k].lower())
    return tuple(words[k] for k in order), np.append(np.argsort(order), -1).astype(np.int32)


def levels(column: Series) -> tuple[tuple[str, ...], IntArray]:
    """Return labels in the order of numbers or of the alphabet, and the index of each row's label, -1 if missing."""
    if is_words(column):
        labels, index = _order(words(column))
        return labels, index[codes(column)]
    index, values = column.factorize(sort=True)
    return tuple(map(label, values)), index.astype(np.int32)


def texts(column: Series) -> tuple[tuple[str, ...], IntArray]:
    """Return labels as written, in order of appearance, and the index of each row's label, -1 if missing."""
    index, values = column.factorize()
    return tuple(values) if is_words(column) else tuple(map(label, values)), index.astype(np.int32)


def entry(column: Series, row: int) -> object:
    """Return the entry of a row: a number, a word as written, or None."""
    value = column.iloc[row]
    if isinstance(value, str):
        return value
    return None if np.isnan(value) else int(value) if float(value).is_integer() else float(value)


def values(column: Series) -> np.ndarray:
    """Return the entries as an array of numbers, or of words and None."""
    leading_zeros = any(len(word) > 1 and word[0] == "0" and word[1].isdigit() for word in words(column)[:1000])
    if not is_words(column) or (is_numeric(column) and not leading_zeros and not len(damaged(column))):
        return numbers(column)
    return np.array([*words(column), None], object)[codes(column)]


def without(column: Series, rows: BoolArray) -> Series:
    """Return the column with missing entries in some rows."""
    column = column.mask(rows)
    return column.cat.remove_unused_categories() if is_words(column) else column


def in_one_case(column: Series, preferred: Sequence[str] = ()) -> tuple[Series, dict[str, str]]:
    """Return the column with words that differ in case alone as one, and what has become of other spellings.

    Nothing changes where one word alone would be left.

    Args:
        column: the column.
        preferred: spellings that are kept; of others the most frequent one.
    """
    written = words(column)
    spelling: dict[str, str] = {word.lower(): word for word in preferred if word in written}
    counts = np.bincount(codes(column)[codes(column) >= 0], minlength=len(written)) if written else np.zeros(0)
    for k in np.argsort(-counts, kind="stable").tolist():
        spelling.setdefault(written[k].lower(), written[k])
    if len(spelling) in (1, len(written)):
        return column, {}
    kept = [spelling[word.lower()] for word in written]
    return of_words(kept, codes(column)), {a: b for a, b in zip(written, kept, strict=True) if a != b}


def take(table: DataFrame, rows: BoolArray) -> DataFrame:
    """Return some rows of a table, with their numbers as index, without the words that are in others only."""
    import pandas as pd

    if rows.all():
        return table
    chosen = table[rows]
    used = {name: each.cat.remove_unused_categories() if is_words(each) else each for name, each in chosen.items()}
    return pd.DataFrame(used, copy=False)


def describe(column: Series, as_written: bool = False) -> str:
    """Return the entries of a column in words; labels as written."""
    labels = texts(column)[0] if as_written else ()
    many_numbers = not is_words(column) or (is_numeric(column) and len(words(column)) > MOST_LISTED_ENTRIES)
    if many_numbers and not as_written:
        finite = numbers(column)[np.isfinite(numbers(column))]
        if not len(finite):
            return "empty"
        if len(distinct(column)) > MOST_LISTED_ENTRIES:
            return f"{finite.min():.4g} to {finite.max():.4g}"
    labels = labels or levels(column)[0]
    short = [word if len(word) <= 20 else word[:17] + "..." for word in labels[:MOST_LISTED_ENTRIES]]
    if len(labels) <= MOST_LISTED_ENTRIES:
        return ", ".join(short)
    return f"{len(labels):,} words: {', '.join(short[:3])}, ..."
