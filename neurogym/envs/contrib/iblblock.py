"""The contrast choice of the International Brain Laboratory in blocks with a more frequent side."""

from __future__ import annotations

from neurogym.envs.contrib.ibl import IBL


class IBLBlock(IBL):
    """Choose the side with the higher contrast; in blocks of 200 trials side 1 has probability 0.2, 0.5 or 0.8.

    Args:
        dt: Time step (ms).
        rewards: Replaces entries of ``default_rewards``.
        sigma: Noise s.d. of each observation.

    Source: Abbott et al. (International Brain Laboratory) 2017.
    """

    metadata = IBL.metadata.replace(
        description="choose the side with the higher contrast; one side is more frequent in blocks of trials",
        carries=True,
        needs_reward=True,
        differences=[*IBL.metadata["differences"], "the block is reported with each trial"],
    )
    blocks = (0.2, 0.5, 0.8)
    block_dur = 200


IBL_Block = IBLBlock
