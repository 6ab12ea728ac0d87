"""Random dots as a bare batch of NumPy arrays: the environment of the hand-written loop.

The task is PerceptualDecisionMaking with the wrapper pass_reward, with nothing else in the way: no trial table, no
options.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

COHERENCES = np.array([0, 6.4, 12.8, 25.6, 51.2])


class RandomDots(VecEnv):
    """Fixate, watch two noisy channels, answer.

    Args:
        n_envs: number of environments.
        fixation, stimulus, decision: durations in steps.
        reset_each_trial: report `done` at the end of each trial, so that the recurrent state resets there.
        seed: seed of the generator.
        dt: time step (ms).
        sigma: noise of a channel.

    Attributes:
        correct: performance of the trials finished since it was last cleared.
    """

    def __init__(
        self,
        n_envs: int = 64,
        fixation: int = 1,
        stimulus: int = 20,
        decision: int = 1,
        reset_each_trial: bool = True,
        seed: int = 0,
        dt: float = 100.0,
        sigma: float = 1.0,
    ) -> None:
        n_obs = 3 + 1  # fixation cue, two directions; last reward
        super().__init__(n_envs, spaces.Box(-np.inf, np.inf, (n_obs,), np.float32), spaces.Discrete(3))
        self.go, self.length = fixation + stimulus, fixation + stimulus + decision
        self.rng = np.random.default_rng(seed)
        self.reset_each_trial = reset_each_trial
        self.periods = (fixation, stimulus, decision)
        self.scale = sigma / np.sqrt(dt)
        self.side = np.zeros(n_envs, int)
        self.t = np.zeros(n_envs, int)
        self.stimuli = np.zeros((n_envs, self.length, 3), np.float32)
        self.infos: list[dict[str, Any]] = [{}] * n_envs
        self.correct: list[np.ndarray] = []
        self.rows = np.arange(n_envs)
        self.finished = None

    def _new_trials(self, env: np.ndarray) -> None:
        fixation, _stimulus, _ = self.periods
        n = len(env)
        coherence = self.rng.choice(COHERENCES, n) / 200
        self.side[env] = self.rng.integers(2, size=n)
        sign = 1 - 2 * self.side[env]
        trial = np.zeros((n, self.length, 3), np.float32)
        trial[:, : self.go, 0] = 1
        stimulus = trial[:, fixation : self.go, 1:]
        stimulus += np.stack([0.5 + sign * coherence, 0.5 - sign * coherence], axis=1)[:, None]
        stimulus += self.scale * self.rng.standard_normal(stimulus.shape, dtype=np.float32)
        self.stimuli[env] = trial
        self.t[env] = 0

    def reset(self) -> np.ndarray:
        self._new_trials(self.rows)
        obs = np.zeros((self.num_envs, 4), np.float32)
        obs[:, :3] = self.stimuli[self.rows, self.t]
        return obs

    def step_async(self, actions: np.ndarray) -> None:
        self.actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        actions, fixating, deciding = self.actions, self.t < self.periods[0], self.t >= self.go
        acted = actions != 0
        answered = deciding & acted
        right = answered & (actions == self.side + 1)
        rewards = np.where(fixating & acted, np.float32(-0.1), right.astype(np.float32))
        self.t += 1
        over = answered | (self.t >= self.length)
        if over.any():
            env = np.flatnonzero(over)
            self.correct.append(right[env])
            self._new_trials(env)
        obs = np.zeros((self.num_envs, 4), np.float32)
        obs[:, :3] = self.stimuli[self.rows, self.t]
        obs[:, 3] = rewards
        dones = over if self.reset_each_trial else np.zeros(self.num_envs, bool)
        return obs, rewards, dones, self.infos

    def performance(self) -> tuple[float, int]:
        """Mean performance of the trials finished since the last call, and their number."""
        finished = np.concatenate(self.correct or [np.zeros(0)])
        self.correct = []
        return float(finished.mean()) if len(finished) else np.nan, len(finished)

    def close(self) -> None:
        pass

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        return [getattr(self, method_name)(*args, **kwargs)] * self.num_envs

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs
