"""Base of batches (spaces, seeds, state, trials that are begun together), and the batch stepped in a Python loop."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from neurogym.core import TrialEnv
from neurogym.engine.making import make_together
from neurogym.state import Data, capture, restore
from neurogym.trials import Info, Trials
from neurogym.trials.cursor import PreparedTrials, has_trials
from neurogym.vector.reports import finished_columns, gathered
from neurogym.wrappers.stack import Stack


class GroupedTrials:
    """Begins new trials for the environments of a batch, and makes equal trials jointly.

    Trials that depend on what the agent did cannot be made in advance. Made for each environment by itself, most of the
    time goes into what all of them have in common.

    Args:
        tasks: The task of each environment.
    """

    def __init__(self, tasks: Sequence[TrialEnv]):
        self._tasks = tasks
        self._compared: object = None  # the last change of parameters when tasks were compared
        self._alike = False

    def begin(self, env: Sequence[int]) -> list[tuple[Sequence[int], Trials]]:
        """Begin the next trial of some environments, each as in an unbatched session.

        Returns:
            Blocks of trials that were made together, or before, and which environment each trial is of.
        """
        tasks, alike = self._tasks, len(env) > 1 and self._are_alike()
        groups: dict[Hashable, list[int]] = {}
        for i in env:
            memory = tasks[i].next_trial_depends_on() if alike else None
            groups.setdefault(("alone", i) if memory is None else memory, []).append(i)
        return [(group, self._begun([tasks[i] for i in group])) for group in groups.values()]

    def _begun(self, several: list[TrialEnv]) -> Trials:
        """Begin trials of tasks with equal descriptions; return the joint block."""
        first = several[0]
        if len(several) == 1:
            first.begin_next()
            assert first.cursor.block is not None
            return first.cursor.block
        block = make_together(several)
        for k, task in enumerate(several):
            task.begin_trial(block, k)
        return block

    def _are_alike(self) -> bool:
        """Whether all tasks have equal parameters; checked again after any change of parameters."""
        if not self._tasks[0].groups_trials:
            return False
        if self._compared is not PreparedTrials.last_drop:
            first, *rest = self._tasks
            self._alike = all(task.groups_trials and task.has_parameters_of(first) for task in rest)
            self._compared = PreparedTrials.last_drop
        return self._alike


Seeds = int | Sequence[int | None] | None
Actions = np.ndarray | Sequence[object]  #: one for each environment


class BatchStepResult(NamedTuple):
    """Result of a step of a batch, without the copies in Gymnasium's infos.

    Attributes:
        observations: Shape (num_envs, ...).
        rewards: Shape (num_envs,).
        terminated, truncated: Whether an environment ended, (num_envs,).
        new_trial: Whether a trial ended, (num_envs,).
        truth: The right action at the row just acted on, (num_envs, ...), where all environments have one.
        last_seen: Index of an environment that ended to its last observation.
        last_infos: Index of an environment that ended to its last info; empty where no infos are made.
    """

    observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    new_trial: np.ndarray
    truth: np.ndarray | None
    last_seen: Mapping[int, np.ndarray]
    last_infos: Mapping[int, Info] = {}


class Batch(VectorEnv):
    """A batch of environments.

    Args:
        envs: Environments with equal spaces.

    Attributes:
        finished: The trials that ended in the last step, None if none did: equally long arrays with one entry per
            trial (``env``, ``performance``, ``outcome``, ``choice``, ``rt`` in ms, ``reward``, ``steps``, ``aborts``,
            durations of periods in ms and every scalar of the trial's record).
        together: Begins the next trials of environments.
    """

    autoreset_mode = AutoresetMode.SAME_STEP

    def __init__(self, envs: Sequence[gym.Env]):
        self.envs = list(envs)
        self.num_envs = len(self.envs)
        self.tasks: list[Any] = [env.unwrapped for env in self.envs]
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.metadata = {**self.envs[0].metadata, "autoreset_mode": self.autoreset_mode}
        self.spec = self.envs[0].spec
        self.finished: dict[str, np.ndarray] | None = None
        self.together = GroupedTrials(self.tasks)

    def seeds(self, seed: Seeds) -> list[int | None]:
        """Seeds of all environments: ``seed + i`` for an integer, as Gymnasium's vector environments do."""
        if seed is None or isinstance(seed, (int, np.integer)):
            return [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"{self.num_envs} environments need {self.num_envs} seeds, got {len(seed)}")
        return list(seed)

    def to_reset(self, options: Mapping[str, object] | None) -> tuple[np.ndarray, dict[str, object] | None]:
        """Return the environments selected by ``options["reset_mask"]`` (default: all), and the remaining options."""
        remaining = dict(options or {})
        mask = remaining.pop("reset_mask", None)
        if mask is None:
            return np.arange(self.num_envs), remaining or None
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != bool or not mask.any():
            raise ValueError(f"reset_mask needs {self.num_envs} booleans, one of them True, got {mask!r}")
        return np.flatnonzero(mask), remaining or None

    def move(self, actions: Actions) -> BatchStepResult:
        """:meth:`step` without infos, which take longer to put together than the step itself: for learners.

        Args:
            actions: As for :meth:`step`.

        Raises:
            ValueError: If actions are not one for each environment, each in its action space.
        """
        raise NotImplementedError

    def present(self, env: np.ndarray) -> dict[str, np.ndarray]:
        """Records of the present trials of some environments, name to array.

        Args:
            env: Indices of environments, shape (n,).
        """
        return finished_columns({i: {"trial": self.tasks[i].trial} for i in env.tolist()})

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
            ValueError: If the state belongs to another batch.
        """
        if len(state["envs"]) != self.num_envs:
            raise ValueError(f"the saved state is of {len(state['envs'])} environments, not {self.num_envs}")
        for env, saved in zip(self.envs, state["envs"], strict=True):
            restore(env, saved)
        self.together = GroupedTrials(self.tasks)  # parameters were saved, too

    def close_extras(self, **kwargs: object) -> None:
        """Close every environment."""
        for env in self.envs:
            env.close()


class LoopVectorEnv(Batch):
    """Batch of environments stepped in sequence, with the interface of :class:`TrialVectorEnv`.

    Takes any environments, trial-based or not. One that terminates is reset in the same step; its last observation and
    info are in ``infos["final_obs"]`` and ``infos["final_info"]``.

    Args:
        envs: Environments with equal spaces.
    """

    _shown: list[np.ndarray] | None = None  # what each environment showed last
    _stacks: list[Stack | None] | None = None  # how each shows itself; empty where they cannot wait for each other

    def __init__(self, envs: Sequence[gym.Env]):
        super().__init__(envs)
        self._infos: list[Info] = []  # infos of the last step
        self._integers = isinstance(self.single_action_space, gym.spaces.Discrete)

    def reset(self, *, seed: Seeds = None, options: Mapping[str, object] | None = None) -> tuple[np.ndarray, Info]:
        """Start a session in every environment; see :meth:`TrialVectorEnv.reset`."""
        indices, options = self.to_reset(options)
        seeds, infos = self.seeds(seed), dict[int, Info]()
        if self._shown is None and len(indices) < self.num_envs:
            raise ValueError("the first reset is of all environments")
        observations: list[Any] = [None] * self.num_envs if self._shown is None else self._shown
        for i in indices.tolist():
            observations[i], infos[i] = self.envs[i].reset(seed=seeds[i], options=options)
        self._shown, self.finished = observations, None
        return np.stack(observations), gathered(infos, self.num_envs)

    def step(self, actions: Actions) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Act in every environment; see :meth:`TrialVectorEnv.step`.

        Raises:
            ValueError: If the number of actions is not that of environments, or one is not in the action space.
        """
        moved = self.move(actions)
        infos = self._infos
        for i, ob in moved.last_seen.items():
            infos[i] = {**infos[i], "final_obs": ob, "final_info": infos[i]}
        complete = {i: {"new_trial": False, **info} for i, info in enumerate(infos)}
        return *moved[:4], gathered(complete, self.num_envs)

    def _each(self, actions: Actions) -> list[tuple[Any, ...]]:
        """Step each environment and return the results."""
        if self._stacks is None:
            self._stacks = self._shown_by()
        if not self._stacks:
            return [env.step(action) for env, action in zip(self.envs, actions, strict=True)]
        results = [task.act_in_trial(action) for task, action in zip(self.tasks, actions, strict=True)]
        self.together.begin([i for i, (ended, *_) in enumerate(results) if ended])
        each = zip(self.tasks, self._stacks, results, strict=True)
        return [task.step_result(stack, *result) for task, stack, (_, *result) in each]

    def _shown_by(self) -> list[Stack | None]:
        """Stacks that show each environment's observations, if wrappers only use hooks; an empty list otherwise."""
        trial_based = all(has_trials(env) for env in self.envs)
        if not trial_based or not all(task.next_by_itself for task in self.tasks):
            return []
        stacks = [task.shown_by(env) for task, env in zip(self.tasks, self.envs, strict=True)]
        return [] if None in stacks else [stack if stack.shows else None for stack in stacks]

    def move(self, actions: Actions) -> BatchStepResult:
        """:meth:`step` without infos; see :meth:`Batch.move`."""
        n = self.num_envs
        if len(actions) != n:
            raise ValueError(f"expected {n} actions of {self.single_action_space}, got {actions!r}")
        actions = actions.tolist() if self._integers and isinstance(actions, np.ndarray) else actions
        observations, rewards, terminated, truncated, self._infos = map(list, zip(*self._each(actions), strict=True))
        ended = [bool(info.get("new_trial")) for info in self._infos]
        finished = {i: info for i, info in enumerate(self._infos) if ended[i]}
        last_seen = {i: observations[i] for i in range(n) if terminated[i] or truncated[i]}
        for i in last_seen:
            observations[i], _ = self.envs[i].reset()
        self.finished = finished_columns(finished) if finished else None
        self._shown = observations
        truths = [info["gt"] for info in self._infos if "gt" in info]
        return BatchStepResult(
            np.array(observations),
            np.array(rewards, float),
            np.array(terminated, bool),
            np.array(truncated, bool),
            np.array(ended),
            np.array(truths) if len(truths) == n else None,
            last_seen,
            {i: self._infos[i] for i in last_seen},
        )
