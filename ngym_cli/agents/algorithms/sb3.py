"""Stable-Baselines3: batches in the form that it steps, and access to its private parts under public names.

All other modules use only these names and the library's public names, so that a new version of the library needs
changes here alone.
"""

from __future__ import annotations

import sys
import warnings
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import gymnasium as gym
import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import is_wrapped
from stable_baselines3.common.type_aliases import MaybeCallback
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices
from torch import Tensor

from neurogym.vector import LoopVectorEnv
from ngym_cli.agents.algorithms.objective import Consolidation
from ngym_cli.agents.device.selection import describe
from ngym_cli.environments.trial_batch import TrialBatch

if TYPE_CHECKING:
    from ngym_cli.agents.algorithms.recorded import RecordingObjective

#: Counters of a learner; the last exists for algorithms with random exploration.
COUNTERS = (
    "num_timesteps",
    "_episode_num",
    "_n_updates",
    "_n_calls",
    "_current_progress_remaining",
    "exploration_rate",
)
#: Last observations and episode starts of a learner.
SEEN = ("_last_obs", "_last_original_obs", "_last_episode_starts")
#: Statistics of the last episodes.
EPISODES = ("ep_info_buffer", "ep_success_buffer")


class TrialVecEnv(TrialBatch, VecEnv):
    """Form of ``TrialBatch`` that a Stable-Baselines3 learner can step, with the same arguments and attributes."""

    def __init__(self, venv: LoopVectorEnv, reset_state: str = "never"):
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


class BoundedProgress(BaseAlgorithm):
    """Algorithm whose schedules stay at their last value in the steps beyond the requested ones.

    A rollout is never cut short, so that more steps may be made than were requested. Stable-Baselines3 then reads
    schedules below zero, where a falling learning rate is negative.
    """

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        super()._update_current_progress_remaining(min(num_timesteps, total_timesteps), total_timesteps)


def bounded(algorithm: type[BaseAlgorithm]) -> type[BaseAlgorithm]:
    """Return an algorithm with `BoundedProgress`, under the same name."""
    if issubclass(algorithm, BoundedProgress):
        return algorithm
    contents = {"__module__": algorithm.__module__, "__doc__": algorithm.__doc__}
    return type(algorithm.__name__, (BoundedProgress, algorithm), contents)


class Learner(BoundedProgress):
    """Stable-Baselines3 algorithm with a learning method of this package. A subclass defines `set_up`.

    Attributes:
        not_saved: attributes that a zip file of the model leaves out.
        rng: generator of what it draws, made by `set_up`.
        in_torch: reason why training runs in torch instead of compiled passes; empty if compiled.
        consolidation: penalty on changes of weights that earlier stages depend on, made by `make_policy`.
        recording: penalty on the difference between activity and a recording, or None.
    """

    not_saved: tuple[str, ...] = ()
    consolidation: Consolidation
    recording: RecordingObjective | None = None
    rng: np.random.Generator
    in_torch = ""
    device_reason = ""  #: explanation of an automatic choice of the device
    on_device: ClassVar[bool | None] = None  #: take the path for devices; None: wherever the device is not the CPU
    _strength = 0.0  # of the consolidation

    def set_up(self) -> None:
        """Make the policy and all other parts of the learner; called once, when spaces and environments are known."""
        raise NotImplementedError

    def _setup_model(self) -> None:
        self.set_up()
        if self.note and self.verbose >= 1:
            sys.stdout.write(f"{self.note}\n")

    def set_up_learning_rate(self) -> None:
        """Make `lr_schedule` from the learning rate that was given."""
        self._setup_lr_schedule()

    def make_policy(self) -> None:
        """Make the generator and the policy, both from the seed, and what protects the weights of the policy."""
        if self.device.type == "cuda":  # all weights lie in one vector, and cuDNN's order takes a copy
            warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk of memory")
        self.set_random_seed(self.seed)
        self.rng = np.random.default_rng(self.seed)
        build: Any = self.policy_class
        policy = build(self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs)
        self.policy = policy.to(self.device)
        self.consolidation = Consolidation(policy, self._strength)

    @property
    def adds_gradients(self) -> bool:
        """Whether a gradient is added to that of the objective before each step."""
        return bool(self.consolidation) or self.recording is not None

    def add_gradients(self, gradient: Tensor) -> tuple[Tensor, float]:
        """Return a gradient with those of consolidation and recording, and the sum of both penalties."""
        total = 0.0
        if self.recording is not None:
            slope, total = self.recording()
            gradient = slope if self.recording.settings.only else gradient + slope
        if self.consolidation:
            slope, penalty = self.consolidation()
            gradient, total = gradient + slope, total + penalty
        return gradient, total

    def log_update(self, numbers: Mapping[str, float]) -> None:
        """Record the numbers of an update under ``train/``, and how many updates there have been.

        Raises:
            FloatingPointError: if a number is not finite.
        """
        numbers = {**numbers, **(self.recording.numbers() if self.recording else {})}
        if not np.isfinite([*numbers.values()]).all():
            listed = ", ".join(f"{name} {value}" for name, value in numbers.items())
            raise FloatingPointError(f"the update at step {self.num_timesteps} is not finite: {listed}")
        for name, value in numbers.items():
            self.logger.record(f"train/{name}", value)
        self.logger.record("train/n_updates", self.updates, exclude="tensorboard")

    @property
    def seen(self) -> Any:
        """The last observations of the environments."""
        return self._last_obs

    @property
    def starts(self) -> Any:
        """Whether the recurrent state resets before each environment's next step, shape (environments,)."""
        return self._last_episode_starts

    def see(self, observations: np.ndarray, starts: np.ndarray) -> None:
        """Store the latest observations and episode starts."""
        self._last_obs, self._last_episode_starts = observations, starts

    @property
    def left(self) -> float:
        """Share of the training that is still to come, from 1 to 0."""
        return self._current_progress_remaining

    def note_progress(self, total: int) -> None:
        """Update the remaining share of `total` steps."""
        self._update_current_progress_remaining(self.num_timesteps, total)

    def set_learning_rate(self) -> None:
        """Give the policy's optimiser the rate that the schedule has now."""
        self._update_learning_rate(self.policy.optimizer)

    @property
    def updates(self) -> int:
        """Updates made so far."""
        return self._n_updates

    def count_update(self) -> None:
        """Increment the number of updates."""
        self._n_updates += 1

    def note_episodes(self, infos: list[dict[str, object]], dones: np.ndarray) -> None:
        """Add episodes that ended to the statistics."""
        self._update_info_buffer(infos, dones)

    def begin_learning(
        self, total: int, callback: MaybeCallback, reset: bool, log_name: str, bar: bool
    ) -> tuple[int, BaseCallback]:
        """Prepare for `learn`; return the last step and the callback as a single object."""
        return self._setup_learn(total, callback, reset, log_name, bar)

    @property
    def learns_on_device(self) -> bool:
        """Whether acting and learning take the path for devices."""
        return self.device.type != "cpu" if self.on_device is None else self.on_device

    @property
    def note(self) -> str:
        """Line for the user about where training runs; empty for the usual place."""
        lines = [self.device_reason] if self.device_reason else []
        if self.learns_on_device:
            lines.append(f"training runs on {describe(self.device)}")
        elif self.in_torch:
            lines.append(f"training runs in torch, not in the compiled passes: {self.in_torch}")
        return "\n".join(lines)

    @property
    def carried_states(self) -> list[np.ndarray]:
        """Recurrent states before the next rollout, arrays (layer, environment, unit)."""
        return []

    @carried_states.setter
    def carried_states(self, states: Sequence[np.ndarray]) -> None:
        """Continue from these states."""

    def own_state(self) -> dict[str, object]:
        """State that training depends on, besides the common state of all algorithms: plain data and arrays."""
        return {}

    def set_own_state(self, state: dict[str, Any]) -> None:
        """Restore the result of `own_state`."""

    def end_stage(self) -> None:
        """Protect the weights that the present environments depend on; called before these are replaced."""
        self.consolidation.end_stage(self.drawn_losses())

    def drawn_losses(self) -> Iterable[Tensor]:
        """Loss of one sequence after the other in the present environments, for answers drawn from the policy."""
        raise NotImplementedError

    def switch_env(self) -> None:
        """Switch to the environments that replaced the earlier environments; the weights are kept."""

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "consolidation", "recording", *self.not_saved]


def progress(model: BaseAlgorithm) -> dict[str, dict[str, object]]:
    """Return the counters of a learner and the statistics of the last episodes, as plain data."""
    return {
        "counters": {name: vars(model)[name] for name in COUNTERS if name in vars(model)},
        "episodes": {name: list(vars(model)[name] or ()) for name in EPISODES},
    }


def set_progress(model: BaseAlgorithm, counters: dict[str, object], episodes: dict[str, list[Any]]) -> None:
    """Restore the result of `progress`.

    Raises:
        ValueError: If a counter is unknown or not a number, or the statistics are damaged.
    """
    if strange := set(counters) - set(COUNTERS):
        raise ValueError(f"unknown counters {sorted(strange)}")
    for name, value in counters.items():
        if not _is_number(value):
            raise ValueError(f"counter {name} is not a number")
    rows, successes = (episodes[name] for name in EPISODES)
    if not all(isinstance(row, dict) and {"r", "l"} <= set(row) and all(map(_is_number, row.values())) for row in rows):
        raise ValueError("the statistics of episodes are damaged")
    if not all(map(_is_number, successes)):
        raise ValueError("the successes of episodes are damaged")
    queues = {name: deque(episodes[name], maxlen=model._stats_window_size) for name in EPISODES}
    for name, value in {**counters, **queues}.items():
        setattr(model, name, value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < 2**63


def last_seen(model: BaseAlgorithm) -> dict[str, np.ndarray]:
    """Last observations and episode starts of a learner of any kind, by name."""
    return {name: np.array(seen) for name in SEEN if (seen := vars(model).get(name)) is not None}


def set_last_seen(model: BaseAlgorithm, values: dict[str, np.ndarray]) -> None:
    """Restore the result of `last_seen`."""
    for name in SEEN:
        if name in values:
            setattr(model, name, values[name])


def show(model: BaseAlgorithm, observations: Any) -> None:
    """Let a learner continue from the first observations of new environments."""
    model._last_obs = observations
    model._last_episode_starts = np.ones(len(observations), bool)
