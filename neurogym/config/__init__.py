"""Settings of a Monitor, from arguments, environment variables or a TOML file; ``config`` has the defaults.

Belongs here: nothing but this path. May use: `recording`.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Config", "config"]


def __getattr__(name: str) -> Any:
    """Make ``Config``, or the shared default settings, when first used."""
    if name not in __all__:
        raise AttributeError(f"module 'neurogym.config' has no attribute {name!r}")
    from neurogym.recording.settings import Config

    globals()["Config"] = Config
    if name == "config":
        globals()["config"] = Config()
    return globals()[name]
