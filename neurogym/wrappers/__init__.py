"""Wrappers that change which trials are made, what trials show, or what the agent sees.

The table ``wrappers.toml`` names every wrapper and its module; each module is imported on first use.

Belongs here: wrappers, those that change one thing in one file, and what they have in common (`base`, `stack`). May
use: `trials` and all below.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from neurogym.lazy import attach
from neurogym.messages.names import unknown

#: Names of the wrappers in each module, of this package unless the name has a dot.
MODULES: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("wrappers.toml").read_text("utf-8"))
#: Class name of each wrapper to the module.
WRAPPERS = dict(sorted((name, module) for module, names in MODULES.items() for name in names))

__getattr__, _lazy = attach(__name__, MODULES)
__all__ = ["WRAPPERS", "all_wrappers", "key_of", "module_of", "wrapper_class", *_lazy]


def module_of(name: str) -> str:
    """Module of a wrapper, by its class name."""
    module = WRAPPERS[name]
    return module if "." in module else f"neurogym.wrappers.{module}"


def all_wrappers() -> list[str]:
    """Sorted class names of all wrappers."""
    return sorted(WRAPPERS)


def key_of(name: str) -> str:
    """The name used on a command line: ``PassReward`` is ``pass_reward``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def wrapper_class(name: str) -> type[Any]:
    """A wrapper by class name or command-line name; an optional ``-v0`` is ignored.

    Raises:
        ValueError: If there is no such wrapper; the message names the nearest.
    """
    plain = name.removesuffix("-v0")
    keys = {**{key_of(cls): cls for cls in WRAPPERS}, **{cls: cls for cls in WRAPPERS}}
    if plain not in keys:
        raise ValueError(unknown("wrapper", name, (key_of(cls) for cls in WRAPPERS)))
    return __getattr__(keys[plain])
