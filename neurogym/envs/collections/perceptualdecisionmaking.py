"""Two well-known versions of perceptual decision-making, each a task in a wrapper."""

from __future__ import annotations

from collections.abc import Mapping

import gymnasium as gym

from neurogym.compat.changes import DIFFERENCES
from neurogym.envs.native.perceptualdecisionmaking import PerceptualDecisionMaking
from neurogym.wrappers.random_ground_truth import SideBias
from neurogym.wrappers.reaction_time import ReactionTime

BLOCK_TRIALS = 90  #: trials in which one side is the more frequent one
PROBABILITIES = [[0.8, 0.2], [0.2, 0.8]]


def _described(env: gym.Env, metadata: Mapping[str, object]) -> gym.Env:
    env.unwrapped.metadata = {**env.unwrapped.metadata, **metadata}
    return env


def ibl20(**kwargs: object) -> gym.Env:
    """Perceptual decision-making in blocks of 90 trials in which one direction has probability 0.8.

    Args:
        **kwargs: See :class:`~neurogym.envs.native.perceptualdecisionmaking.PerceptualDecisionMaking`.

    Source: The International Brain Laboratory 2021.
    """
    env = SideBias(PerceptualDecisionMaking(**kwargs), probs=PROBABILITIES, block_dur=BLOCK_TRIALS)
    return _described(env, ibl20.metadata)  # type: ignore[attr-defined]


def roitman02(**kwargs: object) -> gym.Env:
    """Perceptual decision-making as a reaction-time task: the agent may answer at any time.

    Args:
        **kwargs: See :class:`~neurogym.envs.native.perceptualdecisionmaking.PerceptualDecisionMaking`.

    Source: Roitman & Shadlen 2002.
    """
    return _described(ReactionTime(PerceptualDecisionMaking(**kwargs)), roitman02.metadata)  # type: ignore[attr-defined]


ibl20.metadata = PerceptualDecisionMaking.metadata.replace(  # type: ignore[attr-defined]
    doi="10.7554/eLife.63711",
    description="report the stronger of two noisy directions, one of which is more frequent in blocks of trials",
    history_dependent=True,
    differences=DIFFERENCES["ibl20"],
)
roitman02.metadata = PerceptualDecisionMaking.metadata.replace(  # type: ignore[attr-defined]
    doi="10.1523/JNEUROSCI.22-21-09475.2002",
    tags=[*PerceptualDecisionMaking.metadata["tags"], "reaction time"],
    description="report which of two noisy directions is stronger, as soon as it is clear",
    differences=DIFFERENCES["roitman02"],
    measures=("psychometric", "reaction"),
)
