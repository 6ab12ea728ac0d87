"""Environments of Gymnasium without trials as tasks: each episode is a trial."""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from neurogym.envs.task import ProgrammedTask
from neurogym.spaces import Action
from neurogym.trials import StepResult
from neurogym.trials.events import NONE

#: Time step where none is set (ms).
EPISODE_DT = 100.0
#: Steps of the longest episode where the environment sets no limit.
MOST_EPISODE_STEPS = 1_000


class CheckedEpisodes(gym.Wrapper):
    """Environment of Gymnasium whose methods are refused by name if they do not return what Gymnasium asks for.

    Raises:
        TypeError: If ``reset`` takes no seed, or a method returns something else.
    """

    def __init__(self, env: gym.Env):
        super().__init__(env)
        self._name = type(env.unwrapped).__name__
        parameters = inspect.signature(env.unwrapped.reset).parameters.values()
        if not any(each.name == "seed" or each.kind is each.VAR_KEYWORD for each in parameters):
            raise TypeError(f"{self._name}.reset takes no seed; expected reset(self, *, seed=None, options=None)")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        result: Any = self.env.reset(seed=seed)
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
            raise TypeError(f"{self._name}.reset returned {_brief(result)}; expected observation, info (a dictionary)")
        return result

    def step(self, action: Action) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act once."""
        result: Any = self.env.step(action)
        if not (isinstance(result, tuple) and len(result) == 5):
            raise TypeError(
                f"{self._name}.step returned {_brief(result)}; "
                "expected five values: observation, reward, terminated, truncated, info"
            )
        reward = result[1]
        if np.ndim(reward) or np.asarray(reward).dtype.kind not in "biuf":
            raise TypeError(f"{self._name}.step returned the reward {_brief(reward)}; expected a number")
        return result


def _brief(value: Any) -> str:
    """Return a value, or the kind of a long value, in words."""
    if isinstance(value, tuple):
        return f"{len(value)} values"
    return f"an array of shape {np.shape(value)}" if np.ndim(value) else repr(value)


class EpisodeTask(ProgrammedTask):
    """Environment of Gymnasium whose episodes are trials without periods, conditions or a correct action.

    The reward is that of the environment. There is no ground truth, so that performance, chance and ceiling are not
    known; only figures of learning and of reward can be drawn. The step that ends an episode begins the next one, as
    the last step of a trial does; it also says whether the episode terminated or was truncated, and the last
    observation is in its ``info["final_obs"]``, as in Gymnasium's vector environments with ``SAME_STEP`` resets.

    Discrete actions count from 0, and continuous actions with bounds are between -1 and 1, as learners expect; the
    environment receives its own.

    Args:
        env: The environment; observations that are not arrays are flattened.
        dt: Time step in ms.
        most_steps: Steps after which an episode is truncated; by default the limit of the environment, or else 1,000.
    """

    metadata = {"description": "episodes of an environment of Gymnasium", "tags": ["episodes"]}
    goes_on = True

    def __init__(self, env: gym.Env, dt: float = EPISODE_DT, most_steps: int | None = None):
        super().__init__(dt=dt)
        is_array = isinstance(env.observation_space, spaces.Box)
        checked = CheckedEpisodes(env)
        self.episodes = checked if is_array else gym.wrappers.FlattenObservation(checked)
        limit = getattr(env.spec, "max_episode_steps", None)
        self.episode_steps = int(most_steps or limit or MOST_EPISODE_STEPS)
        box = self.episodes.observation_space
        assert isinstance(box, spaces.Box)
        self.observation_space = spaces.Box(
            box.low.astype(np.float32), box.high.astype(np.float32), box.shape, np.float32
        )
        self.action_space = _for_learners(env.action_space)

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
        chosen = _for_environment(action, self.action_space, self.episodes.action_space)
        ob, reward, terminated, truncated, _ = self.episodes.step(chosen)
        truncated = bool(truncated or (self.session.cursor.at_end and not terminated))
        if not (terminated or truncated):
            return np.asarray(ob, np.float32), float(reward), False, False, {"new_trial": False}
        self.performance = np.nan
        self.report(NONE)
        self.choose(chosen)
        info = {"new_trial": True, "final_obs": np.asarray(ob, np.float32)}
        return self.ob_now, float(reward), bool(terminated), truncated, info


def _for_learners(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """Return the actions of a task whose environment has these: from 0, or between -1 and 1 if there are bounds."""
    if isinstance(space, spaces.Discrete):
        return spaces.Discrete(int(space.n))
    if isinstance(space, spaces.Box) and space.is_bounded() and space.dtype is not None and space.dtype.kind == "f":
        return spaces.Box(-1.0, 1.0, space.shape, np.float32)
    return space


def _for_environment(action: Any, space: spaces.Space[Any], original: spaces.Space[Any]) -> Any:
    """Return an action of `_for_learners` as the environment's own."""
    if isinstance(original, spaces.Discrete):
        return int(action) + int(original.start)
    if isinstance(original, spaces.Box) and space is not original and isinstance(space, spaces.Box):
        share = (np.clip(action, space.low, space.high) - space.low) / (space.high - space.low)
        return (original.low + share * (original.high - original.low)).astype(original.dtype)
    return action
