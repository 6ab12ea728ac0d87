"""Configurations from a TOML file and flags."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ngym_cli.config.checking import from_dict
from ngym_cli.config.model import RunConfig
from ngym_cli.config.trust import require
from ngym_cli.errors import UserError
from ngym_cli.files import reading


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


def merge(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, Any]:
    """Override a nested dictionary by another: tables are merged, all other values replaced."""
    merged = dict(base)
    for key, value in over.items():
        mine = merged.get(key)
        merged[key] = merge(mine, value) if isinstance(mine, Mapping) and isinstance(value, Mapping) else value
    return merged


def load(path: Path | None, flags: Mapping[str, object], trust: bool = False) -> RunConfig:
    """Return the configuration of a file, overridden by flags.

    Args:
        path: the file, or None.
        flags: settings of the command line.
        trust: accept code that the file names and the command line does not.

    Raises:
        UserError: see ``read_toml`` and ``from_dict``; or if an untrusted file names code or files.
    """
    if path is None:
        return from_dict(flags)
    data = read_toml(path)
    from_dict(data, source=str(path))
    config = from_dict(merge(data, flags))
    if not trust:
        require(config, str(path), from_dict(flags))
    return config


def flatten(config: Mapping[str, object], prefix: str = "") -> dict[str, Any]:
    """Return a nested configuration as a flat table of numbers, truth values and texts."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{name}."))
        elif isinstance(value, bool | int | float | str):
            flat[name] = value
        elif value is not None:
            flat[name] = str(value)
    return flat
