"""Parameters of a task that can be changed during a session: dictionaries and constructor arguments.

Belongs here: what follows from a change of a parameter. May use: `messages`, `metadata`, `sampling`, `spaces`.
"""

from __future__ import annotations

from neurogym.parameters.changes import arguments_of, differ, forget_trials, has_equal_parameters, names_of
from neurogym.parameters.dictionaries import Conditions, TrackedDict

__all__ = [
    "Conditions",
    "TrackedDict",
    "arguments_of",
    "differ",
    "forget_trials",
    "has_equal_parameters",
    "names_of",
]
