"""Ideal, blind and random scores of a task with all wrappers.

*Ceiling*: the score of the ideal observer of the whole stack (task, arguments, timing, rewards, wrappers, and whether
the agent remembers earlier trials), or unknown. *Blind*: the best of the agents that see nothing but how much of the
trial has passed. *Chance*: the agent that draws every action uniformly.

Every wrapper declares its effect on the ceiling (:mod:`neurogym.ceilings.effects`); without it the ceiling is unknown.
What takes long is computed once and stored with the package (``python -m experiments.ceilings``).

Belongs here: what scores of ideal, blind and random agents follow from. May use: `envs` and all below.
"""

from __future__ import annotations

import functools
import pkgutil
from typing import Any

from neurogym import scores
from neurogym.ceilings.effects import LEAVES, LEAVES_PERFORMANCE, NOISE, Effect, unknown

_LAZY = {
    "blind": "neurogym.ceilings.random_agent",
    "ceiling": "neurogym.ceilings.stack",
    "chance": "neurogym.ceilings.random_agent",
    "needs_reward": "neurogym.ceilings.stack",
    "sees_reward": "neurogym.ceilings.stack",
    "why_unknown": "neurogym.ceilings.stack",
}

#: Scores of a task or a stack, and the functions that compute them.
_OFFERED = {
    "ceiling of a task": "neurogym.ceilings.stored:task_ceiling",
    "ceiling of several tasks": "neurogym.ceilings.stack:ceiling_of_several",
    "ceiling of a stack": "neurogym.ceilings.stack:ceiling",
    "chance": "neurogym.ceilings.random_agent:chance",
}


def _computed(function: str, env: Any) -> Any:
    return pkgutil.resolve_name(function)(env)


for _what, _function in _OFFERED.items():
    scores.register(_what, functools.partial(_computed, _function))

__all__ = ["LEAVES", "LEAVES_PERFORMANCE", "NOISE", "Effect", "unknown", *_LAZY]


def __getattr__(name: str) -> Any:
    """Import modules that compute ceilings on first use."""
    if name in _LAZY:
        return pkgutil.resolve_name(f"{_LAZY[name]}:{name}")
    raise AttributeError(f"module 'neurogym.ceilings' has no attribute {name!r}")
