"""Configuration of a run: the typed model, flags, files, written values, tasks and wrappers by name, and trust.

Imports no torch.
"""

from ngym_cli.config.loading import (
    checked,
    flatten,
    from_dict,
    leaves,
    load,
    lookup,
    merge,
    nest,
    plain_text,
    read_toml,
)
from ngym_cli.config.model import STREAMS, ResetState, RunConfig, streams
from ngym_cli.config.sections import (
    CheckpointConfig,
    EvaluationConfig,
    Section,
    StageConfig,
    TaskSettings,
    WrapperConfig,
)
