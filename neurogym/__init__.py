"""Cognitive tasks for training and comparing recurrent networks and animals.

>>> import neurogym as ngym
>>> env = ngym.make("PerceptualDecisionMaking-v0", dt=20)
>>> ob, info = env.reset(seed=0)
"""

from __future__ import annotations

import pkgutil
from typing import Any

from neurogym import ceilings, spaces, utils
from neurogym.compat import finder as _finder
from neurogym.compat.trial_env import BaseEnv, EpochEnv, PeriodEnv
from neurogym.core import Hooks, InvalidOperationError, TrialEnv, TrialWrapper
from neurogym.envs.registration import all_envs, all_tags, get_collection, make, make_vec, register, register_all
from neurogym.rules import Rule
from neurogym.trials import Trials

VERSION = "0.1.0"
#: Version of NeuroGym whose interface this is: scripts compare with it. This package's own is ``VERSION``.
__version__ = "2.3.1"

register_all()

#: Names that need more than the core, and where they are.
_LAZY = {
    "Config": "neurogym.config",
    "all_wrappers": "neurogym.wrappers",
    "env_string": "neurogym.info",
    "logger": "neurogym.messages.console",
    "make_multi": "neurogym.envs.multi",
}

__all__ = [
    "BaseEnv",
    "EpochEnv",
    "Hooks",
    "InvalidOperationError",
    "PeriodEnv",
    "Rule",
    "TrialEnv",
    "TrialWrapper",
    "Trials",
    "VERSION",
    "__version__",
    "all_envs",
    "all_tags",
    "ceilings",
    "get_collection",
    "make",
    "make_vec",
    "register",
    "spaces",
]


def __getattr__(name: str) -> Any:
    """Import names outside the core, such as wrappers, on first use."""
    if name in _LAZY:
        return pkgutil.resolve_name(f"{_LAZY[name]}:{name}")
    if name in utils.__all__:
        return getattr(utils, name)
    if name[:1].isupper():
        from neurogym import wrappers

        if name in wrappers.WRAPPERS:
            return pkgutil.resolve_name(f"{wrappers.module_of(name)}:{name}")
    return _finder.old_name("neurogym", name)
