"""Description of a task as text."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from neurogym.parameters import BaseEnv
from neurogym.sampling.distributions import Distribution


def env_string(env: gym.Env, short: bool = False) -> str:
    """A description of a task: name, text, paper, rewards, tags; the short form is ``<TaskName>``."""
    task: Any = env.unwrapped
    if short:
        return f"<{type(task).__name__}>"
    meta = task.metadata
    lines = [f"### {type(task).__name__}", "", (type(task).__doc__ or "Missing description").strip(), ""]
    paper, link = meta.get("paper_name"), meta.get("paper_link")
    lines.append("Reference paper: " + (f"{paper} ({link or 'missing link'})" if paper else "missing paper"))
    if isinstance(task, BaseEnv) and task.rewards:
        lines.append("Rewards: " + ", ".join(f"{name} {value}" for name, value in dict(task.rewards).items()))
    if isinstance(task, BaseEnv) and task.timing:
        timing = (f"{name} {Distribution.of(spec).phrase()}" for name, spec in dict(task.timing).items())
        lines.append("Timing: " + ", ".join(timing))
    lines.append("Tags: " + (", ".join(meta.get("tags", [])) or "none"))
    return "\n".join(lines)
