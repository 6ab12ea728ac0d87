"""Records of trials done by an agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from neurogym.recording.rollout import Acting, rollout

Row = dict[str, Any]


def row_of(action: Any, reward: float, cum_reward: float, info: dict[str, Any]) -> Row:
    """Record of a trial: numbers and words, including the entries of the trial's own record."""
    performance = float(info.get("performance", np.nan))
    row = {"action": action, "reward": reward, "cum_reward": cum_reward, "performance": performance}
    for name, value in {**info, **(info.get("trial") or {})}.items():
        if np.isscalar(value) or isinstance(value, np.generic):
            row.setdefault(name, value)
    return row


def evaluate(
    env: gym.Env, agent: Acting, seed: int, num_trials: int, trial_ended: Callable[[], None]
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
    trials: list[Any] = []
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
    kept = {key: np.array([row.get(key, np.nan) for row in rows]) for key in rows[0]} | {"trial": trials}
    result: dict[str, Any] = {f"{name}s": [row[name] for row in rows] for name in ("reward", "performance")}
    result["cum_rewards"] = [row["cum_reward"] for row in rows]
    for name in ("reward", "cum_reward", "performance"):
        values = np.array(result[f"{name}s"], dtype=float)
        result[f"mean_{name}"] = float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
    return kept, result
