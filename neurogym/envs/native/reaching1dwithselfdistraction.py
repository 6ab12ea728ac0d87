"""Reaching to a target angle that the own angle masks."""

from __future__ import annotations

import numpy as np

from neurogym.envs.native.reaching1d import Reaching1D


class Reaching1DWithSelfDistraction(Reaching1D):
    """Rotate towards a target angle that is seen on the same channels as the own angle, three times as strong.

    Like animals whose senses are masked by what they emit themselves (electric fish, bats).

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        timing: Replaces entries of ``default_timing`` (ms).
        dim_ring: Number of units that show the sum of target and own angle.
        speed: Speed of rotation (rad/s).

    Raises:
        ValueError: If ``speed`` is not positive.
    """

    metadata = Reaching1D.metadata.replace(
        paper_name=None,
        paper_link=None,
        description="rotate onto a target angle that the own angle masks",
    )
    strength = 0.3

    def __init__(
        self,
        dt: float = 100,
        rewards: dict | None = None,
        timing: dict | None = None,
        dim_ring: int = 32,
        speed: float = np.pi,
    ):
        super().__init__(dt=dt, rewards=rewards, timing=timing, dim_ring=dim_ring, speed=speed)

    @staticmethod
    def _channels(n: int) -> dict[str, range]:
        return {"target": range(n), "self": range(n)}
