"""Base environment, and its parameters that can be changed during a session: dictionaries and constructor arguments.

Belongs here: what follows from a change of a parameter. May use: `messages`, `metadata`, `sampling`, `spaces`.
"""

from __future__ import annotations

from neurogym.parameters.base import BaseEnv
from neurogym.parameters.dictionaries import Conditions, TrackedDict

__all__ = ["BaseEnv", "Conditions", "TrackedDict"]
