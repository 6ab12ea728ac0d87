"""Many environments of one task, stepped as one.

Each environment keeps its own generator and makes its own blocks of trials, exactly as it would alone; the blocks lie
side by side in one pool per field, and a step of all environments is a handful of array look-ups
(:class:`TrialVectorEnv`). Tasks that program their own ``_step``, and stacks with wrappers that need one environment at
a time, are stepped in a loop with the same results and the same interface (:class:`LoopVectorEnv`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from neurogym import rules
from neurogym.batch import KINDS, Batch, Ended, Step, advance
from neurogym.core import TrialEnv, TrialWrapper, no_action
from neurogym.mixing import view_of
from neurogym.state import capture, restore
from neurogym.state.blocks import check_batch

Seeds = int | Sequence[int | None] | None

#: Per-trial columns that every finished trial has, beside the scalars of its record.
FINISHED = ("env", "performance", "outcome", "choice", "rt", "reward", "steps", "aborts")


def layers(env: gym.Env) -> list[gym.Env]:
    """The wrappers of a stack, innermost first, without the task."""
    stack: list[gym.Env] = []
    while isinstance(env, gym.Wrapper):
        stack.append(env)
        env = env.env
    return stack[::-1]


def is_batchable(env: gym.Env) -> bool:
    """Whether a stack can be stepped as arrays: a declared rule and wrappers that only use the hooks."""
    task = env.unwrapped
    if not isinstance(task, TrialEnv) or not task.declared or not task._plannable:
        return False
    passive = (gym.wrappers.OrderEnforcing, gym.wrappers.PassiveEnvChecker)
    return all(isinstance(w, passive) or (isinstance(w, TrialWrapper) and w.batched) for w in layers(env))


def make_vec(make_env: Callable[[], gym.Env], num_envs: int) -> VectorEnv:
    """A batch of ``num_envs`` environments made by ``make_env``, on the fast path if the stack allows it.

    Raises:
        ValueError: If ``num_envs`` is less than 1.
    """
    if num_envs < 1:
        raise ValueError(f"num_envs must be at least 1, got {num_envs}")
    envs = [make_env() for _ in range(num_envs)]
    return TrialVectorEnv(envs) if is_batchable(envs[0]) else LoopVectorEnv(envs)


class _BatchEnv(VectorEnv):
    """What both kinds share: spaces, seeds, and the columns of finished trials."""

    def __init__(self, envs: Sequence[gym.Env]):
        self.envs = list(envs)
        self.num_envs = len(self.envs)
        self.tasks: list[Any] = [env.unwrapped for env in self.envs]
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {**self.envs[0].metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.spec = self.envs[0].spec

    def seeds(self, seed: Seeds) -> list[int | None]:
        """One seed per environment: ``seed + i`` for an integer, as Gymnasium's vector environments do."""
        if seed is None or isinstance(seed, (int, np.integer)):
            return [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"{self.num_envs} environments need {self.num_envs} seeds, got {len(seed)}")
        return list(seed)

    def state(self) -> dict[str, Any]:
        """Everything that the coming steps depend on, as plain data (see :mod:`neurogym.state`)."""
        return {"envs": [capture(env) for env in self.envs]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state` returned, in a batch made in the same way.

        Raises:
            ValueError: If the state belongs to another batch.
        """
        if len(state["envs"]) != self.num_envs:
            raise ValueError(f"the saved state is of {len(state['envs'])} environments, not {self.num_envs}")
        for env, saved in zip(self.envs, state["envs"], strict=True):
            restore(env, saved)

    def close_extras(self, **kwargs: Any) -> None:
        """Close every environment."""
        for env in self.envs:
            env.close()


class TrialVectorEnv(_BatchEnv):
    """A batch of environments stepped as arrays.

    Args:
        envs: Environments with equal stacks, for each of which :func:`is_batchable` holds.
    """

    def __init__(self, envs: Sequence[gym.Env]):
        super().__init__(envs)
        self._wrappers = [w for w in layers(envs[0]) if isinstance(w, TrialWrapper)]
        self._actions = int(self.single_action_space.n)  # type: ignore[attr-defined]
        self._hold = self.tasks[0].rule.hold
        self.dt = self.tasks[0].dt
        self._pool: dict[str, np.ndarray] = {}
        self._trial_pool: dict[str, np.ndarray] = {}
        self._capacity = self._trial_capacity = 0
        self._batch: Batch | None = None  # made anew where a pool has moved, as are the tables
        self._tables: list[tuple[list[str], np.ndarray]] = []
        n = self.num_envs
        self._index = np.arange(n)
        self._at = np.zeros(n, np.int64)  # row of each environment in the flattened pools
        self._first = np.zeros(n, np.int64)  # row at which its trial began
        self._trial = np.zeros(n, np.int64)  # its trial in its block
        self._n_trials = np.zeros(n, np.int64)
        self._performance = np.zeros(n)
        self._reward_sum = np.zeros(n)
        self._aborts = np.zeros(n, np.int64)

    def close_extras(self, **kwargs: Any) -> None:
        """Close every environment and let the trials go."""
        super().close_extras(**kwargs)
        self._pool, self._trial_pool, self._batch, self._tables = {}, {}, None, []
        for task in self.tasks:
            task._ahead = task._block = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy has pools of its own."""
        return {**self.__dict__, "_batch": None, "_tables": []}

    # -- pools --------------------------------------------------------------------------------------------------------

    def _refill(self, i: int) -> None:
        """Make the next block of trials of environment ``i``, and keep its rows in the pools only."""
        block = self.tasks[i]._make_ahead()
        self._load(i)
        block.fields = {name: self._pool[name][i, : block.total] for name in block.fields}

    def _load(self, i: int) -> None:
        """Copy the block of environment ``i`` into the pools, and begin with its first trial."""
        block = self.tasks[i]._ahead
        if block.total > self._capacity:
            self._grow(block.total)
        for name, values in block.fields.items():
            pool = self._pool.get(name)
            if pool is None:
                shape = (self.num_envs, self._capacity, *values.shape[1:])
                pool = self._pool[name] = np.zeros(shape, KINDS.get(name, values.dtype))
                self._batch = None
            pool[i, : block.total] = values
        columns = block.record()
        columns["_offset"], columns["_go"] = block.offset, block.go
        if block.n > self._trial_capacity:
            self._grow_trials(block.n)
        for name, values in columns.items():
            column = self._trial_pool.get(name)
            if column is None or (column.dtype != object and not np.can_cast(values.dtype, column.dtype)):
                column = self._widen(name, column, values.dtype)
            column[i, : block.n] = values
        self._trial[i], self._n_trials[i] = 0, block.n

    def _widen(self, name: str, column: np.ndarray | None, dtype: np.dtype) -> np.ndarray:
        """A per-trial column that can hold ``dtype`` beside what it holds."""
        if dtype.kind not in "biuf" or (column is not None and column.dtype == object):
            wide = np.empty((self.num_envs, self._trial_capacity), dtype=object)
        else:
            known = dtype if column is None else np.promote_types(column.dtype, dtype)
            wide = np.zeros((self.num_envs, self._trial_capacity), dtype=known)
        if column is not None:
            wide[...] = column
        self._trial_pool[name] = wide
        self._batch, self._tables = None, []
        return wide

    def _grow(self, rows: int) -> None:
        """Room for longer blocks; positions in the flattened pools move with it."""
        capacity = int(rows * 1.25)
        for name, old in self._pool.items():
            self._pool[name] = new = np.zeros((self.num_envs, capacity, *old.shape[2:]), old.dtype)
            new[:, : self._capacity] = old
        shift = self._index * (capacity - self._capacity)
        self._at += shift
        self._first += shift
        self._capacity = capacity
        self._batch = None

    def _grow_trials(self, trials: int) -> None:
        capacity = int(trials * 1.25)
        for name, old in self._trial_pool.items():
            self._trial_pool[name] = new = np.zeros((self.num_envs, capacity), old.dtype)
            new[:, : self._trial_capacity] = old
        self._trial_capacity = capacity
        self._batch, self._tables = None, []

    def _look_up(self, name: str) -> np.ndarray:
        """A per-step field at the current row of every environment."""
        pool = self._pool[name]
        return pool.reshape(-1, *pool.shape[2:]).take(self._at, axis=0)

    def _begin(self, i: np.ndarray) -> None:
        """Place environments ``i`` at the first row of their present trial."""
        offset = self._trial_pool["_offset"].take(i * self._trial_capacity + self._trial[i])
        self._at[i] = self._first[i] = i * self._capacity + offset

    def state(self) -> dict[str, Any]:
        """Everything that the coming steps depend on, as plain data (see :mod:`neurogym.state`)."""
        whole = [task._ahead for task in self.tasks]
        for task, block, trial in zip(self.tasks, whole, self._trial, strict=True):
            task._ahead = view_of(block, int(trial), block.n - int(trial))  # trials that are over are not needed
        own = (self._at - self._first, self._performance, self._reward_sum, self._aborts)
        state = {**super().state(), "batch": [part.copy() for part in own]}
        for task, block in zip(self.tasks, whole, strict=True):
            task._ahead = block
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state` returned, in a batch made in the same way.

        Raises:
            ValueError: If the state belongs to another batch, or is not what :meth:`state` returns.
        """
        if not self._pool:
            self.reset()
        known = [task._ahead for task in self.tasks]
        super().set_state(state)
        steps, *own = state["batch"]
        check_batch([task._ahead for task in self.tasks], known, steps, own)
        for i in range(self.num_envs):
            self._load(i)
        self._begin(self._index)
        self._at += steps
        for mine, saved in zip((self._performance, self._reward_sum, self._aborts), own, strict=True):
            mine[:] = saved

    # -- Gymnasium's interface ----------------------------------------------------------------------------------------

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a session in every environment.

        Args:
            seed: One seed for each environment, or an integer from which they count up.
            options: Accepted for Gymnasium; none are used.
        """
        for i, (env, one) in enumerate(zip(self.envs, self.seeds(seed), strict=True)):
            env.reset(seed=one)
            self._load(i)
        self._begin(self._index)
        self._performance[:] = self._reward_sum[:] = 0.0
        self._aborts[:] = 0
        ob = self._look_up("ob")
        space = self.single_action_space
        actions, rewards = np.stack([no_action(space)] * self.num_envs), np.zeros(self.num_envs)
        return self._observed(ob, actions, rewards), {}

    def _observed(self, ob: np.ndarray, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        for wrapper in self._wrappers:
            ob = wrapper.observe(ob, actions, rewards, self._look_up)
        return ob

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act in every environment.

        Args:
            actions: Integers, shape (num_envs,).

        Returns:
            Observations (num_envs, ...), rewards, terminated and truncated (num_envs,), and infos: ``new_trial``
            (num_envs,) bool, ``gt`` if the task has ground truth, and ``finished``: None, or a dictionary of arrays
            with one entry per trial that ended (``env``, ``performance``, ``outcome``, ``choice``, ``rt``,
            ``reward``, ``steps``, ``aborts``, period durations in ms and every scalar of the trial's record).

        Raises:
            ValueError: If an action is not in the action space.
        """
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iub":
            raise self._wrong(actions)
        infos: dict[str, Any] = {"finished": None}
        if "gt" in self._pool:
            infos["gt"] = self._pool["gt"].take(self._at)
        rewards, infos["new_trial"], ended = self._advance(np.ascontiguousarray(actions, np.int64))
        if len(ended.env):
            infos["finished"] = self._report(ended, actions)
            for i in ended.env[self._trial[ended.env] >= self._n_trials[ended.env]]:
                self._refill(int(i))
                self._begin(i)
        ob = self._observed(self._look_up("ob"), actions, rewards)
        return ob, rewards, np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool), infos

    def _wrong(self, actions: np.ndarray) -> ValueError:
        return ValueError(f"expected {self.num_envs} actions of {self.single_action_space}, got {actions!r}")

    def _advance(self, actions: np.ndarray) -> Step:
        """Take the step: rewards, whether the trial ended, and the trials that did."""
        if self._batch is None:
            hold = -1 if self._hold is None else self._hold
            self._batch = Batch(
                hold=hold,
                **{name: self._pool[name] for name in KINDS},
                offset=self._trial_pool["_offset"],
                go=self._trial_pool["_go"],
                at=self._at,
                first=self._first,
                trial=self._trial,
                n_trials=self._n_trials,
                aborts=self._aborts,
                score=self._performance,
                sum=self._reward_sum,
            )
        found = advance(self._batch, actions)
        if found is None:
            raise self._wrong(actions)
        return found

    def _report(self, ended: Ended, actions: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of the trials that ended."""
        finished = {
            "env": ended.env,
            "performance": ended.performance,
            "outcome": rules.OUTCOMES[ended.outcome],
            "choice": actions[ended.env],
            "rt": ended.reaction * float(self.dt),
            "reward": ended.reward,
            "steps": ended.steps,
            "aborts": ended.aborts,
        }
        if not self._tables:
            self._tables = self._by_kind()
        cell = ended.env * self._trial_capacity + ended.trial
        for names, table in self._tables:
            for name, column in zip(names, table.take(cell, axis=0).T, strict=True):
                finished.setdefault(name, column)
        return finished

    def _by_kind(self) -> list[tuple[list[str], np.ndarray]]:
        """Per-trial columns of one type in one table (environment and trial, column), so that one look-up finds all."""
        tables = []
        shown = {name: column for name, column in self._trial_pool.items() if not name.startswith("_")}
        for dtype in dict.fromkeys(column.dtype for column in shown.values()):
            names = [name for name, column in shown.items() if column.dtype == dtype]
            table = np.stack([shown[name] for name in names], axis=-1)
            self._trial_pool.update({name: table[:, :, k] for k, name in enumerate(names)})
            tables.append((names, table.reshape(-1, len(names))))
        return tables


class LoopVectorEnv(_BatchEnv):
    """A batch of environments stepped one after the other, with the interface of :class:`TrialVectorEnv`.

    Takes any environments, trial-based or not. One that terminates is reset in the same step; its last observation is
    in ``infos["final_obs"]``.

    Args:
        envs: Environments with equal spaces.
    """

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start a session in every environment; see :meth:`TrialVectorEnv.reset`."""
        obs = [env.reset(seed=one)[0] for env, one in zip(self.envs, self.seeds(seed), strict=True)]
        return np.stack(obs), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Act in every environment; see :meth:`TrialVectorEnv.step`."""
        n = self.num_envs
        rewards, ended = np.zeros(n), np.zeros((3, n), bool)
        obs, gt, final = [], [], np.full(n, None, dtype=object)
        finished: list[dict[str, Any]] = []
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            ob, rewards[i], ended[0, i], ended[1, i], info = env.step(action)
            if "gt" in info:
                gt.append(info["gt"])
            if info.get("new_trial"):
                ended[2, i] = True
                finished.append(finished_row(i, info))
            if ended[0, i] or ended[1, i]:
                final[i] = ob
                ob, _ = env.reset()
            obs.append(ob)
        infos: dict[str, Any] = {"new_trial": ended[2], "finished": _as_columns(finished) if finished else None}
        if len(gt) == n:
            infos["gt"] = np.stack(gt)
        if ended[:2].any():
            infos["final_obs"] = final
        return np.stack(obs), rewards, ended[0], ended[1], infos


def finished_row(i: int, info: dict[str, Any]) -> dict[str, Any]:
    """What one environment reports of the trial that ended, as one row."""
    row = {
        "env": i,
        "performance": float(info.get("performance", np.nan)),
        "outcome": info.get("outcome", "none"),
        "choice": info.get("choice", np.nan),
        "rt": info.get("rt", np.nan),
        "reward": info.get("trial_reward", np.nan),
        "steps": info.get("trial_steps", 0),
        "aborts": info.get("aborts", 0),
    }
    for name, value in {**info.get("trial", {}), **info.get("periods", {})}.items():
        if np.ndim(value) == 0 and not isinstance(value, dict):
            row.setdefault(name, value)
    return row


def _as_columns(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Rows as columns; a value that a row lacks is nan, or None in columns that are not numbers."""
    columns = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name == "outcome" or any(isinstance(v, str) or np.ndim(v) for v in values if v is not None):
            columns[name] = np.empty(len(values), dtype=object)
            for i, value in enumerate(values):
                columns[name][i] = value
        else:
            columns[name] = np.array([np.nan if v is None else v for v in values])
    return columns
