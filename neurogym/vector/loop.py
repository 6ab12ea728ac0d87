"""Environments stepped one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.vector.common import Batch, Seeds, as_columns, finished_row, gathered


class LoopVectorEnv(Batch):
    """A batch of environments stepped one after the other, with the interface of :class:`TrialVectorEnv`.

    Takes any environments, trial-based or not. One that terminates is reset in the same step; its last observation and
    info are in ``infos["final_obs"]`` and ``infos["final_info"]``.

    Args:
        envs: Environments with equal spaces.
    """

    _shown: np.ndarray | None = None

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a session in every environment; see :meth:`TrialVectorEnv.reset`."""
        which, options = self.to_reset(options)
        seeds, infos = self.seeds(seed), dict[int, dict[str, Any]]()
        if self._shown is None and len(which) < self.num_envs:
            raise ValueError("the first reset is of all environments")
        shown: list[Any] = [None] * self.num_envs if self._shown is None else list(self._shown)
        for i in which.tolist():
            shown[i], infos[i] = self.envs[i].reset(seed=seeds[i], options=options)
        self._shown, self.finished = np.stack(shown), None
        return self._shown.copy(), gathered(infos, self.num_envs)

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act in every environment; see :meth:`TrialVectorEnv.step`.

        Raises:
            ValueError: If the number of actions is not that of environments, or one is not in the action space.
        """
        n = self.num_envs
        if len(actions) != n:
            raise ValueError(f"expected {n} actions of {self.single_action_space}, got {actions!r}")
        rewards, terminated, truncated = np.zeros(n), np.zeros(n, bool), np.zeros(n, bool)
        infos: dict[int, dict[str, Any]] = {}
        shown, finished = [], []
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            ob, rewards[i], terminated[i], truncated[i], info = env.step(action)
            if info.get("new_trial"):
                finished.append(finished_row(i, info))
            infos[i] = {"new_trial": False, **info}
            if terminated[i] or truncated[i]:
                infos[i] |= {"final_obs": ob, "final_info": info}
                ob, _ = env.reset()
            shown.append(ob)
        self.finished = as_columns(finished) if finished else None
        self._shown = np.stack(shown)
        return self._shown.copy(), rewards, terminated, truncated, gathered(infos, n)
