"""Scores of a task or a stack; :mod:`neurogym.ceilings`, a higher layer imported on first use, computes these."""

from __future__ import annotations

import pkgutil
from typing import Any

#: ``performance`` and ``reward`` per trial, ``error`` (standard error of the performance) and ``method``.
Score = dict[str, Any]

_SCORE_FUNCTIONS = {
    "ceiling of a task": "neurogym.ceilings.single:task_ceiling",
    "ceiling of several tasks": "neurogym.ceilings.stack:ceiling_of_several",
    "ceiling of a stack": "neurogym.ceilings.stack:ceiling",
    "chance": "neurogym.ceilings.random_agent:chance",
}


def score(what: str, env: object) -> Any:
    """The score of an environment.

    Raises:
        KeyError: If nothing computes it.
    """
    return pkgutil.resolve_name(_SCORE_FUNCTIONS[what])(env)
