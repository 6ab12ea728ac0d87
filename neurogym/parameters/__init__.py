"""Task parameters that can be changed during a session: dictionaries and constructor arguments.

Belongs here: what follows from a change of a parameter. May use: `messages`, `sampling`.
"""

from __future__ import annotations

from neurogym.parameters.arguments import EnvMeta
from neurogym.parameters.changeable import Changeable
from neurogym.parameters.dictionaries import Conditions, Settings, Table

__all__ = ["Changeable", "Conditions", "EnvMeta", "Settings", "Table"]
