"""A batch of trial environments in the form that Stable-Baselines3 expects."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.env_util import is_wrapped
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from neurogym.vector.batch import Batch
from ngym_cli.environments.trial_batch import TrialBatch


class TrialVecEnv(TrialBatch, VecEnv):
    """Form of ``TrialBatch`` that a Stable-Baselines3 learner can step, with the same arguments and attributes."""

    def __init__(self, venv: Batch, reset_state: str = "never"):
        TrialBatch.__init__(self, venv, reset_state)
        self._actions: np.ndarray
        VecEnv.__init__(self, venv.num_envs, venv.single_observation_space, venv.single_action_space)

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, object]]]:
        """Take the step; see ``TrialBatch.step``."""
        return self.step(self._actions)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return an attribute of each environment, of the outermost wrapper that has the attribute."""
        return [env.get_wrapper_attr(attr_name) for env in self._selected(indices)]

    def set_attr(self, attr_name: str, value: object, indices: VecEnvIndices = None) -> None:
        """Set an attribute of environments, where it is defined, with effect from the next trial on."""
        for env in self._selected(indices):
            env.set_wrapper_attr(attr_name, value)

    def env_method(self, method_name: str, *args: object, indices: VecEnvIndices = None, **kwargs: object) -> list[Any]:
        """Call a method of each environment and return the results."""
        return [env.get_wrapper_attr(method_name)(*args, **kwargs) for env in self._selected(indices)]

    def env_is_wrapped(self, wrapper_class: type[gym.Wrapper], indices: VecEnvIndices = None) -> list[bool]:
        """Return whether each environment has a wrapper of the given class."""
        return [is_wrapped(env, wrapper_class) for env in self._selected(indices)]

    def _selected(self, indices: VecEnvIndices) -> list[gym.Env]:
        return [self.venv.envs[i] for i in self._get_indices(indices)]
