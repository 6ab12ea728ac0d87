"""A wrapper of your own: any wrapper of Gymnasium works, and the arguments become flags."""

from __future__ import annotations

import gymnasium as gym
import numpy as np


class MyWrapper(gym.ObservationWrapper):
    """Multiply the channels of the observation by gains.

    Args:
        env: task, with the wrappers inside of this one.
        gains: factors of the channels, repeated if there are fewer than channels; 1 by default.
    """

    # Arguments after ``env`` are set as in --wrappers my_wrapper.py:MyWrapper:gains=1/0.5
    def __init__(self, env: gym.Env, gains: list[float] | None = None) -> None:
        super().__init__(env)
        self.gains = np.resize(np.asarray(gains or [1.0], np.float32), env.observation_space.shape or ())

    def observation(self, observation: np.ndarray) -> np.ndarray:
        """Return what the agent sees in place of an observation."""
        return (observation * self.gains).astype(observation.dtype)
