"""Registry of score functions for tasks and stacks; :mod:`neurogym.ceilings`, a higher layer, computes the scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: ``performance`` and ``reward`` per trial, ``error`` (standard error of the performance) and ``method``.
Score = dict[str, Any]

_OFFERED: dict[str, Callable[[Any], Any]] = {}


def register(what: str, function: Callable[[Any], Any]) -> None:
    """Register the function that computes a score.

    Args:
        what: Its name.
        function: Takes the environment.
    """
    _OFFERED[what] = function


def score(what: str, env: Any) -> Any:
    """The score of an environment.

    Raises:
        KeyError: If nothing computes it.
    """
    return _OFFERED[what](env)
