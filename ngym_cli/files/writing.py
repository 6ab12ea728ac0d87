"""Writing files as a whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` and rename it there when the block succeeds.

    Works for a file or a whole folder; nothing is left behind when the block fails. What was there is moved aside
    before it is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    holder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield holder / path.name
        if path.is_dir():
            os.replace(path, holder / "old")
        os.replace(holder / path.name, path)
    finally:
        shutil.rmtree(holder, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file as a whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file as a whole or not at all; numbers that JSON has not (nan, inf) become null."""
    write_text(path, json.dumps(plain(data), indent=2) + "\n")


def plain(value: Any) -> Any:
    """Return a value made of what JSON has: NumPy scalars and arrays unpacked, nan and inf as None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
