"""Running an environment with an agent and keeping what happened."""

from __future__ import annotations

import inspect
from typing import Any

import gymnasium as gym
import numpy as np

MOST_STEPS = 100_000


class Agent:
    """Chooses actions: a trained model, a fixed action, or at random.

    Args:
        env: Where the actions are taken.
        model: Anything with ``predict(observation)``; Stable-Baselines3 models also get their recurrent state.
        action: The action to take always, if there is no model.
        reset_each_trial: Whether the model's recurrent state starts anew with every trial.
        deterministic: Whether the model takes its most probable action.
    """

    def __init__(
        self,
        env: gym.Env,
        model: Any = None,
        action: Any = None,
        reset_each_trial: bool = True,
        deterministic: bool = True,
    ):
        self.env, self.model, self.action = env, model, action
        self.reset_each_trial, self.state, self.starts = reset_each_trial, None, True
        accepted = inspect.signature(model.predict).parameters if model is not None else {}
        takes_all = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        self._options = {"deterministic": deterministic} if "deterministic" in accepted or takes_all else {}
        self._recurrent = "state" in accepted and "episode_start" in accepted

    def act(self, ob: Any) -> Any:
        """The action at an observation."""
        if self.model is None:
            return self.env.action_space.sample() if self.action is None else self.action
        extra = {"state": self.state, "episode_start": np.array([self.starts])} if self._recurrent else {}
        result = self.model.predict(ob, **extra, **self._options)
        action, self.state = result if isinstance(result, tuple) else (result, None)
        self.starts = False
        action = np.asarray(action)
        return int(action.reshape(-1)[0]) if isinstance(self.env.action_space, gym.spaces.Discrete) else action

    def trial_ended(self) -> None:
        """Called at the end of each trial."""
        if self.reset_each_trial:
            self.state, self.starts = None, True


def unvectorised(env: Any) -> gym.Env:
    """The first environment of a Stable-Baselines3 ``VecEnv`` that keeps its environments; others as they are."""
    inner = getattr(env, "envs", None)
    return inner[0] if inner is not None and hasattr(env, "num_envs") else env


def run_env(
    env: Any,
    num_steps: int = 200,
    num_trials: int | None = None,
    def_act: Any = None,
    model: Any = None,
    reset_each_trial: bool = True,
) -> dict[str, Any]:
    """Run an environment from a reset and return what happened at each step.

    Args:
        env: An environment, or a ``DummyVecEnv`` of which the first is run.
        num_steps: Steps to run.
        num_trials: Run until so many trials have ended instead (100,000 steps at most).
        def_act: Action to take always, if there is no model; default random.
        model: Anything with ``predict``.
        reset_each_trial: Whether a recurrent model's state starts anew with every trial.

    Returns:
        ``ob`` (observation returned by each step), ``initial_ob``, ``ob_cum`` (its running sum within the trial),
        ``rewards``, ``actions``, ``gt`` (0 if the task has none), ``perf`` and ``actions_end_of_trial`` (-1 except
        where a trial ended), ``trial_starts`` (steps at which a trial began) and ``states`` (None).
    """
    env = unvectorised(env)
    agent = Agent(env, model, def_act, reset_each_trial)
    ob, _ = env.reset()
    initial, ended = ob, 0
    obs: list[Any] = []
    sums, rewards, actions, gts, perfs, last_actions, starts = [], [], [], [], [], [], [0]
    total = np.zeros(np.shape(ob))
    while len(obs) < MOST_STEPS and (len(obs) < num_steps if num_trials is None else ended < num_trials):
        action = agent.act(ob)
        ob, reward, terminated, truncated, info = env.step(action)
        total = total + ob
        obs.append(ob)
        sums.append(total)
        rewards.append(reward)
        actions.append(action)
        gts.append(info.get("gt", 0))
        over = bool(info.get("new_trial", terminated or truncated))
        perfs.append(float(info.get("performance", -1)) if over else -1.0)
        last_actions.append(action if over else np.full(np.shape(action), -1))
        if over:
            ended, total = ended + 1, np.zeros(np.shape(ob))
            starts.append(len(obs))
            agent.trial_ended()
        if terminated or truncated:
            ob, _ = env.reset()
    return {
        "ob": np.array(obs, dtype=float),
        "ob_cum": np.array(sums, dtype=float),
        "rewards": np.array(rewards, dtype=float),
        "actions": np.array(actions),
        "perf": np.array(perfs),
        "actions_end_of_trial": np.array(last_actions),
        "gt": np.array(gts),
        "states": None,
        "initial_ob": np.asarray(initial, dtype=float),
        "trial_starts": [start for start in starts if start < len(obs)],
    }
