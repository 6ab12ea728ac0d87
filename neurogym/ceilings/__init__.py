"""Ideal, blind and random scores of a task with all wrappers.

*Ceiling*: the score of the ideal observer of the whole stack (task, arguments, timing, rewards, wrappers, and whether
the agent remembers earlier trials), or unknown. *Blind*: the best of the agents that see nothing but how much of the
trial has passed. *Chance*: the agent that draws every action uniformly.

Every wrapper declares its effect on the ceiling (:mod:`neurogym.ceilings.effects`); without it the ceiling is unknown.
What takes long is computed once and stored with the package (``python -m experiments.ceilings``).

Belongs here: what scores of ideal, blind and random agents follow from. May use: `envs` and all below.
"""

from __future__ import annotations

import pkgutil
from typing import Any

from neurogym.ceilings.effects import LEAVES, LEAVES_PERFORMANCE, NOISE, Effect, unknown

_LAZY = {
    "blind": "neurogym.ceilings.random_agent",
    "ceiling": "neurogym.ceilings.stack",
    "chance": "neurogym.ceilings.random_agent",
    "needs_reward": "neurogym.ceilings.stack",
    "sees_reward": "neurogym.ceilings.stack",
    "why_unknown": "neurogym.ceilings.stack",
}

__all__ = ["LEAVES", "LEAVES_PERFORMANCE", "NOISE", "Effect", "unknown", *_LAZY]


def __getattr__(name: str) -> Any:
    """Import modules that compute ceilings on first use."""
    if name in _LAZY:
        return pkgutil.resolve_name(f"{_LAZY[name]}:{name}")
    raise AttributeError(f"module 'neurogym.ceilings' has no attribute {name!r}")
