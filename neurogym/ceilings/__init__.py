"""The best, the blind and the random score of a task with everything that is put on it.

*Ceiling*: the score of the ideal observer of the whole stack (task, arguments, timing, rewards, wrappers, and whether
the agent remembers earlier trials), or unknown. *Blind*: the best of the agents that see nothing but how much of the
trial has passed. *Chance*: the agent that draws every action uniformly.

Every wrapper says what it does to the ceiling (:mod:`neurogym.ceilings.effects`); one that does not makes it unknown.
What takes long is computed once and stored with the package (``python -m experiments.ceilings``).
"""

from __future__ import annotations

import importlib
from typing import Any

from neurogym.ceilings.effects import LEAVES, LEAVES_PERFORMANCE, NOISE, Effect, unknown

_LAZY = {
    "blind": "neurogym.ceilings.blind_agent",
    "ceiling": "neurogym.ceilings.stack",
    "chance": "neurogym.ceilings.random_agent",
    "needs_reward": "neurogym.ceilings.stack",
    "sees_reward": "neurogym.ceilings.stack",
    "why_unknown": "neurogym.ceilings.stack",
}

__all__ = ["LEAVES", "LEAVES_PERFORMANCE", "NOISE", "Effect", "unknown", *_LAZY]


def __getattr__(name: str) -> Any:
    """What computes is imported when it is first used."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'neurogym.ceilings' has no attribute {name!r}")
