"""What ``ngym check --neurogym`` says of scripts written for NeuroGym; nothing of them is executed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ngym_cli.catalog.rows import Row
from ngym_cli.errors import UserError
from ngym_cli.files.reading import read_text


def read_all(paths: Sequence[str]) -> list[Row]:
    """Return what scripts use that is old: ``file``, ``line``, ``uses``, ``status`` and ``becomes``.

    Raises:
        UserError: if there is no script, a file cannot be read, or it is no Python.
    """
    if not paths:
        raise UserError("which script? for example: ngym check my_script.py --neurogym")
    return [row for path in paths for row in _read(Path(path))]


def _read(path: Path) -> list[Row]:
    from neurogym.compat.script import read

    if not path.is_file():
        raise UserError(f"no such script: {path}")
    text = read_text(path)
    try:
        found = read(_code_of_notebook(text) if path.suffix == ".ipynb" else text)
    except SyntaxError as error:
        raise UserError(f"{path}, line {error.lineno}: this is no Python: {error.msg}") from None
    return [{"file": str(path), **use._asdict()} for use in found]


def _code_of_notebook(text: str) -> str:
    """Return the cells of code, one after the other, without commands of the notebook."""
    import json

    try:
        cells = json.loads(text)["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        raise UserError("this is no notebook: it has no cells") from None
    lines = "\n".join(code).splitlines()
    return "\n".join("pass" if line.lstrip().startswith(("%", "!")) else line for line in lines)
