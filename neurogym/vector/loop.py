"""Batches of environments as Gymnasium's vector environments: of any environments, one after the other.

This is the only place where several environments are stepped, with :mod:`neurogym.vector.tables` for those that are
look-ups in tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from neurogym.engine.finished import FinishedTrials
from neurogym.state import Data, capture, restore
from neurogym.trials import Info

Actions = np.ndarray | Sequence[object]  #: one for each environment
Seeds = int | Sequence[int | None] | None


class BatchStepResult(NamedTuple):
    """Result of a step of several environments.

    Attributes:
        observations: Shape (environments, ...).
        rewards: Shape (environments,).
        terminated, truncated: Whether an environment ended, (environments,).
        new_trial: Whether a trial ended, (environments,).
        truth: The right action at the row just acted on, (environments, ...), where all environments have one.
        infos: ``info`` of each environment; empty where environments are stepped by look-up.
        last_seen: Index of an environment that ended to its last observation.
    """

    observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    new_trial: np.ndarray
    truth: np.ndarray | None
    infos: Sequence[Info] = ()
    last_seen: Mapping[int, np.ndarray] = {}


class LoopVectorEnv(VectorEnv):
    """Batch of environments stepped one after the other; they may be of any kind.

    One that terminates is reset in the same step; its last observation and info are in ``infos["final_obs"]`` and
    ``infos["final_info"]``.

    Args:
        envs: Environments with equal spaces.

    Attributes:
        finished: The trials that ended in the last step, None if none did.
    """

    autoreset_mode = AutoresetMode.SAME_STEP
    _observations: list[Any] | None = None  # last observation of each environment

    def __init__(self, envs: Sequence[gym.Env]):
        self.envs, self.num_envs = list(envs), len(envs)
        self.tasks: list[Any] = [env.unwrapped for env in self.envs]
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {**self.envs[0].metadata, "autoreset_mode": self.autoreset_mode}
        self.spec = self.envs[0].spec
        self.finished: FinishedTrials | None = None

    @property
    def dt(self) -> float:
        """Time step in ms."""
        return float(self.tasks[0].dt)

    @property
    def is_reset(self) -> bool:
        """Whether a session has begun in every environment."""
        return self._observations is not None

    def reset(self, *, seed: Seeds = None, options: Mapping[str, object] | None = None) -> tuple[np.ndarray, Info]:
        """Start a session in every environment.

        Args:
            seed: One seed for each environment, or an integer from which they count up.
            options: ``reset_mask``, booleans (num_envs,): only these environments; everything else is passed to the
                environments' own ``reset``.

        Raises:
            ValueError: If the mask or an option does not fit.
        """
        remaining, env, n = dict(options or {}), np.arange(self.num_envs), self.num_envs
        mask = remaining.pop("reset_mask", None)
        if mask is not None:
            mask = np.asarray(mask)
            if mask.shape != (n,) or mask.dtype != bool or not mask.any():
                raise ValueError(f"reset_mask needs {n} booleans, one of them True, got {mask!r}")
            env = np.flatnonzero(mask)
        if len(env) < n and not self.is_reset:
            raise ValueError("the first reset is of all environments")
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds: list[int | None] = [None if seed is None else int(seed) + i for i in range(n)]
        elif len(seed) != n:
            raise ValueError(f"{n} environments need {n} seeds, got {len(seed)}")
        else:
            seeds = list(seed)
        observations, infos = self.reset_some(env, seeds, remaining or None)
        return observations, gathered(infos, n)

    def reset_some(
        self, env: np.ndarray, seeds: Sequence[int | None], options: dict[str, Any] | None
    ) -> tuple[np.ndarray, dict[int, Info]]:
        """Start a session in some environments.

        Args:
            env: Their indices.
            seeds: Seed of each of all environments.
            options: Passed to each ``reset``.

        Returns:
            Observations of all environments, and ``info`` of those that were reset.
        """
        observations, infos = self._observations or [None] * self.num_envs, dict[int, Info]()
        for i in env.tolist():
            observations[i], infos[i] = self.envs[i].reset(seed=seeds[i], options=options)
        self._observations, self.finished = observations, None
        return np.stack(observations), infos

    def step(self, actions: Actions) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Act in every environment.

        Args:
            actions: One for each environment.

        Returns:
            Observations (num_envs, ...), rewards, terminated and truncated (num_envs,), and infos in Gymnasium's form:
            what an environment's own ``info`` has, as arrays (num_envs,), and next to each, with ``_`` before its name,
            for which environments it counts. The trials that ended are also in ``finished``.

        Raises:
            ValueError: If the number of actions is not that of environments, or one is not in the action space.
            ResetNeeded: If there are no trials yet.
        """
        moved = self.move(actions)
        infos = [{"new_trial": False, **info} for info in moved.infos]
        for i, ob in moved.last_seen.items():
            infos[i] |= {"final_obs": ob, "final_info": moved.infos[i]}
        return *moved[:4], gathered(dict(enumerate(infos)), self.num_envs)

    def move(self, actions: Actions) -> BatchStepResult:
        """Take a step without making infos; arguments and errors as of :meth:`step`."""
        n = self.num_envs
        if len(actions) != n:
            raise self.wrong(actions)
        is_discrete = isinstance(self.single_action_space, gym.spaces.Discrete)
        actions = actions.tolist() if is_discrete and isinstance(actions, np.ndarray) else actions
        results = [env.step(action) for env, action in zip(self.envs, actions, strict=True)]
        observations, rewards, terminated, truncated, infos = map(list, zip(*results, strict=True))
        ended = [bool(info.get("new_trial")) for info in infos]
        finished = {i: info for i, info in enumerate(infos) if ended[i]}
        last_seen = {i: infos[i].get("final_obs", observations[i]) for i in range(n) if terminated[i] or truncated[i]}
        for i in last_seen:
            if not getattr(self.tasks[i], "goes_on", False):
                observations[i], _ = self.envs[i].reset()
        self.finished = FinishedTrials.from_infos(finished) if finished else None
        self._observations = observations
        truths = [info["gt"] for info in infos if "gt" in info]
        return BatchStepResult(
            np.array(observations),
            np.array(rewards, float),
            np.array(terminated, bool),
            np.array(truncated, bool),
            np.array(ended),
            np.array(truths) if len(truths) == n else None,
            infos,
            last_seen,
        )

    def wrong(self, actions: Actions) -> ValueError:
        """Error for actions that are not one for each environment."""
        return ValueError(f"expected {self.num_envs} actions of {self.single_action_space}, got {actions!r}")

    # -- parameters, records and state --------------------------------------------------------------------------------

    def present(self, env: np.ndarray) -> dict[str, np.ndarray]:
        """Records of the present trials of some environments, name to array.

        Args:
            env: Indices of environments, shape (n,).
        """
        return FinishedTrials.from_infos({i: {"trial": self.tasks[i].trial} for i in env.tolist()})

    def update(self, **changes: object) -> None:
        """Change parameters of every task; see :meth:`neurogym.core.TrialEnv.update`."""
        for task in self.tasks:
            task.update(**changes)

    def state(self) -> Data:
        """Everything that the coming steps depend on, as plain data (see :mod:`neurogym.state`)."""
        return {"envs": [capture(env) for env in self.envs]}

    def set_state(self, state: Data) -> None:
        """Continue from what :meth:`state` returned, in a batch made in the same way.

        Raises:
            ValueError: If the state belongs to other environments, or is not what :meth:`state` returns.
        """
        if len(state["envs"]) != self.num_envs:
            raise ValueError(f"the saved state is of {len(state['envs'])} environments, not {self.num_envs}")
        for env, saved in zip(self.envs, state["envs"], strict=True):
            restore(env, saved)

    def close_extras(self, **kwargs: object) -> None:
        """Close every environment."""
        for env in self.envs:
            env.close()


def gathered(infos: Mapping[int, Info], n: int) -> Info:
    """Merge the infos of some of ``n`` environments in Gymnasium's format, dictionaries nested.

    There is an entry per environment, and under the name with ``_`` before it whether the environment has one.

    Args:
        infos: Index of an environment to its infos.
        n: Number of environments.
    """
    merged: Info = {}
    for name in dict.fromkeys(name for info in infos.values() for name in info):
        present = {i: info[name] for i, info in infos.items() if name in info}
        mask = np.zeros(n, bool)
        mask[list(present)] = True
        if all(isinstance(value, Mapping) for value in present.values()):
            merged[name] = gathered(present, n)
        else:
            column = _column(list(present.values()))
            full = np.full(n, None) if column.dtype == object else np.zeros((n, *column.shape[1:]), column.dtype)
            full[list(present)] = column
            merged[name] = full
        merged[f"_{name}"] = mask
    return merged


def _column(values: list[Any]) -> np.ndarray:
    """Convert values of one kind to an array; an array of objects if values are not numbers or differ in shape."""
    if len({np.shape(value) for value in values}) == 1:
        column = np.asarray(values) if not any(isinstance(v, (str, Mapping)) for v in values) else np.empty(0, object)
        if column.dtype.kind in "biuf":
            return column
    return np.fromiter(values, object, len(values))
