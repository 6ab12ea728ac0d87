"""Batches of environments of the same task, stepped together.

Belongs here: Gymnasium's vector environments. May use: the engine, wrappers' base, the state.
"""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym

from neurogym.engine.finished import FinishedTrials
from neurogym.vector.loop import LoopVectorEnv
from neurogym.vector.tables import TrialVectorEnv
from neurogym.wrappers.forwarding import layers
from neurogym.wrappers.stack import traits

__all__ = ["FinishedTrials", "LoopVectorEnv", "TrialVectorEnv", "layers", "make_vec"]


def make_vec(make_env: Callable[[], gym.Env], num_envs: int) -> LoopVectorEnv:
    """Make a batch of ``num_envs`` environments with ``make_env``, on the fast path if the stack allows.

    Raises:
        ValueError: If ``num_envs`` is less than 1.
    """
    if num_envs < 1:
        raise ValueError(f"num_envs must be at least 1, got {num_envs}")
    envs = [make_env() for _ in range(num_envs)]
    return TrialVectorEnv(envs) if traits(envs[0]).batched else LoopVectorEnv(envs)
