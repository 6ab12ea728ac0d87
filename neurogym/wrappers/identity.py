"""A wrapper that changes nothing."""

from __future__ import annotations

import logging

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES
from neurogym.metadata import WrapperInfo
from neurogym.wrappers.base import TrialWrapper

logger = logging.getLogger(__name__)


class Identity(TrialWrapper):
    """Change nothing, and log a debug message when trials are made; for testing stacks.

    Args:
        env: The task, wrapped or not.
        id_: Name in the messages.
    """

    metadata = WrapperInfo(order="any")
    ceiling_effect = LEAVES

    def __init__(self, env: gym.Env, id_: str = "0"):
        super().__init__(env)
        self.id_ = id_

    def plan(self, n: int, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Pass on what is given."""
        logger.debug("identity %s: %d trials, conditions %s", self.id_, n, sorted(given))
        return given
