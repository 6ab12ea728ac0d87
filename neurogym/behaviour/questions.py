"""Questions about a table that its values do not answer, remarks and refusals, in the words of ``messages.toml``."""

from __future__ import annotations

import re
import shlex
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurogym.behaviour import entries
from neurogym.behaviour.entries import TableError
from neurogym.messages.options import option

if TYPE_CHECKING:
    from pandas import DataFrame

_FILE = tomllib.loads(Path(__file__).with_name("messages.toml").read_text(encoding="utf-8"))
_OPTIONS = re.compile(r"\[(--[^\]]+)\]")
#: Answers of the question which of several columns has a role.
_OF_ROLE = (["{each} is the {of_role}", "--{flag}", "{each}"], ["{without}", "--{flag}", "none"])


@dataclass(frozen=True)
class Answer:
    """Answer to a question.

    Attributes:
        options: words of the command line, as in ``("--choice", "side")``.
        meaning: of the answer.
    """

    options: tuple[str, ...]
    meaning: str

    def __str__(self) -> str:
        """Return the options as they are typed, and their meaning."""
        return f"{_typed(self.options)} ({self.meaning})"


class TableQuestion(TableError):
    """Reading of a table that only its owner can decide.

    Args:
        question: what is not known, and why.
        answers: ways to answer.
        candidates: name and entries of each column in question.

    Attributes:
        answers: ways to answer.
        candidates: name and entries of each column in question.
    """

    def __init__(self, question: str, answers: Sequence[Answer], candidates: Sequence[tuple[str, str]] = ()):
        super().__init__(f"{question}: {' or '.join(map(str, answers))}")
        self.question, self.answers, self.candidates = question, tuple(answers), tuple(candidates)

    def about(self, name: str) -> TableQuestion:
        """Return the question with the name of the table."""
        return TableQuestion(f"{name}: {self.question}", self.answers, self.candidates) if name else self


class _Words(string.Formatter):
    """Format of ``messages.toml``, where its conversions ``!q``, ``!c``, ``!a`` and ``!o`` are explained."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        """Return a value as text."""
        if conversion == "q":
            return quoted(str(value))
        mark = {"c": ", ", "a": " and ", "o": " or "}.get(conversion)
        return super().convert_field(value, conversion) if mark is None else mark.join(map(str, value))


_WORDS = _Words()


def quoted(name: str) -> str:
    """Return the name of a column as formulas write it."""
    return name if name.isidentifier() else f"`{name}`"


def is_among(name: str, words: Sequence[str]) -> str:
    """Return the formula that is 1 in the rows in which a column has one of some words."""
    return "+".join(f'(`{name}`=="{word}")' for word in words)


def _typed(words: Sequence[str]) -> str:
    """Return words of the command line for a message, in quotes where a shell needs them."""
    return option(shlex.join(words))


def say(key: str, **values: object) -> str:
    """Return a remark or a refusal of ``messages.toml``, with options as whoever asks writes them.

    Args:
        key: of the text.
        **values: that the text names.
    """
    return _filled(_FILE["remarks"][key], values)


def _filled(text: str, values: Mapping[str, object]) -> str:
    parts = _OPTIONS.split(text)  # options stand at odd places
    parts[1::2] = [_typed([_WORDS.vformat(word, (), values) for word in shlex.split(each)]) for each in parts[1::2]]
    parts[::2] = [_WORDS.vformat(each, (), values) for each in parts[::2]]
    return "".join(parts)


def ask(
    key: str, columns: DataFrame, names: Sequence[str] = (), answers: Sequence[Answer] = (), **values: object
) -> TableQuestion:
    """Return a question of ``messages.toml`` about columns, with their entries.

    Args:
        key: of the question.
        columns: the table.
        names: of the columns; of a question for a role, those that may have it.
        answers: further answers, which come first.
        **values: that question and answers name; answers with a value of None are left out, and those that name
            ``each`` are repeated for each of these.
    """
    row = _FILE["questions"][key]
    role = row.get("role", "")
    known = {"each": names, "of_role": role, "flag": role.replace(" ", "-"), "without": row.get("without"), **values}
    ways = [*answers, *(way for template in row.get("answers", _OF_ROLE) for way in _answers(template, known))]
    candidates = [(name, entries.describe(columns[name])) for name in names]
    return TableQuestion(_filled(row["text"], known), ways, candidates)


def _answers(template: Sequence[str], values: Mapping[str, Any]) -> Iterator[Answer]:
    """Yield the answers that a row of a meaning and options stands for."""
    named = {name for part in template for _, name, _, _ in _WORDS.parse(part) if name}
    if any(values[name] is None for name in named):
        return
    for each in values["each"] if "each" in named else ("",):
        meaning, *options = (_WORDS.vformat(part, (), {**values, "each": each}) for part in template)
        yield Answer(tuple(options), meaning)
