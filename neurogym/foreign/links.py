"""Links in folders of others."""

from __future__ import annotations

from pathlib import Path


def leads_out(path: Path, folder: Path) -> bool:
    """Return whether a file is reached through a link that leads out of a folder, or to itself.

    Links into the store of git-annex, which holds the files of a data set that the folder is a part of, do not count.
    """
    root = folder.resolve()
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):  # a loop is a RuntimeError in Python 3.11 and 3.12
        return True
    stores = (above / ".git/annex/objects" for above in (root, *root.parents))
    return not any(target.is_relative_to(place) for place in (root, *stores))
