"""Check of ceilings: no agent without senses exceeds the calculated score."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np

from neurogym.ceilings import stored
from neurogym.ceilings.random_agent import blind, chance
from neurogym.core import TrialEnv
from neurogym.envs.multi import ScheduleEnvs
from neurogym.scores import Score

#: Trials and standard error of the random agent, and the number of standard errors by which an agent may be better.
TRIALS, ERROR, ERRORS = 300, 0.01, 4.0


def exceeded(env: gym.Env, score: Score) -> str:
    """Return the reason why the score of an ideal observer is impossible; empty if nothing speaks against it.

    Args:
        env: The whole stack; it is not disturbed.
        score: Calculated for this stack.
    """
    if _is_stored(env.unwrapped):
        return ""
    agents: dict[str, Callable[[], Score | None]] = {
        "a stimulus-blind agent": lambda: blind(env),
        "a random agent": lambda: chance(env, ERROR, TRIALS),
    }
    for agent, measure in agents.items():
        if score["performance"] >= 1:  # which nothing exceeds
            break
        reference = measure()
        if reference is None:
            continue
        slack = ERRORS * float(np.hypot(reference["error"], score["error"])) + 1e-6
        if reference["performance"] > score["performance"] + slack:
            return f"{agent} exceeds the score of the calculation, which does not fit these trials"
    return ""


def _is_stored(task: object) -> bool:
    """Whether the scores of reference agents are stored and tested with the package, or those of several tasks are."""
    if not isinstance(task, TrialEnv) or isinstance(task, ScheduleEnvs):
        return True
    return stored.is_usual(task) and stored.is_plain(task)
