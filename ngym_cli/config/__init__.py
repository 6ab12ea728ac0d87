"""What a run is told: the typed configuration, and everything that reads one from flags, files and names.

Belongs here: the model of a configuration, flags, values on the command line, finding tasks and wrappers by name, and
which code a configuration may name. May use: `errors`, `files`, the toolkit. Imports no torch.
"""

from ngym_cli.config.checking import checked, from_dict
from ngym_cli.config.loading import flatten, load, merge, read_toml
from ngym_cli.config.model import STREAMS, ResetState, RunConfig, streams
from ngym_cli.config.sections import (
    CheckpointConfig,
    EvaluationConfig,
    Section,
    StageConfig,
    TaskSettings,
    WrapperConfig,
)

__all__ = [
    "STREAMS",
    "CheckpointConfig",
    "EvaluationConfig",
    "ResetState",
    "RunConfig",
    "Section",
    "StageConfig",
    "TaskSettings",
    "WrapperConfig",
    "checked",
    "flatten",
    "from_dict",
    "load",
    "merge",
    "read_toml",
    "streams",
]
