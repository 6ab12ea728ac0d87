"""Configuration of a run: the typed model, flags, files, written values, tasks and wrappers by name, and trust.

Imports no torch.
"""

from ngym_cli.config.fields import Section, checked
from ngym_cli.config.model import STREAMS, ResetState, ResolvedConfig, ResolvedEvaluation, RunConfig, streams
from ngym_cli.config.sections import (
    CheckpointConfig,
    EvaluationConfig,
    StageConfig,
    TaskSettings,
    WrapperConfig,
)
from ngym_cli.config.trust import from_dict, load, read_toml
from ngym_cli.config.values import flatten, leaves, lookup, merge, nest, plain_text

__all__ = [
    "CheckpointConfig",
    "EvaluationConfig",
    "ResetState",
    "ResolvedConfig",
    "ResolvedEvaluation",
    "RunConfig",
    "STREAMS",
    "Section",
    "StageConfig",
    "TaskSettings",
    "WrapperConfig",
    "checked",
    "flatten",
    "from_dict",
    "leaves",
    "load",
    "lookup",
    "merge",
    "nest",
    "plain_text",
    "read_toml",
    "streams",
]
