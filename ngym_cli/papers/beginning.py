"""The folder of a new paper, written from a template that works as it stands."""

from __future__ import annotations

from pathlib import Path

from ngym_cli.config import trust
from ngym_cli.errors import UserError
from ngym_cli.files.writing import atomic_folder, write_json
from ngym_cli.papers import collection, model

TEMPLATE = Path(__file__).parent / "template"


def new(folder: Path) -> None:
    """Write the template.

    Raises:
        UserError: if there is such a folder already, its name is none, or it cannot be written.
    """
    if not model.NAME.fullmatch(folder.name) or folder.name in collection.ids():
        taken = "that of a paper which comes with ngym" if folder.name in collection.ids() else "no name for a paper"
        raise UserError(f"'{folder.name}' is {taken}; use letters, digits, dots, dashes and underscores, as my_study")
    try:
        with atomic_folder(folder) as temporary:
            for path in sorted(TEMPLATE.glob("*.*")):
                (temporary / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    except FileExistsError:
        raise UserError(f"{folder} exists; nothing was written") from None
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}") from None
    code = trust.signed(collection.code_of(collection.load(folder)))
    write_json(folder / collection.MADE_HERE, {"code": code})
