"""The ceiling of several tasks that follow each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from neurogym.ceilings.stack import verdict


def mixture(several: Any, memory: bool, told: bool) -> dict[str, Any] | None:
    """Mean of the ceilings of several tasks, weighted by how often each comes.

    Args:
        several: A :class:`neurogym.envs.multi.ScheduleEnvs`.
        memory: Whether the agent remembers earlier trials.
        told: Whether the agent is shown its last reward.

    Returns:
        None if that of one of the tasks is not known, or the agent is not told which task runs.
    """
    shares = several.shares
    if np.count_nonzero(shares) > 1 and not several.env_input:
        return None
    found = [(p, verdict(env, memory, told).score) for p, env in zip(shares, several.envs, strict=True) if p]
    scores = [score for _, score in found if score is not None]
    if len(scores) < len(found):
        return None
    weights = np.array([p for p, _ in found])
    rewards = [score["reward"] for score in scores]
    return {
        "performance": float(weights @ [score["performance"] for score in scores]),
        "reward": None if None in rewards else float(weights @ rewards),
        "error": float(np.sqrt(np.sum((weights * [score["error"] for score in scores]) ** 2))),
        "method": "mean of the ceilings of the tasks",
    }
