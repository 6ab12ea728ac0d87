"""Noise on what the agent sees, and sums of what the agent sees."""

from __future__ import annotations

from typing import SupportsFloat

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import LEAVES, NOISE, Effect, unknown
from neurogym.metadata import WrapperInfo
from neurogym.parameters.arguments import Count, NonNegative, Probability
from neurogym.spaces import Action, names_of, unbounded
from neurogym.trials import Info, Rows, Trials
from neurogym.wrappers.base import Field, Reward, TrialWrapper
from neurogym.wrappers.hooks import Hooks
from neurogym.wrappers.sampling import remembered
from neurogym.wrappers.tasks import require_period


class Noise(TrialWrapper):
    """Add independent Gaussian noise to every channel at every step.

    With ``perf_th`` the level adapts: it starts at 0, grows by ``step_noise`` after a trial if the mean performance of
    the last ``w`` trials exceeds the threshold, and shrinks if it is below. The level is in ``info["std_noise"]`` at
    the end of each trial, with the mean, ``info["perf_mean"]``.

    Args:
        env: The task, wrapped or not; its observation must be floating-point.
        std_noise: Standard deviation per step (with ``perf_th``: not used).
        perf_th: Performance that the noise is to bring about; None: the level is fixed.
        w: Trials in the window.
        step_noise: Change of the level after a trial.

    Attributes:
        std_noise: The present level.
        noise_field: Name of the per-step field with the noise.

    Raises:
        TypeError: If the observation is not a Box of floating-point numbers.
        ValueError: If an argument is out of range.
    """

    metadata = WrapperInfo(order="outside pass_reward and pass_action it also perturbs their channels")
    hooks = Hooks(changes=("record",), shows="noise", own_step=True)
    state = ("std_noise", "_performances")

    def __init__(
        self,
        env: gym.Env,
        std_noise: NonNegative = 0.1,
        perf_th: Probability | None = None,
        w: Count = 200,
        step_noise: NonNegative = 0.0001,
    ):
        space = _of_floats(env.observation_space, type(self).__name__)
        super().__init__(env)
        self.hooks = self.hooks.replace(own_step=perf_th is not None)
        self.perf_th, self.w, self.step_noise = perf_th, w, step_noise
        self.std_noise = float(std_noise) if perf_th is None else 0.0
        self.observation_space = unbounded(space)
        self._performances: list[float] = []
        self.noise_field = f"noise{len(self.task.session.wrappers)}"

    def effect_on_ceiling(self) -> Effect:
        """Effect on the ceiling: a known reduction if the noise level is fixed, none where rounding hides the noise."""
        if self.perf_th is not None:
            return unknown("the level of the noise follows the agent's performance")
        return NOISE if self.std_noise > np.finfo(np.float32).eps else LEAVES

    def start_session(self) -> None:
        """Reset the record of the agent's performance."""
        if self.perf_th is not None:
            self.std_noise, self._performances = 0.0, []

    def revise(self, trials: Trials) -> None:
        """Draw the noise of all rows at once, in units of the level."""
        shape = (trials.total, *self.observation_space.shape)  # type: ignore[misc]
        trials.fields[self.noise_field] = trials.rng.standard_normal(shape, dtype=np.float32)

    def observe(self, ob: np.ndarray, action: Action, reward: Reward, field: Field) -> np.ndarray:
        """The observation with noise."""
        return (ob + self.std_noise * field(self.noise_field)).astype(ob.dtype)

    def step(self, action: Action) -> tuple[np.ndarray, SupportsFloat, bool, bool, Info]:
        """Act; the end of a trial may change the level."""
        if self.perf_th is None:
            return super().step(action)
        ob, reward, terminated, truncated, info = self.env.step(action)
        if info["new_trial"]:
            self._adapt(info)
        return self.observe(ob, action, reward, self.task.session.field), reward, terminated, truncated, info

    def _adapt(self, info: Info) -> None:
        window = self._performances = remembered(self._performances, float(info["performance"]), self.w + 1)
        mean = float(np.mean(window[-self.w :]))
        if mean > self.perf_th and len(window) > self.w:  # type: ignore[operator]
            self.std_noise += self.step_noise
        elif mean < self.perf_th:  # type: ignore[operator]
            self.std_noise = max(0.0, self.std_noise - self.step_noise)
        info["perf_mean"], info["std_noise"] = mean, self.std_noise


class DynamicNoise(Noise):
    """Add Gaussian noise to the stimulus channels only, from the step after stimulus onset.

    The level is fixed or follows performance as in :class:`Noise`.

    Args:
        env: A task with a period and channels called ``stimulus``.
        std_noise: Standard deviation per step.
        ev_incr: If positive, evidence grows with time: k steps after onset the stimulus is
            1 + ln(k) / ln(1 + 1/ev_incr) times as strong.
        perf_th: Performance that the noise is to bring about; None: the level is fixed.
        w: Trials in the window.
        step_noise: Change of the level after a trial.

    Raises:
        ValueError: If the task has no stimulus channels or an argument is out of range.
    """

    metadata = Noise.metadata.replace(order="any")
    hooks = Noise.hooks.replace(changes=("observations", "record"))

    def __init__(
        self,
        env: gym.Env,
        std_noise: NonNegative = 0.1,
        ev_incr: NonNegative = 0,
        perf_th: Probability | None = None,
        w: Count = 200,
        step_noise: NonNegative = 0.0001,
    ):
        self._columns = stimulus_columns(env, "DynamicNoise")
        require_period(env, "DynamicNoise", "stimulus")
        self.ev_incr = ev_incr
        super().__init__(env, std_noise, perf_th, w, step_noise)

    def effect_on_ceiling(self) -> Effect:
        """As of any noise, unless the evidence grows."""
        if self.ev_incr:
            return unknown("no exact observer is known for evidence that grows")
        return super().effect_on_ceiling()

    def revise(self, trials: Trials) -> None:
        """Draw the noise of the stimulus and scale the evidence over time."""
        rows = trials.rows("stimulus")
        since = rows.step - trials.starts["stimulus"][rows.trial]
        later = Rows(*(column[since > 0] for column in rows))
        noise = np.zeros((trials.total, *self.observation_space.shape), np.float32)  # type: ignore[misc]
        shape = (len(later.index), len(self._columns))
        noise[later.index[:, None], self._columns] = trials.rng.standard_normal(shape, dtype=np.float32)
        trials.fields[self.noise_field] = noise
        if self.ev_incr:
            gain = 1 + np.log(since[since > 0]) / np.log1p(1 / self.ev_incr)
            trials.ob[later.index[:, None], self._columns] *= gain[:, None].astype(trials.ob.dtype)


class StimAccSignal(TrialWrapper):
    """Replace the task's observation by the running sum within the trial.

    Args:
        env: The task, wrapped or not; its observation must be floating-point. Channels that wrappers append are shown
            as they are.

    Raises:
        TypeError: If the observation is not floating-point.
    """

    metadata = WrapperInfo(order="any; outside noise it does not sum the noise")
    hooks = Hooks(changes=("observations",))

    def __init__(self, env: gym.Env):
        _of_floats(env.unwrapped.observation_space, "StimAccSignal")
        super().__init__(env)
        self.observation_space = unbounded(env.observation_space)

    def effect_on_ceiling(self) -> Effect:
        """Effect on the ceiling: none for sums alone, which can be inverted; unknown for noise on the sums."""
        noisy = any(
            isinstance(each, Noise) and each.effect_on_ceiling() is not LEAVES for each in self.task.session.wrappers
        )
        return unknown("no exact observer is known for noise on sums") if noisy else LEAVES

    def revise(self, trials: Trials) -> None:
        """Sum the rows of each trial."""
        total = np.cumsum(trials.ob, axis=0, dtype=np.float64)
        before = np.concatenate([np.zeros_like(total[:1]), total])[trials.offset]
        rows = trials.rows()
        trials.ob[rows.index] = total[rows.index] - before[rows.trial]


def _of_floats(space: gym.Space[object], wrapper: str) -> gym.spaces.Box:
    """Return an observation space, or refuse a space that is not of floating-point numbers."""
    if not isinstance(space, gym.spaces.Box) or not np.issubdtype(space.dtype, np.floating):
        raise TypeError(f"{wrapper} needs an observation of floating-point numbers, not {space}")
    return space


def stimulus_columns(env: gym.Env, wrapper: str) -> list[int]:
    """Columns of the channels whose label begins with ``stim``.

    Raises:
        ValueError: If there are none.
    """
    names = {label: index for label, index in names_of(env.observation_space).items() if label.startswith("stim")}
    if not names:
        raise ValueError(f"{wrapper} needs observation channels called stimulus, {env} has none")
    return [int(i) for index in names.values() for i in np.atleast_1d(index)]
