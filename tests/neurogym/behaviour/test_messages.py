"""Rows of ``messages.toml`` and the places that name them."""

import re
import tomllib
from pathlib import Path

from neurogym import behaviour

FOLDER = Path(behaviour.__path__[0])
MESSAGES = tomllib.loads((FOLDER / "messages.toml").read_text(encoding="utf-8"))


def test_every_message_is_named_and_every_name_is_a_message():
    code = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py") if path.stem != "questions")
    keys = {*MESSAGES["questions"], *MESSAGES["remarks"]}
    assert {key for key in keys if f'"{key}"' not in code} == set()
    assert {*re.findall(r'(?:\bask|\bsay|\.note|\.derive|without_truth)\(\s*"(\w+)"', code)} <= keys
