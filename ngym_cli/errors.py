"""Errors of the user, reported in a single line with the nearest valid name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

#: Environment variable that keeps full tracebacks of errors of the user in Python.
FULL_TRACEBACK = "NGYM_TRACEBACK"


class UserError(Exception):
    """Error of the user: the command line prints the message on a single line and exits with code 2.

    IPython and notebooks print that line, too; with ``NGYM_TRACEBACK=1`` in the environment the full traceback.
    """

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython prints for this error."""
        if os.environ.get(FULL_TRACEBACK):
            import traceback

            return "".join(traceback.format_exception(self)).splitlines()
        return [f"{type(self).__name__}: {message_of(self)}"]


class Question(UserError):
    """Reading of a table that the user must decide: the message, columns in question, and the options that decide.

    Args:
        message: the question with its answers in one line.
        columns: name and entries of each column in question.
        answers: options of the command line and meaning of each answer.
    """

    def __init__(
        self, message: str, columns: Sequence[tuple[str, str]], answers: Sequence[tuple[tuple[str, ...], str]]
    ):
        super().__init__(message)
        self.columns, self.answers = tuple(columns), tuple(answers)

    def __reduce__(self) -> tuple[type[Question], tuple[object, ...]]:
        """Pickle with all arguments: a worker process passes the question on."""
        return Question, (str(self), self.columns, self.answers)


class InUseError(UserError):
    """A run folder that another process writes, or has just made."""


class DivergedError(UserError, FloatingPointError):
    """A network whose activity grows without bound, so that it has no action."""


class NotFinite(UserError):
    """A reward or an observation that is not a finite number.

    Args:
        what: "reward" or "observation".
        value: the number.
        env: index of the environment that it came from.
    """

    def __init__(self, quantity: str, value: float, env: int):
        super().__init__(f"{quantity} of environment {env} is {value}")
        self.env = env


def unknown(kind: str, name: object, names: Iterable[str]) -> UserError:
    """Return the error for a name that does not exist, with the nearest that does.

    Args:
        kind: kind of name, for example "task" or "hyperparameter".
        name: the unknown name.
        names: the valid names.
    """
    from neurogym.messages.names import unknown as sentence

    return UserError(sentence(kind, name, names))


def check_known(kind: str, name: object, names: Collection[str]) -> None:
    """Refuse a name that does not exist; arguments as of ``unknown``.

    Raises:
        UserError: names the nearest that exists.
    """
    if name not in names:
        raise unknown(kind, name, names)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` with the nearest name, or nothing when none is close."""
    from neurogym.messages.names import nearest

    close = nearest(name, names)
    return f"; did you mean '{close}'?" if close else ""


def option(words: str) -> str:
    """Return options of the shell for a message, as whoever asks writes them; see ``neurogym.messages.options``."""
    from neurogym.messages.options import option as written

    return written(words)


def printable(text: str) -> str:
    r"""Return a text with control characters as escapes; a name may come from anywhere.

    Example:
        >>> print(printable("a\x1b[31m"))
        a\x1b[31m
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def message_of(error: object) -> str:
    """Return the message of an exception or a warning without line breaks."""
    return " ".join(str(error).split())


def one_line(error: BaseException) -> str:
    """Return an exception as a single line: the class unless a UserError, and the message without line breaks."""
    text = message_of(error)
    if isinstance(error, UserError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextlib.contextmanager
def os_errors(action: str) -> Iterator[None]:
    """Turn an error of the operating system within a block into an error of the user.

    Args:
        action: what cannot be done, as in "cannot write FILE"; the reason follows.
    """
    try:
        yield
    except OSError as error:
        raise UserError(f"{action}: {error.strerror or error}") from None


def library(name: str, purpose: str, extra: str) -> Any:
    """Import a library that only an extra of this package installs.

    Args:
        name: of the module.
        purpose: what needs the library, and which, as in "a search needs Optuna".
        extra: of this package.

    Raises:
        UserError: if the library is not installed; says how to install the extra.
    """
    try:
        return import_module(name)
    except ImportError:
        raise UserError(f"{purpose}: pip install 'ngym[{extra}]'") from None
