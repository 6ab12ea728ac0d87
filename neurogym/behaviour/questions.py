"""Questions about a table that its values do not answer: what may be read, and the options that decide."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neurogym.behaviour import entries
from neurogym.behaviour.entries import TableError
from neurogym.messages.options import option

if TYPE_CHECKING:
    from pandas import DataFrame


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
        return f"{typed(*self.options)} ({self.meaning})"


def typed(*words: object) -> str:
    """Return words of the command line for a message, in quotes where a shell needs them."""
    return option(shlex.join(map(str, words)))


def quoted(name: str) -> str:
    """Return the name of a column as formulas write it."""
    return name if name.isidentifier() else f"`{name}`"


def is_among(name: str, words: Sequence[str]) -> str:
    """Return the formula that is 1 in the rows in which a column has one of some words."""
    return "+".join(f'(`{name}`=="{word}")' for word in words)


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


def ask(question: str, answers: Sequence[Answer], columns: DataFrame, names: Sequence[str] = ()) -> TableQuestion:
    """Return a question about columns, with their entries."""
    return TableQuestion(question, answers, [(name, entries.describe(columns[name])) for name in names])


def which_is_correct(name: str, words: Sequence[str]) -> list[Answer]:
    """Return the answers to the question which entry of a column means a correct choice."""
    return [
        Answer(("--derive", f'right=(`{name}`=="{word}")', "--correct", "right"), f"{word} is correct")
        for word in words
    ]


def ask_role(question: str, role: str, names: Sequence[str], columns: DataFrame, without: str = "") -> TableQuestion:
    """Return the question which of several columns has a role.

    Args:
        question: why the table does not say it.
        role: name of the role.
        names: the columns that may have it.
        columns: the table.
        without: meaning of the answer that no column has the role; empty if one must have it.
    """
    flag = f"--{role.replace('_', '-')}"
    answers = [Answer((flag, name), f"{name} is the {role.replace('_', ' ')}") for name in names]
    answers += [Answer((flag, "none"), without)] * bool(without)
    return ask(question, answers, columns, names)
