"""Text files of separated values: separator, encoding, decimal comma, comments and damaged lines are recognised."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from neurogym.behaviour import conversion, entries
from neurogym.behaviour.entries import TableError, check_number_of_columns, is_missing, parse_number
from neurogym.behaviour.pulse_times import is_lists, sides
from neurogym.behaviour.questions import say
from neurogym.behaviour.vocabulary import LOGS

if TYPE_CHECKING:
    from pandas import DataFrame


SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar", " ": "space"}
HEAD, LINES = 400_000, 40  #: bytes and lines from which a file is judged
LOG_BEGINNING = 2_000  #: characters in which a log says its program
LARGEST = 4 * 2**30  #: bytes of the largest file
NULLS = ("NA", "NaN", "nan", "na", "n/a", "N/A", "null", "NULL", "None", "none", "<NA>")
MOST_FILE_ROWS = 10_000_000
MOST_TITLES, HEADER_LINES = 30, 100  #: lines above the names of columns, and lines that are searched for these
MOST_DAMAGED = 0.05  #: largest share of damaged lines


@dataclass
class TextForm:
    """Form of a file of separated values.

    Attributes:
        separator: character between entries.
        encoding: of the characters.
        header: names of the columns.
        skipped: lines before the data.
        comments: number of lines that begin with ``#`` or ``%``.
        titles: number of lines above the header, such as the path in an export of E-Prime.
        damaged: number of lines with another number of entries than the header, by that number.
        decimals: columns that hold many different decimal numbers, as far as the first lines show.
        decimal_comma: whether numbers are written with a decimal comma.
    """

    separator: str
    encoding: str
    header: list[str]
    skipped: int
    comments: int = 0
    titles: int = 0
    damaged: dict[int, int] = field(default_factory=dict)
    decimals: tuple[str, ...] = ()
    decimal_comma: bool = False

    def describe(self) -> str:
        """Return the form in words."""
        words = [f"separated by {SEPARATORS[self.separator]}"]
        if self.encoding != "utf-8":
            words.append(f"encoding {self.encoding}")
        if self.decimal_comma:
            words.append("decimal comma")
        return ", ".join(words)


def open_binary(path: Path) -> BinaryIO:
    """Open a file, packed by gzip or not, to read bytes."""
    return cast("BinaryIO", gzip.open(path)) if path.suffix.lower() == ".gz" else path.open("rb")


def read_text(path: Path) -> tuple[DataFrame, TextForm, dict[str, int]]:
    """Read a file of separated values.

    Returns:
        The table, the form of the file, and the number of lines left out by reason.

    Raises:
        TableError: if the file is too large, no text, or its lines do not fit the header.
    """
    import pandas as pd

    if path.stat().st_size > LARGEST:
        raise TableError(f"found {path.stat().st_size >> 30} GB, expected at most 4 GB; split the file by subject")
    with open_binary(path) as file:
        head = file.read(HEAD)
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(say("binary"))
    encoding = _encoding(head)
    try:
        form = _form(head.decode(encoding, "replace"), encoding)
    except csv.Error as error:
        raise TableError(f"an entry of the first lines cannot be read ({error}); leave such columns out") from None
    source: Any = path
    if form.separator == " " or encoding == "utf-16":
        source, encoding = io.BytesIO(_rewritten(path, form).encode()), "utf-8"
    try:
        table = _parse(source, form, encoding)
    except UnicodeDecodeError:
        form.encoding, form.damaged = "cp1252", {}
        form.header = _form(head.decode("cp1252", "replace"), "cp1252").header
        table = _parse(source, form, "latin-1")
    rows = conversion.from_arrow(table)
    lists = {name for name in sides(rows) if is_lists(rows[name])}
    columns = {
        name: column if name in lists else conversion.without_thousands(conversion.without_brackets(column))
        for name, column in rows.items()
    }
    if form.separator in ";\t| ":
        fixed = {name: conversion.with_decimal_points(column) for name, column in columns.items()}
        form.decimal_comma = any(fixed[name] is not columns[name] for name in columns)
        columns = fixed
    rows = _without_comments(pd.DataFrame(columns, copy=False), form)
    return rows, form, _left_out(path, len(rows), form)


def _cut(lines: Iterable[str], separator: str) -> Any:
    """Return a reader of the entries of lines; several spaces separate as one."""
    joined = (re.sub(r"[ \t]+", " ", line.strip(" \t")) for line in lines) if separator == " " else lines
    return csv.reader(joined, delimiter=separator)


def _rewritten(path: Path, form: TextForm) -> str:
    """Return the text of a file with one space between entries that spaces separate; it is parsed as UTF-8."""
    with open_binary(path) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise TableError("found more than 4 GB, expected at most 4 GB; split the file by subject")
    text = content.decode(form.encoding)
    if form.separator == " ":
        text = re.sub(r"[ \t]+", " ", re.sub(r"(?m)^[ \t]+|[ \t]+$", "", text))
    form.encoding = "utf-8" if form.encoding == "utf-16" else form.encoding
    return text


def entries_by_line(path: Path, form: TextForm) -> Iterator[tuple[int, list[str]]]:
    """Yield number, from 1, and entries of each line below the names of columns, without blank lines and comments."""
    with open_binary(path) as packed, io.TextIOWrapper(packed, form.encoding, "replace", newline="") as text:
        reader = _cut(itertools.islice(text, form.skipped, None), form.separator)
        for row in reader:
            if any(row) and not row[0].lstrip().startswith(("#", "%")):
                yield form.skipped + reader.line_num, row


def line_of(path: Path, form: TextForm, row: int, width: int | None = None) -> int | None:
    """Return the number of a line, from 1, that holds a row of entries; None if it is not found.

    Args:
        path: the file.
        form: of the file.
        row: number, from 0, among the lines with as many entries.
        width: number of entries; None for that of the header.
    """
    try:
        fitting = (line for line, row in entries_by_line(path, form) if len(row) == (width or len(form.header)))
        return next(itertools.islice(fitting, row, None), None)
    except (csv.Error, OSError):
        return None


def _left_out(path: Path, n: int, form: TextForm) -> dict[str, int]:
    """Return the number of lines left out by reason.

    Raises:
        TableError: if more than `MOST_DAMAGED` of the lines do not fit the header.
    """

    def first(width: int) -> str:
        line = line_of(path, form, 0, width)
        return "" if line is None else f" (the first is line {line})"

    if (bad := sum(form.damaged.values())) > MOST_DAMAGED * (n + bad):
        width, count = max(form.damaged.items(), key=lambda item: item[1])
        about = {"n": count, "first": first(width), "width": width, "separator": SEPARATORS[form.separator]}
        expected = {"expected": len(form.header), "line": form.skipped, "names": form.header[:6]}
        raise TableError(say("damaged_lines", **about, **expected))
    reasons = {
        f"lines{first(width)} with {width} of {len(form.header)} entries": k for width, k in form.damaged.items()
    }
    extra = {"lines of comments": form.comments, "lines above the names of columns": form.titles}
    return reasons | {reason: count for reason, count in extra.items() if count}


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        head[: len(head) - 4 if len(head) == HEAD else None].decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _form(text: str, encoding: str) -> TextForm:
    """Return the form of a file from its beginning."""
    text = text.removeprefix("\ufeff")
    for mark, (program, way) in LOGS.items():
        if mark in text[:LOG_BEGINNING]:
            raise TableError(f"found a log of {program}, expected a table; {way}")
    lines = re.split(r"\r\n|\n|\r", text)
    check_number_of_columns(1 + max(line.count(mark) for line in lines[:LINES] for mark in ",;\t|"))
    skipped, comments, titles = _above_header(lines)
    body = [line for line in lines[skipped : skipped + LINES] if line.strip() and line.lstrip()[0] not in "#%"]
    if len(text) >= HEAD // 2 and len(body) > 1:
        body = body[:-1] if len(lines) <= skipped + LINES else body
    if not body:
        raise TableError("found no rows, expected a line of column names and one line for each trial")
    separator = _separator(body)
    rows = list(_cut(body, separator))
    header = [name.strip() for name in rows[0]]
    counts = [len(row) for row in rows[1:]]
    if counts and min(counts) == len(header) + 1 and rows[1]:
        header = ["row", *header]  # as R writes a table with names of rows
    elif counts and min(counts) == len(header) - 1 and not header[-1]:
        header = header[:-1]
    numbers = [name for name in header if _is_entry(name)]
    below = [{row[k] for row in rows[1:] if k < len(row)} for k in range(len(header))]
    entries_alone = numbers and all(name in numbers or name in each for name, each in zip(header, below, strict=True))
    if entries_alone or (2 * len(numbers) > len(header) and any("." in each for each in numbers)):
        raise TableError(say("no_names", line=skipped + 1, entries=header[:4]))
    doubled = sorted({name for name in header if name and header.count(name) > 1})
    if doubled:
        raise TableError(say("one_name_twice", line=skipped + 1, n=header.count(doubled[0]), name=doubled[0]))
    names = [name or f"column {k}" for k, name in enumerate(header, 1)]
    wide = [row[: len(names)] for row in rows[1:] if len(row) == len(names)]
    decimals = [name for name, column in zip(names, zip(*wide, strict=True), strict=False) if _is_decimal(column)]
    return TextForm(separator, encoding, names, skipped + 1, comments, titles, decimals=tuple(decimals))


def _above_header(lines: Sequence[str]) -> tuple[int, int, int]:
    """Return the number of lines above the names of columns, and how many of these are comments and titles.

    Titles are lines that a separator cuts into another number of entries than nearly all lines that follow.
    """
    texts = [k for k, line in enumerate(lines) if line.strip() and line.strip()[0] not in "#%"]
    start = next((k for k in texts if not re.fullmatch(r"(?i)\"?sep=.\"?", lines[k].strip())), 0)
    body = [k for k in texts if k >= start][:HEADER_LINES]
    header = _header_of([lines[k] for k in body])
    skipped = body[header] if body else 0
    above = [line.strip() for line in lines[:skipped] if line.strip()]
    comments = sum(line[0] in "#%" for line in above)
    return skipped, comments, len(above) - comments


def _header_of(lines: Sequence[str]) -> int:
    """Return which of some lines is the first that is cut into as many entries, at least two, as nearly all below."""
    best = 0
    for separator in "\t;,":
        counts = [len(row) for row in csv.reader(lines, delimiter=separator)]
        if len(counts) != len(lines) or len(counts) < 4:
            continue
        width = statistics.mode(counts[len(counts) // 2 :])
        first = counts.index(width)
        if width < 2 or counts[first:].count(width) < 0.9 * len(counts[first:]):
            continue
        if first == 0:
            return 0
        if first == 1 and counts[0] == width - 1:
            return 0  # as R writes a table with names of rows
        if first <= MOST_TITLES and all(count < width for count in counts[:first]):
            best = best or first
    return best


def _is_decimal(words: Sequence[str]) -> bool:
    """Return whether words are different decimal numbers, or missing."""
    present = [word for word in words if not is_missing(word)]
    several = len(set(present)) > 15 and any("." in entry for entry in present)
    return several and None not in map(parse_number, present) and not conversion.mark_of_thousands(present)


def _is_entry(word: str) -> bool:
    """Return whether a word is a number or a time, as names of columns are not."""
    return parse_number(word) is not None or bool(re.fullmatch(r"\d{4}-\d\d-\d\d[T ][\d:.,+Z-]+", word))


def _separator(lines: list[str]) -> str:
    """Return the separator that cuts most lines into the same number of entries, at least two."""
    best, best_rank = ",", (0.0, 0)
    for k, separator in enumerate(SEPARATORS):
        counts = [len(row) for row in _cut(lines, separator)]
        width = counts[0] if counts else 0
        if width < 2:
            continue
        same = sum(abs(count - width) <= (count == width + 1) for count in counts) / len(counts)
        rank = (round(same, 1), -k)
        if same > 0.5 and (best_rank == (0.0, 0) or rank > best_rank):
            best, best_rank = separator, rank
    return best


def _parse(source: Any, form: TextForm, encoding: str) -> Any:
    """Return the table of pyarrow; all entries are words, kept once each."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if hasattr(source, "seek"):
        source.seek(0)

    def damaged(row: Any) -> str:
        if row.text.lstrip()[:1] in ("#", "%"):
            form.comments += 1
        else:
            form.damaged[row.actual_columns] = form.damaged.get(row.actual_columns, 0) + 1
        return "skip"

    options = {
        "read_options": arrow_csv.ReadOptions(
            column_names=form.header,
            skip_rows=form.skipped,
            block_size=1 << 24,
            encoding="utf8" if encoding == "utf-8" else encoding,
            use_threads=False,
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=form.separator, newlines_in_values=True, invalid_row_handler=damaged
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types={
                name: pa.float64() if name in form.decimals else pa.dictionary(pa.int32(), pa.string())
                for name in form.header
            },
            null_values=["", ".", "-", *(word.strip() for word in NULLS)],
            strings_can_be_null=False,
        ),
    }
    chunks, rows = [], 0
    try:
        with arrow_csv.open_csv(source, **options) as reader:
            for batch in reader:
                rows += len(batch)
                if rows > MOST_FILE_ROWS:
                    raise TableError(f"found more than {MOST_FILE_ROWS:,} rows; split the file by subject")
                chunks.append(batch)
            return pa.Table.from_batches(chunks, reader.schema)
    except pa.ArrowInvalid as error:
        text = " ".join(str(error).split())
        if form.decimals and "conversion error" in text:
            form.decimals, form.damaged = (), {}
            return _parse(source, form, encoding)
        if "UTF8" in text or "utf8" in text.lower():
            raise UnicodeDecodeError("utf-8", b"", 0, 1, text) from None
        if "straddl" in text:
            raise TableError("found a line longer than 16 MB, expected one line for each trial") from None
        if "Empty CSV" in text:
            raise TableError("found no rows, expected one for each trial") from None
        raise TableError(text.removeprefix("CSV parse error: ")) from None


def _without_comments(table: DataFrame, form: TextForm) -> DataFrame:
    """Return the table without comments of as many entries as the header, and the questions of a survey (Qualtrics)."""
    first = table.iloc[:, 0]
    marked = [word for word in entries.words(first) if word.startswith(("#", "%"))]
    identifiers = [word for word in entries.words(first) if word.startswith('{"ImportId"')]
    questions = np.arange(len(first)) <= np.max(np.flatnonzero(first.isin(identifiers)), initial=-1)
    rows = first.isin(marked).to_numpy() | questions
    if not rows.any() or rows.all():
        return table
    form.comments += int(rows.sum())
    return entries.take(table, ~rows).reset_index(drop=True)
