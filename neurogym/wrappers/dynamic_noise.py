"""Noise on the stimulus that follows performance."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from neurogym.ceilings.effects import Effect, unknown
from neurogym.parameters.ranges import NonNegative
from neurogym.spaces import names_of
from neurogym.trials import Rows, Trials
from neurogym.wrappers.base import periods_of, task_of
from neurogym.wrappers.noise import Noise


class DynamicNoise(Noise):
    """Add Gaussian noise to the stimulus channels only, from the step after stimulus onset; see :class:`Noise`.

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

    metadata = Noise.metadata.replace(
        description="adds noise to the stimulus channels, at a level that can follow performance",
        order="any",
    )

    def __init__(
        self,
        env: gym.Env,
        std_noise: float = 0.1,
        ev_incr: NonNegative = 0,
        perf_th: float | None = None,
        w: int = 200,
        step_noise: float = 0.0001,
    ):
        self._columns = stimulus_columns(env, "DynamicNoise")
        if "stimulus" not in periods_of(task_of(env, "DynamicNoise")):
            raise ValueError(f"DynamicNoise needs a period called stimulus, {env.unwrapped} has none")
        self.ev_incr = ev_incr
        super().__init__(env, std_noise, perf_th, w, step_noise)

    def effect_on_ceiling(self) -> Effect:
        """As of any noise, unless the evidence grows."""
        return (
            unknown("no exact observer is known for evidence that grows")
            if self.ev_incr
            else super().effect_on_ceiling()
        )

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


def stimulus_columns(env: gym.Env, wrapper: str) -> list[int]:
    """Columns of the channels whose label begins with ``stim``.

    Raises:
        ValueError: If there are none.
    """
    names = {label: index for label, index in names_of(env.observation_space).items() if label.startswith("stim")}
    if not names:
        raise ValueError(f"{wrapper} needs observation channels called stimulus, {env} has none")
    return [int(i) for index in names.values() for i in np.atleast_1d(index)]
