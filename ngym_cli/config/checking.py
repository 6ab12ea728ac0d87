"""Validation of configurations, with errors of a single line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from ngym_cli.config.model import RunConfig
from ngym_cli.config.sections import Section
from ngym_cli.errors import UserError, unknown

Model = TypeVar("Model", bound=Section)


def from_dict(data: Mapping[str, object], source: str = "") -> RunConfig:
    """Return a validated configuration; see ``checked``."""
    return checked(RunConfig, data, source)


def checked(model: type[Model], data: Mapping[str, object], source: str = "") -> Model:
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
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    prefix = f"{source}: " if source else ""
    if first["type"] == "extra_forbidden":
        return UserError(prefix + str(unknown("key", ".".join(path), _keys_at(model, path[:-1]))))
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, Exception):
        return UserError(f"{prefix}{cause}")
    message = first["msg"][0].lower() + first["msg"][1:]
    return UserError(f"{prefix}{'.'.join(path)}: {message}, not {first['input']!r}")


def _keys_at(model: Any, path: list[str]) -> list[str]:
    """Return the valid keys of a section, each after the name of the section."""
    for part in path:
        field = model.model_fields.get(part)
        candidates = [field.annotation, *get_args(field.annotation)] if field else []
        sections = [kind for kind in candidates if isinstance(kind, type) and issubclass(kind, Section)]
        model = sections[0] if sections else model
    return [".".join([*path, key]) for key in model.model_fields]
