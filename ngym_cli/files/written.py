"""Lists of the files that ngym wrote in the folders that it chose, with digests."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.errors import UserError
from ngym_cli.files.reading import digest, parse_json, read_text

#: List of the files that ngym wrote in a folder.
WRITTEN = ".ngym.json"


def listed(folder: Path) -> dict[str, object]:
    """Return the digests of the files that ngym wrote in a folder, by name; empty without a list that can be read."""
    try:
        content = parse_json(read_text(folder / WRITTEN), folder / WRITTEN)
    except (UserError, OSError):
        return {}
    return content if isinstance(content, dict) else {}


def is_ours(path: Path) -> bool:
    """Return whether the list of its folder has a file as it is now."""
    return not path.is_symlink() and path.is_file() and listed(path.parent).get(path.name) == digest(path)
