"""Gymnasium's vector environment on an engine: seeds, masks, spaces and infos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from neurogym.engine.engine import Actions, BatchStepResult, Engine
from neurogym.engine.reports import FINISHED
from neurogym.engine.tables import TableEngine
from neurogym.state import Data
from neurogym.trials import Info
from neurogym.vector.infos import gathered, masked

Seeds = int | Sequence[int | None] | None


class Batch(VectorEnv):
    """Vector environment on an engine.

    Args:
        envs: Environments with equal spaces.

    Attributes:
        engine: Steps the environments.
    """

    engine_class: type[Engine] = Engine
    autoreset_mode = AutoresetMode.SAME_STEP

    def __init__(self, envs: Sequence[gym.Env]):
        self.engine = self.engine_class(envs)
        self.envs, self.tasks, self.num_envs = self.engine.envs, self.engine.tasks, self.engine.num_envs
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {**self.envs[0].metadata, "autoreset_mode": self.autoreset_mode}
        self.spec = self.envs[0].spec

    @property
    def dt(self) -> float:
        """Time step in ms."""
        return float(self.tasks[0].dt)

    @property
    def finished(self) -> dict[str, np.ndarray] | None:
        """The trials that ended in the last step; see :class:`neurogym.engine.engine.Engine`."""
        return self.engine.finished

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
        if len(env) < n and not self.engine.is_reset:
            raise ValueError("the first reset is of all environments")
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds: list[int | None] = [None if seed is None else int(seed) + i for i in range(n)]
        elif len(seed) != n:
            raise ValueError(f"{n} environments need {n} seeds, got {len(seed)}")
        else:
            seeds = list(seed)
        observations, infos = self.engine.reset(env, seeds, remaining or None)
        return observations, gathered(infos, n)

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
        moved = self.engine.step(actions)
        infos = [{"new_trial": False, **info} for info in moved.infos]
        for i, ob in moved.last_seen.items():
            infos[i] |= {"final_obs": ob, "final_info": moved.infos[i]}
        return *moved[:4], gathered(dict(enumerate(infos)), self.num_envs)

    def move(self, actions: Actions) -> BatchStepResult:
        """Older name of ``engine.step``: a step without infos."""
        return self.engine.step(actions)

    def update(self, **changes: object) -> None:
        """Change parameters of every task; see :meth:`neurogym.core.TrialEnv.update`."""
        self.engine.update(**changes)

    def state(self) -> Data:
        """Everything that the coming steps depend on, as plain data; see :mod:`neurogym.state`."""
        return self.engine.state()

    def set_state(self, state: Data) -> None:
        """Continue from what :meth:`state` returned, in a batch made in the same way."""
        self.engine.set_state(state)

    def close_extras(self, **kwargs: object) -> None:
        """Close every environment."""
        self.engine.close()


class LoopVectorEnv(Batch):
    """Batch of environments stepped in sequence.

    Takes any environments, trial-based or not. One that terminates is reset in the same step; its last observation and
    info are in ``infos["final_obs"]`` and ``infos["final_info"]``.

    Args:
        envs: Environments with equal spaces.
    """


class TrialVectorEnv(Batch):
    """A batch of environments stepped as arrays.

    Args:
        envs: Environments with equal stacks, for each of which :func:`neurogym.vector.is_batchable` holds.
    """

    engine: TableEngine
    engine_class = TableEngine
    autoreset_mode = AutoresetMode.NEXT_STEP  # they never end, so that any mode is true; wrappers ask for this one

    def step(self, actions: Actions) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Act in every environment; see :meth:`Batch.step`."""
        moved = self.engine.step(actions)
        everywhere = np.ones(self.num_envs, bool)
        infos: Info = {"new_trial": moved.new_trial, "_new_trial": everywhere}
        if moved.truth is not None:
            infos["gt"], infos["_gt"] = moved.truth, everywhere
        if self.finished is not None:
            infos.update(self._report(self.finished, moved.new_trial))
        return *moved[:4], infos

    def _report(self, finished: dict[str, np.ndarray], mask: np.ndarray) -> Info:
        """Infos of the trials that ended, in Gymnasium's format."""
        env, record = finished["env"], self.engine.record
        infos = masked({FINISHED[name]: finished[name] for name in FINISHED}, env, mask)
        periods = {name: column for name, column in record.items() if name.startswith("period_")}
        trial = {name: column for name, column in record.items() if name not in periods}
        for name, columns in {"trial": trial, "periods": periods}.items():
            infos[name], infos["_" + name] = masked(columns, env, mask), mask
        return infos
