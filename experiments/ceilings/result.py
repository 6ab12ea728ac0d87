"""What an ideal observer scores, as it is stored with the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import neurogym as ngym
from neurogym.core import TrialEnv


@dataclass(frozen=True)
class Ceiling:
    performance: float
    reward: float
    error: float  #: Monte-Carlo standard error of the performance, 0 if exact
    method: str
    without_reward: Ceiling | None = None  #: what is left where the agent is not shown its last reward

    def entry(self) -> dict[str, Any]:
        entry = {
            "performance": round(self.performance, 5),
            "reward": round(self.reward, 5),
            "error": round(self.error, 5),
            "method": self.method,
        }
        return entry | ({"without_reward": self.without_reward.entry()} if self.without_reward else {})


def make(task: str, **kwargs: Any) -> TrialEnv:
    env = ngym.make(task, **kwargs).unwrapped
    env.reset(seed=0)
    return env


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean of independent values and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def guessed(performance: float, reward: float) -> Ceiling:
    """What is left of a task whose hidden state only the last reward reveals."""
    return Ceiling(performance, reward, 0.0, "exact: nothing reveals the hidden state")


def paid(env: TrialEnv, performance: float) -> float:
    """Reward of a task that gives ``correct`` or ``fail`` and nothing else."""
    return performance * env.rewards["correct"] + (1 - performance) * env.rewards.get("fail", 0.0)


def oracle_reward(task: str, steps: int = 300_000, precision: float = 0.005) -> float:
    """Mean reward per trial of the oracle, to a standard error of ``precision`` (relative above 1) if steps allow."""
    env, rewards, n_trials = make(task), [], 0
    steps = steps if len(env.observation_space.shape or ()) == 1 else steps // 200
    while n_trials < steps:
        n_trials += 1
        _, _, terminated, truncated, info = env.step(env.oracle())
        if info["new_trial"]:
            rewards.append(info["trial_reward"])
            if len(rewards) % 200 == 0:
                mean, error = mean_and_error(np.array(rewards))
                if error < precision * max(1.0, abs(mean)):
                    break
        if terminated or truncated:
            env.reset()
    return float(np.mean(rewards))
