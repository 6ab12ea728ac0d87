"""Running an environment with an agent and keeping what happened."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np

from neurogym.spaces import Action

MOST_TRIAL_STEPS = 100_000


class SingleAgent(Protocol):
    """Interface of agents that choose actions in a single environment."""

    def act(self, ob: np.ndarray) -> Action:
        """The action at an observation."""

    def trial_ended(self) -> None:
        """Called at the end of each trial."""


class RolloutStep(NamedTuple):
    """Single step of a rollout."""

    seen: np.ndarray  #: the observation that was acted on
    action: Action
    ob: np.ndarray  #: the observation that came next
    reward: float
    info: dict[str, Any]
    over: bool  #: whether a trial ended


def rollout(
    env: gym.Env, agent: SingleAgent, seed: int | None = None, seen: np.ndarray | None = None
) -> Iterator[RolloutStep]:
    """Let an agent act in an environment, without end.

    Args:
        env: Where it acts.
        agent: Who acts.
        seed: Of the reset from which it starts.
        seen: The present observation of a session that has begun, to go on from there without a reset.
    """
    if seen is None:
        seen, _ = env.reset(seed=seed)
    while True:
        action = agent.act(seen)
        ob, reward, terminated, truncated, info = env.step(action)
        over = bool(info.get("new_trial", terminated or truncated))
        yield RolloutStep(seen, action, ob, float(reward), info, over)
        if over:
            agent.trial_ended()
        seen = env.reset()[0] if terminated or truncated else ob


class Oracle:
    """Does what the task knows to be best."""

    def __init__(self, env: gym.Env):
        self.task: Any = env.unwrapped

    def act(self, ob: object) -> Action:
        """The best action at the current row."""
        return self.task.oracle()

    def trial_ended(self) -> None:
        """Do nothing, since no state persists across trials."""


class ModelAgent:
    """Chooses actions: a trained model, a fixed action, or at random.

    Args:
        env: Where the actions are taken.
        model: Anything with ``predict(observation)``; Stable-Baselines3 models also get their recurrent state.
        action: Constant action if there is no model.
        reset_each_trial: Whether the model's recurrent state is reset at every trial.
        deterministic: Whether the model takes its most probable action.
    """

    def __init__(
        self,
        env: gym.Env,
        model: Any = None,
        action: Action | None = None,
        reset_each_trial: bool = True,
        deterministic: bool = True,
    ):
        self.env, self.model, self.action = env, model, action
        self.reset_each_trial, self.state, self.starts = reset_each_trial, None, True
        accepted = inspect.signature(model.predict).parameters if model is not None else {}
        takes_all = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        self._options = {"deterministic": deterministic} if "deterministic" in accepted or takes_all else {}
        self._recurrent = "state" in accepted and "episode_start" in accepted

    def act(self, ob: np.ndarray) -> Action:
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
    """Return the first environment of a Stable-Baselines3 ``VecEnv``; other environments unchanged."""
    inner = getattr(env, "envs", None)
    return env if inner is None or isinstance(env, gym.Env) else inner[0]


def run_env(
    env: object,
    num_steps: int = 200,
    num_trials: int | None = None,
    def_act: Action | None = None,
    model: object = None,
    reset_each_trial: bool = True,
) -> dict[str, Any]:
    """Run an environment from a reset and return what happened at each step.

    Args:
        env: An environment, or a ``DummyVecEnv``, whose first environment is run.
        num_steps: Steps to run.
        num_trials: Run until so many trials have ended instead (100,000 steps at most).
        def_act: Constant action if there is no model; default random.
        model: Anything with ``predict``.
        reset_each_trial: Whether a recurrent model's state is reset at every trial.

    Returns:
        ``ob`` (observation returned by each step), ``initial_ob``, ``ob_cum`` (its running sum within the trial),
        ``rewards``, ``actions``, ``gt`` (0 if the task has none), ``perf`` and ``actions_end_of_trial`` (-1 except
        where a trial ended), ``trial_starts`` (steps at which a trial began) and ``states`` (None).
    """
    env = unvectorised(env)
    agent = ModelAgent(env, model, def_act, reset_each_trial)
    steps: list[RolloutStep] = []
    sums: list[np.ndarray] = []
    starts, total = [0], np.zeros(env.observation_space.shape or ())
    for step in rollout(env, agent):
        steps.append(step)
        total = total + step.ob
        sums.append(total)
        if step.over:
            starts.append(len(steps))
            total = np.zeros_like(total)
        enough = len(steps) >= num_steps if num_trials is None else len(starts) > num_trials
        if enough or len(steps) == MOST_TRIAL_STEPS:
            break
    return {
        "ob": np.array([step.ob for step in steps], dtype=float),
        "ob_cum": np.array(sums, dtype=float),
        "rewards": np.array([step.reward for step in steps]),
        "actions": np.array([step.action for step in steps]),
        "perf": np.array([float(step.info.get("performance", -1)) if step.over else -1.0 for step in steps]),
        "actions_end_of_trial": np.array([s.action if s.over else np.full(np.shape(s.action), -1) for s in steps]),
        "gt": np.array([step.info.get("gt", 0) for step in steps]),
        "states": None,
        "initial_ob": np.asarray(steps[0].seen, dtype=float),
        "trial_starts": [start for start in starts if start < len(steps)],
    }


Row = dict[str, Any]


def row_of(action: Action, reward: float, cum_reward: float, info: dict[str, Any]) -> Row:
    """Record of a trial: numbers and words, including the entries of the trial's own record."""
    performance = float(info.get("performance", np.nan))
    row: Row = {"action": action, "reward": reward, "cum_reward": cum_reward, "performance": performance}
    for name, value in {**info, **(info.get("trial") or {})}.items():
        if np.isscalar(value) or isinstance(value, np.generic):
            row.setdefault(name, value)
    return row


def evaluate(
    env: gym.Env, agent: SingleAgent, seed: int, num_trials: int, trial_ended: Callable[[], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run an agent on some trials.

    Args:
        env: Where it acts, from a reset.
        agent: Who acts.
        seed: Of the reset.
        num_trials: How many trials.
        trial_ended: Called at the end of each.

    Returns:
        What is kept of the trials, name to array, with their records under ``trial``; and ``rewards`` (of the last
        step), ``cum_rewards`` and ``performances`` of the trials with the mean of each.
    """
    rows: list[Row] = []
    trials: list[object] = []
    summed = 0.0
    for step in rollout(env, agent, seed):
        summed += step.reward
        if step.over:
            rows.append(row_of(step.action, step.reward, summed, step.info))
            trials.append(step.info.get("trial"))
            summed = 0.0
            trial_ended()
        if len(rows) >= num_trials:
            break
    result: dict[str, Any] = {f"{name}s": [row[name] for row in rows] for name in ("reward", "performance")}
    result["cum_rewards"] = [row["cum_reward"] for row in rows]
    for name in ("reward", "cum_reward", "performance"):
        values = np.array(result[f"{name}s"], dtype=float)
        result[f"mean_{name}"] = float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
    return {key: np.array([row.get(key, np.nan) for row in rows]) for key in rows[0]} | {"trial": trials}, result
