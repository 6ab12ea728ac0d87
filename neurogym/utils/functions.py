"""Paths and times."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path


def ensure_dir(path: str | Path) -> Path:
    """Make a folder, with its parents, if it does not exist; returns its absolute path."""
    folder = Path(path).expanduser().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def iso_timestamp() -> str:
    """The time now (UTC) as ``YYYY-MM-DD_HH-MM-SS``."""
    return datetime.now(UTC).strftime("%Y-%m-%d_%H-%M-%S")
