"""A checkpoint in which one entry is of another type or far away: one line, or the run goes on; never a traceback."""

from __future__ import annotations

import json
import random
import shutil

import pytest

from ngym_cli.agents import checkpoints
from tests.ngym_cli.test_hostile import reseal
from tests.ngym_cli.test_thousands import WRONG, places

#: So many entries of each part of ``state.json``, each with another wrong value, and of these in the quick tests.
ENTRIES, QUICK_ENTRIES = 26, 2
PARTS = ("session", "learner", "environments", "joined")


def mutated(state: dict, array: str, number: int) -> str:
    """Change one entry of a part of the state, deterministically; return what was done."""
    random_ = random.Random(f"{array}-{number}")
    at = random_.choice([position for position in places(state[array]) if position][:5000])
    inner = state[array]
    for key in at[:-1]:
        inner = inner[key]
    if number % 6 == 5 and isinstance(inner, dict):
        del inner[at[-1]]
        return f"{at} left out"
    inner[at[-1]] = random_.choice(WRONG)
    return f"{at}: {inner[at[-1]]!r}"


@pytest.mark.parametrize(
    "number",
    [pytest.param(number, marks=[pytest.mark.long] * (number >= QUICK_ENTRIES)) for number in range(ENTRIES)],
)
@pytest.mark.parametrize("section", PARTS)
def test_an_entry_of_another_kind_is_refused_or_harmless(ngym, interrupted, tmp_path, section, number):
    folder = shutil.copytree(interrupted, tmp_path / "run")
    for path in checkpoints.resumable_in(folder / checkpoints.CHECKPOINTS_FOLDER):
        state = json.loads((path / checkpoints.STATE).read_text())
        count = mutated(state, section, number)
        (path / checkpoints.STATE).write_text(json.dumps(state))
        reseal(path)
    result = ngym("run", "--resume", folder)
    assert result.code in (0, 2), (count, result)
    assert "Traceback" not in result.err
    if result.code == 2:
        assert result.err.strip().splitlines()[-1].startswith("ngym: "), (count, result)
