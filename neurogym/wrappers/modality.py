"""Stimulus presentation in a selectable modality."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym import spaces
from neurogym.ceilings.effects import LEAVES
from neurogym.metadata import WrapperInfo
from neurogym.wrappers.base import TrialWrapper


class Modality(TrialWrapper):
    """Widen the observation to several rings of stimulus channels and show the stimulus on a single ring.

    Args:
        env: A task whose observation has channels ``stimulus``, the last ones.
        modality: Ring that shows the stimulus, from 0.
        n_modality: Number of rings.

    Raises:
        KeyError: If the task has no channels called ``stimulus``.
        ValueError: If there is no such ring, other channels follow the stimulus, or trials exist already.
    """

    metadata = WrapperInfo(doi="10.1038/s41593-018-0310-2", order="innermost")
    ceiling_effect = LEAVES
    inside_of = ("TrialWrapper",)

    def __init__(self, env: gym.Env, modality: int = 0, n_modality: int = 1):
        if not 0 <= modality < n_modality:
            raise ValueError(f"modality must lie between 0 and {n_modality - 1}, got {modality!r}")
        space = env.observation_space
        names = spaces.Labels(spaces.names_of(space))
        if "stimulus" not in names:
            raise KeyError(f"Modality needs observation channels called stimulus, {env} has {', '.join(names)}")
        columns = np.atleast_1d(names["stimulus"])
        if columns[-1] != space.shape[0] - 1:  # type: ignore[index]
            raise ValueError(f"Modality needs the stimulus on the last channels, {env} has {', '.join(names)}")
        super().__init__(env)
        self.modality, self.n_modality = modality, n_modality
        extra = (n_modality - 1) * len(columns)
        names["stimulus"] = (columns + modality * len(columns)).tolist()
        self.task.observation_space = spaces.Box(
            np.concatenate([space.low, np.repeat(space.low[columns[-1]], extra)]),  # type: ignore[attr-defined]
            np.concatenate([space.high, np.repeat(space.high[columns[-1]], extra)]),  # type: ignore[attr-defined]
            name=names,
            dtype=space.dtype.type,  # type: ignore[union-attr]
        )
