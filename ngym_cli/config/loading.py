"""Configurations from a TOML file and flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ngym_cli.config import options
from ngym_cli.config.model import RunConfig
from ngym_cli.config.sections import Section
from ngym_cli.config.trust import require
from ngym_cli.config.values import Scalar
from ngym_cli.errors import UserError, unknown
from ngym_cli.files import reading

AnySection = TypeVar("AnySection", bound=Section)


def from_dict(data: Mapping[str, object], source: str = "") -> RunConfig:
    """Return a validated configuration; see ``checked``."""
    return checked(RunConfig, data, source)


def checked(model: type[AnySection], data: Mapping[str, object], source: str = "") -> AnySection:
    """Return a validated configuration or section.

    Args:
        model: type of the result.
        data: nested dictionary.
        source: origin of the data, for messages.

    Raises:
        UserError: on an unknown key (with the nearest), a wrong type or a value out of range.
    """
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise _explain(error, source, model) from None


def _explain(error: ValidationError, source: str, model: type[Section]) -> UserError:
    """Return the first error of pydantic as a single line."""
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    path = [str(part) for part in first["loc"]]
    fields, name = _fields_at(model, path[:-1]), ".".join(path)
    cause = first.get("ctx", {}).get("error")
    if first["type"] == "extra_forbidden":
        said: object = unknown("key", name, [".".join([*path[:-1], key]) for key in fields])
    elif isinstance(cause, Exception):
        said = cause
    else:
        said = options.refused(name, fields.get(path[-1]) if path else None, first)
    return UserError(f"{source}: {said}" if source else str(said))


def _fields_at(model: type[Section], path: list[str]) -> dict[str, FieldInfo]:
    """Return the fields of the section at a path."""
    for part in path:
        field = model.model_fields.get(part)
        candidates = [field.annotation, *get_args(field.annotation)] if field else []
        sections = [kind for kind in candidates if isinstance(kind, type) and issubclass(kind, Section)]
        model = sections[0] if sections else model
    return model.model_fields


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


def merge(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Override a nested dictionary by another: tables are merged, all other values replaced."""
    merged = dict(base)
    for key, value in over.items():
        mine = merged.get(key)
        merged[key] = merge(mine, value) if isinstance(mine, Mapping) and isinstance(value, Mapping) else value
    return merged


def nest(values: Mapping[str, object]) -> dict[str, object]:
    """Return dotted keys as nested tables."""
    nested: dict[str, object] = {}
    for key, value in values.items():
        first, dot, rest = key.partition(".")
        nested = merge(nested, {first: nest({rest: value}) if dot else value})
    return nested


def lookup(settings: object, key: str) -> Any:
    """Return the value of a dotted key in nested tables, or None if there is none."""
    for part in key.split("."):
        settings = settings.get(part) if isinstance(settings, Mapping) else None
    return settings


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


def leaves(table: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Return dotted keys and values of nested tables."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def plain_text(value: object) -> Scalar:
    """Return numbers, truth values, texts and None as they are, other values as text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def flatten(config: Mapping[str, object]) -> dict[str, Scalar]:
    """Return a nested configuration as a flat table of numbers, truth values and texts."""
    return {key: plain_text(value) for key, value in leaves(config) if value is not None}
