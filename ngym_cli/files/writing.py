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
    from neurogym.messages.plain_data import plain

    write_text(path, json.dumps(plain(data), indent=2) + "\n")
