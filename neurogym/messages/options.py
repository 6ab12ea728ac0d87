"""Options in messages, as whoever asks writes them: ``--n-envs 4`` in a shell, ``n_envs=4`` in Python."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

#: Function that rewrites options of the shell for whoever asks; the shell itself keeps them.
SPELLING: ContextVar[Callable[[str], str]] = ContextVar("spelling", default=str)


def option(words: str) -> str:
    """Return options for a message; every option that a message names goes through this function.

    Args:
        words: options with or without values as typed in the shell, such as ``"--overwrite"`` or ``"--alg dqn"``.

    Example:
        >>> f"choose another {option('--name')}"
        'choose another --name'
    """
    return SPELLING.get()(words)
