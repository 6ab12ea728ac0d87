"""Files that commands write for users: which of them a command may replace.

A file that a user names is replaced only with ``--overwrite``. In the folders that ngym chooses (``figures``,
``export``, the folder of a run), ``.ngym.json`` lists what ngym wrote with digests: what is not listed, or was changed
since, is a file of the user.
"""

from __future__ import annotations

import os
from pathlib import Path

from ngym_cli.errors import UserError, option
from ngym_cli.files.reading import digest
from ngym_cli.files.writing import check_place, exclusive, refuse_non_file, write_json
from ngym_cli.files.written import WRITTEN, is_ours, listed


def may_write(path: Path, named: bool, overwrite: bool = False) -> None:
    """Refuse to replace a file of the user.

    Args:
        path: file that a command is about to write.
        named: whether the user named the file or the folder of the file.
        overwrite: replace any file.

    Raises:
        UserError: if there is such a file, or something that is not a file.
    """
    if named:
        check_place(path, overwrite)
        return
    refuse_non_file(path)
    if os.path.lexists(path) and not overwrite and not is_ours(path):
        raise UserError(
            f"{path} was not written by ngym, or was changed since; move it away or pass {option('--overwrite')}"
        )


def wrote(path: Path) -> None:
    """Add a file, which was just written in a folder that ngym chose, to the list of the folder."""
    with exclusive(path.parent):
        earlier = {name: value for name, value in listed(path.parent).items() if (path.parent / name).exists()}
        write_json(path.parent / WRITTEN, {**earlier, path.name: digest(path)})
