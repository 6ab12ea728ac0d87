"""Configuration of a run: the typed model, flags, files, written values, tasks and wrappers by name, and trust.

Imports no torch.
"""

from ngym_cli.config.fields import checked
from ngym_cli.config.model import ResolvedConfig, RunConfig, streams
from ngym_cli.config.trust import from_dict, load, read_toml
from ngym_cli.config.values import flatten, merge, nest

__all__ = [
    "ResolvedConfig",
    "RunConfig",
    "checked",
    "flatten",
    "from_dict",
    "load",
    "merge",
    "nest",
    "read_toml",
    "streams",
]
