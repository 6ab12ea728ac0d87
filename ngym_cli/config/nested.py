"""Nested tables of settings: merging, dotted keys, and flat forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ngym_cli.config.values import Scalar


def merge(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    """Override a nested dictionary by another: tables are merged, all other values replaced."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
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
    for name in key.split("."):
        settings = settings.get(name) if isinstance(settings, Mapping) else None
    return settings


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
