"""Cognitive tasks for training and comparing recurrent networks and animals.

>>> import neurogym as ngym
>>> env = ngym.make("PerceptualDecisionMaking-v0", dt=20)
>>> ob, info = env.reset(seed=0)
"""

from __future__ import annotations

import importlib
from typing import Any

from neurogym import spaces
from neurogym.core import BaseEnv, EpochEnv, InvalidOperationError, PeriodEnv, TrialEnv, TrialWrapper
from neurogym.envs.registration import all_envs, all_tags, get_collection, make, make_vec, register, register_all
from neurogym.rules import Rule
from neurogym.trials import Trials

__version__ = "0.1.0"

register_all()

_LAZY = {"Dataset": "neurogym.utils.data", "Monitor": "neurogym.wrappers.monitor"}

__all__ = [
    "BaseEnv",
    "EpochEnv",
    "InvalidOperationError",
    "PeriodEnv",
    "Rule",
    "TrialEnv",
    "TrialWrapper",
    "Trials",
    "__version__",
    "all_envs",
    "all_tags",
    "get_collection",
    "make",
    "make_vec",
    "register",
    "spaces",
]


def __getattr__(name: str) -> Any:
    """Names that need more than the core are imported when first used."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name in ("analysis", "config", "info", "utils", "wrappers"):
        return importlib.import_module(f"neurogym.{name}")
    raise AttributeError(f"module 'neurogym' has no attribute {name!r}")
