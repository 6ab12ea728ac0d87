"""Configurations from a TOML file and options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ngym_cli.config.fields import Spelling, checked
from ngym_cli.config.model import RunConfig
from ngym_cli.config.nested import merge
from ngym_cli.config.trust import require
from ngym_cli.errors import UserError
from ngym_cli.files import reading


def from_dict(data: Mapping[str, object], source: str = "", spelling: Spelling = "file") -> RunConfig:
    """Return a validated configuration; see `ngym_cli.config.fields.checked`."""
    return checked(RunConfig, data, source, spelling)


def read_toml(path: Path, largest: int = reading.LARGEST_TOML) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        path: the file.
        largest: largest size in bytes.

    Raises:
        UserError: if the file is missing, unreadable or not TOML.
    """
    try:
        return reading.parse_toml(reading.read_text(path, largest), path)
    except FileNotFoundError:
        raise UserError(f"no such configuration file: {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def load(
    path: Path | None, settings: Mapping[str, object], trust: bool = False, spelling: Spelling = "shell"
) -> RunConfig:
    """Return the configuration of a file, overridden by settings.

    Args:
        path: the file, or None.
        settings: settings of the shell or of Python.
        trust: accept code that the file names and the settings do not.
        spelling: names of options in messages.

    Raises:
        UserError: see ``read_toml`` and ``from_dict``; or if an untrusted file names code or files.
    """
    if path is None:
        return from_dict(settings, spelling=spelling)
    data = read_toml(path)
    from_dict(data, source=str(path))
    evaluation, in_file = settings.get("evaluation"), data.get("evaluation")
    if isinstance(evaluation, Mapping) and "trials" in evaluation and isinstance(in_file, Mapping):
        data["evaluation"] = {name: value for name, value in in_file.items() if name != "half_width"}
    config = from_dict(merge(data, settings), spelling=spelling)
    if not trust:
        require(config, str(path), from_dict(settings))
    return config
