"""Batches of environments of the same task, stepped together.

Belongs here: batches of environments (Gymnasium's vector environments). May use: the core, wrappers' base, the state.
"""

from __future__ import annotations

from neurogym.vector.arrays import TrialVectorEnv
from neurogym.vector.common import finished_row
from neurogym.vector.loop import LoopVectorEnv
from neurogym.vector.make import is_batchable, make_vec
from neurogym.wrappers.forwarding import layers

__all__ = ["LoopVectorEnv", "TrialVectorEnv", "finished_row", "is_batchable", "layers", "make_vec"]
