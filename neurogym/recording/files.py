"""Files that a Monitor writes: folders, times, order and concatenation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np


def ensure_dir(path: str | Path) -> Path:
    """Make a folder and missing parents, and return the absolute path."""
    folder = Path(path).expanduser().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def iso_timestamp() -> str:
    """The time now (UTC) as ``YYYY-MM-DD_HH-MM-SS``."""
    return datetime.now(UTC).strftime("%Y-%m-%d_%H-%M-%S")


def order_by_sufix(file_list: Sequence[str | Path]) -> list[str]:
    """Files by the number between the last underscore and the ending."""

    def number(file: str | Path) -> int:
        match = re.search(r"_(\d+)(?:\.[^.]*)?$", str(file))
        return int(match.group(1)) if match else -1

    return sorted((str(file) for file in file_list), key=number)


def concatenate_files(folder: str | Path) -> dict[str, np.ndarray]:
    """Concatenate all files that a Monitor saved in a folder: an array per key, in the order of trials."""
    contents = [dict(np.load(file)) for file in order_by_sufix(list(Path(folder).glob("trial_*.npz")))]
    keys = [key for key in (contents[0] if contents else ()) if all(key in arrays for arrays in contents)]
    return {key: np.concatenate([np.atleast_1d(arrays[key]) for arrays in contents]) for key in keys}
