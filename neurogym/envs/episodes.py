"""Environments of Gymnasium without trials as tasks: each episode is a trial."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from neurogym.core import TrialEnv
from neurogym.trials import StepResult
from neurogym.trials.events import NONE

#: Time step where none is set (ms).
EPISODE_DT = 100.0
#: Steps of the longest episode where the environment sets no limit.
MOST_EPISODE_STEPS = 1_000


class EpisodeTask(TrialEnv):
    """Environment of Gymnasium whose episodes are trials without periods, conditions or a correct action.

    The reward is that of the environment. There is no ground truth, so that performance, chance and ceiling are not
    known; only figures of learning and of reward can be drawn.

    Args:
        env: The environment; observations that are not arrays are flattened.
        dt: Time step in ms.
        most_steps: Steps after which an episode ends; by default the limit of the environment, or else 1,000.
    """

    metadata = {"description": "episodes of an environment of Gymnasium", "tags": ["episodes"]}

    def __init__(self, env: gym.Env, dt: float = EPISODE_DT, most_steps: int | None = None):
        super().__init__(dt=dt)
        space = env.observation_space
        self.episodes = env if isinstance(space, spaces.Box) else gym.wrappers.FlattenObservation(env)
        limit = getattr(env.spec, "max_episode_steps", None)
        self.episode_steps = int(most_steps or limit or MOST_EPISODE_STEPS)
        box = self.episodes.observation_space
        assert isinstance(box, spaces.Box)
        self.observation_space = spaces.Box(
            box.low.astype(np.float32), box.high.astype(np.float32), box.shape, np.float32
        )
        self.action_space = env.action_space

    def chance(self) -> dict[str, float]:
        """Return nothing: without a right answer, chance is not defined."""
        return {}

    def _new_trial(self, **kwargs: Any) -> dict[str, Any]:
        seed = int(self.rng.integers(2**31))
        ob, _ = self.episodes.reset(seed=seed)
        self.add_period("episode", duration=self.episode_steps * self.dt)
        self.ob[0] = ob
        return {"episode_seed": seed}

    def _step(self, action: Any) -> StepResult:
        ob, reward, terminated, truncated, _ = self.episodes.step(action)
        ended = terminated or truncated
        if ended:
            self.performance = np.nan
            self.report(NONE)
        return (self.ob_now if ended else np.asarray(ob, np.float32)), float(reward), False, False, {"new_trial": ended}
