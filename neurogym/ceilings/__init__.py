"""Ideal, blind and random scores of a task with all wrappers.

*Ceiling*: the score of the ideal observer of the whole stack (task, arguments, timing, rewards, wrappers, and whether
the agent remembers earlier trials), or unknown. *Blind*: the best of the agents that see nothing but how much of the
trial has passed, and how many trials. *Chance*: the agent that draws every action uniformly.

Every wrapper declares its effect on the ceiling (:mod:`neurogym.ceilings.effects`); without it the ceiling is unknown.
What takes long is computed once and stored with the package (``python -m experiments.ceilings``).

Belongs here: what scores of ideal, blind and random agents follow from. May use: `envs` and all below.
"""

from __future__ import annotations

from neurogym.ceilings.effects import LEAVES, LEAVES_PERFORMANCE, NOISE, Effect, unknown
from neurogym.lazy import attach

__getattr__, _lazy = attach(
    __name__,
    {"random_agent": ("blind", "chance"), "stack": ("ceiling", "needs_reward", "sees_reward", "why_unknown")},
)
__all__ = ["LEAVES", "LEAVES_PERFORMANCE", "NOISE", "Effect", "unknown", *_lazy]
