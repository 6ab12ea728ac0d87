"""Environments stepped as arrays.

Each environment keeps its own generator and makes its own blocks of trials, exactly as it would alone; the blocks lie
side by side in one pool per field, and a step of all environments is a handful of array look-ups. Where a trial depends
on what the agent did, a block is one trial, made when the one before has ended.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from neurogym.engine.finished import IN_INFO, EndedTrials, FinishedTrials
from neurogym.engine.making import make_together
from neurogym.engine.pools import Pools, advance
from neurogym.parameters.changes import has_equal_parameters
from neurogym.state import Data, capture
from neurogym.trials import Info, Trials
from neurogym.trials.cursor import PrefetchedTrials
from neurogym.vector.loop import Actions, BatchStepResult, LoopVectorEnv
from neurogym.wrappers.stack import Stack


class TrialVectorEnv(LoopVectorEnv):
    """Batch of environments stepped as arrays.

    Args:
        envs: Environments with equal stacks that are ``batched`` (:func:`neurogym.wrappers.stack.traits`).
    """

    autoreset_mode = AutoresetMode.NEXT_STEP  # they never end, so that any mode is true; wrappers ask for this one

    def __init__(self, envs: Sequence[gym.Env]):
        super().__init__(envs)
        self._stack = Stack(envs[0])
        rule = self.tasks[0].rule
        assert rule is not None, "the stack is not batched"
        self.pools = Pools(self.num_envs, -1 if rule.hold is None else rule.hold, self.tasks[0].session.most_steps)
        self._known_change: object = None  # the last change of a parameter that has been taken into account
        self._alike = False
        self._actions, self._rewards = np.zeros(self.num_envs, np.int64), np.zeros(self.num_envs)
        self._last_gt: np.ndarray | None = None

    @property
    def is_reset(self) -> bool:
        """Whether a session has begun in every environment."""
        return bool(self.pools.rows)

    def _forget(self, i: np.ndarray) -> None:
        """Reset the last actions and rewards of environments ``i``."""
        kept = ~np.isin(np.arange(self.num_envs), i)
        self._actions, self._rewards = np.where(kept, self._actions, 0), np.where(kept, self._rewards, 0.0)
        if self._last_gt is not None:
            self._last_gt = np.where(kept, self._last_gt, 0)

    def reset_some(
        self, env: np.ndarray, seeds: Sequence[int | None], options: dict[str, Any] | None
    ) -> tuple[np.ndarray, dict[int, Info]]:
        """Start a session in some environments; see :meth:`LoopVectorEnv.reset_some`."""
        for i in env.tolist():
            task = self.tasks[i]
            self.envs[i].reset(seed=seeds[i], options=options)
            if options or not self._stack.ahead:  # the first trial is one of its own
                self._take(i, task.session.cursor.block)
            else:
                self.pools.load(i, task.session.ahead.block)
        self.pools.begin(env)
        self.pools.forget_sums(env)
        self._forget(env)
        self.finished = None
        return self._observed(), {}

    # -- stepping -----------------------------------------------------------------------------------------------------

    def step(self, actions: Actions) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Act in every environment; see :meth:`LoopVectorEnv.step`."""
        moved = self.move(actions)
        everywhere = np.ones(self.num_envs, bool)
        infos: Info = {"new_trial": moved.new_trial, "_new_trial": everywhere}
        if moved.truth is not None:
            infos["gt"], infos["_gt"] = moved.truth, everywhere
        if self.finished is not None:
            infos.update(self._report(self.finished, moved.new_trial))
        return *moved[:4], infos

    def _report(self, finished: FinishedTrials, mask: np.ndarray) -> Info:
        """Infos of the trials that ended, in Gymnasium's format."""
        env, record = finished["env"], finished.record
        infos = masked({in_info: finished[name] for name, in_info in IN_INFO.items()}, env, mask)
        periods = {name: column for name, column in record.items() if name.startswith("period_")}
        trial = {name: column for name, column in record.items() if name not in periods}
        for name, columns in {"trial": trial, "periods": periods}.items():
            infos[name], infos["_" + name] = masked(columns, env, mask), mask
        return infos

    def move(self, actions: Actions) -> BatchStepResult:
        """Take a step without making infos; see :meth:`LoopVectorEnv.move`."""
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iub":
            raise self.wrong(actions)
        pools = self.pools
        result = advance(pools, np.ascontiguousarray(actions, np.int64))
        if result is None:
            raise self.wrong(actions)
        rewards, new_trial, truth, ended = result
        self._actions, self._rewards, self._last_gt = actions, rewards, truth
        self.finished = None
        if ended is not None:
            record, go = pools.records.of(ended.env, ended.trial), pools.go[ended.env, ended.trial]
            self.finished = FinishedTrials.from_step(ended, actions[ended.env], go, record, self.dt)
            if self._stack.ahead:
                self._refill(ended.env)
            else:
                self._follow(ended, actions)
        never = np.zeros((2, self.num_envs), bool)
        return BatchStepResult(self._observed(), rewards, never[0], never[1], new_trial, truth)

    def _observed(self) -> np.ndarray:
        return self._stack.observe(self.pools.field("ob"), self._actions, self._rewards, self._field)

    def _field(self, name: str) -> np.ndarray:
        if name != "last_gt":
            return self.pools.field(name)
        return np.zeros_like(self.pools.field("gt")) if self._last_gt is None else self._last_gt

    # -- trials -------------------------------------------------------------------------------------------------------

    def _refill(self, env: np.ndarray) -> None:
        """Make new trials for environments that have none left or whose parameters have changed.

        The rows of a new block are kept only in the pools.
        """
        pools = self.pools
        if self._known_change is not PrefetchedTrials.last_drop:
            self._known_change = PrefetchedTrials.last_drop
            pools.n_trials[[task.session.ahead.is_stale for task in self.tasks]] = 0
        for i in env[pools.trial.take(env) >= pools.n_trials.take(env)].tolist():
            block = self.tasks[i].session.make_ahead()
            pools.load(i, block)
            block.free_rows()
            pools.begin(i)

    def present(self, env: np.ndarray) -> dict[str, np.ndarray]:
        """Records of the present trials of some environments; see :meth:`LoopVectorEnv.present`."""
        return self.pools.records.of(env, self.pools.trial[env])

    def _follow(self, ended: EndedTrials, actions: np.ndarray) -> None:
        """Make the next trial of environments whose trials depend on the agent, each as in an unbatched session."""
        indices = ended.env.tolist()
        how = [actions[ended.env], ended.outcome, ended.steps, ended.aborts]
        how += [ended.performance, ended.reward, ended.skipped]
        for i, *trial in zip(indices, *[column.tolist() for column in how], strict=True):
            self.tasks[i].session.follow(*trial)
        for env, block in self._begin_next(indices):
            self.pools.load(np.array(env) if len(env) > 1 else env[0], block)
        self.pools.begin(ended.env)

    def _begin_next(self, env: Sequence[int]) -> list[tuple[Sequence[int], Trials]]:
        """Begin the next trial of some environments, each as in an unbatched session.

        Trials that depend on what the agent did cannot be made in advance. Made for each environment by itself, most of
        the time goes into what all of them have in common; so equal tasks make theirs together.

        Returns:
            Blocks of trials that were made together, or before, and which environment each trial is of.
        """
        tasks, alike = self.tasks, len(env) > 1 and self._are_alike()
        groups: dict[Hashable, list[int]] = {}
        for i in env:
            memory = tasks[i].next_trial_depends_on() if alike else None
            groups.setdefault(("alone", i) if memory is None else memory, []).append(i)
        blocks: list[tuple[Sequence[int], Trials]] = []
        for first, *others in groups.values():
            if others:
                block = make_together([tasks[i] for i in (first, *others)])
                for k, i in enumerate((first, *others)):
                    tasks[i].session.begin_trial(block, k)
            else:
                tasks[first].session.begin_next()
                block = tasks[first].session.cursor.block
            blocks.append(((first, *others), block))
        return blocks

    def _are_alike(self) -> bool:
        """Whether all tasks have equal parameters; checked again after any change of parameters."""
        first, *rest = self.tasks
        if not first.session.groups_trials:
            return False
        if self._known_change is not PrefetchedTrials.last_drop:
            self._known_change = PrefetchedTrials.last_drop
            self._alike = all(task.session.groups_trials and has_equal_parameters(task, first) for task in rest)
        return self._alike

    def _take(self, i: int, block: Trials) -> None:
        """Load trials of environment ``i``, to be followed by newly made trials."""
        self.tasks[i].session.ahead.clear()
        self._known_change = None
        self.pools.load(i, block)

    def close_extras(self, **kwargs: object) -> None:
        """Close every environment and free the trials."""
        super().close_extras()
        self.pools = Pools(self.num_envs, self.pools.hold, self.pools.most_steps)

    def state(self) -> Data:
        """Everything that the coming steps depend on, as plain data (see :mod:`neurogym.state`).

        Raises:
            ResetNeeded: If there are no trials yet.
        """
        if not self.is_reset:
            raise gym.error.ResetNeeded("there are no trials yet: call reset() first")
        last_gt = np.zeros(0) if self._last_gt is None else self._last_gt
        return {
            "envs": [
                capture(env, trial=task.session.ahead.block is None)
                for env, task in zip(self.envs, self.tasks, strict=True)
            ],
            "batch": self.pools.state(),
            "seen": [np.array(values) for values in (self._actions, self._rewards, last_gt)],
        }

    def set_state(self, state: Data) -> None:
        """Continue from what :meth:`state` returned; see :meth:`LoopVectorEnv.set_state`."""
        if "batch" not in state:
            raise ValueError("the saved state is of environments that are stepped one after the other")
        super().set_state(state)
        self._known_change = None  # parameters were saved, too
        for i, task in enumerate(self.tasks):
            if task.session.ahead.block is not None:
                self.pools.load(i, task.session.ahead.block)
                task.session.ahead.block.free_rows()
            elif self._stack.ahead:
                self._take(i, task.session.cursor.block)
            else:
                self.pools.load(i, task.session.cursor.alone())
        self.pools.set_state(state["batch"])
        self._actions, self._rewards, last_gt = self._checked(state["seen"])
        self._last_gt = last_gt if len(last_gt) else None

    def _checked(self, seen: list[np.ndarray]) -> list[np.ndarray]:
        """What the agents saw last, if it has the shapes and types of this batch.

        Raises:
            ValueError: If it has not.
        """
        actions, rewards, last_gt = seen
        n = self.num_envs
        if actions.dtype.kind not in "iub" or not self.action_space.contains(actions):
            raise ValueError(f"the last actions: expected {n} of {self.single_action_space}, got {actions!r}")
        if rewards.shape != (n,) or rewards.dtype.kind != "f" or len(last_gt) not in (0, n):
            raise ValueError(f"the last rewards and ground truths: expected {n} numbers each, got {seen[1:]!r}")
        return seen


def masked(columns: Mapping[str, np.ndarray], envs: np.ndarray, mask: np.ndarray) -> Info:
    """Convert columns of some environments to Gymnasium's format: an entry per environment, and a validity mask.

    Args:
        columns: One entry for each of ``envs``; the others have nothing (0 or None).
        envs: Indices of environments.
        mask: The same as booleans, shape (num_envs,).
    """
    infos: Info = {}
    n = len(mask)
    for name, column in columns.items():
        full = np.empty(n, object) if column.dtype.hasobject else np.zeros(n, column.dtype)
        full[envs] = column
        infos[name], infos["_" + name] = full, mask
    return infos
