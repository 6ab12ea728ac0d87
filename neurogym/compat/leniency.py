"""Warnings for input that NeuroGym accepts in silence; errors in strict mode.

It is switched on by :func:`strictly`, or by ``NGYM_STRICT=1`` in the environment, which the command line sets.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

PACKAGE_PREFIX = str(Path(__file__).resolve().parents[1])

_strict: ContextVar[bool] = ContextVar("strict", default=False)
_warned: set[str] = set()


class LeniencyWarning(UserWarning):
    """Something was accepted that has no effect or was meant otherwise; the message names what is valid."""


@contextmanager
def strictly() -> Iterator[None]:
    """Within the block what would be forgiven is an error."""
    token = _strict.set(True)
    try:
        yield
    finally:
        _strict.reset(token)


def is_strict() -> bool:
    """Whether what NeuroGym accepts is an error here."""
    return _strict.get() or os.environ.get("NGYM_STRICT", "0") != "0"


def warn_once(message: str, then: str = "", error: type[Exception] = ValueError) -> None:
    """Warn about an outdated use in old scripts, once per message.

    Args:
        message: One line: what was wrong, what was expected, the nearest valid name.
        then: What follows from it here, added to the warning.
        error: Exception to raise in strict mode.

    Raises:
        Exception: ``error``, in strict mode.
    """
    if is_strict():
        raise error(message)
    message = f"{message}; {then}" if then else message
    if message in _warned:
        return
    _warned.add(message)
    frame = sys._getframe(1)
    while frame.f_back and (
        frame.f_code.co_filename.startswith(PACKAGE_PREFIX) or "gymnasium" in frame.f_code.co_filename
    ):
        frame = frame.f_back
    warnings.warn_explicit(message, LeniencyWarning, frame.f_code.co_filename, frame.f_lineno)


def forget() -> None:
    """Warn again of what was warned of already."""
    _warned.clear()
