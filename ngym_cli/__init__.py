"""The experiment runner of ngym: configuration, training, recording, evaluation and figures behind one command.

``ngym_cli.load("runs/...")`` returns the trained agent of a run, see `ngym_cli.agents.loading`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngym_cli.agents.loading import load

__all__ = ["load"]


def __getattr__(name: str) -> Any:
    """Import what a program uses when it is first used: it needs torch, which the command line seldom does."""
    if name == "load":
        from ngym_cli.agents.loading import load

        return load
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
