"""Lists and constants of NeuroGym that this package keeps in another form; made on request."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import Any

import gymnasium as gym

from neurogym.compat.changes import ALIASES, LISTS_OF_TASKS
from neurogym.config import PACKAGE
from neurogym.envs.registration import entry, every_task, group
from neurogym.wrappers import WRAPPERS, module_of
from neurogym.wrappers.pass_reward import PassAction, PassReward

METADATA_DEF_KEYS = ("description", "paper_name", "paper_link", "timing", "tags")
EnvMeta = type(gym.Env)


def __getattr__(name: str) -> Any:
    """Make a list, or find the class behind an old id, on access."""
    if name in LISTS_OF_TASKS:
        return {id_: str(gym.registry[id_].entry_point) for id_ in every_task() if group(id_) in LISTS_OF_TASKS[name]}
    if name == "ALL_WRAPPERS":
        return {f"{cls}-v0": f"{module_of(cls)}:{cls}" for cls in WRAPPERS}
    if name in ("ROOT_DIR", "CONFIG_DIR"):
        return PACKAGE.parent if name == "ROOT_DIR" else PACKAGE / "config"
    if name == "_SB3_INSTALLED":
        return importlib.util.find_spec("stable_baselines3") is not None
    if name == "LOCAL_DIR":
        return Path.cwd() / "runs"
    if "-v" in name:
        target, arguments = ALIASES[name]
        return functools.partial(entry(target), **arguments) if arguments else entry(target)
    raise AttributeError(f"module 'neurogym.compat.lists' has no attribute {name!r}")


class FullInput(PassAction):
    """Append the last reward and the last action to the observation, a channel for each action.

    Args:
        env: A task with discrete actions.
    """

    def __init__(self, env: gym.Env):
        super().__init__(PassReward(env), one_hot=True)
