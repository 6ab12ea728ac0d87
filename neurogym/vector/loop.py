"""Batch of environments stepped in a Python loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.trials.single import SingleTrial
from neurogym.vector.batch import Batch, BatchStepResult, Seeds
from neurogym.vector.reports import finished_columns, gathered
from neurogym.wrappers.stack import Stack


class LoopVectorEnv(Batch):
    """Batch of environments stepped in sequence, with the interface of :class:`TrialVectorEnv`.

    Takes any environments, trial-based or not. One that terminates is reset in the same step; its last observation and
    info are in ``infos["final_obs"]`` and ``infos["final_info"]``.

    Args:
        envs: Environments with equal spaces.
    """

    _shown: list[Any] | None = None  # what each environment showed last
    _stacks: list[Stack | None] | None = None  # how each shows itself; empty where they cannot wait for each other

    def __init__(self, envs: Sequence[gym.Env]):
        super().__init__(envs)
        self._infos: list[dict[str, Any]] = []  # infos of the last step
        self._integers = isinstance(self.single_action_space, gym.spaces.Discrete)

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a session in every environment; see :meth:`TrialVectorEnv.reset`."""
        which, options = self.to_reset(options)
        seeds, infos = self.seeds(seed), dict[int, dict[str, Any]]()
        if self._shown is None and len(which) < self.num_envs:
            raise ValueError("the first reset is of all environments")
        shown: list[Any] = [None] * self.num_envs if self._shown is None else self._shown
        for i in which.tolist():
            shown[i], infos[i] = self.envs[i].reset(seed=seeds[i], options=options)
        self._shown, self.finished = shown, None
        return np.stack(shown), gathered(infos, self.num_envs)

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act in every environment; see :meth:`TrialVectorEnv.step`.

        Raises:
            ValueError: If the number of actions is not that of environments, or one is not in the action space.
        """
        moved = self.move(actions)
        infos = self._infos
        for i, ob in moved.last_seen.items():
            infos[i] = {**infos[i], "final_obs": ob, "final_info": infos[i]}
        told = {i: {"new_trial": False, **info} for i, info in enumerate(infos)}
        return *moved[:4], gathered(told, self.num_envs)

    def _each(self, actions: Any) -> list[tuple]:
        """Step each environment and return the results."""
        if self._stacks is None:
            self._stacks = self._shown_by()
        if not self._stacks:
            return [env.step(action) for env, action in zip(self.envs, actions, strict=True)]
        done = [task.act_in_trial(action) for task, action in zip(self.tasks, actions, strict=True)]
        self.together.begin([i for i, (ended, _, _, _, _) in enumerate(done) if ended])
        return [
            task.step_result(stack, action, reward, info, told)
            for task, stack, (_, action, reward, info, told) in zip(self.tasks, self._stacks, done, strict=True)
        ]

    def _shown_by(self) -> list[Stack | None]:
        """Stacks that show each environment's observations, if wrappers only use hooks; an empty list otherwise."""
        trial_based = all(isinstance(env.unwrapped, SingleTrial) for env in self.envs)
        if not trial_based or not all(task.next_by_itself for task in self.tasks):
            return []
        stacks = [task.shown_by(env) for task, env in zip(self.tasks, self.envs, strict=True)]
        return [] if None in stacks else [stack if stack.shows else None for stack in stacks]

    def move(self, actions: Any) -> BatchStepResult:
        """:meth:`step` without infos; see :meth:`Batch.move`."""
        n = self.num_envs
        if len(actions) != n:
            raise ValueError(f"expected {n} actions of {self.single_action_space}, got {actions!r}")
        actions = actions.tolist() if self._integers and isinstance(actions, np.ndarray) else actions
        shown, rewards, terminated, truncated, self._infos = map(list, zip(*self._each(actions), strict=True))
        ended = [bool(info.get("new_trial")) for info in self._infos]
        finished = {i: info for i, info in enumerate(self._infos) if ended[i]}
        last_seen = {i: shown[i] for i in range(n) if terminated[i] or truncated[i]}
        for i in last_seen:
            shown[i], _ = self.envs[i].reset()
        self.finished = finished_columns(finished) if finished else None
        self._shown = shown
        truths = [info["gt"] for info in self._infos if "gt" in info]
        return BatchStepResult(
            np.array(shown),
            np.array(rewards, float),
            np.array(terminated, bool),
            np.array(truncated, bool),
            np.array(ended),
            np.array(truths) if len(truths) == n else None,
            last_seen,
        )
