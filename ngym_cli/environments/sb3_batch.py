"""A batch of trial environments in the form that Stable-Baselines3 expects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from neurogym.vector.common import Batch, Moved
from ngym_cli.errors import NotFinite

_NOTHING: dict[str, Any] = {}


class TrialVecEnv(VecEnv):
    """Lets a Stable-Baselines3 learner step a ``neurogym.vector.TrialVectorEnv``.

    ``dones[i]`` is True where the recurrent state must be reset and no value is carried over: at the end of each trial
    with ``reset_state="trial"``, else only where the environment itself ends.

    Args:
        venv: the batch.
        reset_state: ``"trial"`` or ``"never"``.

    Attributes:
        trial_ended: bool (environments,), whether a trial ended with the last step.
        finished: the trials that ended in the last step, as equally long arrays, or None.
        ground_truth: the right action at the row just acted on, one per environment, or None.
    """

    def __init__(self, venv: Batch, reset_state: str = "never"):
        if reset_state not in ("trial", "never"):
            raise ValueError(f"reset_state must be 'trial' or 'never', not {reset_state!r}")
        self.venv = venv
        self.reset_state = reset_state
        self.trial_ended = np.zeros(venv.num_envs, bool)
        self.finished: dict[str, np.ndarray] | None = None
        self.ground_truth: np.ndarray | None = None
        self._actions: np.ndarray | None = None
        self._no_infos = [_NOTHING] * venv.num_envs
        super().__init__(venv.num_envs, venv.single_observation_space, venv.single_action_space)

    def reset(self) -> np.ndarray:
        """Start all environments, from the seeds given to ``seed`` if there are any."""
        seeds = None if all(seed is None for seed in self._seeds) else self._seeds
        observations, _ = self.venv.reset(seed=seeds)  # type: ignore[arg-type]  # our batches take one for each
        self._reset_seeds()
        self._reset_options()
        _refuse_not_finite(observations, np.zeros(0))
        self.finished = None
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Take the step.

        Returns:
            Observations (environments, ...), rewards (environments,), dones (environments,), and one dictionary per
            environment, empty but where an environment was cut off.
        """
        moved = self.venv.move(self._actions)
        _refuse_not_finite(moved.observations, moved.rewards)
        self.finished, self.ground_truth = self.venv.finished, moved.truth
        ended = moved.terminated | moved.truncated
        self.trial_ended = moved.new_trial | ended
        dones = self.trial_ended if self.reset_state == "trial" else ended
        infos = self._cut_off(moved) if moved.truncated.any() else self._no_infos
        return moved.observations, moved.rewards, dones, infos

    def _cut_off(self, moved: Moved) -> list[dict[str, Any]]:
        listed = list(self._no_infos)
        for index in np.flatnonzero(moved.truncated).tolist():
            listed[index] = {"TimeLimit.truncated": True, "terminal_observation": moved.last_seen[index]}
        return listed

    def close(self) -> None:
        """Close the batch."""
        self.venv.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the batch, once per environment."""
        value = getattr(self.venv, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: object, indices: object = None) -> None:
        """Set an attribute of the batch."""
        setattr(self.venv, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of the batch once and return its result once per environment."""
        result = getattr(self.venv, method_name)(*args, **kwargs)
        return [result for _ in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[gym.Wrapper], indices: Any = None) -> list[bool]:
        """Say no: wrappers are inside the batch."""
        return [False for _ in self._get_indices(indices)]

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Give the next reset one seed per environment, all derived from one."""
        if seed is None:
            self._seeds = [None] * self.num_envs
        else:
            self._seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(self.num_envs)]
        return self._seeds


def trials_of(venv: VecEnv | None) -> TrialVecEnv:
    """Return the environments made of trials inside Stable-Baselines3's wrappers.

    Raises:
        ValueError: if there are none.
    """
    inner = None if venv is None else venv.unwrapped
    if not isinstance(inner, TrialVecEnv):
        raise ValueError(f"expected trial-based tasks ({__name__}.TrialVecEnv), not {type(inner).__name__}")
    return inner


def batch_of(venv: VecEnv | None) -> Batch:
    """Return the toolkit's batch of environments inside them; see `trials_of`."""
    return trials_of(venv).venv


def _refuse_not_finite(observations: np.ndarray, rewards: np.ndarray) -> None:
    """Raise NotFinite if there is such a number; a product tells at once that there is none."""
    for what, values in (("reward", rewards), ("an observation", observations)):
        flat = values.reshape(-1)
        if values.dtype.kind == "f" and not math.isfinite(np.dot(flat, flat)):
            bad = ~np.isfinite(values.reshape(len(values), -1))
            if bad.any():
                env = int(np.flatnonzero(bad.any(axis=1))[0])
                raise NotFinite(what, float(values[env].reshape(-1)[bad[env]][0]), env)
